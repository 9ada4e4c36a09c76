"""Verdicts of `import --check` and `tail --check` in results and data sets: those that `check` gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import import_sessions
from agentv_stream.bulk.feeding import Order, check_dataset, deliver
from agentv_stream.bulk.judging import load_specs
from agentv_stream.bulk.parquet import open_dataset
from agentv_stream.checks.yaml_lines import SpecError
from agentv_stream.errors import UsageError
from agentv_stream.redaction.redaction import redaction_by
from support.consuming import run
from support.datasets import rows_of
from support.made_sessions import claude_session, make_folder

pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")

SPEC = """
tests:
  - id: few
    assertions:
      - {name: at most 4 calls, type: execution-metrics, max_tool_calls: 4}
  - id: careful
    assertions:
      - {name: no edits, type: forbid, calls: [Edit], required: true}
      - {name: friendly, type: llm-judge, prompt: friendly}
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    make_folder(tmp_path / "in", 6)
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path / "in"


def verdict_rows(dataset: Path) -> list[dict[str, Any]]:
    sources = {
        row["session_key"]: row["source"] for row in open_dataset(str(dataset), "sessions").to_table().to_pylist()
    }
    rows: list[dict[str, Any]] = open_dataset(str(dataset), "verdicts").to_table().to_pylist()
    return [row | {"source": sources[row["session_key"]]} for row in rows]


def checked(folder: Path, spec: str = "spec.yaml") -> dict[tuple[str, str], dict[str, Any]]:
    """The lines of `check --jsonl`, by source and case."""
    lines = map(json.loads, run(folder, "check", spec, "in", "--jsonl", "-").out.splitlines())
    return {(str(folder / line["source"]), line["case"]): line for line in lines if line["error"] is None}


def test_the_rows_and_the_results_are_those_of_check(logs: Path) -> None:
    folder = logs.parent
    done = run(
        folder, "import", "in", "--check", "spec.yaml", "--parquet", "d", "--jsonl", "r.jsonl", "--engine", "serial"
    )
    assert done.code in (0, 4), done.err  # 4: one of the made logs is damaged
    expected = checked(folder)
    rows = verdict_rows(folder / "d")
    assert {(row["source"], row["case_id"]): (row["verdict"], row["score"]) for row in rows} == {
        key: (line["verdict"], line["score"]) for key, line in expected.items()
    }
    assert {row["verdict"] for row in rows} == {"pass", "fail"}
    for row in rows:
        line = expected[row["source"], row["case_id"]]
        failed = [member for member in line["evaluators"] if member["verdict"] == "fail"]
        assert row["failed_evaluators"] == [member["name"] for member in failed]
        assert row["failed_assertion"] == (failed[0]["assertions"][0]["text"] if failed else None)
        at = line["decided"]["at"] if line["decided"] else None
        assert row["decided_offset"] == (at["offset"] if at else None)
        assert (row["decided_turn"] is None) == (at is None)
        assert row["spec"] == str(folder / "spec.yaml")
    results = [json.loads(line) for line in (folder / "r.jsonl").read_bytes().splitlines()]
    assert [[verdict["verdict"] for verdict in result["verdicts"]] for result in results] == [
        [expected[result["source"], case]["verdict"] for case in ("few", "careful")] for result in results
    ]


def test_the_case_is_chosen_by_name_or_by_the_name_of_the_file(logs: Path) -> None:
    folder = logs.parent
    (logs / "few_claude_1.jsonl").write_bytes(claude_session(77, 3))
    import_sessions([logs], parquet=folder / "d", specs=[folder / "spec.yaml"], engine="serial")
    assert {(row["source"], row["case_id"]) for row in verdict_rows(folder / "d")} == set(checked(folder))
    import_sessions([logs], parquet=folder / "d", specs=[folder / "spec.yaml"], case="careful", engine="serial")
    assert {row["case_id"] for row in verdict_rows(folder / "d")} == {"careful"}
    with pytest.raises(SpecError, match="no case is called 'carefull'"):
        import_sessions([logs], parquet=folder / "d", specs=[folder / "spec.yaml"], case="carefull")


def test_processes_give_the_same_rows(logs: Path) -> None:
    folder, specs = logs.parent, [logs.parent / "spec.yaml"]
    import_sessions([logs], parquet=folder / "one", specs=specs, engine="serial")
    import_sessions([logs], parquet=folder / "two", specs=specs, engine="process", workers=2)
    assert rows_of(folder / "one") == rows_of(folder / "two")


def test_another_text_of_the_spec_judges_everything_again(logs: Path) -> None:
    folder, spec = logs.parent, logs.parent / "spec.yaml"
    import_sessions([logs], parquet=folder / "d", specs=[spec], engine="serial")
    before = rows_of(folder / "d")
    spec.write_text("# a comment changes nothing\n" + SPEC, encoding="utf-8")
    assert import_sessions([logs], parquet=folder / "d", specs=[spec], engine="serial", resume=True).done == 0
    spec.write_text(SPEC.replace("max_tool_calls: 4", "max_tool_calls: 400"), encoding="utf-8")
    assert import_sessions([logs], parquet=folder / "d", specs=[spec], engine="serial", resume=True).done > 0
    after = rows_of(folder / "d")
    assert after["verdicts"] != before["verdicts"]
    assert after["messages"] == before["messages"]
    assert {row["verdict"] for row in verdict_rows(folder / "d") if row["case_id"] == "few"} == {"pass"}


def test_a_secret_is_judged_and_not_quoted(tmp_path: Path) -> None:
    token = "ghp_" + "A1b2C3d4E5" * 3 + "f6G7h8"
    log = claude_session(1, 6).replace(b"make test-0", f"curl -H {token}".encode())
    assert token.encode() in log
    (tmp_path / "log.jsonl").write_bytes(log)
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"assertions:\n- {{type: forbid, calls: ['Bash(*{token}*)']}}\n", encoding="utf-8")
    sources, dataset = [tmp_path / "log.jsonl"], tmp_path / "d"
    import_sessions(sources, parquet=dataset, specs=[spec], redact=redaction_by(True) or False, engine="serial")
    (row,) = verdict_rows(dataset)
    assert row["verdict"] == "fail"
    assert token not in json.dumps(row)


def test_tail_writes_the_same_verdicts_and_refuses_a_spec_that_changes(logs: Path) -> None:
    folder = logs.parent
    tail = ("tail", "in", "--once", "--state", "state", "--parquet", "d", "--check", "spec.yaml")
    assert run(folder, *tail).code in (0, 4)
    import_sessions([logs], parquet=folder / "expected", specs=[folder / "spec.yaml"], engine="serial")
    assert rows_of(folder / "d")["verdicts"] == rows_of(folder / "expected")["verdicts"]
    order = Order(dataset=str(folder / "d"), checks=load_specs([folder / "spec.yaml"]).checks)
    check_dataset(order)
    with pytest.raises(UsageError, match="other options"):
        check_dataset(Order(dataset=str(folder / "d")))
    (folder / "spec.yaml").write_text(SPEC.replace("Edit", "Read"), encoding="utf-8")
    assert deliver(order).error == f"{folder / 'spec.yaml'} changed since the start"


def test_verdicts_need_an_output_that_has_them(logs: Path) -> None:
    folder = logs.parent
    refused = run(folder, "import", "in", "--out", "t", "--check", "spec.yaml")
    assert (refused.code, "needs --parquet or --jsonl" in refused.err) == (2, True)
    assert not (folder / "t").exists()
    refused = run(folder, "import", "in", "--parquet", "d", "--case", "few")
    assert (refused.code, "--case needs --check" in refused.err) == (2, True)

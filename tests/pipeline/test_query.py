"""SQL over a data set: the views, the queries of the docs, and what a query may not do."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest
from typer.testing import CliRunner

from agentv_stream import import_sessions
from agentv_stream.bulk.parquet import open_dataset
from agentv_stream.bulk.query import run_query
from agentv_stream.cli import build
from agentv_stream.discovery.period import named_zone
from agentv_stream.errors import SourceError, UsageError
from support.consuming import Ran, run
from support.made_sessions import make_folder, tree
from support.terminal import in_terminal

pytest.importorskip("duckdb", reason="the query extra is not installed")
pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
DOCS = Path(__file__).parents[2] / "docs" / "queries.md"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("query")
    make_folder(root / "in")
    spec = root / "spec.yaml"
    spec.write_text("assertions:\n- {type: execution-metrics, max_tool_calls: 6}\n", encoding="utf-8")
    import_sessions([root / "in"], parquet=root / "d", specs=[spec], engine="serial")
    return root / "d"


QUESTIONS = re.findall(r"\n## ([^\n]*)\n\n```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("sql", [sql for _, sql in QUESTIONS])
def test_every_query_of_the_docs_runs_and_finds_something(dataset: Path, sql: str) -> None:
    names, rows = run_query(sql, dataset)
    assert names
    assert rows or "repeated_failures" in sql


def test_twenty_questions_are_documented() -> None:
    assert len(QUESTIONS) >= 20


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with sessions of an agent."""
    home = tmp_path_factory.mktemp("machine")
    make_folder(home / ".claude" / "projects")
    return home


@pytest.mark.parametrize("sql", [sql for title, sql in QUESTIONS if title.endswith("†")])
def test_without_a_data_set_the_figures_of_this_machine_answer(machine: Path, sql: str) -> None:
    ran = query_machine(machine, sql)
    assert ran.code == 0, ran.err
    assert ran.out.strip()


def test_the_figures_of_this_machine_are_those_of_a_data_set(machine: Path) -> None:
    dataset = machine / "dataset"
    import_sessions([machine / ".claude" / "projects"], parquet=dataset, engine="serial")
    for sql in (
        """SELECT source, session_id, provider, dialect, model, cwd, project, epoch_ms(started_at) AS at, duration_ms,
           status, turns, tool_calls, failed_calls, edits, input_tokens, cached_tokens, cache_write_tokens,
           output_tokens, output_tokens_at_least, reasoning_tokens, cost_usd, records, events, faults
           FROM sessions ORDER BY source""",
        """SELECT session_id, sum(input)::BIGINT AS input, sum(cached)::BIGINT AS cached, sum(output)::BIGINT AS output
           FROM tokens GROUP BY ALL ORDER BY session_id""",
        """SELECT session_id, project, tool, kind, sum(calls)::BIGINT AS calls, sum(failed_calls)::BIGINT AS failed
           FROM calls_by_tool GROUP BY ALL ORDER BY ALL""",
    ):
        names, rows = run_query(sql, dataset)
        assert rows
        assert answer(query_machine(machine, sql)) == [dict(zip(names, row, strict=True)) for row in rows]


def test_a_machine_without_sessions_has_empty_tables(tmp_path: Path) -> None:
    assert answer(query_machine(tmp_path, "SELECT count(*) AS n FROM sessions")) == [{"n": 0}]
    refused = query_machine(tmp_path, "SELECT * FROM messages")
    assert refused.code == 2
    assert "there are sessions, tokens, calls_by_tool" in refused.err


def test_local_times_are_in_the_chosen_zone(dataset: Path) -> None:
    sql = "SELECT local_time(TIMESTAMP '2026-07-01 23:30:00'), local_day(TIMESTAMP '2026-07-01 23:30:00')::VARCHAR"
    for name, local in (("Europe/Berlin", "2026-07-02 01:30:00"), ("UTC", "2026-07-01 23:30:00")):
        _, rows = run_query(sql, dataset, named_zone(name))
        assert str(rows[0][0]) == local
        assert rows[0][1] == local[:10]


def answer(ran: Ran) -> list[dict[str, object]]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def query_machine(home: Path, sql: str) -> Ran:
    """`query SQL --json` with a home folder of its own, in an empty folder."""
    return run(home, "query", sql, "--json", "--utc", HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))


def test_the_views_agree_with_each_other(dataset: Path) -> None:
    sql = """SELECT (SELECT sum(tool_calls) FROM sessions), (SELECT count(*) FROM tool_calls),
             (SELECT sum(tool_calls) FROM messages),
             (SELECT sum(faults) FROM sessions), (SELECT count(*) FROM faults)"""
    _, rows = run_query(sql, dataset)
    sessions, calls, messages, faults, rows_of_faults = rows[0]
    assert sessions == calls == messages > 100
    assert faults == rows_of_faults == 1


def test_turns_tokens_and_tools_add_up_to_the_sessions(dataset: Path) -> None:
    sql = """SELECT (SELECT sum(turns) FROM sessions), (SELECT count(*) FROM turns),
             (SELECT sum(input_tokens) FROM sessions), (SELECT sum(input) FROM tokens),
             (SELECT sum(tool_calls) FROM sessions), (SELECT sum(calls) FROM calls_by_tool),
             (SELECT count(*) FROM messages WHERE session_id IS NULL OR project IS NULL),
             (SELECT count(*) FROM calls WHERE session_id IS NULL OR project IS NULL)"""
    _, rows = run_query(sql, dataset)
    turns, rows_of_turns, tokens, sums, calls, by_tool, *without = rows[0]
    assert turns == rows_of_turns > 10
    assert tokens == sums > 100
    assert calls == by_tool > 100
    assert without == [0, 0]


def test_findings_are_those_of_analyze(dataset: Path) -> None:
    expected = [
        json.loads(line)
        for (path,) in run_query("SELECT source FROM sessions", dataset)[1]
        for line in run(dataset.parent, "analyze", path, "--json").out.splitlines()
    ]
    sql = "SELECT kind, text, count, calls, tokens, basis FROM findings ORDER BY ALL"
    names, rows = run_query(sql, dataset)
    found = [{name: finding.get(name) for name in names} for finding in expected]
    assert sorted(map(repr, found)) == sorted(repr(dict(zip(names, row, strict=True))) for row in rows)
    assert rows


def test_a_view_without_any_row_has_its_columns(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    names, rows = run_query("SELECT * FROM faults", tmp_path / "d")
    assert rows == []
    assert names[:2] == ["session_key", "source"]
    assert names[-3:] == ["provider", "day", "machine"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY sessions TO '/tmp/agentv-stream-query-test.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELEC 1",
        "SELECT '\udcff'",
        "",
        " ; ",
        "COPY (SELECT 1) TO '{dataset}/evil.csv'",
        "COPY (SELECT 1) TO '{dataset}/_dataset.json'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{dataset}/_dataset.json'",
        "EXPLAIN /* */ ANALYZE COPY (SELECT 1) TO '{dataset}/_dataset.json'",
        "SELECT 1; COPY (SELECT 1) TO '{dataset}/_dataset.json'",
        "EXPORT DATABASE '{dataset}/all'",
        "ATTACH '{dataset}/new.db'",
        "PREPARE p AS COPY (SELECT 1) TO '{dataset}/_dataset.json'",
        "SELECT * FROM read_text('{dataset}/_dataset.json')",
    ],
)
def test_a_query_cannot_reach_outside_the_data_set_nor_write_to_it(dataset: Path, sql: str) -> None:
    before = tree(dataset)
    with pytest.raises(UsageError):
        run_query(sql.replace("{dataset}", str(dataset)), dataset)
    assert tree(dataset) == before


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT count(*) FROM sessions",
        "PIVOT (SELECT provider, status, turns FROM sessions) ON status USING sum(turns)",
        "CREATE TEMP TABLE x AS SELECT * FROM sessions; SELECT count(*) FROM x",
        "CREATE MACRO half(a) AS a / 2; SELECT half(turns) FROM sessions",
        "DESCRIBE sessions",
        "FROM sessions",
    ],
)
def test_what_only_reads_or_works_in_memory_is_allowed(dataset: Path, sql: str) -> None:
    assert run_query(sql, dataset)[1]


@pytest.mark.parametrize("above", ["day=2001-01-01/provider=zz", "we[i]rd*'q", "a=b", "?"])
def test_folders_above_a_data_set_may_have_any_name(dataset: Path, tmp_path: Path, above: str) -> None:
    place = tmp_path / above / "d"
    shutil.copytree(dataset, place)
    sql = "SELECT provider, day, count(*) FROM sessions GROUP BY ALL ORDER BY ALL"
    assert run_query(sql, place) == run_query(sql, dataset)
    assert open_dataset(str(place), "sessions").to_table().equals(open_dataset(str(dataset), "sessions").to_table())


def test_a_file_of_the_data_set_that_is_damaged_or_gone_is_told(dataset: Path, tmp_path: Path) -> None:
    place = tmp_path / "d"
    shutil.copytree(dataset, place)
    file = next((place / "sessions").rglob("*.parquet"))
    file.write_bytes(b"no parquet")
    with pytest.raises(SourceError):
        run_query("SELECT * FROM sessions", place)
    file.unlink()
    with pytest.raises(SourceError):
        run_query("SELECT * FROM sessions", place)


def test_a_manifest_that_says_nothing_is_no_empty_data_set(tmp_path: Path) -> None:
    (tmp_path / "_dataset.json").write_text('{"a": 1}')
    with pytest.raises(SourceError, match="cannot be read"):
        run_query("SELECT * FROM sessions", tmp_path)


def test_a_folder_that_is_no_data_set_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not a data set"):
        run_query("SELECT 1", tmp_path)


def test_the_command_gives_json_csv_and_a_table(dataset: Path) -> None:
    run = CliRunner().invoke
    app = build(["query", "stats"])
    sql = "SELECT provider, count(*) AS n, min(started_at) AS t, ['\x1b[31m'] AS l FROM sessions GROUP BY ALL"
    told = run(app, ["query", sql, str(dataset), "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["n"] == 12
    rows = list(csv.reader(io.StringIO(run(app, ["query", sql, str(dataset), "--csv"]).stdout)))
    assert rows[0] == ["provider", "n", "t", "l"]
    table = run(app, ["query", sql, str(dataset)])
    assert "claude" in table.stdout
    assert "\x1b" not in table.stdout
    assert run(app, ["query", "SELEC", str(dataset)]).exit_code == 2
    assert run(app, ["query", "SELECT 1", str(dataset / "nowhere")]).exit_code == 4


def test_columns_of_one_name_and_decimals_are_told_in_json(dataset: Path) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 1.5::DECIMAL(4, 2) AS d, true AS t"
    app = build(["query"])
    told = CliRunner().invoke(app, ["query", sql, str(dataset), "--json"])
    assert json.loads(told.stdout) == {"a": 1, "a_2": 2, "d": 1.5, "t": True}
    assert CliRunner().invoke(app, ["query", sql, str(dataset), "--csv"]).stdout == "a,a,d,t\n1,2,1.50,true\n"


def test_values_in_csv_do_not_act_on_a_terminal(dataset: Path, tmp_path: Path) -> None:
    sql = "SELECT 'a' || chr(27) || '[31m' AS l"
    assert in_terminal(tmp_path, 80, "query", sql, dataset, "--csv") == ["l", "a\\x1b[31m"]
    told = CliRunner().invoke(build(["query"]), ["query", sql, str(dataset), "--csv"])
    assert told.stdout == "l\na\x1b[31m\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("option", [["--json"], ["--csv"], []])
def test_a_full_disk_behind_standard_output_is_one_line_and_exit_code_4(dataset: Path, option: list[str]) -> None:
    command = [sys.executable, "-m", "agentv_stream", "query", "SELECT * FROM messages", str(dataset), *option]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 4
    assert ended.stderr == "agentv-stream: cannot write standard output: No space left on device\n"


def test_rows_of_more_columns_than_can_be_read_are_a_line_for_each_value(dataset: Path) -> None:
    app = build(["query"])
    told = CliRunner().invoke(app, ["query", "SELECT * FROM sessions ORDER BY source LIMIT 2", str(dataset)])
    records = [dict(line.split(maxsplit=1) for line in part.splitlines()) for part in told.stdout.split("\n\n")]
    assert len(records) == 2
    assert records[0]["provider"] == "claude"
    assert "…" not in told.stdout
    none = CliRunner().invoke(app, ["query", "SELECT * FROM sessions WHERE false", str(dataset)])
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "no rows\n")


def test_mistakes_are_told(dataset: Path) -> None:
    app = build(["query"])
    both = CliRunner().invoke(app, ["query", "SELECT 1", str(dataset), "--json", "--csv"])
    assert (both.exit_code, both.stdout, both.stderr) == (2, "", "agentv-stream: --json or --csv, not both\n")
    none = CliRunner().invoke(app, ["query", "SELECT * FROM session", str(dataset)])
    assert none.exit_code == 2
    assert none.stderr.endswith(
        "\nthere are sessions, messages, calls, tool_calls, faults, findings, verdicts, turns, tokens, calls_by_tool\n"
    )


def test_ctrl_c_ends_a_query_as_it_ends_everything(dataset: Path) -> None:
    """DuckDB made a RuntimeError of it, and the command a traceback."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    press = Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_query("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0", dataset)
    finally:
        signal.signal(signal.SIGINT, before)
    press.join()


def test_a_whole_number_has_no_decimals_whatever_its_type(dataset: Path) -> None:
    sql = "SELECT 1234.0::DOUBLE AS a, 1234.56::DOUBLE AS b, 12.0::DOUBLE AS c"
    told = CliRunner().invoke(build(["query"]), ["query", sql, str(dataset)])
    assert told.stdout.splitlines()[1].split() == ["1,234", "1,234.6", "12"]

"""`--dump-traces` and `--include-trace` of `consume`, `check` and `import`: AgentV's generic trace events."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.trajectory.trace_events import TraceList
from agentv_stream import Settings, open_stream, read, summarize
from support.consuming import finished_text
from support.schemas import fits

ROOT = Path(__file__).parents[2]
SECRET = "ghp_" + "a1B2" * 9


def run(folder: Path, *arguments: str) -> str:
    done = finished_text(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    for name in ("claude", "codex"):
        shutil.copy(ROOT / f"examples/{name}.jsonl", tmp_path / "logs")
    (tmp_path / "ci.yaml").write_text("assertions: [{type: max-turns, max: 30}]\n")
    return tmp_path


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def calls_in(events: list[Any]) -> list[str]:
    return [event["name"] for event in events if event["type"] == "tool_call"]


def test_consume_writes_the_trace_beside_the_transcript_and_into_the_result(folder: Path) -> None:
    text = run(
        folder, "consume", "logs/claude.jsonl", "--out", "o", "--dump-traces", "--include-trace", "--stats", "-", "-q"
    )
    result = json.loads(text)
    fits("result", result)
    traced = lines_of(folder / result["outputs"]["trace"])
    assert traced == result["traces"]
    assert len(calls_in(traced)) == result["tool_use_summary"]["total_tool_calls"] == 11
    assert result["outputs"]["trace"] == result["outputs"]["transcript"].replace(".transcript.", ".trace.")


def test_import_writes_those_of_every_session(folder: Path) -> None:
    run(folder, "import", "logs", "--out", "o", "--jsonl", "r.jsonl", "--dump-traces", "--include-trace", "-q")
    results = lines_of(folder / "r.jsonl")
    traces = {tuple(calls_in(lines_of(path))) for path in (folder / "o").glob("*.trace.jsonl")}
    assert len(results) == 2
    assert traces == {tuple(calls_in(result["traces"])) for result in results}


def test_check_keeps_those_of_each_source(folder: Path) -> None:
    (folder / "logs/broken.jsonl").write_text("no log\n")
    text = run(folder, "check", "ci.yaml", "logs", "--json", "--dump-traces", "t", "--include-trace")
    checked = json.loads(text)
    fits("check", checked)
    assert sorted(path.name for path in (folder / "t").iterdir()) == ["claude.trace.jsonl", "codex.trace.jsonl"]
    for source in checked["results"]:
        name = Path(source["source"]).stem
        assert lines_of(folder / f"t/{name}.trace.jsonl") == source["traces"]


def test_sources_of_one_name_get_files_of_their_own(folder: Path) -> None:
    for place in ("a", "b"):
        (folder / place).mkdir()
        shutil.copy(ROOT / "examples/codex.jsonl", folder / place)
    run(folder, "check", "ci.yaml", "a", "b", "-q", "--dump-traces", "t")
    assert sorted(path.name for path in (folder / "t").iterdir()) == ["codex-2.trace.jsonl", "codex.trace.jsonl"]


@pytest.mark.parametrize("command", ["consume", "import", "check"])
def test_a_redacted_session_has_no_secret_in_its_trace(folder: Path, command: str) -> None:
    log = folder / "logs/claude.jsonl"
    log.write_text(log.read_text().replace("python -m pytest -q", f"TOKEN={SECRET} pytest"))
    arguments = {
        "consume": ("consume", "logs/claude.jsonl", "--out", "o", "--stats", "r", "-q", "--dump-traces"),
        "import": ("import", "logs", "--out", "o", "--jsonl", "r", "-q", "--dump-traces"),
        "check": ("check", "ci.yaml", "logs", "--jsonl", "r", "-q", "--dump-traces", "o"),
    }[command]
    run(folder, *arguments, "--redact", "--include-trace")
    written = [folder / "r", *(folder / "o").glob("*.trace.jsonl")]
    assert len(written) > 1
    assert [path for path in written if SECRET in path.read_text()] == []


async def test_a_stream_has_the_traces_as_a_setting(folder: Path) -> None:
    settings = Settings(out=folder / "o", dump_traces=True, include_trace=True)
    async with open_stream(folder / "logs/codex.jsonl", settings=settings) as stream:
        async for _ in stream.events():
            pass
    assert stream.result is not None
    traces: Any = stream.result.traces
    assert calls_in(traces) == ["Bash", "Read", "Grep", "Edit", "Bash"]
    assert len(list((folder / "o").glob("*.trace.jsonl"))) == 1


def test_a_list_that_is_full_says_so() -> None:
    traces, result = TraceList(most=2), summarize(ROOT / "examples/codex.jsonl")
    for batch in read(ROOT / "examples/codex.jsonl").batches():
        traces.observe(batch)
    traces.put_into(result)
    assert (len(traces.events), result.traces_truncated) == (2, True)

"""The ATIF document: when it appears, whose place it takes, what a failure leaves, and that it reads back the same."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentv_stream.errors import SinkError
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.outputs.document_sink import DocumentSink
from agentv_stream.outputs.documents import AtifDocument
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from agentv_stream.summary import summarize
from support.atif_rules import check_rules, references
from support.fixture_logs import LOGS
from support.schemas import fits
from support.sinks import Way

FIGURES = ("turns", "total_tool_calls", "by_tool", "by_kind", "first_edit_turn", "by_outcome")


def consume(log: Path, out: Path) -> Report:
    async def run() -> Report:
        return await StreamSession(FileSource(log), Settings(out=out, transcript_shape="atif")).run()

    return anyio.run(run)


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


async def written(folder: Path, *, finished: bool = False) -> Path:
    way = Way(folder)
    return await way.through(DocumentSink(AtifDocument(), way.names(finished), way.about))


async def test_it_appears_at_the_end_and_at_once(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = DocumentSink(AtifDocument(), way.names(), way.about)
    for batch in way.batches():
        await sink.write(batch)
        assert not list(tmp_path.glob("[!.]*"))
    await sink.close(True)
    (path,) = tmp_path.iterdir()
    assert path == sink.path
    assert path.name == "name.trajectory.json"
    assert path.stat().st_mode & 0o777 == 0o600
    check_rules(read(path))


async def test_a_stream_leaves_alone_what_stands_there_and_a_finished_session_takes_its_place(tmp_path: Path) -> None:
    first = await written(tmp_path)
    assert (await written(tmp_path)).name == "name-2.trajectory.json"
    before = first.stat().st_ino
    assert await written(tmp_path, finished=True) == first
    assert first.stat().st_ino != before


async def test_without_messages_there_is_none(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = DocumentSink(AtifDocument(), way.names(), way.about)
    await sink.close(True)
    assert sink.path is None
    assert not list(tmp_path.iterdir())


async def test_after_a_failure_nothing_is_left_of_it(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = DocumentSink(AtifDocument(), way.names(), way.about)
    for batch in way.batches():
        await sink.write(batch)
    await sink.close(False)
    assert not list(tmp_path.iterdir())

    (tmp_path / "name.trajectory.json").mkdir()
    with pytest.raises(SinkError, match=r"name\.trajectory"):
        await written(tmp_path, finished=True)
    assert [path.name for path in tmp_path.iterdir()] == ["name.trajectory.json"]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_read_back_it_tells_what_the_log_told(log: Path, tmp_path: Path) -> None:
    result = consume(log, tmp_path).result
    assert result is not None
    (path,) = tmp_path.glob("*.trajectory.json")
    assert result.outputs.trajectory == str(path)
    document = read(path)
    check_rules(document)
    fits("trajectory", document)
    if result.tool_use_summary["turns"] == 0:
        return  # a sub-agent's own file: read alone, it is a session
    again = summarize(path)
    assert {name: again.tool_use_summary[name] for name in FIGURES} == {
        name: result.tool_use_summary[name] for name in FIGURES
    }
    told = ("input", "cached", "cache_write", "reasoning")
    assert [again.tokens[name] for name in told] == [result.tokens[name] for name in told]
    assert (again.status, again.cost_usd, again.session.cwd) == (result.status, result.cost_usd, result.session.cwd)
    assert again.duration_ms == result.duration_ms


def test_sub_agents_files_are_trajectories_of_the_document(tmp_path: Path) -> None:
    log = next(path for path in LOGS if (path.with_suffix("") / "subagents").is_dir())
    consume(log, tmp_path)
    (path,) = tmp_path.glob("*.trajectory.json")
    document = read(path)
    names = {child["trajectory_id"] for child in document["subagent_trajectories"]}
    assert names
    assert references(document) == names

"""The transcript's file: when it begins, whose place it may take, what a run that is cut short leaves,
and that it reads back the same."""

import os
from pathlib import Path

import anyio
import pytest

from agentv_stream.errors import SinkError
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.outputs import transcript_sink
from agentv_stream.outputs.document_sink import DocumentSink
from agentv_stream.outputs.documents import CaseDocument
from agentv_stream.outputs.transcript_file import is_of_session, log_of
from agentv_stream.settings import Settings, Shape
from agentv_stream.sources.source import FileSource
from agentv_stream.summary import summarize
from support.consuming import rows_of
from support.fake_agents import READ_EDIT, SESSION, stream
from support.fixture_logs import LOGS
from support.sinks import LOG, Way

FIGURES = ("turns", "total_tool_calls", "by_tool", "by_kind", "first_edit_turn", "by_outcome")


async def test_rows_stand_in_the_file_while_the_agent_works_and_totals_at_the_end(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = way.sink()
    grown: list[int] = []
    for batch in way.batches():
        await sink.write(batch)
        if sink.path is not None:
            grown.append(len(rows_of(sink.path)))
    assert grown[0] < len(READ_EDIT) <= grown[-1]
    assert sink.path is not None
    assert "transcript_cost_usd" not in rows_of(sink.path)[0]
    before = sink.path.read_bytes()
    await sink.close(True)
    assert rows_of(sink.path)[0]["transcript_cost_usd"] == 0.25
    assert sink.path.stat().st_size >= len(before)
    assert sink.path.stat().st_mode & 0o777 == 0o600


async def test_no_row_is_written_before_the_session_has_a_name(tmp_path: Path) -> None:
    anonymous = LOG.replace(f', "session_id": "{SESSION}"'.encode(), b"")
    way = Way(tmp_path, anonymous)
    sink = way.sink()
    for batch in way.batches():
        await sink.write(batch)
        assert sink.path is None
    await sink.close(True)
    assert sink.path is not None
    assert rows_of(sink.path)[0]["source"]["session_id"] == "unknown"


async def test_patience_with_a_nameless_stream_ends(tmp_path: Path) -> None:
    way = Way(tmp_path, LOG.replace(f', "session_id": "{SESSION}"'.encode(), b""))
    sink = way.sink()
    sink.patience = 3
    for batch in way.batches():
        await sink.write(batch)
    assert sink.path is not None
    await sink.close(True)


async def test_a_finished_session_takes_its_own_place_and_at_once(tmp_path: Path) -> None:
    way = Way(tmp_path, stream(READ_EDIT, whole=False))
    first = await way.through(way.sink())
    old = first.read_bytes()
    way = Way(tmp_path)
    sink = way.sink(finished=True)
    for batch in way.batches():
        await sink.write(batch)
        assert first.read_bytes() == old
    await sink.close(True)
    assert sink.path == first
    assert first.read_bytes() != old
    assert [path.name for path in tmp_path.iterdir()] == ["name.transcript.jsonl"]


@pytest.mark.parametrize("finished", [False, True])
async def test_the_place_of_another_session_is_left_alone(tmp_path: Path, finished: bool) -> None:
    other = LOG.replace(SESSION.encode(), SESSION.replace("1111", "9999").encode())
    way = Way(tmp_path, other)
    first = await way.through(way.sink())
    old = first.read_bytes()
    way = Way(tmp_path)
    second = await way.through(way.sink(finished))
    assert (first.name, second.name) == ("name.transcript.jsonl", "name-2.transcript.jsonl")
    assert first.read_bytes() == old


async def test_a_stream_takes_no_place_not_even_that_of_its_session(tmp_path: Path) -> None:
    for name in ("name.transcript.jsonl", "name-2.transcript.jsonl", "name-3.transcript.jsonl"):
        way = Way(tmp_path)
        assert (await way.through(way.sink())).name == name


async def test_which_name_the_outputs_of_a_run_bear(tmp_path: Path) -> None:
    other = LOG.replace(SESSION.encode(), SESSION.replace("1111", "9999").encode())
    way = Way(tmp_path)
    for _ in way.batches():
        pass

    def named(finished: bool, fixed: bool = False) -> str:
        return way.names(finished, fixed).place()[1]

    assert (named(finished=False), named(finished=True)) == ("name", "name")
    (tmp_path / "name.dead-letters.jsonl").write_text("")
    assert (named(finished=False), named(finished=True)) == ("name-2", "name")
    way_of_other = Way(tmp_path, other)
    (await way_of_other.through(way_of_other.sink())).rename(tmp_path / "name.transcript.jsonl")
    assert (named(finished=False), named(finished=True)) == ("name-2", "name-2")
    (tmp_path / "name-2.stream.jsonl").write_text("")
    assert (named(finished=False), named(finished=True)) == ("name-3", "name-3")
    assert named(finished=False, fixed=True) == "name"
    assert [way.names(*how).exclusive for how in ((False, False), (True, False), (False, True))] == [True, False, False]


async def test_a_file_that_was_asked_for_is_written_anew_whatever_stood_there(tmp_path: Path) -> None:
    named = tmp_path / "mine.jsonl"
    named.write_text("words\n" * 10_000)
    way = Way(tmp_path)
    assert await way.through(way.sink(named=named)) == named
    assert len(rows_of(named)) == len(READ_EDIT)


async def test_a_finished_session_writes_a_file_that_was_asked_for_anew_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_sink, "GATHER_BYTES", 1)
    named = tmp_path / "mine.jsonl"
    named.write_text("words\n")
    way = Way(tmp_path)
    sink = way.sink(finished=True, named=named)
    for batch in way.batches():
        await sink.write(batch)
        assert named.read_text() == "words\n"
    await sink.close(True)
    assert len(rows_of(named)) == len(READ_EDIT)
    assert list(tmp_path.iterdir()) == [named]


@pytest.mark.parametrize("finished", [False, True])
async def test_a_folder_in_the_place_that_was_asked_for_is_an_error_before_anything_is_written(
    tmp_path: Path, finished: bool
) -> None:
    named = tmp_path / "mine.jsonl"
    named.mkdir()
    way = Way(tmp_path)
    with pytest.raises(SinkError, match="mine"):
        for batch in way.batches():
            await way.sink(finished, named).write(batch)
    assert list(tmp_path.iterdir()) == [named]


async def test_a_run_that_is_cut_short_leaves_the_rows_that_were_complete(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = way.sink()
    for _, batch in zip(range(4), way.batches(), strict=False):
        await sink.write(batch)
    await sink.close(False)
    assert sink.path is not None
    assert len(rows_of(sink.path)) == 1
    empty = Way(tmp_path / "empty").sink()
    await empty.close(False)
    assert empty.path is None


async def test_a_folder_that_cannot_be_is_an_error_of_the_sink(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    way = Way(tmp_path / "file")
    with pytest.raises(SinkError, match="file"):
        await way.through(way.sink())


async def test_whose_transcript_a_file_is(tmp_path: Path) -> None:
    way = Way(tmp_path)
    path = await way.through(way.sink())
    assert is_of_session(path, SESSION)
    assert log_of(path, SESSION) == "log.jsonl"
    assert not is_of_session(path, "another")
    assert log_of(path, "another") == ""
    for data in (b"", b"words\n", b'{"source": 1}\n', b"\xff\n"):
        path.write_bytes(data)
        assert not is_of_session(path, SESSION)
        assert log_of(path, SESSION) == ""


async def test_the_case_line_appears_at_the_end_and_at_once(tmp_path: Path) -> None:
    way = Way(tmp_path)
    sink = DocumentSink(CaseDocument(way.observer, lambda: way.place()[2]), way.names(), way.about)
    for batch in way.batches():
        await sink.write(batch)
        assert not list(tmp_path.glob("[!.]*"))
    await sink.close(True)
    (path,) = tmp_path.iterdir()
    assert path.name == "name.case.jsonl"
    (case,) = rows_of(path)
    assert [call["tool"] for message in case["output"] for call in message.get("toolCalls", ())] == [
        name for name, _ in READ_EDIT
    ]


async def test_without_messages_there_is_no_file(tmp_path: Path) -> None:
    """Claiming the name left an empty file behind."""
    sink = Way(tmp_path).sink(finished=True)
    await sink.close(True)
    assert not list(tmp_path.iterdir())
    assert sink.path is None


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_read_back_it_tells_what_the_log_told(log: Path, tmp_path: Path) -> None:
    async def run() -> Report:
        return await StreamSession(FileSource(log), Settings(out=tmp_path)).run()

    result = anyio.run(run).result
    assert result is not None
    if result.outputs.transcript is None:
        return  # no message
    again = summarize(result.outputs.transcript)
    assert {name: again.tool_use_summary[name] for name in FIGURES} == {
        name: result.tool_use_summary[name] for name in FIGURES
    }
    assert (again.status, again.evidence.reason) == (result.status, result.evidence.reason)
    told = ("input", "cached", "reasoning")
    assert [again.tokens[name] for name in told] == [result.tokens[name] for name in told]
    assert (again.cost_usd, again.duration_ms) == (result.cost_usd, result.duration_ms)


@pytest.mark.parametrize(("whole", "status"), [(True, "complete"), (False, "incomplete")])
@pytest.mark.parametrize("shape", ["message", "atif"])
def test_read_back_a_call_without_a_result_does_not_change_the_end(
    tmp_path: Path, shape: Shape, whole: bool, status: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        b"".join(line for line in stream(READ_EDIT[:1], whole).splitlines(True) if b"tool_result" not in line)
    )

    async def run() -> Report:
        return await StreamSession(FileSource(log), Settings(out=tmp_path / "out", transcript_shape=shape)).run()

    result = anyio.run(run).result
    assert result is not None
    assert (result.status, result.tool_use_summary["by_outcome"]["unpaired"]) == (status, 1)
    path = result.outputs.trajectory if shape == "atif" else result.outputs.transcript
    assert isinstance(path, str)
    assert summarize(path).status == status


def test_a_pipe_with_the_name_of_a_transcript_is_of_no_session(tmp_path: Path) -> None:
    pipe = tmp_path / "a.transcript.jsonl"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b'{"source": {"session_id": "s"}}\n')
    try:
        assert not is_of_session(pipe, "s")
    finally:
        os.close(held)

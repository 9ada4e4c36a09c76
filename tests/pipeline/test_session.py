"""One stream as a session: what fails of it, what does not, and who may look on. `consume` has tests of its own."""

from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import pytest

from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import ToolCall
from agentv_stream.errors import EmptyInput, NotALog, SinkError, SourceError
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from support.consuming import SESSION as ON_DISK
from support.consuming import rows_of
from support.fake_agents import READ_EDIT, SESSION, stream

LOG = stream(READ_EDIT)


class Pieces:
    """A live input of these pieces, which fails at its end if it has an `error`."""

    name = "<pieces>"
    finished = False

    def __init__(self, pieces: Iterable[bytes], error: SourceError | None = None) -> None:
        self.pieces = list(pieces)
        self.error = error
        self.given = 0

    async def chunks(self) -> AsyncGenerator[Chunk]:
        for data in self.pieces:
            self.given += 1
            yield Chunk(data)
        if self.error is not None:
            raise self.error


class Failing:
    """A sink whose second batch fails."""

    def __init__(self, required: bool) -> None:
        self.name = "failing"
        self.required = required
        self.written = 0

    async def write(self, batch: Batch) -> None:
        self.written += 1
        if self.written == 2:
            raise SinkError("failing", OSError("no space"))

    async def close(self, whole: bool) -> None:
        self.written += 100


def lines() -> list[bytes]:
    return LOG.splitlines(keepends=True)


async def run(folder: Path, source: Pieces, *sinks: Failing) -> Report:
    return await StreamSession(source, Settings(out=folder), sinks).run()


async def test_the_report_holds_the_result_and_where_the_rows_are(tmp_path: Path) -> None:
    report = await run(tmp_path, Pieces(lines()))
    assert (report.failures, report.warnings) == ([], [])
    assert report.result is not None
    assert (report.result.status, report.result.session.id) == ("complete", SESSION)
    assert report.result.tool_use_summary["total_tool_calls"] == 3
    assert report.result.outputs.transcript is not None
    assert len(rows_of(Path(report.result.outputs.transcript))) == len(READ_EDIT)


@pytest.mark.parametrize("required", [True, False])
async def test_a_sink_that_fails_ends_neither_the_others_nor_the_reading(tmp_path: Path, required: bool) -> None:
    source = Pieces(lines())
    report = await run(tmp_path, source, Failing(required))
    assert source.given == len(lines())
    assert [type(error) for error in report.failures] == [SinkError] * required
    assert [("given up" in warning) for warning in report.warnings] == [True] * (not required)
    whole = await run(tmp_path / "whole", Pieces(lines()))
    assert report.result is not None and whole.result is not None
    assert report.result.tool_use_summary == whole.result.tool_use_summary
    assert len(rows_of(Path(str(report.result.outputs.transcript)))) == len(
        rows_of(Path(str(whole.result.outputs.transcript)))
    )


async def test_a_source_that_breaks_leaves_what_came_before(tmp_path: Path) -> None:
    report = await run(tmp_path, Pieces(lines()[:-1], SourceError("the cable")))
    assert [str(error) for error in report.failures] == ["the cable"]
    assert report.result is not None
    assert report.result.status == "incomplete"
    assert report.result.tool_use_summary["total_tool_calls"] == 3


@pytest.mark.parametrize(
    ("pieces", "error"),
    [([], EmptyInput), ([b"", b" \n\n"], EmptyInput), ([b"hello\n", b"world\n"], NotALog)],
    ids=["nothing", "blanks", "words"],
)
async def test_an_input_that_is_no_stream_is_in_the_report(
    tmp_path: Path, pieces: list[bytes], error: type[Exception]
) -> None:
    source = Pieces(pieces)
    report = await run(tmp_path, source)
    assert [type(failure) for failure in report.failures] == [error]
    assert (report.result, source.given) == (None, len(pieces))
    assert not list(tmp_path.rglob("*.transcript.jsonl"))


async def test_watchers_see_a_batch_before_any_sink_has_it(tmp_path: Path) -> None:
    seen: list[str] = []

    class Watcher:
        def observe(self, batch: Batch) -> None:
            seen.extend(f"seen {event.tool}" for event in batch.events if isinstance(event, ToolCall))

    class Sink:
        name = "told"
        required = True

        async def write(self, batch: Batch) -> None:
            seen.extend(f"told {event.tool}" for event in batch.events if isinstance(event, ToolCall))

        async def close(self, whole: bool) -> None:
            seen.append("closed" if whole else "cut")

    await StreamSession(Pieces(lines()), Settings(out=tmp_path), [Sink()], [Watcher()]).run()
    assert (len(seen), seen[-1]) == (7, "closed")
    assert all(seen.index(f"seen {tool}") < seen.index(f"told {tool}") for tool, _ in READ_EDIT)


async def test_a_bug_of_a_watcher_is_raised(tmp_path: Path) -> None:
    class Wrong:
        def observe(self, batch: Batch) -> None:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ExceptionGroup) as caught:
        await StreamSession(Pieces(lines()), Settings(out=tmp_path), watchers=[Wrong()]).run()
    assert caught.group_contains(ZeroDivisionError, match="a bug")


async def test_stop_works_off_what_has_come(tmp_path: Path) -> None:
    class Endless(Pieces):
        async def chunks(self) -> AsyncGenerator[Chunk]:
            for data in lines()[:-1]:
                yield Chunk(data)
            while session.observer is None or session.observer.stats.summary()["total_tool_calls"] < 3:
                yield Chunk(b"")
            session.stop()
            while True:
                yield Chunk(b"\n")

    session = StreamSession(Endless([]), Settings(out=tmp_path))
    report = await session.run()
    assert not session.cut_short
    assert report.result is not None
    assert report.result.tool_use_summary["total_tool_calls"] == 3


@pytest.mark.parametrize("subagents", [True, False])
async def test_files_of_sub_agents_are_read_behind_a_finished_log_only(tmp_path: Path, subagents: bool) -> None:
    settings = Settings(out=tmp_path, subagents=subagents)
    result = (await StreamSession(FileSource(ON_DISK), settings).run()).result
    assert result is not None
    streams = result.tool_use_summary["by_stream"]
    assert (len(streams) > 1) is subagents
    live = await run(tmp_path / "live", Pieces([ON_DISK.read_bytes()]))
    assert live.result is not None
    assert list(live.result.tool_use_summary["by_stream"]) == ["main"]


async def test_without_a_transcript_nothing_is_written(tmp_path: Path) -> None:
    report = await StreamSession(Pieces(lines()), Settings(out=tmp_path / "out"), transcript=False).run()
    assert report.result is not None
    assert report.result.outputs.transcript is None
    assert not (tmp_path / "out").exists()

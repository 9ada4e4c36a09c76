"""`open_stream`: a stream to iterate over, from any source, with own stages, sinks and watchers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, AssistantText, ToolCall, ToolResult
from agentv_stages.model.message import Message
from agentv_stream import EmptyInput, NotALog, Result, Settings, SinkError, SourceError, UsageError, open_stream
from support.consuming import STREAM

LOG = STREAM.read_bytes()


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        await anyio.lowlevel.checkpoint()
        yield data[at : at + size]


async def all_events(source: "str | Path | int | bytes | AsyncIterator[bytes]") -> list[AnyEvent]:
    async with open_stream(source) as stream:
        return [event async for event in stream.events()]


async def test_events_come_normalised_and_paired_from_any_source() -> None:
    events = await all_events(LOG)
    calls = [e for e in events if isinstance(e, ToolCall)]
    assert [c.tool for c in calls][:2] == ["Read", "Bash"]
    assert all(e.call is not None for e in events if isinstance(e, ToolResult))
    for source in (STREAM, str(STREAM), pieces(LOG, 700)):
        assert [type(e) for e in await all_events(source)] == [type(e) for e in events]


async def test_tee_writes_the_input_to_standard_output_unchanged(capfd: pytest.CaptureFixture[str]) -> None:
    async with open_stream(STREAM, settings=Settings(tee=True)) as stream:
        assert [message async for message in stream.messages()]
    assert capfd.readouterr().out.encode() == LOG


async def test_a_file_descriptor_is_a_source(tmp_path: Path) -> None:
    import os

    read, write = os.pipe()

    def fill() -> None:
        with os.fdopen(write, "wb") as file:
            file.write(LOG)

    events: list[AnyEvent] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, fill)
        events = await all_events(read)
    os.close(read)
    assert len([e for e in events if isinstance(e, ToolCall)]) == 9


async def test_messages_come_whole_and_statistics_are_live() -> None:
    counts: list[int] = []
    messages: list[Message] = []
    async with open_stream(pieces(LOG, 300)) as stream:
        assert stream.result is None
        assert stream.statistics["total_tool_calls"] == 0
        async for message in stream.messages():
            messages.append(message)
            counts.append(stream.statistics["total_tool_calls"])
    assert [m.index for m in sorted(messages, key=lambda m: m.index)] == list(range(len(messages)))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 9
    assert stream.result is not None
    assert stream.result.status == "complete"
    assert stream.result.tool_use_summary == stream.statistics


async def test_nothing_is_written_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await all_events(LOG)
    assert list(tmp_path.iterdir()) == []
    async with open_stream(LOG, out=tmp_path / "o") as stream:
        async for _ in stream.batches():
            pass
    (path,) = (tmp_path / "o").glob("*.transcript.jsonl")
    assert stream.result is not None
    assert stream.result.outputs.transcript == str(path)


async def test_leaving_early_reads_the_source_to_its_end() -> None:
    read = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal read
        async for piece in pieces(LOG * 10, 500):
            read += len(piece)
            yield piece

    async with open_stream(counted()) as stream:
        async for event in stream.events():
            if isinstance(event, ToolCall):
                break
    assert read == len(LOG) * 10
    assert stream.result is not None
    assert stream.result.records == LOG.count(b"\n") * 10


class Shout:
    """A stage of one's own: texts in capitals."""

    def push(self, batch: Batch, /) -> Iterable[Batch]:
        for message in batch.messages:
            message.content = [type(block)(bytes(block).upper()) for block in message.content]
        return (batch,)

    def flush(self) -> Iterable[Batch]:
        return ()


class Collect:
    """A sink of one's own."""

    name = "collect"
    required = False

    def __init__(self) -> None:
        self.events = 0
        self.closed: bool | None = None

    async def write(self, batch: Batch) -> None:
        self.events += len(batch.events)

    async def close(self, whole: bool) -> None:
        self.closed = whole


class Watch:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def observe(self, batch: Batch) -> None:
        self.texts += [e.text for e in batch.events if isinstance(e, AssistantText)]


async def test_own_stages_sinks_and_watchers_take_part() -> None:
    sink, watch = Collect(), Watch()
    async with open_stream(LOG, stages=[Shout()], sinks=[sink], watchers=[watch]) as stream:
        said = [bytes(block) for m in [m async for m in stream.messages()] for block in m.content]
    assert b'"DONE."' in said
    assert "Done." in watch.texts
    assert sink.closed is True
    assert stream.result is not None
    assert sink.events == stream.result.events


async def test_parts_may_come_from_a_generator() -> None:
    """They were checked, and then none was left."""
    sink, watch = Collect(), Watch()
    async with open_stream(
        LOG,
        stages=(stage for stage in (Shout(),)),
        sinks=(one for one in (sink,)),
        watchers=(one for one in (watch,)),
    ) as stream:
        said = [bytes(block) for m in [m async for m in stream.messages()] for block in m.content]
    assert b'"DONE."' in said
    assert sink.closed is True
    assert "Done." in watch.texts


async def test_an_own_stage_that_breaks_is_raised_as_it_is() -> None:
    class Broken(Shout):
        def push(self, batch: Batch, /) -> Iterable[Batch]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with open_stream(LOG, stages=[Broken()]) as stream:
            async for _ in stream.events():
                pass


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("error", [UsageError("no"), SourceError("no"), ConnectionRefusedError("no")])
def test_an_own_stage_may_raise_what_we_raise(error: Exception, live: bool, backend: str) -> None:
    class Broken(Shout):
        def push(self, batch: Batch, /) -> Iterable[Batch]:
            raise error

    async def main() -> None:
        source = pieces(LOG, 300) if live else LOG
        with pytest.raises(type(error), match=r"^no$"):
            async with open_stream(source, stages=[Shout(), Broken()]) as stream:
                async for _ in stream.events():
                    pass

    anyio.run(main, backend=backend)


async def test_what_the_block_raises_is_raised_as_it_is() -> None:
    with pytest.raises(LookupError):
        async with open_stream(LOG) as stream:
            async for _ in stream.events():
                raise LookupError


@pytest.mark.parametrize(("data", "error"), [(b"", EmptyInput), (b"plain words\n", NotALog)])
async def test_what_cannot_be_read_is_raised_when_the_block_ends(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        async with open_stream(data) as stream:
            async for _ in stream.events():
                pass


async def test_a_missing_file_and_a_wrong_provider_are_raised(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        async with open_stream(tmp_path / "missing"):
            pass
    with pytest.raises(UsageError):
        async with open_stream(LOG, provider="nobody"):
            pass


async def test_an_empty_piece_is_no_end() -> None:
    async def halting() -> AsyncIterator[bytes]:
        yield b""
        yield LOG[:1000]
        yield b""
        yield LOG[1000:]

    assert len(await all_events(halting())) == len(await all_events(LOG))


async def test_the_result_is_there_when_the_iteration_has_ended() -> None:
    async with open_stream(LOG) as stream:
        async for _ in stream.messages():
            pass
        assert stream.result is not None
        assert stream.result.status == "complete"


async def test_rows_of_an_iterator_are_written_as_they_come(tmp_path: Path) -> None:
    """Who hands over an agent's output may be killed: nothing is gathered, as it would be for a finished file."""
    rows = 0

    async def slowly() -> AsyncIterator[bytes]:
        nonlocal rows
        for line in LOG.splitlines(keepends=True):
            yield line
            await anyio.wait_all_tasks_blocked()
            rows = max(rows, *(p.read_bytes().count(b"\n") for p in tmp_path.glob("*.transcript.jsonl")), 0)
            if rows:
                break

    async with open_stream(slowly(), out=tmp_path) as stream:
        async for _ in stream.batches():
            pass
    assert rows > 0


@pytest.mark.parametrize(
    "error", [ConnectionResetError("reset by peer"), anyio.BrokenResourceError(), anyio.ClosedResourceError()]
)
async def test_an_iterator_that_breaks_off_is_a_source_that_cannot_be_read(error: Exception) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield LOG
        raise error

    events: list[AnyEvent] = []
    results: list[Result | None] = []
    with pytest.raises(SourceError, match="<memory>"):
        async with open_stream(broken()) as stream:
            async for event in stream.events():
                events.append(event)
            results.append(stream.result)
    assert len(events) == len(await all_events(LOG))
    assert results[0] is not None


async def test_a_descriptor_that_is_none_is_a_source_that_cannot_be_read() -> None:
    with pytest.raises(SourceError, match="descriptor"):
        await all_events(987_654)


async def test_bytes_of_any_kind_are_a_source() -> None:
    class Pieces:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return pieces(LOG, 5000)

    expected = len(await all_events(LOG))
    for source in (bytearray(LOG), memoryview(LOG), Pieces()):
        async with open_stream(source) as stream:
            assert len([event async for event in stream.events()]) == expected


@pytest.mark.parametrize("source", [None, True, 1.5, [b"x"], object()])
async def test_what_is_no_source_is_refused_with_what_would_be(source: object) -> None:
    with pytest.raises(TypeError, match=f"async iterable of bytes.* not {type(source).__name__}"):
        async with open_stream(source):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - the point
            pass


def test_the_output_of_an_asyncio_process_has_lines_of_any_length() -> None:
    """Its reader, iterated over, gives lines, and a ValueError for one of more than 64 KiB: nobody read on."""
    first, rest = LOG.split(b"\n", 1)
    long = b'{"type":"system","subtype":"note","session_id":"s","text":"' + b"x" * 200_000 + b'"}'

    async def main() -> None:
        code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join((first, long, rest)))
        process.stdin.close()
        async with open_stream(process.stdout) as stream:
            events = [event async for event in stream.events()]
        assert await process.wait() == 0
        assert len([event for event in events if isinstance(event, ToolCall)]) == 9

    asyncio.run(main())


async def test_text_instead_of_bytes_is_told() -> None:
    async def text() -> AsyncIterator[str]:
        yield LOG.decode()

    with pytest.raises(TypeError, match="gave str, not bytes"):
        async with open_stream(text()):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - the point
            pass


@pytest.mark.parametrize("live", [True, False])
async def test_a_watcher_that_breaks_is_raised_as_it_is(live: bool) -> None:
    class Broken:
        def observe(self, batch: Batch) -> None:
            raise ZeroDivisionError

    source = pieces(LOG, 300) if live else LOG
    with pytest.raises(ZeroDivisionError):
        async with open_stream(source, watchers=[Broken()]) as stream:
            async for _ in stream.events():
                pass


async def test_a_sink_whose_connection_fails_is_given_up() -> None:
    class Remote(Collect):
        name = "remote"

        async def write(self, batch: Batch) -> None:
            raise ConnectionRefusedError(111, "Connection refused")

    async with open_stream(LOG, sinks=[Remote()]) as stream:
        assert [event async for event in stream.events()]
    assert stream.report is not None
    assert stream.report.warnings == ["remote was given up: cannot write remote: Connection refused"]


async def test_a_required_sink_whose_connection_fails_fails_the_stream() -> None:
    class Remote(Collect):
        required = True

        async def close(self, whole: bool) -> None:
            raise TimeoutError

    with pytest.raises(SinkError, match="collect"):
        async with open_stream(LOG, sinks=[Remote()]) as stream:
            assert [event async for event in stream.events()]

"""`open_stream` used wrongly: each slip is told where it is made, and nothing is lost in silence."""

import asyncio
import gc
import random
import re
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stream import EmptyInput, LiveStream, Settings, SourceError, UsageError, open_stream, summarize
from support.consuming import STREAM

LOG = STREAM.read_bytes()
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@pytest.mark.parametrize("first", ["events", "messages", "batches"])
@pytest.mark.parametrize("second", ["events", "messages", "batches"])
async def test_a_second_iteration_is_refused(first: str, second: str) -> None:
    """It got what the first one had left: nothing, or of two at once each a part."""
    async with open_stream(LOG) as stream:
        items: AsyncIterator[object] = getattr(stream, first)()
        with pytest.raises(UsageError, match=rf"^{second}\(\) of a stream that {first}\(\) iterates already"):
            getattr(stream, second)()
        assert [item async for item in items]
        with pytest.raises(UsageError):
            stream.events()


async def test_an_iteration_goes_on_where_it_was_left() -> None:
    async with open_stream(LOG) as stream:
        events: AsyncIterator[AnyEvent] = stream.events()
        first = await anext(events)
        rest = [event async for event in events]
        assert [event async for event in events] == []
    async with open_stream(LOG) as stream:
        assert [event async for event in stream.events()] == [first, *rest]


async def test_behind_the_block_nothing_can_be_iterated() -> None:
    async with open_stream(LOG) as stream:
        pass
    with pytest.raises(UsageError, match="the block of this stream has ended"):
        async for _ in stream.messages():
            pass


async def _left_early(stream: LiveStream) -> None:
    async for _ in stream.events():
        break


async def _failed(stream: LiveStream) -> None:
    async for _ in stream.events():
        raise LookupError


class _Broken:
    def push(self, batch: Batch, /) -> tuple[Batch, ...]:
        raise LookupError

    def flush(self) -> tuple[Batch, ...]:
        return ()


@BACKENDS
@pytest.mark.parametrize(("body", "stages"), [(_left_early, ()), (_failed, ()), (_left_early, (_Broken(),))])
def test_who_leaves_early_gets_no_warning_of_the_loop(backend: str, body: Callable[..., Any], stages: Any) -> None:
    """Trio warned of our generators that it had closed: an error, where warnings are errors."""

    async def main() -> None:
        try:
            async with open_stream(LOG, stages=stages) as stream:
                await body(stream)
        except LookupError:
            pass
        gc.collect()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        anyio.run(main, backend=backend)
        gc.collect()
    assert [str(one.message) for one in told] == []


async def _stopped(stream: LiveStream) -> None:
    async for _ in stream.events():
        stream.stop()


@BACKENDS
@pytest.mark.parametrize("body", [_stopped, _failed])
def test_a_generator_that_is_not_read_to_its_end_is_closed(backend: str, body: Callable[..., Any]) -> None:
    """Who wrote it into the call cannot close it; trio warned of it, and of ours around it."""
    closed: list[bool] = []

    async def lines() -> AsyncIterator[bytes]:
        try:
            for line in LOG.splitlines(keepends=True):
                yield line
        finally:
            closed.append(True)

    async def main() -> None:
        try:
            async with open_stream(lines()) as stream:
                await body(stream)
        except LookupError:
            pass
        assert closed

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        anyio.run(main, backend=backend)
        gc.collect()
    assert [str(one.message) for one in told] == []


async def test_statistics_are_snapshots_that_cost_nothing_while_nothing_comes() -> None:
    async with open_stream(LOG) as stream:
        async for _ in stream.events():
            before = stream.statistics
            with pytest.raises(AttributeError, match="immutable"):
                before.total_tool_calls = -1  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - frozen
            assert stream.statistics["total_tool_calls"] >= 0
            assert stream.statistics["tool_sequence"] is before["tool_sequence"]  # not made anew
    assert stream.result is not None
    assert stream.statistics == stream.result.tool_use_summary


@BACKENDS
def test_a_source_that_never_ends_can_be_stopped(backend: str) -> None:
    """The block could only be cancelled, and then there was no result."""

    async def endless() -> AsyncIterator[bytes]:
        yield LOG[: LOG.rindex(b"\n", 0, len(LOG) // 2) + 1]
        await anyio.sleep_forever()

    async def main() -> None:
        taken = 0
        with anyio.fail_after(60):
            async with open_stream(endless()) as stream:
                async for batch in stream.batches():
                    taken += len(batch.records)
                    stream.stop()
                    stream.stop()
        assert stream.result is not None
        assert (stream.result.status, stream.result.records) == ("incomplete", taken)
        assert taken > 5

    anyio.run(main, backend=backend)


@BACKENDS
def test_what_was_read_before_the_stop_is_processed(backend: str) -> None:
    """The piece that waited for a place in a full channel was lost."""

    async def main(after: int) -> None:
        read = taken = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal read
            while True:
                for line in LOG.splitlines(keepends=True):
                    read += 1
                    yield line

        async with open_stream(endless()) as stream:
            async for batch in stream.batches():
                taken += len(batch.records)
                if taken >= after:
                    stream.stop()
                await anyio.sleep(0.001)
        assert stream.result is not None
        assert read == taken == stream.result.records

    for after in (1, 20, 30, 40):
        anyio.run(main, after, backend=backend)


async def test_who_asks_with_a_timeout_misses_nothing() -> None:
    """A batch that came in the instant in which asyncio cancelled the question was lost."""

    async def slowly(wait: random.Random) -> AsyncIterator[bytes]:
        for line in LOG.splitlines(keepends=True):
            await anyio.sleep(wait.random() / 1000)
            yield line

    for seed in range(20):
        wait, asked = random.Random(seed), 0
        async with open_stream(slowly(wait)) as stream:
            events = stream.events()
            while True:
                try:
                    await asyncio.wait_for(anext(events), wait.random() / 500)
                    asked += 1
                except TimeoutError:
                    continue
                except StopAsyncIteration:
                    break
        assert stream.result is not None
        assert asked == stream.result.events


@BACKENDS
@pytest.mark.parametrize("how", ["stopped", "cancelled"])
def test_a_file_that_was_about_to_be_opened_is_closed(backend: str, how: str) -> None:
    """A thread had opened it, and nobody was there to take it."""

    async def main() -> None:
        with anyio.CancelScope() as scope, pytest.raises(EmptyInput):
            async with open_stream(STREAM) as stream:
                await anyio.lowlevel.checkpoint()
                if how == "cancelled":
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
                stream.stop()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        anyio.run(main, backend=backend)
        gc.collect()


class _NoClose:
    name = "mine"
    required = False

    async def write(self, batch: Batch) -> None: ...


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sinks": [_NoClose()]}, "sinks: _NoClose has no close"),
        ({"sinks": [_NoClose]}, "sinks: _NoClose is a class; give an object of it"),
        ({"stages": [print]}, "stages: builtin_function_or_method has no push, no flush"),
        ({"watchers": [print]}, "watchers: builtin_function_or_method has no observe"),
        ({"settings": {"target": "x"}}, "settings: expected Settings, not dict"),
    ],
)
async def test_parts_that_are_none_are_refused_before_anything_is_read(given: dict[str, Any], told: str) -> None:
    """A sink without `close` was noticed at the end of the agent's run."""
    with pytest.raises(TypeError, match=f"^{told}$"):
        async with open_stream(LOG, **given):
            raise AssertionError("the block was entered")


@pytest.mark.parametrize("source", ["a\0b", LOG.decode(), LOG.decode().split("\n")[0], -1])
async def test_what_names_no_file_is_a_source_that_cannot_be_read(source: str | int) -> None:
    with pytest.raises(SourceError) as error:
        async with open_stream(source):
            pass
    assert len(str(error.value)) < 200  # it held the whole output
    if isinstance(source, str):
        with pytest.raises(SourceError):
            summarize(source)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("bound", -1, "0 or more"),
        ("max_record", 0, "1 or more"),
        ("attempt", -1, "0 or more"),
        ("bound", "3", "0 or more"),
        ("stream_log", "rwa", "one of false, summary, raw"),
        ("transcript_shape", "cases", "one of message, case, atif"),
        ("test_id", 17, "a text"),
        ("tee", "false", "True or False"),
        ("subagents", None, "True or False"),
    ],
)
def test_settings_that_do_not_fit_are_refused(field: str, value: Any, told: str) -> None:
    """A misspelt stream log was none, `"false"` was true, and a number as a test id an AttributeError."""
    given: dict[str, Any] = {field: value}
    with pytest.raises(UsageError, match=re.escape(f"Settings({field}={value!r}): expected {told}")):
        Settings(**given)


async def test_settings_that_name_a_place_have_the_transcript_written(tmp_path: Path) -> None:
    text: Any = str(tmp_path / "b")  # a text where a path is expected
    path: Any = tmp_path / "d.jsonl"  # and the other way round
    for settings in (
        Settings(out=tmp_path / "a"),
        Settings(out=text),
        Settings(transcript=str(tmp_path / "c.jsonl")),
        Settings(transcript=path),
    ):
        async with open_stream(LOG, settings=settings) as stream:
            pass
        assert stream.result is not None
        assert Path(stream.result.outputs.transcript or "").is_file()


@pytest.mark.parametrize("how", ["the log itself", "another log", "a link"])
async def test_no_transcript_replaces_a_log(tmp_path: Path, how: str) -> None:
    """Only the commands checked this; the library wrote its rows over what it read."""
    log, other, link = (tmp_path / name for name in ("log.jsonl", "other.jsonl", "link.jsonl"))
    log.write_bytes(LOG)
    other.write_bytes(LOG)
    link.symlink_to(log)
    place = {"the log itself": log, "another log": other, "a link": link}[how]
    with pytest.raises(UsageError, match=r"transcript .* is "):
        async with open_stream(log, settings=Settings(transcript=str(place))):
            raise AssertionError("the block was entered")
    assert log.read_bytes() == other.read_bytes() == LOG
    again = tmp_path / "transcript.jsonl"
    for _ in range(2):  # an earlier transcript may be replaced
        async with open_stream(log, settings=Settings(transcript=str(again))) as stream:
            pass
        assert stream.report is not None
        assert stream.report.warnings == []

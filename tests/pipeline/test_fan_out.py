"""One channel to many sinks: all get everything, one that fails hurts nobody else, each is closed once."""

from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel
import pytest
from anyio import wait_all_tasks_blocked
from anyio.streams.memory import MemoryObjectReceiveStream

from agentv_stages.model.batch import Batch
from agentv_stream.errors import SinkError
from agentv_stream.live.fan_out import fan_out, write_in_turn
from agentv_stream.outputs.sink import Sink


class Kept:
    """Keeps what it gets; fails at the batch of that number, or when it is closed (-1)."""

    required = True

    def __init__(self, name: str, fails_at: int | None = None) -> None:
        self.name = name
        self.fails_at = fails_at
        self.got: list[str] = []
        self.closed: list[bool] = []

    async def write(self, batch: Batch) -> None:
        if len(self.got) == self.fails_at:
            raise SinkError(self.name, OSError(28, "No space left on device"))
        self.got.append(batch.file)

    async def close(self, whole: bool) -> None:
        self.closed.append(whole)
        if self.fails_at == -1:
            raise SinkError(self.name, OSError(5, "Input/output error"))


class Slow(Kept):
    """Takes nothing until it is let go."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.go = anyio.Event()

    async def write(self, batch: Batch) -> None:
        await self.go.wait()
        await super().write(batch)


NAMES = [f"b{i}" for i in range(20)]
WAYS = pytest.mark.parametrize("in_turn", [False, True], ids=["at once", "in turn"])


async def feed(
    in_turn: bool,
    receive: MemoryObjectReceiveStream[Batch],
    sinks: Sequence[Sink],
    failed: Callable[[Sink, SinkError], None],
) -> None:
    if in_turn:
        await write_in_turn(receive, sinks, failed)
    else:
        await fan_out(receive, sinks, 2, failed)


async def run(in_turn: bool, *sinks: Sink) -> list[tuple[str, str]]:
    failures: list[tuple[str, str]] = []

    def failed(sink: Sink, error: SinkError) -> None:
        failures.append((sink.name, str(error)))

    send, receive = anyio.create_memory_object_stream[Batch](2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed, in_turn, receive, sinks, failed)
        with send:
            for name in NAMES:
                await send.send(Batch(name))
    return failures


@WAYS
async def test_every_sink_gets_every_batch_in_order_and_is_closed_once(in_turn: bool) -> None:
    sinks = [Kept("a"), Kept("b"), Kept("c")]
    assert await run(in_turn, *sinks) == []
    assert [sink.got for sink in sinks] == [NAMES] * 3
    assert [sink.closed for sink in sinks] == [[True]] * 3


@pytest.mark.parametrize("at", [0, 7, 19])
@WAYS
def test_a_sink_that_fails_is_told_once_and_the_others_go_on(in_turn: bool, at: int) -> None:
    bad, good = Kept("bad", at), Kept("good")
    failures = anyio.run(run, in_turn, bad, good)
    assert failures == [("bad", "cannot write bad: No space left on device")]
    assert good.got == NAMES
    assert bad.got == NAMES[:at]
    assert (bad.closed, good.closed) == ([False], [True])


@WAYS
async def test_a_failure_at_the_end_is_told_too(in_turn: bool) -> None:
    assert await run(in_turn, Kept("late", -1), Kept("good")) == [("late", "cannot write late: Input/output error")]


@WAYS
async def test_a_sink_that_fails_twice_is_told_once(in_turn: bool) -> None:
    class Twice(Kept):
        async def close(self, whole: bool) -> None:
            raise SinkError("again", OSError(5, "x"))

    assert await run(in_turn, Twice("bad", 3)) == [("bad", "cannot write bad: No space left on device")]


@WAYS
async def test_a_slow_sink_holds_the_reader_back(in_turn: bool) -> None:
    slow, quick = Slow("slow"), Kept("quick")
    send, receive = anyio.create_memory_object_stream[Batch](2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed, in_turn, receive, [slow, quick], never)
        with send:
            sent = 0
            with anyio.CancelScope() as scope:
                tasks.start_soon(_cancel_when_blocked, scope)
                for name in NAMES:
                    await send.send(Batch(name))
                    sent += 1
            assert sent < len(NAMES)
            assert len(quick.got) < len(NAMES)
            slow.go.set()
            for name in NAMES[sent:]:
                await send.send(Batch(name))
    assert slow.got == quick.got == NAMES


def never(sink: Sink, error: SinkError) -> None:
    raise AssertionError(error)


async def _cancel_when_blocked(scope: anyio.CancelScope) -> None:
    await wait_all_tasks_blocked()
    scope.cancel()


@WAYS
async def test_a_bug_of_a_sink_is_raised_and_all_are_closed(in_turn: bool) -> None:
    class Broken(Kept):
        async def write(self, batch: Batch) -> None:
            raise ZeroDivisionError

    broken, good = Broken("broken"), Kept("good")
    with pytest.raises(ExceptionGroup) as caught:
        await run(in_turn, broken, good)
    assert caught.group_contains(ZeroDivisionError)
    assert (broken.closed, len(good.closed)) == ([False], 1)


@WAYS
async def test_a_sink_closes_to_the_end_when_all_is_cancelled(in_turn: bool) -> None:
    class Closing(Kept):
        async def close(self, whole: bool) -> None:
            await anyio.lowlevel.checkpoint()
            await super().close(whole)

    sink = Closing("a")
    send, receive = anyio.create_memory_object_stream[Batch](2)
    with anyio.CancelScope() as scope, send:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_blocked, scope)
            await send.send(Batch("b0"))
            await feed(in_turn, receive, [sink], never)
    assert (sink.got, sink.closed) == (["b0"], [False])


@WAYS
async def test_without_sinks_the_channel_is_emptied(in_turn: bool) -> None:
    assert await run(in_turn) == []

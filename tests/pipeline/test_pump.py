"""A stage as a task between two bounded channels: order, back-pressure, the end, and who is told of a failure."""

from collections.abc import Iterable

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.streams.memory import MemoryObjectSendStream

from agentv_stream.live.pump import hand_on, items_of, pump


class Echo:
    """Gives each item twice, and one more at the flush."""

    def __init__(self) -> None:
        self.seen = 0

    def push(self, item: int, /) -> Iterable[int]:
        self.seen += 1
        return (item, item)

    def flush(self) -> Iterable[int]:
        return (-1,)


async def test_a_pumped_stage_gives_what_it_gives_by_hand() -> None:
    send, receive = anyio.create_memory_object_stream[int](1)
    out, got = anyio.create_memory_object_stream[int](1)
    seen: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pump, Echo(), receive, out)
        tasks.start_soon(_send_all, send, list(range(50)))
        with got:
            async for item in items_of(got):
                seen.append(item)
    assert seen == [*(i for i in range(50) for _ in range(2)), -1]


async def _send_all(send: MemoryObjectSendStream[int], items: list[int]) -> None:
    with send:
        for item in items:
            await hand_on(send, item)


async def test_a_slow_reader_holds_the_stage_back() -> None:
    send, receive = anyio.create_memory_object_stream[int](1000)
    out, got = anyio.create_memory_object_stream[int](2)
    stage = Echo()
    for i in range(100):
        send.send_nowait(i)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pump, stage, receive, out)
        await wait_all_tasks_blocked()
        assert stage.seen <= 2  # two items fill the channel of two with the first one's pair and half the second's
        send.close()
        with got:
            assert [item async for item in items_of(got)][-1] == -1
    assert stage.seen == 100


async def test_a_reader_that_has_gone_ends_the_stage_and_its_input() -> None:
    send, receive = anyio.create_memory_object_stream[int](10)
    out, got = anyio.create_memory_object_stream[int](0)
    got.close()
    send.send_nowait(1)
    with pytest.raises(anyio.BrokenResourceError):
        await pump(Echo(), receive, out)
    with send, pytest.raises(anyio.BrokenResourceError):
        await send.send(2)


async def test_a_bug_of_a_stage_is_raised_and_the_next_task_sees_an_end() -> None:
    class Broken(Echo):
        def push(self, item: int, /) -> Iterable[int]:
            raise ZeroDivisionError

    send, receive = anyio.create_memory_object_stream[int](10)
    out, got = anyio.create_memory_object_stream[int](10)
    send.send_nowait(1)
    with send, pytest.raises(ZeroDivisionError):
        await pump(Broken(), receive, out)
    with got:
        assert [item async for item in items_of(got)] == []


async def test_an_input_that_never_had_an_item_is_flushed_all_the_same() -> None:
    send, receive = anyio.create_memory_object_stream[int](1)
    out, got = anyio.create_memory_object_stream[int](1)
    send.close()
    await pump(Echo(), receive, out)
    with got:
        assert [item async for item in items_of(got)] == [-1]


async def test_handing_on_waits_only_where_there_is_no_room() -> None:
    send, receive = anyio.create_memory_object_stream[int](1)
    with send, receive:
        await hand_on(send, 1)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await hand_on(send, 2)
        assert scope.cancelled_caught
        assert receive.receive_nowait() == 1

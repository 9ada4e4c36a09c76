"""Runs a stage as a task between two bounded channels.

A channel has no room of its own by default: a batch is handed over when the next stage asks for one. If the other end
already waits, a channel is used without a switch to the event loop: with ten tasks in a row the switches cost
more than the work (on 100 MB: 1.3 s of processor time with them, see docs/performance.md).
"""

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agentv_stages.model.stage import Stage

In = TypeVar("In")
Out = TypeVar("Out")
Item = TypeVar("Item")


async def pump(
    stage: Stage[In, Out], receive: MemoryObjectReceiveStream[In], send: MemoryObjectSendStream[Out]
) -> None:
    """Feeds `stage` from `receive` until it ends, then flushes the stage; sends its output to `send` and closes it.

    Raises: anyio.BrokenResourceError when the next task has ended; whatever the stage raises.
    """
    with receive, send:
        async for item in items_of(receive):
            for out in stage.push(item):
                await hand_on(send, out)
        for out in stage.flush():
            await hand_on(send, out)


async def hand_on(send: MemoryObjectSendStream[Item], item: Item) -> None:
    """Sends an item; waits only if the channel is full.

    Raises: anyio.BrokenResourceError when there is no receiver any more.
    """
    try:
        send.send_nowait(item)
    except anyio.WouldBlock:
        await send.send(item)
    except anyio.BrokenResourceError:
        await anyio.lowlevel.checkpoint_if_cancelled()  # the receiver was cancelled, and so are we: nothing has failed
        raise


def items_of(receive: MemoryObjectReceiveStream[Item]) -> AsyncIterator[Item]:
    """The items of a channel until it ends; waits only if it is empty."""
    return _Items(receive)


class _Items(Generic[Item]):
    """See `items_of`. Not a generator: trio warns about a generator that a failing task leaves."""

    def __init__(self, receive: MemoryObjectReceiveStream[Item]) -> None:
        self._receive = receive

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        try:
            return self._receive.receive_nowait()
        except anyio.WouldBlock:
            try:
                return await self._receive.receive()
            except anyio.EndOfStream:
                raise StopAsyncIteration from None
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

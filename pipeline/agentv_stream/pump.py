"""Runs a stage as a task between two bounded channels."""

from typing import Any, TypeVar

from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agentv_stages.stage import Stage

In = TypeVar("In")
Out = TypeVar("Out")


async def pump(
    stage: Stage[In, Out], receive: MemoryObjectReceiveStream[In], send: MemoryObjectSendStream[Out]
) -> None:
    """Feeds `stage` from `receive` until that ends, then flushes it; what it gives goes to `send`, which is closed.

    Raises: anyio.BrokenResourceError when the next task has gone; whatever the stage raises.
    """
    with receive, send:
        async for item in receive:
            for out in stage.push(item):
                await send.send(out)
        for out in stage.flush():
            await send.send(out)


Channel = tuple[MemoryObjectSendStream[Any], MemoryObjectReceiveStream[Any]]

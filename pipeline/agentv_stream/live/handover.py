"""Items from a task of ours to a caller, whom asyncio itself may cancel while it waits (`asyncio.wait_for`)."""

from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

from agentv_stream.errors import UsageError
from agentv_stream.live.pump import hand_on

Item = TypeVar("Item")


class Handover(Generic[Item]):
    """A channel from which a cancelled caller loses nothing, to be used under `with`. `room` items may wait in it.

    A bare channel's `receive` loses its item if asyncio cancels it just after a sender has handed it over.
    """

    def __init__(self, room: int = 1) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[Item](max(room, 1))  # without room, none waits
        self._news = anyio.Event()

    def __enter__(self) -> "Handover[Item]":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()
        self.leave()

    async def put(self, item: Item) -> bool:
        """Waits until there is room; returns False if the caller has left."""
        try:
            await hand_on(self._send, item)
        except anyio.BrokenResourceError:
            return False
        self._wake()
        return True

    def end(self) -> None:
        """Nothing more will come."""
        self._send.close()
        self._wake()

    async def take(self) -> Item | None:
        """Waits for the next item; None at the end. Raises: UsageError if the caller had left."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                return self._receive.receive_nowait()
            except anyio.WouldBlock:
                await self._news.wait()
            except anyio.EndOfStream:
                return None
            except anyio.ClosedResourceError:
                raise UsageError("the block of this stream has ended: iterate inside it") from None

    def leave(self) -> Item | None:
        """The caller takes nothing more. Returns an item that waits for it, if there is one."""
        left = None
        with suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            left = self._receive.receive_nowait()
        self._receive.close()
        return left

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()

"""Sends what waits in a spool, beside a follower, for as long as that runs. An endpoint that is away is tried again."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.to_thread import run_sync

from agentv_stream.otel.sender import MOST_BYTES, NotTaken, Sender
from agentv_stream.otel.spool import Spool

POLL_SECONDS = 0.5  # between looks at the spool
AWAY_SECONDS = 30.0  # after an endpoint was given up, until it is tried again

Report = Callable[..., None]


class Forwarder:
    """`run` is a task beside the follower; `finish` ends it. `report` reports to the service's log."""

    def __init__(
        self, spool: Spool, sender: Sender, report: Report, wait: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._spool, self._sender, self._report, self._wait = spool, sender, report, wait
        self._ending = False
        self._ended = anyio.Event()
        self._scope = anyio.CancelScope()
        self._trouble = ""
        self._dropped = 0
        self._noted: list[str] = []

    async def run(self) -> None:
        """Sends until `finish` was called and everything is sent."""
        try:
            with self._scope:
                async with self._sender:
                    while await self._send():
                        pass
        finally:
            self._ended.set()

    async def _send(self) -> bool:
        """Sends the oldest lines; returns whether there will be more."""
        spool = self._spool
        lines, position = await run_sync(spool.read, MOST_BYTES)
        if spool.dropped > self._dropped:
            self._dropped = spool.dropped
            self._report("spans were dropped: more of them wait than the cap allows", dropped_bytes=spool.dropped)
        if not lines:
            if self._ending:
                return False
            await self._wait(POLL_SECONDS)
            return True
        try:
            await self._sender.send(lines)
        except NotTaken as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                self._report("spans are kept on disk until the endpoint takes them", error=self._trouble)
            await self._wait(AWAY_SECONDS)
            return True
        if self._trouble:
            self._trouble = ""
            self._report("the endpoint takes spans again")
        for note in self._sender.sent.notes():
            if note not in self._noted:
                self._noted = [note]
                self._report(note)
        await run_sync(spool.sent, position)
        return True

    def stop(self) -> None:
        """Nothing more is appended: `run` ends when all was sent."""
        self._ending = True

    async def finish(self) -> None:
        """The follower has ended: sends the rest, no longer than the endpoint's timeout."""
        self.stop()
        with anyio.move_on_after(self._sender.endpoint.timeout):
            await self._ended.wait()
        self._scope.cancel()
        left = await run_sync(lambda: self._spool.waiting)
        if left:
            self._report("spans wait on disk for the next run", bytes=left)

"""Ends an agent on timeout, silence, a verdict or a signal, and makes sure that everything it printed is read."""

import signal
import sys

import anyio

from agentv_stream.errors import UsageError
from agentv_stream.live.live_line import LiveLine
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.running.child import POLL_SECONDS, Child, Stopped
from agentv_stream.running.options import RunOptions

LONGEST_DRAIN = 20  # times `linger`: how long output of unreachable processes is read after the agent has ended


class Overseer:
    """Runs child and session concurrently, and ends the child on timeout, silence, a verdict or a signal."""

    def __init__(self, child: Child, session: StreamSession, options: RunOptions) -> None:
        self.child = child
        self.session = session
        self.options = options
        self.signalled: int | None = None
        self.line = LiveLine(session, sys.stderr) if session.settings.live else None
        self._ending = anyio.Event()
        self._interrupted = anyio.Event()
        self._done = anyio.Event()

    def end_it(self, why: Stopped) -> None:
        """Requests the end; the first reason is kept.

        An agent that has ended by itself is not judged by what its children still do: they are ended after `linger`.
        """
        if why != "signal" and self.child.ended:
            return
        if self.child.end.stopped is None and not self._done.is_set():
            self.child.end.stopped = why
            self._ending.set()

    async def run(self) -> Report:
        child = self.child
        report = Report()
        # Started before the tasks, so that the error of a command that cannot be started is not wrapped in a group.
        try:
            await child.start(self.options.environment)
        except UsageError:
            child.drop_empty_files()
            raise
        if self.signalled is not None and child.end.stopped is None:
            child.send(self.signalled)  # Ctrl-C came while it was being started
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_end)
            tasks.start_soon(self._watch_exit)
            tasks.start_soon(self._watch_patience)
            if self.line is not None:
                tasks.start_soon(self.line.run)
            if self.options.timeout is not None:
                tasks.start_soon(self._watch_time, self.options.timeout)
            if self.options.stall is not None:
                tasks.start_soon(self._watch_silence, self.options.stall)
            try:
                report = await self.session.run()
                with anyio.move_on_after(self.options.linger) as patience:
                    await child.wait()
                if patience.cancelled_caught:
                    # It closed its output but still runs: no more output can come.
                    child.end.stopped = child.end.stopped or "closed"
                    await child.terminate(self.options.grace)
                    await child.wait()
            finally:
                self._done.set()
                # Processes that the agent left running are also ended: a server would disturb the next attempt.
                end = child.end
                end.left_running = not (child.running or end.stopped or end.left_open) and child.group_left()
                await child.terminate(self.options.grace)
                with anyio.CancelScope(shield=True):
                    await child.wait()
                child.close()
            tasks.cancel_scope.cancel()
        return report

    async def _watch_end(self) -> None:
        await self._ending.wait()
        await self.child.terminate(self.options.grace)
        await self._drain()

    async def _watch_exit(self) -> None:
        await self.child.wait()
        with anyio.move_on_after(self.options.linger):
            await self.child.eof.wait()
            return
        if self.child.end.stopped is None:
            self.child.end.left_open = True
            await self.child.terminate(self.options.grace)
            await self._drain()

    async def _drain(self) -> None:
        """Lets the rest of the pipe be read; if an unreachable process holds it open, only until it is silent."""
        linger = self.options.linger
        with anyio.move_on_after(LONGEST_DRAIN * linger):
            while True:
                with anyio.move_on_after(linger):
                    await self.child.eof.wait()
                    return
                since = self.child.silent_since
                if since is not None and anyio.current_time() - since >= linger:
                    break
        self.child.end.left_open = True
        self.session.stop()

    async def _watch_time(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self.end_it("timeout")

    async def _watch_silence(self, seconds: float) -> None:
        while True:
            since = self.child.silent_since
            now = anyio.current_time()
            if since is not None and now - since >= seconds:
                await anyio.sleep(POLL_SECONDS)  # if we were stopped (Ctrl-Z): its output is read first
                if self.child.silent_since != since:
                    continue
                self.end_it("stall")
                return
            await anyio.sleep(seconds if since is None else max(0.001, since + seconds - now))

    def interrupt(self, number: int) -> None:
        """Forwards a signal to the group; a second one, and any SIGTERM or SIGHUP, ends it for certain."""
        if self._done.is_set():
            return  # the agent has ended; only its outputs remain to be written
        first = self.signalled is None
        self.signalled = number
        if self.child.started.is_set() and (number != signal.SIGTERM or self.child.end.stopped is not None):
            self.child.send(number)  # SIGTERM is what `terminate` sends: an agent may take a second one for impatience
        self._interrupted.set()
        if number != signal.SIGINT or not first:
            self.end_it("signal")

    async def _watch_patience(self) -> None:
        await self._interrupted.wait()
        await anyio.sleep(self.options.patience)
        self.end_it("signal")

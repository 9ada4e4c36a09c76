"""Runs a follower as a service: rounds in a thread; beside them signals, file watching and metrics.

Polling is authoritative. watchfiles, if installed, only wakes the poller earlier; if it fails that is reported, and
polling continues alone.
"""

import os
import signal
import time
from typing import Any

import anyio
import anyio.to_thread

from agentv_stream.discovery.places import LOG_SUFFIXES
from agentv_stream.errors import AgentvStreamError
from agentv_stream.following.running import Rounds, Running
from agentv_stream.following.service_log import Say
from agentv_stream.live.exception_groups import leaves

POLL_SECONDS = 0.2  # between checks of files that grew recently
SCAN_SECONDS = 2.0  # minimum between checks of all files; longer if a scan takes long
SCAN_SHARE = 50
KEEP_SECONDS = 5.0  # minimum between checks of what --keep limits; longer if that takes long
SLICE_SECONDS = 0.02  # of a scan, between checks of files that grew recently
LAST_SECONDS = 5.0  # for the reader of standard output, once we are to stop


async def tail(follower: Rounds, running: Running, say: Say) -> None:
    """Follows until stopped, idle, or with `once` caught up.

    Raises: CursorError, UsageError before reading anything.
    """
    try:
        await _tail(follower, running, say)
    except BaseExceptionGroup as errors:  # a task's failure is wrapped in a group
        error = leaves(errors)[0]
        if isinstance(error, AgentvStreamError):
            raise error from None
        raise


async def _tail(follower: Rounds, running: Running, say: Say) -> None:
    running.last_round = time.monotonic()
    await anyio.to_thread.run_sync(follower.begin)
    stop, wake, over = anyio.Event(), Wake(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        await tasks.start(_signals, follower, running, stop, wake, say)
        if running.serve is not None:
            await tasks.start(running.serve)
        forwarder = running.forwarder() if running.forwarder is not None else None
        if forwarder is not None:
            tasks.start_soon(forwarder.run)
        if not running.once:
            tasks.start_soon(watch, follower, running, wake, say, over)
        try:
            await rounds(follower, running, stop, wake)
            await finish(follower, running, stop)
            if stop.is_set():
                say("stopped", records=follower.counts.records, bytes=follower.counts.bytes)
        except BrokenPipeError:
            running.broken_pipe = True
            if running.output is not None and running.output.given_up:
                say("standard output is not read; the next run writes what it did not take")
        finally:
            if forwarder is not None:
                await forwarder.finish()
            over.set()  # the watcher's thread checks nothing else for up to five seconds
        tasks.cancel_scope.cancel()


class Wake:
    """An event that can be set and awaited repeatedly."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self.paths: set[str] = set()  # changed paths, as far as the watcher knows

    def set(self) -> None:
        """Ends the current wait, or else the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Waits at most `seconds`; whether the event was set, also before the call."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        woken = self._event.is_set()
        self._event = anyio.Event()
        return woken


async def rounds(follower: Rounds, running: Running, stop: anyio.Event, wake: Wake) -> None:
    """Runs the follower's rounds in a thread, one after the other, until `stop`, idle, or with `once` caught up.

    Files that grew recently are checked in every round. All files are listed in slices, one before each round, and
    checked in the round after the last slice. Raises: BrokenPipeError when no reader takes the events.
    """
    next_scan = next_keep = 0.0
    spent = 0.0  # seconds taken by the slices of the current listing
    listed, behind = False, True  # whether all files were ever checked; whether catching up was not reported yet
    while not stop.is_set():
        begun = time.monotonic()
        scan = begun >= next_scan or running.once
        listing = 0.0
        if scan and not running.once:
            done, took = await anyio.to_thread.run_sync(_slice, follower)
            spent += took
            scan, listing = done, spent
        begun = time.monotonic()
        read = await anyio.to_thread.run_sync(follower.round, scan)
        running.last_round = time.monotonic()
        running.notify.alive()
        if listing and not scan:
            continue
        if scan:
            running.scan_seconds, spent = listing + running.last_round - begun, 0.0
            next_scan = begun + max(SCAN_SECONDS, 0 if read else running.scan_seconds * SCAN_SHARE)
            if running.keep is not None and (running.once or begun >= next_keep):
                looked = time.monotonic()
                await anyio.to_thread.run_sync(running.keep)
                next_keep = looked + max(KEEP_SECONDS, (time.monotonic() - looked) * SCAN_SHARE)
        listed = listed or scan
        if follower.backlog:
            continue
        if running.feed is not None and listed and not running.once:
            await anyio.to_thread.run_sync(running.feed.look)
        if behind and listed and not running.once:
            behind = False
            follower.caught_up()
        if running.once and not read:
            return
        if running.until_idle is not None and running.last_round - follower.last_growth >= running.until_idle:
            return
        if running.once:
            continue
        soon = running.last_round + 0.05 + 10 * running.scan_seconds
        if follower.new_sessions:
            next_scan = min(next_scan, soon)
        pause = min(POLL_SECONDS, follower.delay(), max(0.0, next_scan - time.monotonic()))
        if await wake.wait(pause):
            paths, wake.paths = wake.paths, set()
            new = False
            for path in paths:
                if path in follower.entries:
                    follower.warm[path] = time.monotonic()
                else:
                    new = new or path.endswith((*LOG_SUFFIXES, ".zst", ".gz"))
            if new:
                next_scan = min(next_scan, soon)


async def finish(follower: Rounds, running: Running, stop: anyio.Event) -> None:
    """Puts everything to rest after the last round. Raises: as `rounds`."""
    await anyio.to_thread.run_sync(follower.finish, running.once)
    if running.once and not stop.is_set():  # not sooner: sessions that are one document are known only now
        follower.caught_up()
    if running.feed is not None:
        await anyio.to_thread.run_sync(running.feed.finish)


def _slice(follower: Rounds) -> tuple[bool, float]:
    """Runs a slice of a scan; returns whether it was the last one, and the seconds that it took."""
    begun = time.monotonic()
    done = follower.look_around(SLICE_SECONDS)
    return done, time.monotonic() - begun


async def _signals(
    follower: Rounds,
    running: Running,
    stop: anyio.Event,
    wake: Wake,
    say: Say,
    *,
    task_status: anyio.abc.TaskStatus[None],
) -> None:
    """The first signal ends the round after the session that is being read.

    After a second one the reader of standard output is not waited for either.
    """
    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` sets it
        ends.append(signal.SIGHUP)
    with anyio.open_signal_receiver(*ends) as received:
        task_status.started()
        async for number in received:
            running.notify.stopping()
            say("stopping", signal=signal.Signals(number).name)
            if running.output is not None:
                running.output.end(0.0 if stop.is_set() else LAST_SECONDS)
            follower.stopping = True
            stop.set()
            wake.set()


async def watch(follower: Rounds, running: Running, wake: Wake, say: Say, over: anyio.Event) -> None:
    """Wakes the poller when something happens below the roots, at most ten times a second, until it is `over`."""
    try:
        import watchfiles
    except ImportError:
        return
    folders = sorted({root.path for root in follower.plan.roots if os.path.isdir(root.path)})  # noqa: PTH112
    folders += sorted({os.path.dirname(path) for path in follower.plan.paths})  # noqa: PTH120
    if not folders:
        return
    running.watching = "watchfiles"
    try:
        watching: Any = watchfiles.awatch  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - incomplete stubs
        changed = watching(*folders, debounce=100, step=20, ignore_permission_denied=True, stop_event=over)
        async for changes in changed:
            wake.paths.update(path for _, path in changes)
            wake.set()
    except* (OSError, RuntimeError, UnicodeError) as errors:  # no inotify watches left, or a file system without them
        error = leaves(errors)[0]
        running.watching = f"degraded: {error}"
        say("watching failed, polling continues", error=str(error))

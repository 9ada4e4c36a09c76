"""Growing logs, from Python: the batches of many sessions as they arrive, in one stream.

The follower works in a thread, as in `tail`, and waits until the caller has processed the delivered items: nothing
piles up, and a cursor never passes an item that the caller has not finished with.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Generic, Literal, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from agentv_stages.figures.result import Result
from agentv_stages.figures.summary import ToolUseSummary, typed
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.message import Message
from agentv_stages.session.chain import SessionChain
from agentv_stages.session.parts import MakeStage, Parts
from agentv_stream.discovery.places import expanded, find_roots, is_database
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.running import Running
from agentv_stream.following.service_log import Say
from agentv_stream.following.tail import Wake, finish, rounds, watch
from agentv_stream.live.exception_groups import alone
from agentv_stream.live.handover import Handover
from agentv_stream.names import named_provider
from agentv_stream.redaction.redaction import Redaction, redactor_by
from agentv_stream.sources.files import absolute, is_folder, is_there
from agentv_stream.stores.store import split_stored

Part = TypeVar("Part")


class FollowedSession:
    """The session that an item belongs to. It may be used until the next item is requested."""

    def __init__(self, followed: Followed) -> None:
        self._followed = followed

    @property
    def path(self) -> str:
        """Its main log, which identifies the session."""
        return self._followed.main

    @property
    def id(self) -> str | None:
        """The agent's own session id; None until its log has one."""
        return self._followed.native_id

    @property
    def provider(self) -> str:
        """The agent's name (`claude`)."""
        return self._chain.provider.name

    @property
    def dialect(self) -> str:
        """The format of its log (`claude-session`)."""
        return self._chain.dialect.name

    @property
    def statistics(self) -> ToolUseSummary:
        """The `tool_use_summary` so far (docs/metrics.md); built on each access."""
        return typed(self._chain.observer.stats.summary())

    def result(self) -> Result:
        """The result that the session would have if it ended here; made on each call, in time proportional to it.

        It is that of `summarize` for the same records. A last line that may not be whole yet is left out.
        """
        chain = self._chain
        if not chain.ended:  # some formats record only at the end of the log how the session ended
            chain = chain.fork()
            chain.flush()
        return chain.observer.result(chain.pair.left)

    @property
    def _chain(self) -> SessionChain:
        assert self._followed.reached is not None  # its first batch was delivered
        return self._followed.reached


@dataclass
class _Item:
    session: FollowedSession
    batch: Batch
    done: anyio.Event
    worked_off: bool = False

    def end(self, worked_off: bool) -> None:
        """Lets the follower continue, or reports that the caller has left."""
        if not self.done.is_set():
            self.worked_off = worked_off
            self.done.set()


class _Iteration(Generic[Part]):
    """Parts of batches, each with its session. Not a generator: trio warns about a generator whose loop has left."""

    def __init__(self, stream: "FollowStream", pick: Callable[[Batch], Sequence[Part]]) -> None:
        self._stream = stream
        self._pick = pick
        self._parts: Iterator[Part] = iter(())

    def __aiter__(self) -> AsyncIterator[tuple[FollowedSession, Part]]:
        return self

    async def __anext__(self) -> tuple[FollowedSession, Part]:
        stream = self._stream
        while True:
            if stream.item is not None:
                for part in self._parts:
                    return stream.item.session, part
            await stream.go_on()
            if stream.item is None:
                raise StopAsyncIteration
            self._parts = iter(self._pick(stream.item.batch))


class FollowStream:
    """The followed sessions. Iterate over one of `batches()`, `events()` and `messages()`, once, inside the block.

    Requesting the next item says that the batch before has been processed. If the iteration is left within a batch, all
    of that batch is delivered again next time, if cursors are kept.
    """

    def __init__(self, handover: Handover[_Item]) -> None:
        self._handover = handover
        self._iterated = False
        self.item: _Item | None = None

    def batches(self) -> AsyncIterator[tuple[FollowedSession, Batch]]:
        """Each session's batches in the order of its log. Raises: UsageError, the second time."""
        return self._iterate(lambda batch: (batch,))

    def events(self) -> AsyncIterator[tuple[FollowedSession, AnyEvent]]:
        """Each session's events in the order of its log. Raises: UsageError, the second time."""
        return self._iterate(lambda batch: batch.events)

    def messages(self) -> AsyncIterator[tuple[FollowedSession, Message]]:
        """Messages as they are completed: a session's last one when the next one begins in it.

        Raises: UsageError, the second time.
        """
        return self._iterate(lambda batch: batch.messages)

    def _iterate(self, pick: Callable[[Batch], Sequence[Part]]) -> AsyncIterator[tuple[FollowedSession, Part]]:
        if self._iterated:
            raise UsageError("what is followed is iterated once: take one of batches(), events() and messages()")
        self._iterated = True
        return _Iteration(self, pick)

    async def go_on(self) -> None:
        """Marks the item as processed; waits for the next one, None at the end."""
        if self.item is not None:
            self.item.end(worked_off=True)
            self.item = None
        self.item = await self._handover.take()

    def leave(self) -> None:
        """Ends the block: unprocessed items are not committed."""
        for item in (self._handover.leave(), self.item):
            if item is not None:
                item.end(worked_off=False)
        self.item = None


@asynccontextmanager
async def follow(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    *,
    provider: str | None = None,
    begin: Literal["start", "end"] = "start",
    state: str | Path | None = None,
    name: str = "follow",
    once: bool = False,
    until_idle: float | None = None,
    records: Iterable[MakeStage] = (),
    stages: Iterable[MakeStage] = (),
    redact: bool | Redaction = False,
    say: Say | None = None,
) -> AsyncGenerator[FollowStream]:
    """Follows logs while they grow: `async with follow("logs/") as all: async for session, event in all.events()`.

    `paths` are folders, files and databases; by default all places where agents keep sessions. New files and those of
    sub-agents are found. `begin` says where logs without a cursor start. With a folder `state` cursors are kept there,
    under the consumer's `name`: after a restart it continues after the processed items, at least once; the ids of
    events (`agentv_stages.sinks.event_lines`) show which come twice. `once` ends when all is read, `until_idle` after
    that many seconds without growth. `say(event, **facts)` is called with each incident, in a worker thread or in the
    event loop's, so it must not wait: `blocked, nothing is committed` with `path` and `error` for a session that cannot
    be read now (it is retried), `caught up`, and so on.

    `records` and `stages` are your own: classes or functions that make a stage over the records of a log, or over its
    events and messages, called for each session (docs/api.md). One with state has to have `snapshot` and `restore`.
    `redact` replaces secrets by markers.

    Nothing is written but cursors; signals are left to the caller. Leaving the block stops following.

    Raises: SourceError for a path that does not exist, UsageError, CursorError, all at once; CursorError also when the
    block ends.
    """
    say = say or _silent
    plan = _plan(paths, provider, begin)
    plan.parts = Parts(tuple(records), tuple(stages), redactor_by(redact))
    plan.specs = "redacted" if redact else ""
    # In a thread: another process may hold the database for seconds.
    store = await anyio.to_thread.run_sync(CursorStore, Path(state), name) if state is not None else None
    if store is not None and store.database.set_aside is not None:
        say("the cursors are damaged and set aside; all is read again", path=str(store.database.set_aside))
    follower = Follower(plan, store, say)
    stop, wake, over = anyio.Event(), Wake(), anyio.Event()
    running, handover = Running(once=once, until_idle=until_idle), Handover[_Item]()

    follower.listeners.append(_HandingOver(handover))
    try:
        with handover:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_run, follower, running, stop, wake, handover, over)
                    if not once:
                        tasks.start_soon(watch, follower, running, wake, say, over)
                    stream = FollowStream(handover)
                    try:
                        yield stream
                    finally:
                        stream.leave()
                        follower.stopping = True
                        stop.set()
                        over.set()
                        wake.set()
            except BaseExceptionGroup as group:
                raise alone(group) from None
    finally:
        follower.close()
        if store is not None:
            store.close()


class _HandingOver(Listener):
    """Hands each batch over to the caller, and waits until it is processed."""

    def __init__(self, handover: Handover[_Item]) -> None:
        self._handover = handover

    def observe(self, session: Followed, batch: Batch) -> None:
        """Raises: BrokenPipeError when the caller has left."""
        item = _Item(FollowedSession(session), batch, anyio.Event())
        try:
            accepted = anyio.from_thread.run(_hand_over, self._handover, item)
        except BaseException:  # cancelled: reported by the only error that a round lets pass
            accepted = False
        if not accepted:
            raise BrokenPipeError


async def _hand_over(handover: Handover[_Item], item: _Item) -> bool:
    """Waits until the item is processed; False if the caller has left."""
    if not await handover.put(item):
        return False
    await item.done.wait()
    return item.worked_off


async def _run(
    follower: Follower, running: Running, stop: anyio.Event, wake: Wake, handover: Handover[_Item], over: anyio.Event
) -> None:
    try:
        await anyio.to_thread.run_sync(follower.begin)
        await rounds(follower, running, stop, wake)
        await finish(follower, running, stop)
    except BrokenPipeError:
        return
    finally:
        over.set()
        handover.end()


def _silent(event: str, **facts: object) -> None:
    """Ignores what happens."""


def _plan(paths: str | PathLike[str] | Iterable[str | PathLike[str]], provider: str | None, begin: str) -> Plan:
    if begin not in ("start", "end"):
        raise UsageError(f"begin={begin!r}: expected start or end")
    names = [str(expanded(os.fspath(path))) for path in ((paths,) if isinstance(paths, (str, PathLike)) else paths)]
    for path in names:
        if not is_there(split_stored(path)[0]):
            raise SourceError(f"cannot follow {path}: no such file or folder")
    folders = [path for path in names if is_folder(path) or is_database(path)]
    roots = find_roots(folders, provider=provider) if folders or not names else []
    plan = Plan(roots, begin="end" if begin == "end" else "cursor", files=False, only=named_provider(provider))
    plan.paths = [str(absolute(path)) for path in names if path not in folders]
    return plan

"""A finished session as one object: `read` gives one, `sessions` those of this machine.

Each has an async form with the same arguments (`read_async`, `sessions_async`), which reads in a thread.
"""

import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from agentv_stages.figures.result import Result
from agentv_stages.figures.summary import ToolUseSummary
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Status
from agentv_stages.model.message import Message
from agentv_stages.model.times import iso
from agentv_stages.model.tokens import TokenTotals
from agentv_stream.api.call import Call
from agentv_stream.api.in_order import calls_in_order, messages_in_order
from agentv_stream.discovery.discover import Session as FoundSession
from agentv_stream.discovery.discover import find_sessions, in_project, only
from agentv_stream.discovery.header import Header, HeaderCache
from agentv_stream.discovery.period import named_zone, period_of
from agentv_stream.discovery.places import cache_file, find_roots
from agentv_stream.discovery.show import open_log
from agentv_stream.errors import AgentvStreamError, UsageError
from agentv_stream.sources.files import check_readable, read_pieces
from agentv_stream.stores.store import split_stored
from agentv_stream.summary import SessionReader, without_collector

Item = TypeVar("Item")
Source: TypeAlias = str | PathLike[str] | bytes
IN_MEMORY = "<memory>"


class Items(Generic[Item]):
    """Calls or messages, read from the log whenever they are iterated (`for` or `async for`); memory stays bounded.

    Raises: as `read`, while iterating.
    """

    def __init__(self, name: str, make: Callable[[], Iterator[Item]]) -> None:
        self._name = name
        self._make = make

    def __iter__(self) -> Iterator[Item]:
        return self._make()

    def __aiter__(self) -> AsyncIterator[Item]:
        return _in_thread(self._make)

    def __repr__(self) -> str:
        return f"<{self._name}>"


async def _in_thread(make: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    from anyio.to_thread import run_sync

    items = make()
    while part := await run_sync(partial(_some, items)):
        for item in part:
            yield item


def _some(items: Iterator[Item]) -> list[Item]:
    """The next few: each step to another thread costs as much as reading a hundred calls."""
    return [item for item, _ in zip(items, range(64), strict=False)]


class Session:
    """A finished session. Figures are read when the first of them is used, and then kept; None: the log does not say.

    `path` is its log, or `STORE::SESSION` where a database holds it. Raises: as `read`, where figures are read.
    """

    def __init__(
        self, path: Source, *, provider: str | None = None, subagents: bool = True, found: FoundSession | None = None
    ) -> None:
        self.path = IN_MEMORY if isinstance(path, bytes) else fspath(path)
        self._data = path if isinstance(path, bytes) else None
        self._provider = provider
        self._subagents = subagents and self._data is None
        self._found = found

    @cached_property
    def result(self) -> Result:
        """Everything that `agentv-stream consume --stats` writes about the session."""
        reader = self._reader(messages=False)
        with without_collector():
            for _ in reader.batches(self._subagents):
                pass
        return reader.result()

    @property
    def id(self) -> str | None:
        """The agent's own id of the session."""
        return self._found.id if self._found is not None else self.result.session.id

    @property
    def provider(self) -> str:
        """The agent, `claude`."""
        return self._header.provider if self._header is not None else self.result.session.provider

    @property
    def model(self) -> str | None:
        """The model of the main stream."""
        return self.result.session.model

    @property
    def cwd(self) -> str | None:
        """The agent's working folder."""
        known = None if self._header is None else self._header.cwd
        return self.result.session.cwd if known is None else known

    @property
    def started_at(self) -> str | None:
        """When it began: ISO 8601, UTC."""
        return self.result.session.started_at

    @property
    def updated_at(self) -> str | None:
        """When its files last changed (ISO 8601, UTC), if `sessions` listed it; otherwise None."""
        return None if self._found is None else iso(self._found.updated_ms)

    @property
    def status(self) -> Status:
        """How it ended."""
        return self.result.status

    @property
    def turns(self) -> int:
        """Turns of the main stream: answers of the model."""
        return self.result.tool_use_summary.turns

    @property
    def tokens(self) -> TokenTotals:
        """Tokens of the whole session, with sub-agents."""
        return self.result.tokens

    @property
    def cost_usd(self) -> float | None:
        """The cost that the agent itself reported, in US dollars."""
        return self.result.cost_usd

    @property
    def duration_ms(self) -> int | None:
        """How long it took, in milliseconds."""
        return self.result.duration_ms

    @property
    def tool_use_summary(self) -> ToolUseSummary:
        """Statistics of its tool calls."""
        return self.result.tool_use_summary

    @property
    def calls(self) -> Items[Call]:
        """Its tool calls in the order requested, each with its result. A call that stays open while 10,000 others or
        32 MiB of them follow comes when it is answered."""
        return Items("calls", lambda: calls_in_order(self.batches()))

    @property
    def messages(self) -> Items[Message]:
        """Its messages by `index`. A message that waits as long as an open call of `calls` comes when it ends."""
        return Items("messages", self._messages)

    def batches(self) -> Iterator[Batch]:
        """The batches that everything else is made of, with events and faults, but without messages."""
        yield from self._reader(messages=False).batches(self._subagents)

    def _messages(self) -> Iterator[Message]:
        reader = self._reader(messages=True)
        return messages_in_order(reader, reader.batches(self._subagents))

    def _reader(self, messages: bool) -> SessionReader:
        return SessionReader(self._pieces(), self.path, self._provider, messages=messages)

    def _pieces(self) -> Iterable[bytes]:
        if self._data is not None:
            return (self._data,)
        if split_stored(self.path)[1]:
            return open_log(self.path, ())[1]
        check_readable(Path(self.path))  # not by its id: a log that is gone is not another session
        return read_pieces(Path(self.path))

    @property
    def _header(self) -> Header | None:
        return None if self._found is None else self._found.header

    def __repr__(self) -> str:
        if "result" not in self.__dict__:  # a repr reads no files
            return f"<Session {self.path!r}>"
        figures = self.tool_use_summary
        counts = f"{figures.turns} turns, {figures.total_tool_calls} calls"
        return f"<Session {self.path!r}: {self.provider}, {self.model}, {self.status}, {counts}>"


def read(
    path_or_id: Source,
    *,
    provider: str | None = None,
    roots: Sequence[str] = (),
    subagents: bool = True,
) -> Session:
    """Reads a finished session: the path of its log (which may be compressed), its id or the beginning of its id, or an
    agent's whole output as bytes. An id is looked for where agents keep their sessions, or below `roots` (`PATH` or
    `PROVIDER=PATH`). `subagents` includes the files of sub-agents.

    Raises: SourceError (missing, a directory, no such session), DamagedArchive, NotALog, EmptyInput, UsageError (an id
    that several sessions begin with, an unknown provider).
    """
    session = located(path_or_id, provider=provider, roots=roots, subagents=subagents)
    _ = session.result
    return session


def located(
    path_or_id: Source, *, provider: str | None = None, roots: Sequence[str] = (), subagents: bool = True
) -> Session:
    """As `read`, but nothing is read yet."""
    if not isinstance(path_or_id, bytes):
        name = fspath(path_or_id)
        if name == "-":
            raise UsageError("read() reads a finished session; open_stream('-') reads standard input")
        path_or_id = open_log(name, find_roots(roots, provider=provider))[0]
    return Session(path_or_id, provider=provider, subagents=subagents)


def sessions(
    since: str | None = None,
    until: str | None = None,
    *,
    provider: str | None = None,
    project: str | None = None,
    roots: Sequence[str] = (),
    timezone: str | None = None,
) -> Iterator[Session]:
    """The sessions of this machine, the one updated last first; each is read when its figures are used.

    `since` and `until` bound the time of the last change: `today`, `yesterday`, `12h`, `7d`, `2w`, a date or a time, in
    the local zone or in `timezone`. `project` is a folder, or the name of one. `roots` are as in `read`.

    Warns: UserWarning for a store that cannot be read. Raises: UsageError, at once.
    """
    period = period_of(since, until, named_zone(timezone), time.time_ns() // 1_000_000)
    wanted = only(provider)
    places = find_roots(roots, provider=provider)
    found = find_sessions(places, HeaderCache(cache_file()), period.since_ms, unread=_warn)
    return (
        Session(listed.path, provider=listed.header.provider, found=listed)
        for listed in found
        if wanted(listed) and period.holds(listed.updated_ms) and (project is None or in_project(listed, project))
    )


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)


async def read_async(
    path_or_id: Source, *, provider: str | None = None, roots: Sequence[str] = (), subagents: bool = True
) -> Session:
    """As `read`, without blocking the event loop."""
    from anyio.to_thread import run_sync

    return await run_sync(partial(read, path_or_id, provider=provider, roots=roots, subagents=subagents))


async def sessions_async(
    since: str | None = None,
    until: str | None = None,
    *,
    provider: str | None = None,
    project: str | None = None,
    roots: Sequence[str] = (),
    timezone: str | None = None,
) -> AsyncIterator[Session]:
    """As `sessions`, without blocking the event loop: the figures of each session are already read. One that cannot be
    read raises its error when they are used."""
    from anyio.to_thread import run_sync

    listed = partial(sessions, since, until, provider=provider, project=project, roots=roots, timezone=timezone)
    for session in await run_sync(listed):
        await run_sync(_tried, session)
        yield session


def _tried(session: Session) -> None:
    with suppress(AgentvStreamError):
        _ = session.result

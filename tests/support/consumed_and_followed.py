"""Reads one log by `consume` and by `tail --once`, in this process, each into its own folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.running import Running
from agentv_stream.following.tail import tail
from agentv_stream.live.session import StreamSession
from agentv_stream.settings import Settings
from agentv_stream.sources.source import ByteSource, FileSource
from agentv_stream.stores.source import StoreSource
from support.consuming import rows_of


@dataclass
class Both:
    """The transcripts of one log, by name; `dialect` is None if `consume` does not recognise it as a log."""

    dialect: str | None
    consumed: dict[str, Path]
    followed: dict[str, Path]
    said: list[str]


def consume_into(source: ByteSource, out: Path, **settings: Any) -> str | None:
    """Does what `consume SOURCE --out OUT` does; returns the dialect, None if it is not a log."""

    async def run() -> str | None:
        session = StreamSession(source, Settings(out=out, quiet=True, **settings))
        report = await session.run()
        return session.dialect.name if session.dialect is not None and not report.failures else None

    return anyio.run(run)


def follow_into(plan: Plan, state: Path) -> list[str]:
    """Does what `tail … --once` does; returns its messages."""
    said: list[str] = []

    def say(event: str, **facts: object) -> None:
        said.append(f"{event} {facts}")

    store = CursorStore(state, "test")
    follower = Follower(plan, store, say)
    try:
        anyio.run(tail, follower, Running(once=True), say)
    finally:
        follower.close()
        store.close()
    return said


def both(log: str, folder: Path) -> Both:
    """Reads a log, or a session of a store, in both ways, into `folder`."""
    store, sign, session_id = log.partition("::")
    source = StoreSource(store, session_id) if sign else FileSource(Path(log))
    consumed, followed = folder / "consumed", folder / "followed"
    dialect = consume_into(source, consumed)
    said = follow_into(Plan([], Settings(out=followed), paths=[log]), folder / "state")
    return Both(dialect, transcripts(consumed), transcripts(followed), said)


def consumed_beside(log: Path, out: Path, folder: Path) -> tuple[str | None, Path, Path]:
    """The dialect of a log, the transcript that `consume` makes of it into `folder`, and the only one in `out`."""
    dialect = consume_into(FileSource(log), folder)
    (wanted,), (got,) = transcripts(folder).values(), transcripts(out).values()
    return dialect, wanted, got


def transcripts(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(folder.glob("*.transcript.jsonl"))}


def session_of(transcript: Path) -> str:
    return str(rows_of(transcript)[0]["source"]["session_id"])


def difference(one: Path, other: Path) -> str:
    """Empty if the bytes are equal, `order` if only the order of the rows differs, else the first row that differs."""
    if one.read_bytes() == other.read_bytes():
        return ""
    here, there = rows_of(one), rows_of(other)
    if sorted(map(repr, here)) == sorted(map(repr, there)):
        return "order"
    return f"{len(here)} and {len(there)} rows; {_first(here, there)}"


def _first(here: list[dict[str, Any]], there: list[dict[str, Any]]) -> str:
    for n, (a, b) in enumerate(zip(here, there, strict=False)):
        for key in sorted({*a, *b}):
            if a.get(key) != b.get(key):
                return f"row {n}: {key}: {str(a.get(key))[:300]} / {str(b.get(key))[:300]}"
    return "one has more"

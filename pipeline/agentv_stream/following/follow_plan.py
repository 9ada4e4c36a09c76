"""A follower's settings, what it remembers about files, what it counts; and where a session's outputs go."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agentv_stages.provider import Provider
from agentv_stages.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stages.trajectory import Case
from agentv_stream.discovery.places import Found, Root, Signature, logical_name
from agentv_stream.following.folder_lock import HeldFolders
from agentv_stream.following.follow_chain import MakeCases
from agentv_stream.opencode.store import STORE_SIGN
from agentv_stream.outputs.naming import log_folder, safe_part, stand_in_id, stand_in_start, stem, stem_start
from agentv_stream.outputs.transcript_file import log_of
from agentv_stream.settings import Settings

FORGET_MS = 30 * 86_400_000  # as long as Claude Code keeps sessions by default
KEPT = 0  # in place of a session number, for a transcript whose session is forgotten


@dataclass
class Plan:
    """What is followed and what is written. `begin` says where files without a cursor begin."""

    roots: list[Root]
    settings: Settings = field(default_factory=Settings)
    begin: Literal["start", "end", "cursor"] = "cursor"
    files: bool = True  # whether to write a transcript and related files per session
    only: Provider | None = None
    wanted: Callable[[str], bool] = lambda path: True  # whether to follow a new main file
    settle_seconds: float = 1.0
    paths: list[str] = field(default_factory=list[str])  # single files, besides the roots
    cases: MakeCases = list[Case]  # makes new ones for each session; their verdicts go into its result
    forget_ms: int | None = FORGET_MS  # how long a session is remembered after its logs are gone
    specs: str = ""  # identifies the cases: a session that began with others is read again
    meant: Callable[[str], bool] = lambda path: True  # whether to follow a session in the cursors, by its main file
    folders: HeldFolders | None = None  # the folders written into, locked against others

    def means(self, path: str, provider: str | None) -> bool:
        """Whether to follow a session found in the cursors: they may contain others than this follower is to follow."""
        if self.only is not None and provider not in (None, self.only.name):
            return False
        return (self._holds(path) or self._holds(os.path.realpath(path), os.path.realpath)) and self.meant(path)

    def _holds(self, path: str, place: Callable[[str], str] = str) -> bool:
        if any(path.startswith((place(root.path) + "/", place(root.path) + STORE_SIGN)) for root in self.roots):
            return True
        return any(logical_name(path) == logical_name(place(one)) for one in self.paths)


@dataclass(slots=True)
class Entry:
    """What is remembered about a file: its signature when last examined, and its session.

    `kind`: `input`; `copy` of another file, with `link` another name of it; `ignored`, because it is not wanted or no
    dialect fits; `refused`, because enough was seen to know that none will; `end`, to be emitted only from its end on.
    """

    signature: Signature | None
    number: int
    kind: Literal["input", "copy", "ignored", "refused", "end"] = "input"
    gone: bool = False
    link: bool = False


@dataclass
class Counts:
    """The follower's counters since it started."""

    rounds: int = 0
    records: int = 0
    events: int = 0
    bytes: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    calls: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    changes: dict[str, int] = field(default_factory=dict[str, int])


def place_of(
    observer: Observer, main: str, settings: Settings, named_ms: int | None, ours: Callable[[Path], bool]
) -> tuple[Path, str, Identity]:
    """Folder, name and identity, the same as `consume` would use.

    A log without times keeps its first name, whatever its file's time is now: with `named_ms`, or that of a transcript
    left by a crash (`ours`).
    """
    facts = observer.facts
    session_id = facts.session_id or stand_in_id(main)
    target = settings.target or observer.provider.name
    test_id = settings.test_id or session_id
    folder = log_folder(settings.out, observer.provider.name)
    started = facts.started_ms
    if started is None:
        started = named_ms if named_ms is not None else _named_start(folder, target, test_id, ours)
    if started is None:
        started = stand_in_start(main)
    identity = Identity.of(
        observer, test_id=test_id, target=target, session_id=session_id, path=main, started_ms=started
    )
    return folder, stem(started, target, test_id), identity


def left_by_crash(folder: Path, name: str, identity: Identity) -> list[Path]:
    """Transcripts of the same session and log (parts of a rotated log count as one) with another start time."""
    pattern = f"*_{safe_part(identity.target)}_{safe_part(identity.test_id)}.transcript.jsonl"
    log = logical_name(identity.path or "")
    found = [p for p in folder.glob(pattern) if p.name != f"{name}.transcript.jsonl" and stem_start(p.name) is not None]
    return [p for p in found if logical_name(log_of(p, identity.session_id)) == log]


def _named_start(folder: Path, target: str, test_id: str, ours: Callable[[Path], bool]) -> int | None:
    """The start time in the name of a transcript that a follower began earlier, if there is one."""
    for path in sorted(folder.glob(f"*_{safe_part(target)}_{safe_part(test_id)}.transcript.jsonl")):
        started = stem_start(path.name)
        if started is not None and ours(path):
            return started
    return None


def oldest_first(found: Found) -> tuple[bool, int, str]:
    """Sort key for files that appeared while no follower looked: in the order in which they were written."""
    agent, plain, _ = parents_first(found)
    return (agent, found.signature.mtime_ns, plain)


def parents_first(found: Found) -> tuple[bool, str, int]:
    """Sort key for parts of a rotated log: oldest first. A log comes before its copies, which have longer names."""
    plain = logical_name(found.path).removesuffix(".jsonl")
    agent = os.path.basename(plain).startswith("agent-")  # noqa: PTH119 - for each of thousands
    return (agent, plain, found.signature.mtime_ns)

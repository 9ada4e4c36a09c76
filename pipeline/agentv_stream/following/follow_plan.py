"""A follower's settings and its counts."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agentv_stages.model.provider import Provider
from agentv_stages.session.chain import MakeCases
from agentv_stages.session.parts import NONE, Parts
from agentv_stream.discovery.places import Root, logical_name
from agentv_stream.following.folder_lock import HeldFolders
from agentv_stream.following.metric_families import Counter
from agentv_stream.otel.follow import SpanFeed
from agentv_stream.settings import Settings
from agentv_stream.stores.store import STORE_SIGN

FORGET_MS = 30 * 86_400_000  # as long as Claude Code keeps sessions by default


@dataclass
class Plan:
    """The logs to follow and the outputs to write. `begin` decides where files without a cursor begin."""

    roots: list[Root]
    settings: Settings = field(default_factory=Settings)
    begin: Literal["start", "end", "cursor"] = "cursor"
    files: bool = True  # whether to write a transcript and related files per session
    only: Provider | None = None
    wanted: Callable[[str], bool] = lambda path: True  # whether to follow a new main file
    settle_seconds: float = 1.0
    paths: list[str] = field(default_factory=list[str])  # single files, besides the roots
    cases: MakeCases = list  # makes new ones for each session; their verdicts go into its result
    forget_ms: int | None = FORGET_MS  # how long a session is remembered after its logs are gone
    parts: Parts = NONE  # the caller's stages
    specs: str = ""  # identifies the cases: a session that began with others is read again
    selects: Callable[[str], bool] = lambda path: True  # whether to follow a session in the cursors, by its main file
    folders: HeldFolders | None = None  # the folders written into, locked against others
    feed: SpanFeed | None = None  # where spans go
    dated: bool = False  # whether observers date figures, for estimates of costs

    def means(self, path: str, provider: str | None) -> bool:
        """Whether to follow a session found in the cursors: they may contain others than this follower is to follow."""
        if self.only is not None and provider not in (None, self.only.name):
            return False
        return (self._holds(path) or self._holds(os.path.realpath(path), os.path.realpath)) and self.selects(path)

    def _holds(self, path: str, place: Callable[[str], str] = str) -> bool:
        if any(path.startswith((place(root.path) + "/", place(root.path) + STORE_SIGN)) for root in self.roots):
            return True
        return any(logical_name(path) == logical_name(place(named)) for named in self.paths)


@dataclass
class Counts:
    """The follower's counters since it started."""

    rounds: int = 0
    records: int = 0
    events: int = 0
    bytes: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    failures: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    calls: Counter = field(default_factory=lambda: Counter(("tool", "outcome"), free=("tool",)))
    changes: dict[str, int] = field(default_factory=dict[str, int])

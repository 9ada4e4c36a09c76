"""The places of a session's outputs: never another session's file, nor another program's."""

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agentv_stages.figures.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.discovery.places import logical_name
from agentv_stream.following.cursors import Claims
from agentv_stream.following.follow_outputs import SUFFIXES, FollowOutputs
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.service_log import Say
from agentv_stream.outputs.naming import (
    TRANSCRIPT,
    log_folder,
    safe_part,
    stem_start,
)
from agentv_stream.outputs.session_name import Log, changed_ms, identity_of, name_of
from agentv_stream.outputs.transcript_file import log_of
from agentv_stream.settings import Settings

KEPT = 0  # in place of a session number, for a transcript whose session is forgotten


class Placed(Protocol):
    """A session with a place."""

    number: int
    outputs: FollowOutputs | None

    @property
    def main(self) -> str: ...


@dataclass
class Placing:
    """Gives sessions their places. `hot`: the sessions in memory; `taken`: transcript path -> session, or KEPT."""

    plan: Plan
    claims: Claims | None
    say: Say
    hot: Mapping[int, Placed]
    taken: dict[str, int] = field(default_factory=dict[str, int])
    _left: dict[Path, dict[str, list[str]]] = field(default_factory=dict[Path, dict[str, list[str]]])

    def outputs_of(self, session: Placed) -> FollowOutputs | None:
        """The outputs of a session, None if no files are written."""
        if not self.plan.files:
            return None
        settings = self.plan.settings
        place = SessionPlace(self, weakref.proxy(session))  # no cycle: a dropped session is freed at once
        return FollowOutputs(place, settings.stream_log, feed=self.plan.feed, machine=settings.machine)

    def release(self, number: int) -> None:
        """A session no longer exists: its transcripts are free."""
        for path in [path for path, owner in self.taken.items() if owner == number]:
            del self.taken[path]

    def there(self, folder: Path) -> dict[str, list[str]]:
        """The transcripts in a folder when it was first used, by the name without the start time: a crash left its
        outputs before."""
        found = self._left.get(folder)
        if found is None:
            found = self._left[folder] = {}
            for path in folder.glob(f"*{TRANSCRIPT}"):
                found.setdefault(path.name.partition("_")[2], []).append(path.name)
        return found

    def claim(self, path: Path, take: bool) -> bool:
        return self.claims is not None and self.claims.claim(str(path), take)

    def record_made(self, path: Path, there: bool) -> None:
        if self.claims is not None:
            self.claims.record_made(path) if there else self.claims.unmade(path)

    def unmake(self, left: Path) -> None:
        """Deletes a transcript that a crash left under another start time, and the files beside it."""
        if self.claims is not None and self.claims.is_made(left):
            self.claims.unmade(left)
            self.say("outputs that a crash left under another start time are removed", path=str(left))
            for suffix in SUFFIXES:
                left.with_name(left.name.removesuffix(TRANSCRIPT) + suffix).unlink(missing_ok=True)

    def hold(self, folder: Path) -> None:
        if self.plan.folders is not None:
            self.plan.folders.hold(folder.absolute())


@dataclass
class SessionPlace:
    """The place of one session, as its outputs need it (`OutputPlace`)."""

    places: Placing
    session: Placed

    def find(self, observer: Observer, named_ms: int | None) -> tuple[Path, str, Identity]:
        places = self.places
        found = place_of(observer, self.session.main, places.plan.settings, named_ms, self._left_start)
        for left in left_by_crash(places.there(found[0]), *found):
            if self._ours(left):
                places.unmake(left)
        return found

    def taken(self, path: Path) -> bool:
        number, places = self.session.number, self.places
        if places.taken.get(str(path), number) not in (number, KEPT):
            return True
        others = (s.outputs.state for s in places.hot.values() if s.number != number and s.outputs is not None)
        folder, name = str(path.parent), path.name.removesuffix(TRANSCRIPT)
        return any(state is not None and state.stem == name and state.folder == folder for state in others)

    def claim(self, path: Path, take: bool) -> bool:
        return self.places.claim(path, take)

    def record_made(self, path: Path, there: bool) -> None:
        self.places.record_made(path, there)

    def hold(self, folder: Path) -> None:
        self.places.hold(folder)

    def _ours(self, path: Path) -> bool:
        return self.claim(path, False) and not self.taken(path)

    def _left_start(self, folder: Path, rest: str) -> int | None:
        """The start time in the name of a transcript that a crash left."""
        for name in sorted(self.places.there(folder).get(rest, ())):
            started = stem_start(name)
            if started is not None and self._ours(folder / name):
                return started
        return None


def place_of(
    observer: Observer,
    main: str,
    settings: Settings,
    named_ms: int | None,
    left_start: Callable[[Path, str], int | None],
) -> tuple[Path, str, Identity]:
    """Folder, name and identity, the same as `consume` would use.

    A log without times keeps its first name, whatever its file's time is now: with `named_ms`, or the start time in the
    name of a transcript that a crash left (`left_start` of the folder and the rest of the name).
    """
    folder = log_folder(settings.out, observer.provider.name)

    def start(target: str, test_id: str) -> int:
        started = named_ms if named_ms is not None else left_start(folder, _rest_of_name(target, test_id))
        return changed_ms(main) if started is None else started

    identity = identity_of(observer, Log(main, main, 0), settings.target, settings.test_id, start)
    return folder, name_of(identity), identity


def left_by_crash(there: Mapping[str, list[str]], folder: Path, name: str, identity: Identity) -> list[Path]:
    """Transcripts of the same session and log (parts of a rotated log count as one) with another start time, of those
    that are `there`, by their names without it."""
    named = there.get(_rest_of_name(identity.target, identity.test_id), ())
    log = logical_name(identity.path or "")
    found = [
        folder / file_name
        for file_name in named
        if file_name != f"{name}{TRANSCRIPT}" and stem_start(file_name) is not None
    ]
    return [p for p in found if logical_name(log_of(p, identity.session_id)) == log]


def _rest_of_name(target: str, test_id: str) -> str:
    """A transcript's name behind its start time."""
    return f"{safe_part(target)}_{safe_part(test_id)}{TRANSCRIPT}"

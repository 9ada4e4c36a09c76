"""Finds the files to follow: new sessions, further parts, sub-agents' files, changed files.

In: the listing of all files, and the follower's knowledge about them. Out: sessions that are opened, joined, or handed
over to another one.
"""

import os
from collections.abc import Generator, Iterator
from typing import TypeAlias, TypeVar

from agentv_stages.providers import get_provider
from agentv_stream.discovery.places import Found, logical_name
from agentv_stream.following.companions import Companions
from agentv_stream.following.ends import Ends
from agentv_stream.following.followed import Followed
from agentv_stream.following.known_files import KnownFile
from agentv_stream.following.newcomers import Newcomers
from agentv_stream.following.register import Register
from agentv_stream.following.rotation import Rotation
from agentv_stream.following.scan import Scan
from agentv_stream.following.settling import decide
from agentv_stream.following.stored import MUTE_ALL, is_stored
from agentv_stream.sources.files import is_there
from agentv_stream.sources.folder import companions_of, may_be_companions

MOST_BESIDE = 64  # files that may be the main file of a new one
MOST_STRANGE = 4 * 1024 * 1024  # bytes of a document of unknown kind, which would be read as a whole at each change


Outcome = TypeVar("Outcome")
Steps: TypeAlias = Generator[int, None, Outcome]
"""Yields sessions to be read on."""


class Finding:
    """Examines all files, or one. `listing` progresses between rounds; a scan uses it.

    Its methods yield sessions to be read on, at once: their next steps depend on that.
    """

    def __init__(self, register: Register, rotation: Rotation, companions: Companions) -> None:
        self._register = register
        self._rotation = rotation
        self._newcomers = Newcomers(register)
        self._companions = companions
        self._undecided: dict[int, Found] = {}  # new sessions without a whole record
        self._beside: set[tuple[int, int]] = set()  # sessions whose companions were looked for in these listings
        self.listing = Scan(register.plan, register.stores)
        self._by_folder: dict[str, list[str]] | None = None  # the files that are known, for the scan that needs it
        self._began = False
        self._ends = Ends(register)
        self.missing: list[str] = []  # missing roots: their files do not count as deleted one by one

    def begin_round(self) -> None:
        """Discards the folder listings of the previous round."""
        self._companions.begin_round()
        self._beside.clear()

    def scan(self) -> Iterator[int]:
        """Examines all files: new ones become sessions or parts of one, and are read."""
        self._by_folder = None
        found = self._register.known.found = self.listing.take()
        self._rotation.scanned(found)
        self.missing = [root.path for root in self._register.plan.roots if not is_there(root.path)]
        new = [
            listed
            for listed in found.values()
            if listed.path not in self._register.known.entries and listed.main and listed.signature.size
        ]
        new = self.listing.fresh([listed for listed in new if listed.path not in self._register.known.apart])
        if new:
            self._register.known.index()
        # Most agents' file names contain the time: so parents come before the sub-agents that they start.
        new.sort(key=_oldest_first if self._began or self._register.places.taken else _parents_first)
        files = [listed for listed in new if not is_stored(listed.path)]
        children = self._newcomers.children_among(files, self._companions.folder)
        new.sort(key=lambda listed: listed.path in children)
        for listed in files:  # renamed files first, before those that took their places
            self._rotation.renamed(listed)
        for listed in new:
            if listed.path in self._register.known.entries:
                continue
            number = yield from self._new(listed)
            if number:
                yield number
                session = self._register.hot.get(number)
                if session is not None:
                    self._register.known.add(part.path for part in session.files.inputs)
                    if session.provider is None:
                        self._undecided[number] = listed
        if any(listed.path not in self._register.known.entries and not listed.main for listed in found.values()):
            for session in list(self._register.hot.values()):
                if session.number in self._register.hot:  # an earlier session in this loop may have taken it over
                    self._companions.add(session)
        if not self._began:
            self._ends.note(found.values())
        self._began = True

    def _new(self, listed: Found) -> Steps[int]:
        """Handles a file not seen before; returns its session, 0 for none."""
        if not is_stored(listed.path):
            number = yield from self._taken_over(listed)
            if number is not None:
                return number
        if not self._register.plan.wanted(listed.path):
            self._register.known.entries[listed.path] = KnownFile(listed.signature, 0, "ignored")
            return 0
        if not self._began and self._register.plan.begin == "end":
            return self._from_end(listed, self._ends.of(listed))
        return self._register.open(listed.path).number

    def _taken_over(self, listed: Found) -> Steps[int | None]:
        """The session of a new file that belongs to a known one: another name of its log, a copy, a sub-agent's file or
        a further part; 0 for none that is in memory, None for a log of its own."""
        if self._rotation.renamed(listed) or self._rotation.known_elsewhere(listed):
            return 0
        if self._began or self._register.places.taken:
            for session in self._near(listed.path):
                looked = session.number, len(session.files.inputs)
                if looked in self._beside:  # the listings are still the same
                    continue
                if session.provider is not None:
                    self._beside.add(looked)
                if self._companions.add(session) and listed.path in self._register.known.entries:
                    return self._register.known.entries[listed.path].number
            owner = yield from self._owner(listed)
            if owner is not None:
                self._companions.add(owner)
            if listed.path in self._register.known.entries:
                return self._register.known.entries[listed.path].number
        further = self._newcomers.further_part(listed)
        if further != "no":
            return self._register.known.entries[listed.path].number if further == "yes" else 0
        return None

    def _from_end(self, listed: Found, size: int) -> int:
        """Handles a log whose events are emitted only from an offset on, once it grows beyond that."""
        if is_stored(listed.path) and size:
            return self._register.open(
                listed.path, MUTE_ALL
            ).number  # only reading them shows which of its rows are old
        if size < listed.signature.size:
            return self._register.open(listed.path, size).number
        self._register.known.entries[listed.path] = KnownFile(listed.signature, 0, "end")
        return 0

    def _near(self, path: str) -> list[Followed]:
        """Sessions that may own a new sub-agent's file: active ones in its folder and the one above, and those that its
        folders name."""
        folder = path.rpartition("/")[0]
        folders = (folder, folder.rpartition("/")[0])
        near = [s for s in self._register.hot.values() if s.main.rpartition("/")[0] in folders]
        while folder.count("/") > 1:
            entry = self._register.known.entries.get(folder + ".jsonl")
            session = self._register.wake(entry.number) if entry is not None and entry.number else None
            if session is not None:
                near.append(session)
            folder = folder.rpartition("/")[0]
        return near

    def _owner(self, listed: Found) -> Steps[Followed | None]:
        """The session that a new file belongs to, if that is at rest, or was passed over by `--from end`."""
        try:
            header = self._newcomers.header(listed)
        except OSError:
            return None
        provider = get_provider(header.provider) if header is not None else None
        if header is None or provider is None or not may_be_companions(provider):
            return None
        number = self._register.ids.anywhere(header.dialect, header.parent or "")
        if number:
            return self._register.wake(number)
        if self._by_folder is None:
            self._by_folder = {}
            for path, entry in self._register.known.entries.items():
                if entry.kind in ("input", "end"):
                    self._by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        folder = listed.path.rpartition("/")[0]
        above, _, name = folder.rpartition("/")
        beside = [*self._by_folder.get(folder, ()), *self._by_folder.get(above, ())]
        beside.sort(key=lambda path: (name[:8] not in path.rpartition("/")[2], path))  # a folder may bear the id
        for path in beside[:MOST_BESIDE]:
            if any(
                listed.path == found.path for found in companions_of(provider, path, folder=self._companions.folder)
            ):
                return (yield from self._opened(path))
        return None

    def decided(self, session: Followed) -> Steps[bool]:
        """A session has grown: if its file had no whole record when it was found, only now does that name its parent.
        Returns whether the file was handed over.
        """
        listed = self._undecided.get(session.number)
        if listed is None or session.provider is None:
            return False
        del self._undecided[session.number]
        self.begin_round()  # the part of its head that was read was too short
        self._newcomers.head_grew(listed)
        owner = yield from self._owner(listed)
        return owner is not None and self._companions.add(owner) and session.number not in self._register.hot

    def _opened(self, path: str) -> Steps[Followed | None]:
        """The session of a main file, in memory, with its dialect decided."""
        entry = self._register.known.entries[path]
        number = entry.number
        if entry.kind == "end" and entry.signature is not None:
            number = self._register.open(path, entry.signature.size).number
            yield number
        session = self._register.wake(number) if number else None
        return session if session is not None and decide(session) else None

    def _link(self, entry: KnownFile, listed: Found) -> None:
        """Another name of a log: if it is a different file by now, the next scan finds it as new."""
        if entry.signature is None or entry.signature[:2] == listed.signature[:2]:
            return
        session = self._register.wake(entry.number)
        if session is not None:
            session.files.leave(listed.path)
            session.dirty = True
        del self._register.known.entries[listed.path]
        self._register.due.add(entry.number)

    def changed(self, path: str, listed: Found | None = None) -> int:
        """The session of a changed file; 0 for none. A file that was just listed is not examined again."""
        entry = self._register.known.entries.get(path)
        if entry is not None and entry.kind == "copy" and not entry.link and listed is not None:
            if listed.signature != entry.signature:
                entry.signature = listed.signature
                self._rotation.parted(path)  # the next scan finds it as a new file
            return 0
        if entry is None or entry.kind == "copy" or (listed is not None and listed.signature == entry.signature):
            if entry is not None and entry.link and listed is not None:
                self._link(entry, listed)
            return 0
        try:
            signature = self.listing.signature(path)
        except OSError:
            if entry.gone or entry.kind != "input" or any(path.startswith(root + "/") for root in self.missing):
                return 0
            return entry.number
        if signature == entry.signature:
            return 0
        if entry.kind == "end":
            start = entry.signature.size if entry.signature is not None else 0
            return self._register.open(path, start if signature.size >= start else 0).number
        if entry.kind == "refused":
            if entry.signature is not None and signature.size >= entry.signature.size:
                entry.signature = signature
                return 0
            entry.kind = "input"  # it has been replaced or emptied
            return entry.number
        if entry.kind == "ignored":
            if not entry.number and self._register.plan.wanted(path):
                del self._register.known.entries[path]  # its records may say more by now; the next scan finds it as new
                return 0
            entry.signature = signature
            if entry.number and not (path.endswith(".json") and signature.size > MOST_STRANGE):
                return entry.number
            return 0
        return entry.number


def _oldest_first(found: Found) -> tuple[bool, int, str]:
    """Sort key for files that appeared while no follower looked: in the order in which they were written."""
    agent, plain, _ = _parents_first(found)
    return (agent, found.signature.mtime_ns, plain)


def _parents_first(found: Found) -> tuple[bool, str, int]:
    """Sort key for parts of a rotated log: oldest first. A log comes before its copies, which have longer names."""
    plain = logical_name(found.path).removesuffix(".jsonl")
    agent = os.path.basename(plain).startswith("agent-")  # noqa: PTH119 - for each of thousands
    return (agent, plain, found.signature.mtime_ns)

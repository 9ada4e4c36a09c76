"""A follower's memory of files and sessions: which files it knows, by the marks of a new one, and the ids of sessions.

The marks are inode, name, size and first bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agentv_stream.discovery.header import first_bytes
from agentv_stream.discovery.places import Found, Signature, logical_name
from agentv_stream.following.service_log import Say
from agentv_stream.sources.files import content_size

HEAD = 256
FEW = 64  # logs of one size that are compared one by one


def plain_name(path: str) -> str:
    """A file's name without the suffixes of rotation and compression."""
    return logical_name(path).rpartition("/")[2]


@dataclass(slots=True)
class KnownFile:
    """The follower's memory of a file: its signature when last examined, and its session.

    `kind`: `input`; `copy` of another file, with `link` another name of it; `ignored`, because it is not wanted or no
    dialect fits; `refused`, because enough was seen to know that none will; `end`, to be emitted only from its end on.
    """

    signature: Signature | None
    number: int
    kind: Literal["input", "copy", "ignored", "refused", "end"] = "input"
    gone: bool = False
    link: bool = False


class KnownFiles:
    """The files by path, and an index of the followed ones, rebuilt before new files are examined.

    `found` is the last listing of all files; `apart` are files of sessions in the cursors that are not followed now.
    """

    def __init__(self) -> None:
        self.entries: dict[str, KnownFile] = {}
        self.found: dict[str, Found] = {}
        self.apart: dict[str, int] = {}
        self.by_inode: dict[tuple[int, int], str] = {}
        self._named: dict[str, list[str]] = {}
        self._sized: dict[int, list[str]] = {}
        self._begun: dict[int, tuple[int, dict[bytes, list[str]]]] = {}  # of many logs of one size: by first bytes
        self._heads: dict[str, bytes] = {}
        self._contents: dict[tuple[str, int], int] = {}

    def index(self) -> None:
        """Indexes all that is followed now."""
        entries = self.entries
        self.by_inode, self._named, self._sized, self._begun = {}, {}, {}, {}
        self._heads = {path: head for path, head in self._heads.items() if path in entries}
        self._contents = {key: size for key, size in self._contents.items() if key[0] in entries}
        for path in entries:
            self._add(path)

    def add(self, paths: Iterable[str]) -> None:
        """Adds the files of a session that is followed from now on."""
        for path in paths:
            self._add(path)

    def add_name(self, path: str) -> None:
        """Adds another name of a log that is followed."""
        self._named.setdefault(plain_name(path), []).append(path)

    def _add(self, path: str) -> None:
        entry = self.entries.get(path)
        if entry is None or not entry.number or entry.kind != "input":
            return
        if entry.signature is not None:
            self.by_inode[entry.signature[:2]] = path
            self._sized.setdefault(self._content_size(path, entry.signature.size), []).append(path)
        self.add_name(path)

    def named(self, name: str) -> list[str]:
        """The logs with a name (`plain_name`), oldest first."""
        return self._named.get(name, [])

    def sized(self, path: str, size: int) -> list[str]:
        """The logs that, unpacked, had the size of this file when last listed; of many only those that begin alike."""
        size = self._content_size(path, size)
        same = self._sized.get(size, [])
        if len(same) <= FEW:
            return same
        # `head` does not distinguish short files: they may still grow, but these have one size.
        indexed, by_head = self._begun.get(size, (0, dict[bytes, list[str]]()))
        for other in same[indexed:]:
            by_head.setdefault(first_bytes(other, HEAD), []).append(other)
        self._begun[size] = len(same), by_head
        return by_head.get(first_bytes(path, HEAD), [])

    def _content_size(self, path: str, size: int) -> int:
        known = self._contents.get((path, size))
        if known is None:
            known = content_size(path, size)
            if known != size:  # only packed files have to be opened for it
                self._contents[path, size] = known
        return known

    def head(self, path: str) -> bytes:
        """The first bytes of a log, remembered once growth cannot change them; empty for a short or missing one."""
        head = self._heads.get(path)
        if head is None:
            head = first_bytes(path, HEAD)
            if len(head) < HEAD:
                return b""
            self._heads[path] = head
        return head

    def forget(self, number: int) -> None:
        """Forgets the files of a session."""
        for path in [path for path, entry in self.entries.items() if entry.number == number]:
            del self.entries[path]


class KnownSessions:
    """The ids of the sessions, in memory or not: further parts of their logs are recognised by them."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._natives: dict[tuple[str, str, str], int] = {}  # folder, dialect, session id -> session
        self._anywhere: dict[tuple[str, str], int] = {}  # dialect, session id -> its first session in any folder
        self.recognised: set[int] = set()  # sessions whose dialect is known: the others may not be logs
        self._fresh: set[int] | None = None  # sessions begun after catching up that are not reported yet

    def in_folder(self, folder: str, dialect: str, native: str) -> int | None:
        """The session with an id whose main file is in a folder."""
        return self._natives.get((folder, dialect, native))

    def anywhere(self, dialect: str, native: str) -> int | None:
        """The first session with an id in any folder."""
        return self._anywhere.get((dialect, native))

    def name(self, main: str, dialect: str | None, native: str | None, number: int) -> None:
        """Registers a session's own id and its dialect, as far as they are known."""
        if dialect is not None:
            self.recognised.add(number)
        if dialect is not None and native is not None:
            self._natives.setdefault((main.rpartition("/")[0], dialect, native), number)
            self._anywhere.setdefault((dialect, native), number)

    def forget(self, number: int) -> None:
        """The session no longer exists: further parts belong to the next session with the same id."""
        self.recognised.discard(number)
        for key in [key for key, owner in self._natives.items() if owner == number]:
            del self._natives[key]
        for name in [name for name, owner in self._anywhere.items() if owner == number]:
            del self._anywhere[name]

    def renumber(self, number: int, again: int) -> None:
        """A session is read again under another number."""
        if self._fresh is not None and number not in self._fresh:
            self._fresh.discard(again)  # its beginning was already reported
        for key in [key for key, owner in self._natives.items() if owner == number]:
            self._natives[key] = again
        for name in [name for name, owner in self._anywhere.items() if owner == number]:
            self._anywhere[name] = again

    def caught_up(self) -> None:
        """From now on the beginning of each session is reported."""
        self._fresh = set()

    def opened(self, number: int) -> None:
        """A session is followed from now on."""
        if self._fresh is not None:
            self._fresh.add(number)

    def begins(self, number: int, dialect: str, main: str) -> None:
        """The dialect of a session is known: reports its beginning once."""
        if self._fresh and number in self._fresh:
            self._fresh.discard(number)
            self._say("a session begins", dialect=dialect, path=main)

"""The logs that are followed, indexed by the marks of a new file: inode, name, size, first bytes."""

from collections.abc import Iterable

from agentv_stream.discovery.header import first_bytes
from agentv_stream.discovery.places import logical_name
from agentv_stream.following.follow_plan import KnownFile
from agentv_stream.sources.files import content_size

HEAD = 256
FEW = 64  # logs of one size that are compared one by one


def plain_name(path: str) -> str:
    """A file's name without the suffixes of rotation and compression."""
    return logical_name(path).rpartition("/")[2]


class KnownLogs:
    """An index of the files that are followed (`entries`, by path), rebuilt before new files are examined."""

    def __init__(self, entries: dict[str, KnownFile]) -> None:
        self._entries = entries
        self.by_inode: dict[tuple[int, int], str] = {}
        self._named: dict[str, list[str]] = {}
        self._sized: dict[int, list[str]] = {}
        self._begun: dict[int, tuple[int, dict[bytes, list[str]]]] = {}  # of many logs of one size: by first bytes
        self._heads: dict[str, bytes] = {}
        self._contents: dict[tuple[str, int], int] = {}

    def index(self) -> None:
        """Indexes all that is followed now."""
        entries = self._entries
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
        entry = self._entries.get(path)
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

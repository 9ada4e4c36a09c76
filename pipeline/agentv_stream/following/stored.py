"""Sessions in databases as logs that can be followed.

A store is queried only when its files have changed: its newest rows for at most a tenth of the time, all of them, after
that, for a fiftieth. The stores that were written last are looked at in every round, like files that grew recently: a
database is one file, any of whose sessions may have grown. A session's rows are taken when they are final, each once,
identified by its message's id: rows are updated in place until then, and may be again later (a summary is put into a
prompt, an old output is cut), which does not change the rows that were taken. Rows that are not final are shown at
rest, like the unfinished last line of a file.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice

from agentv_stages.model.batch import Batch, Record
from agentv_stream.discovery.places import LAST_NS, Found, Root, Signature, stores
from agentv_stream.errors import SourceError
from agentv_stream.following.growing import Change, GrowingFile, Mark, OpenFiles
from agentv_stream.stores.changes import Changes
from agentv_stream.stores.rows import ReadPart, StoredRow, read_rows
from agentv_stream.stores.store import STORE_SIGN, split_stored

SHARE = 50.0
LOOK_SHARE = 10.0
COUNT_SECONDS = 5.0  # after which all rows are counted although a store is being written
MOST_LOOKED_AT = 64  # stores in a round
MUTE_ALL = 1 << 62  # a position after every row that exists when a store is first read
Files = tuple[tuple[int, int] | None, ...]


def is_stored(path: str) -> bool:
    """Whether a path names a session in a store: `STORE::SESSION`."""
    return bool(split_stored(path)[1])


class Stores:
    """The signatures of the sessions in stores, by path. `say` reports when a store becomes unreadable or readable."""

    def __init__(self, say: Callable[..., None], clock: Callable[[], float] = time.monotonic) -> None:
        self.troubles: dict[str, str] = {}  # by store
        self.share = SHARE  # a count that took 1 s is not repeated for this many seconds
        self.look_share = LOOK_SHARE  # the same for a look at the newest rows
        self.pause = 1.0  # seconds until a store that could not be read is retried
        self.appeared = False  # whether `changed` found new sessions, which the next scan takes
        self._say = say
        self._clock = clock
        self._files: dict[str, Files] = {}  # as they were at the last look; the store that changed last is the last
        self._counted: dict[str, Files] = {}  # as they were when all rows were counted
        self._changes: dict[str, Changes] = {}
        self._known: dict[str, dict[str, Signature]] = {}
        self._changed: set[str] = set()
        self._look_at: dict[str, float] = {}
        self._count_at: dict[str, float] = {}
        self._wait_until = math.inf  # when a store that has changed may be looked at

    def found(self, root: Root) -> Iterator[Found]:
        """Every session in the stores below a root. Sub-agents' sessions are part of the session that started them."""
        for place in stores(root):
            for path, signature in self._sessions(str(place)).items():
                yield Found(path, root, signature, True)

    def changed(self) -> list[str]:
        """The sessions that were written since the last call, in the stores that were written last."""
        self._wait_until = math.inf
        for store in list(islice(reversed(self._files), MOST_LOOKED_AT)):
            self._sessions(store)
        changed, self._changed = self._changed, set()
        return list(changed)

    def delay(self) -> float:
        """Seconds until a store that has changed may be looked at; infinite if there is none."""
        return max(0.0, self._wait_until - self._clock())

    def signature(self, path: str) -> Signature:
        """Identifies the state of a session, to detect changes. Raises: FileNotFoundError when it no longer exists."""
        store = path.partition(STORE_SIGN)[0]
        signature = self._sessions(store).get(path)
        if signature is None:
            raise FileNotFoundError(2, "no such session", path)
        return signature

    def _sessions(self, store: str) -> dict[str, Signature]:
        files = (_stamp(store), _stamp(store + "-wal"))
        begun = self._clock()
        known = self._known.setdefault(store, {})
        first, written = store not in self._files, files != self._files.get(store)
        count = files != self._counted.get(store) and begun >= self._count_at.get(store, 0.0)
        count = count and (first or not written or begun >= self._count_at.get(store, 0.0) + COUNT_SECONDS)
        if not (written or count):
            return known
        if begun < (look_at := self._look_at.get(store, 0.0)):
            self._wait_until = min(look_at, self._wait_until)
            return known
        if files[0] is None:
            self._changed |= known.keys()
            known.clear()
            self._files[store] = self._counted[store] = files
            return known
        changes = self._changes.setdefault(store, Changes(store))
        try:
            rows = changes.revisions(count)
        except SourceError as error:
            self._trouble(store, str(error))
            self._look_at[store] = begun + self.pause
            return known
        self._trouble(store, changes.unread)
        before = dict(known)
        known.clear()
        for row in rows:
            path = f"{store}{STORE_SIGN}{row.session.id}"
            old = before.get(path)
            inode = _number(path) if old is None else old.inode
            updated = min((row.session.updated_ms or 0) * 1_000_000, LAST_NS)
            known[path] = new = Signature(0, inode, row.rows + 1, updated, row.state)
            if old is None:
                self.appeared = self.appeared or not first
            elif old != new:
                self._changed.add(path)
        self._changed |= before.keys() - known.keys()
        self._files.pop(store, None)
        self._files[store] = files
        took = self._clock() - begun
        if count:
            self._counted[store], self._count_at[store] = files, begun + self.share * took
        else:
            self._look_at[store] = begun + self.look_share * took
        return known

    def _trouble(self, store: str, trouble: str | None) -> None:
        """Reports once what cannot be read of a store, and once that all can be read again."""
        before = self.troubles.pop(store, None)
        if trouble is not None:
            self.troubles[store] = trouble
            if before != trouble:
                self._say("a store cannot be read", path=store, error=trouble)
        elif before is not None:
            self._say("a store can be read again", path=store)


def _number(path: str) -> int:
    """A number in place of an inode."""
    return int.from_bytes(blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest())


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 - at every look
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


class StoredLog(GrowingFile):
    """A session in a store. Positions count the bytes of the rows taken; `taken` says which rows those are."""

    stored = True

    def __init__(self, path: str, files: OpenFiles, stores: Stores, mark: Mark | None = None) -> None:
        super().__init__(path, files)
        self._stores = stores
        self._store, _, self._session = path.partition(STORE_SIGN)
        self._more = False
        self._read: dict[str, ReadPart] = {}
        if mark is not None:
            self.position = self.reader.offset = mark.offset
            self.reader.row = mark.row

    @property
    def backlog(self) -> int:
        """1 while there may be rows that were not examined: their size in bytes is unknown."""
        return int(self._more)

    def mark(self) -> Mark:
        """The total of the rows taken."""
        return Mark(self.reader.offset, self.reader.row)

    def look(self) -> Change:
        """`grown` when rows were added or changed. Raises: nothing."""
        try:
            signature = self._stores.signature(self.path)
        except FileNotFoundError:
            return "gone"
        if signature != self.signature:
            self.signature, self._more = signature, True
        return "grown" if self._more else "same"

    def take(self, taken: Callable[[str], bool], arrived_ms: int | None, limit: int) -> Iterator[Batch]:
        """A batch for each row that is final and new; `taken` is called with the row's id, and so learns of it.

        Raises: SourceError.
        """
        if not self._more:
            return
        self._more = False
        start = self.position
        for n, row in enumerate(read_rows(self._store, self._session, read=self._read)):
            if row.final and not taken(row.id):
                if n == 0 and self.reader.row > 0:  # the session's own row, with a new title
                    yield Batch(self.path, arrived_ms, self.position, again=True, records=[Record(row.data, 0, 0)])
                    continue
                yield Batch(self.path, arrived_ms, self.position + len(row.data) + 1, records=[self._record(row, 0)])
                self.position += len(row.data) + 1
                self.reader.offset = self.position
                self.reader.row += 1
                if self.position - start >= limit:
                    self._more = True
                    return

    def unfinished(self, taken: Callable[[str], bool]) -> Batch | None:
        """The rows that are not final; None where all are. Raises: SourceError."""
        read = self._read.copy()  # a row that became final since the last `take` is not taken here
        rows = [row for row in read_rows(self._store, self._session, read=read) if not row.final and not taken(row.id)]
        if not rows:
            return None
        return Batch(self.path, records=[self._record(row, n) for n, row in enumerate(rows)], end=self.position)

    def _record(self, row: StoredRow, behind: int) -> Record:
        return Record(row.data, self.position, self.reader.row + behind)

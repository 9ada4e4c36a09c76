"""Which outputs are a consumer's own, so that no follower ever removes or overwrites another program's file.

A claim is recorded before an output's first byte is written; the file itself is identified by device and inode, because
a claim outlives its file. Every method raises CursorError.
"""

import os
from pathlib import Path

from agentv_stream.following.cursor_database import CursorDatabase


class Claims:
    """The claims of one consumer, by the transcript's path."""

    def __init__(self, database: CursorDatabase, consumer: str) -> None:
        self._database = database
        self._consumer = consumer

    def claim(self, path: str, take: bool) -> bool:
        """Whether the output was already ours; with `take` it is claimed, before it exists, so that a half-written file
        left by a crash is known to be ours."""
        ask = self._database.ask
        ours = bool(ask("SELECT 1 FROM place WHERE path=? AND consumer=?", path, self._consumer))
        if take and not ours:
            ask("INSERT OR REPLACE INTO place VALUES(?,?)", path, self._consumer)
            ask("DELETE FROM kept WHERE path=?", path)
        return ours

    def claimed(self) -> list[str]:
        """All claimed paths."""
        return [path for (path,) in self._database.ask("SELECT path FROM place WHERE consumer=?", self._consumer)]

    def record_made(self, path: Path) -> None:
        """Records that the file at a claimed path is ours: created by us, or taken over. Raises also: OSError."""
        stat = path.stat()
        self._database.ask("INSERT OR REPLACE INTO made VALUES(?,?,?)", str(path), str(stat.st_dev), str(stat.st_ino))

    def is_made(self, path: Path) -> bool:
        """Whether the file now at a path is the one recorded as ours."""
        return any(_stands(str(path), *known) for known in self._identity(str(path)))

    def is_ours(self, path: Path) -> bool:
        """Whether a file that we made is recorded at a path, whatever is there now."""
        return bool(self._identity(str(path)))

    def unmade(self, path: Path) -> None:
        """Forgets our file, which was removed: another one may get its inode."""
        for table in ("made", "kept"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", str(path))

    def drop(self, path: str) -> None:
        """Gives up the claim to an output."""
        for table in ("place", "made"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", path)

    def release(self, path: str) -> None:
        """Marks an output as finished: it is not written or recreated from now on; only `--keep` may remove it."""
        for device, inode in self._identity(path):
            if _stands(path, device, inode):
                values = (path, self._consumer, device, inode)
                self._database.ask("INSERT OR REPLACE INTO kept VALUES(?,?,?,?)", *values)
        self.drop(path)

    def released(self) -> list[str]:
        """Released outputs that still exist."""
        query = "SELECT path,device,inode FROM kept WHERE consumer=?"
        there: list[str] = []
        for path, device, inode in self._database.ask(query, self._consumer):
            if _stands(path, device, inode):
                there.append(path)
            else:
                self._database.ask("DELETE FROM kept WHERE path=?", path)
        return there

    def _identity(self, path: str) -> list[tuple[str, str]]:
        return [
            (device, inode) for device, inode in self._database.ask("SELECT device,inode FROM made WHERE path=?", path)
        ]


def _stands(path: str, device: str, inode: str) -> bool:
    try:
        stat = os.stat(path)  # noqa: PTH116 - for thousands at a start
    except OSError:
        return False
    return (device, inode) == (str(stat.st_dev), str(stat.st_ino))

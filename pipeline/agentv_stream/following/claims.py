"""Which outputs are a consumer's own, so that no follower ever removes or overwrites what somebody else made.

A claim is noted before an output's first byte; what was made is known by device and inode, because a claim outlives
what it was made for. Every method raises CursorError.
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
        """Whether an output was ours before; `take` makes it so before it is there, so that what a crash leaves
        half-written is known as ours.
        """
        ask = self._database.ask
        ours = bool(ask("SELECT 1 FROM place WHERE path=? AND consumer=?", path, self._consumer))
        if take and not ours:
            ask("INSERT OR REPLACE INTO place VALUES(?,?)", path, self._consumer)
            ask("DELETE FROM kept WHERE path=?", path)
        return ours

    def claimed(self) -> list[str]:
        """All paths that are claimed."""
        return [path for (path,) in self._database.ask("SELECT path FROM place WHERE consumer=?", self._consumer)]

    def made(self, path: Path) -> None:
        """The file that stands at a claimed path is ours: made by us, or taken over. Raises also: OSError."""
        stat = path.stat()
        self._database.ask("INSERT OR REPLACE INTO made VALUES(?,?,?)", str(path), str(stat.st_dev), str(stat.st_ino))

    def is_made(self, path: Path) -> bool:
        """Whether the very file that stands at a path is ours."""
        return any(_stands(str(path), *made) for made in self._identity(str(path)))

    def unmade(self, path: Path) -> None:
        """Our file was removed: another one may get its inode."""
        for table in ("made", "kept"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", str(path))

    def drop(self, path: str) -> None:
        """An output is nobody's any more."""
        for table in ("place", "made"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", path)

    def release(self, path: str) -> None:
        """Nobody writes to an output or makes it again from now on: only `--keep` may remove it."""
        for device, inode in self._identity(path):
            if _stands(path, device, inode):
                values = (path, self._consumer, device, inode)
                self._database.ask("INSERT OR REPLACE INTO kept VALUES(?,?,?,?)", *values)
        self.drop(path)

    def released(self) -> list[str]:
        """What was released and still stands."""
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

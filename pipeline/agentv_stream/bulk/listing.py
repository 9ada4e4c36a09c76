"""A folder as providers see it when they look for sub-agents' files, listed once and cached.

Five thousand sessions of one folder cause five thousand searches for the files beside them.
"""

import fnmatch
import glob
import os
import posixpath
import re
from collections.abc import Callable
from typing import Any, TypeVar

from agentv_stages.model.provider import Kept
from agentv_stream.bulk import object_store
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import first_unpacked, is_file
from agentv_stream.sources.folder import LocalFolder

MOST_ENTRIES = 200_000
MOST_HEAD = 64 * 1024
MOST_HEADS_BYTES = 16 * 1024 * 1024
MOST_MADE = 64
K = TypeVar("K")
V = TypeVar("V")


class ListedFolder:
    """As `folder.LocalFolder`, for files that do not change during its lifetime. Not thread-safe."""

    def __init__(self) -> None:
        self._local = LocalFolder()
        self._folders: dict[str, tuple[list[str], set[str]]] = {}
        self._globs: dict[str, list[str]] = {}
        self._heads: dict[tuple[str, int], bytes] = {}
        self._heads_bytes = 0
        self._made: dict[str, Any] = {}

    def glob(self, pattern: str) -> list[str]:
        """Matching files, sorted; `**` matches at any depth."""
        head, _, _ = pattern.partition("*")
        folder, _, _ = head.rpartition("/")
        rest = pattern[len(folder) + 1 :] if folder else pattern
        if not self._exists(folder):
            return []
        if "/" not in rest:
            return self._matching(folder, rest)
        return _remember(self._globs, pattern, lambda: self._search(folder, rest), MOST_ENTRIES)

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` decompressed bytes; short ones are cached."""
        if limit > MOST_HEAD:
            return self._read(path, limit)
        if not self._is_file(path):
            return b""
        known = self._heads.get((path, limit))
        if known is None:
            known = self._read(path, limit)
            self._heads_bytes += len(known)
            if self._heads_bytes > MOST_HEADS_BYTES:
                self._heads.clear()
                self._heads_bytes = len(known)
            self._heads[path, limit] = known
        return known

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        """The value of `make` for this key, which stands for one type."""
        known: Kept = _remember(self._made, key, make, MOST_MADE)
        return known

    def _read(self, path: str, limit: int) -> bytes:
        if not object_store.is_url(path):
            return self._local.read(path, limit)
        try:
            with object_store.open_input(path) as file:
                return first_unpacked(file, path, limit)
        except (OSError, SourceError):
            return b""

    def _matching(self, folder: str, last: str) -> list[str]:
        def search() -> list[str]:
            match = re.compile(fnmatch.translate(last)).match
            return sorted(f"{folder}/{name}" if folder else name for name in self._listed(folder)[0] if match(name))

        return _remember(self._globs, f"{folder}/{last}", search, MOST_ENTRIES)

    def _search(self, folder: str, rest: str) -> list[str]:
        if object_store.is_url(folder):
            scheme = folder.partition("://")[0]
            return sorted(f"{scheme}://{name}" for name in object_store.of_url(folder).glob(f"{folder}/{rest}"))
        names = glob.glob(rest, root_dir=folder or None, recursive=True)  # noqa: PTH207 - the folder is literal
        found = (f"{folder}/{name}" if folder else name for name in names)
        return sorted(path for path in found if is_file(path))

    def _exists(self, folder: str) -> bool:
        files, folders = self._listed(folder)
        return bool(files or folders)

    def _is_file(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        return name in self._listed(parent)[0]

    def _listed(self, folder: str) -> tuple[list[str], set[str]]:
        """The names of files and of folders in a folder; empty if it cannot be read."""
        return _remember(self._folders, folder, lambda: _list(folder), 4096)


def _list(folder: str) -> tuple[list[str], set[str]]:
    files: list[str] = []
    folders: set[str] = set()
    if object_store.is_url(folder):
        try:
            found = object_store.of_url(folder).ls(folder, detail=True)
        except OSError:
            return files, folders
        for info in found:
            name = posixpath.basename(str(info["name"]).rstrip("/"))
            if info["type"] == "directory":
                folders.add(name)
            else:
                files.append(name)
        return files, folders
    try:
        with os.scandir(folder or ".") as entries:
            for entry in entries:
                try:
                    if entry.is_dir():
                        folders.add(entry.name)
                    elif entry.is_file():
                        files.append(entry.name)
                except OSError:
                    continue  # a link into a folder that may not be entered
    except OSError:
        return files, folders
    return files, folders


def _remember(store: dict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    known = store.get(key)
    if known is None:
        if len(store) >= most:
            store.clear()
        known = store[key] = make()
    return known

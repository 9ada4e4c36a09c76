"""Forks whose own records do not show which of them are copies: the other logs of the folder show it.

In: the path of a log, and the id of its first message. Out: a fingerprint of each record of the logs that begin with
the same message and stand before this one: those records were copied, and are counted there.
Source: Claude Code 2.1.226; `/background` and Ctrl+B continue a session in a fork (`sessionKind: bg`), which begins
with a copy that keeps times and ids.
"""

import posixpath
import re
from array import array
from collections.abc import Sequence
from typing import TypeAlias
from zlib import crc32

from agentv_stages.model.provider import Folder

BACKGROUND = "bg"
HEADERS = frozenset(("mode", "permission-mode"))
"""Records without a time with which such a fork begins, and few other logs do."""
_HEAD = 16 * 1024
_LONGEST = 64 * 1024 * 1024
_ID = re.compile(rb'"uuid":\s*"([^"\\]+)"')
_OPENING = re.compile(rb'"type":\s*"(?:queue-operation|file-history-snapshot)"')
_BACKGROUND = re.compile(rb'"sessionKind":\s*"bg"')
Rank: TypeAlias = tuple[int, str]


def history_of(path: str, folder: Folder, first: str) -> Sequence[int]:
    """The fingerprints of the records of all logs that begin with the record `first` and stand before `path`.

    Only the first 64 MiB of each log are read. Logs that record their opening come first, then logs that do not, then
    forks in the background; within each group, the order is that of the file names.
    """
    prints = array("I")
    own = _rank(path, folder.read(path, _HEAD))
    beside = posixpath.dirname(path) or "."
    logs = folder.remembered(f"claude forks {beside}", lambda: _by_first(beside, folder))
    for rank, other in logs.get(first.encode("utf-8", "surrogatepass"), ()):
        if rank < own:
            prints.extend(map(crc32, _ID.findall(folder.read(other, _LONGEST))))
    return prints


def _by_first(beside: str, folder: Folder) -> dict[bytes, list[tuple[Rank, str]]]:
    """The logs of a folder by the id of their first record: a folder may hold thousands."""
    logs: dict[bytes, list[tuple[Rank, str]]] = {}
    for path in folder.glob(f"{beside}/*.jsonl"):
        head = folder.read(path, _HEAD)
        if found := _ID.search(head):
            logs.setdefault(found[1], []).append((_rank(path, head), path))
    return logs


def fingerprint(uuid: str) -> int:
    """That of a record, by its id."""
    return crc32(uuid.encode("utf-8", "surrogatepass"))


def _rank(path: str, head: bytes) -> Rank:
    found = _ID.search(head)
    opened = _OPENING.search(head, 0, found.start() if found is not None else len(head)) is not None
    return (0 if opened else 2 if _BACKGROUND.search(head) else 1), posixpath.basename(path)

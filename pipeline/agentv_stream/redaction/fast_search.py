"""Finds out in one pass whether any secret may be in some bytes, with hyperscan (the extra `redact`).

Compiling the expressions takes 0.1 s, so the result is kept in the user's cache: a file for each version of hyperscan
and each set of expressions.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import local
from typing import Any

from agentv_stream.discovery.places import own_folder
from agentv_stream.errors import SinkError
from agentv_stream.outputs.publish import publish_now

FOLDER = "redaction"
_MOST_KEPT = 8  # files: users with rules of their own have several


def fast_search(expressions: Sequence[bytes]) -> Callable[[bytes], bool] | None:
    """Bytes in, out whether any of the expressions occurs in them.

    None where hyperscan is not installed, or cannot read an expression of the user's rules.
    """
    try:
        hyperscan: Any = import_module("hyperscan")
    except ImportError:
        return None
    database = _database(hyperscan, expressions)
    if database is None:
        return None
    own = local()  # a scratch must not be used by two threads

    def note(*_: object) -> bool:
        return True  # one is enough

    def may_match(data: bytes) -> bool:
        try:
            scratch = own.scratch
        except AttributeError:
            scratch = own.scratch = hyperscan.Scratch(database)
        try:
            database.scan(data, match_event_handler=note, scratch=scratch)
        except hyperscan.ScanTerminated:
            return True
        return False

    return may_match


def _database(hyperscan: Any, expressions: Sequence[bytes]) -> Any:
    """The compiled expressions, from the cache if they are there; None if hyperscan cannot read one of them."""
    digest = hashlib.sha256(b"\0".join(expressions)).hexdigest()[:16]
    home = own_folder("XDG_CACHE_HOME", "~/.cache")
    kept = home / "agentv-stream" / FOLDER / f"hyperscan-{hyperscan.__version__}-{digest}" if home is not None else None
    if kept is not None:
        with suppress(OSError, hyperscan.error):  # of another processor, or damaged: hyperscan checks both
            return hyperscan.loadb(kept.read_bytes(), hyperscan.HS_MODE_BLOCK)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(expressions)
    flags = [hyperscan.HS_FLAG_SINGLEMATCH] * count
    try:
        database.compile(expressions=list(expressions), ids=list(range(count)), elements=count, flags=flags)
    except hyperscan.error:
        return None
    if kept is not None:
        _keep(kept, bytes(hyperscan.dumpb(database)))
    return database


def _keep(path: Path, data: bytes) -> None:
    """Writes a file of the cache, and removes the oldest of many. A cache that cannot be written costs time alone."""
    with suppress(SinkError, OSError):
        publish_now(path, data, sync=False)
        files = sorted(path.parent.glob("hyperscan-*"), key=lambda file: file.stat().st_mtime)
        for old in files[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)

"""Finds out in one pass whether any secret may be in some bytes, with hyperscan (the extra `redact`)."""

from collections.abc import Callable, Sequence
from importlib import import_module
from threading import local
from typing import Any


def fast_search(expressions: Sequence[bytes]) -> Callable[[bytes], bool] | None:
    """Bytes in, out whether any of the expressions occurs in them.

    None where hyperscan is not installed, or cannot read an expression of the user's rules.
    """
    try:
        hyperscan: Any = import_module("hyperscan")
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(expressions)
    flags = [hyperscan.HS_FLAG_SINGLEMATCH] * count
    try:
        database.compile(expressions=list(expressions), ids=list(range(count)), elements=count, flags=flags)
    except hyperscan.error:
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

"""Logs that the listing of a folder leaves out because of their names, such as `A.JSONL` and `run.log`."""

import os
from collections.abc import Iterator
from pathlib import Path

from agentv_stream.discovery.header import dialect_of
from agentv_stream.discovery.places import LOG_SUFFIXES, logical_name

LOOKED_INTO = (*LOG_SUFFIXES, ".log", ".txt", ".out")
MOST_LOOKED_INTO = 100
"""Files that are opened, at most: their contents decide whether they are logs."""


def skipped_logs(folder: str) -> list[str]:
    """Files below a folder that are logs of a known agent by their contents, but not by their names; sorted."""
    found: list[str] = []
    for i, path in enumerate(_others(folder)):
        if i >= MOST_LOOKED_INTO:
            break
        if dialect_of(Path(path)) is not None:
            found.append(path)
    return sorted(found)


def _others(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            plain = logical_name(name)
            if plain.lower().endswith(LOOKED_INTO) and not plain.endswith(LOG_SUFFIXES):
                yield str(Path(place, name))

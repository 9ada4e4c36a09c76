"""Units for the sessions of all agents on this machine, from the roots and names by which `sessions` finds them.

Headers are not read, unlike `sessions`: the contents of a file are known when it is read. If a log exists several times
beside itself (rotated, compressed), the plainest and newest is read.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from agentv_stream.bulk.find import Trouble, stores_in, units_of
from agentv_stream.bulk.unit import Unit
from agentv_stream.discovery.places import Found, Root, logical_name, stores, walk
from agentv_stream.sources.files import is_store_folder


def agents_units(roots: Iterable[Root], trouble: Trouble) -> list[Unit]:
    """The units of all sessions below the roots, sorted by name. `trouble` collects stores that cannot be read."""
    found: dict[str, Unit] = {}
    for root in roots:
        for unit in _stored(root, trouble) if root.database else _logs(root):
            found.setdefault(unit.name, unit)
    return units_of(found)


def _logs(root: Root) -> Iterator[Unit]:
    plainest: dict[str, Found] = {}
    for found in walk(root):
        if found.main and found.signature.size:
            name = logical_name(found.path)
            before = plainest.get(name)
            if before is None or _rank(found, name) > _rank(before, name):
                plainest[name] = found
    for found in plainest.values():
        yield Unit(found.path, 0, found.signature.size, found.signature.mtime_ns, None, True)


def _rank(found: Found, name: str) -> tuple[bool, int]:
    return found.path == name, found.signature.mtime_ns


def _stored(root: Root, trouble: Trouble) -> Iterator[Unit]:
    by_folder: dict[str, list[str]] = {}
    if is_store_folder(root.path):
        by_folder[root.path] = []
    for place in stores(root):
        by_folder.setdefault(str(Path(place).parent), []).append(str(place))
    for folder, databases in by_folder.items():
        yield from stores_in(folder, databases, is_store_folder(folder), trouble)

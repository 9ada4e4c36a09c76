"""Leaves out files that contain part or all of another file: compressed beside the log, archived, backed up.

Two files are compared if they have the same unpacked size or log name, and begin alike. A copy contains nothing that
the other does not, byte for byte, and names the same session: the part that a fork took from its parent's log is not a
copy of it.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentv_stages.model.provider import Folder
from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.unit import Unit
from agentv_stream.errors import SourceError
from agentv_stream.outputs.forms import told_twice
from agentv_stream.sources.files import content_size, first_unpacked
from agentv_stream.sources.folder import companions_of
from agentv_stream.sources.packed_folder import unpacked_name

if TYPE_CHECKING:
    from agentv_stream.discovery.header import Header

HEAD, LONGER_HEAD = 1024, 16 * 1024  # bytes; the second is held in memory for each file of a large group
FEW = 8
MOST_COMPARED = 16


def without_copies(found: dict[str, Unit]) -> dict[str, Unit]:
    """The units without copies; the copies' names are in `copies` of the unit that is read instead.

    Among files with the same first 16 KiB, each is compared with at most 16. Several outputs of ours for one session
    count as copies of each other.
    """
    left_out, folder = _forms(found), ListedFolder()
    for units in _alike(found.values()):
        read: list[Unit] = []
        for unit in sorted((unit for unit in units if unit.name not in left_out), key=_rank):
            whole = next((other for other in read[-MOST_COMPARED:] if _is_copy(unit, other)), None)
            if whole is not None:
                if _parts(unit, folder) > _parts(whole, folder) and _is_copy(whole, unit):
                    read[read.index(whole)] = unit
                    unit, whole = whole, unit
                left_out[unit.name] = whole.name
                continue
            for shorter in [other for other in read[-MOST_COMPARED:] if _is_copy(other, unit)]:
                left_out[shorter.name] = unit.name
                read.remove(shorter)
            read.append(unit)
    copies: dict[str, list[str]] = {}
    for name, whole_name in left_out.items():
        while whole_name in left_out:
            whole_name = left_out[whole_name]
        copies.setdefault(whole_name, []).append(name)
    return {
        name: replace(unit, copies=tuple(sorted(copies[name]))) if name in copies else unit
        for name, unit in found.items()
        if name not in left_out
    }


def _forms(found: dict[str, Unit]) -> dict[str, str]:
    """Files found in a folder that describe the same session as another file there, mapped to that file's name."""
    folders: dict[str, list[str]] = {}
    for name, unit in found.items():
        if unit.session is None:
            folder, _, last = name.rpartition("/")
            folders.setdefault(folder, []).append(last)
    return {
        f"{folder}/{name}": f"{folder}/{best}"
        for folder, names in folders.items()
        for name, best in told_twice(names).items()
        if found[f"{folder}/{name}"].in_folder
    }


def _rank(unit: Unit) -> tuple[bool, bool, int, str]:
    """Sort key: named before found files, plain before packed ones, short names before longer ones."""
    name = unit.source.rpartition("/")[2]
    return unit.in_folder, unpacked_name(name) != name, len(name), unit.name


def _alike(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """Groups of units that begin with the same bytes, and have the same unpacked size or log name."""
    files = [unit for unit in units if unit.session is None and unit.size]
    for key in (_by_size, _by_name):
        groups: dict[object, list[Unit]] = {}
        for unit in files:
            groups.setdefault(key(unit), []).append(unit)
        for group in groups.values():
            yield from _beginning_alike(group) if len(group) > 1 else ()


def _by_size(unit: Unit) -> object:
    # Opening an object takes a network request: only for objects of the same name.
    if object_store.is_url(unit.source):
        return unit.size, unit.source.rpartition("/")[2]
    return content_size(unit.place, unit.size)


def _by_name(unit: Unit) -> object:
    name = unpacked_name(unit.source)
    return name if object_store.is_url(unit.source) else name.rpartition("/")[2]


def _beginning_alike(units: list[Unit], size: int = HEAD) -> Iterator[list[Unit]]:
    """Groups of files with the same first bytes; more are compared if many begin alike, as runs of one prompt do."""
    groups: dict[bytes, list[Unit]] = {}
    for unit in units:
        try:
            with object_store.open_input(unit.place) as file:
                head = first_unpacked(file, unit.source, size)
        except (OSError, SourceError):
            continue  # reading it will report that
        groups.setdefault(head, []).append(unit)
    heads = sorted(groups)  # a longer head that begins with a shorter one follows it
    for head, following in pairwise(heads):
        if head and following.startswith(head):  # a short file may be the beginning of another
            groups[following] += groups.pop(head)
    for head, group in groups.items():
        if head and len(group) > 1:
            if len(group) > FEW and size < LONGER_HEAD:
                yield from _beginning_alike(group, LONGER_HEAD)
            else:
                yield group


def _is_copy(unit: Unit, whole: Unit) -> bool:
    """Whether `whole` begins with everything that `unit` contains."""
    try:
        return _begins_with(whole.place, unit.place) and _same_session(unit, whole)
    except (OSError, SourceError):
        return False


def _parts(unit: Unit, folder: Folder) -> int:
    """How many files of sub-agents are read with a log: beside a copy of it there may be none, and they would count as
    sessions."""
    try:
        header = None if object_store.is_url(unit.source) else _header(unit.place)
    except (OSError, SourceError):
        return 0
    return len(companions_of(get_provider(header.provider), unit.place, folder=folder)) if header is not None else 0


def _begins_with(whole: str, place: str) -> bool:
    """Raises: SourceError."""
    pieces, beginning = object_store.pieces(whole), object_store.pieces(place)
    ours, theirs = b"", b""
    while True:
        theirs = theirs or next(beginning, b"")
        if not theirs:
            return True
        ours = ours or next(pieces, b"")
        length = min(len(ours), len(theirs))
        if not length or ours[:length] != theirs[:length]:
            return False
        ours, theirs = ours[length:], theirs[length:]


def _same_session(unit: Unit, whole: Unit) -> bool:
    if object_store.is_url(unit.source) or object_store.is_url(whole.source):
        return unpacked_name(unit.source).rpartition("/")[2] == unpacked_name(whole.source).rpartition("/")[2]
    first, other = _header(unit.place), _header(whole.place)
    if first is None or other is None:
        return False
    return first.session_id == other.session_id


def _header(place: str) -> "Header | None":
    from agentv_stream.discovery.header import read_header  # with the decoders; most folders have no two such files

    return read_header(place)

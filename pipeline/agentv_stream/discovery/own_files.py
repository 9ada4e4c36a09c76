"""Checks that each file that is read or written has only one use."""

import os
import stat
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stream.errors import UsageError

OWN_FORMS = {"transcript": ("agentv-transcript",), "otel-file": ("otlp",)}
"""Dialects of logs that an output may replace, by its option: those that it has written before."""

Places = Iterable[tuple[str, str | Path | None]]


def check_own_files(outputs: Places, inputs: Iterable[str | PathLike[str] | int]) -> None:
    """No file may be both output and input, under whatever name, or serve as two outputs. `-` is a standard stream: an
    output appended to the log being read would be read again, endlessly.

    Outputs come with their options, or arguments; inputs may be descriptors.

    Nor may an output replace what `what_would_be_lost` names.

    Raises: UsageError.
    """
    read: set[tuple[int, int]] | None = None
    written: dict[str, str] = {}
    for option, place in outputs:
        if place is None:
            continue
        printed = str(place) == "-"
        known = _regular(1 if printed else place)
        if known is not None:
            read = {found for source in inputs if (found := _input(source))} if read is None else read
            if known in read:
                output = f"{option}: standard output" if printed else f"{option} {place}"
                raise UsageError(f"{output} is the input itself")
        if printed:
            continue
        if known is not None:
            valuable = what_would_be_lost(option.lstrip("-"), Path(place))
            if valuable is not None:
                raise UsageError(f"{option} {place} is {valuable}, which would be lost; give another file")
        elif os.path.exists(place):  # noqa: PTH110 - a name may be no path at all
            continue  # a pipe or a device can have several writers
        other = written.setdefault(os.path.realpath(place), option)
        if other != option:
            raise UsageError(f"{other} and {option} are both {place}; give each a file of its own")


def what_would_be_lost(option: str, path: Path) -> str | None:
    """What an existing file is, if the output of an option (without its dashes) must not replace it.

    There may be no other copy of an agent's log, nor of a database; a transcript may replace an earlier one. The agent
    would have to do a run again whose result is lost.
    """
    from agentv_stream.discovery.header import dialect_of  # rarely needed, and start-up time counts
    from agentv_stream.discovery.places import is_database

    if is_database(str(path)):
        return "a database"
    log = dialect_of(path)
    if log is not None:
        return f"a log ({log})" if log not in OWN_FORMS.get(option, ()) else None
    return "the result of a run" if is_of_a_run(path) else None


class _Attempt(Struct):
    """The members that results of `run`, and the old ones of bobbin, all have, and no other output."""

    task_id: str
    approach: str


def is_of_a_run(path: Path) -> bool:
    """Whether a file is the result of a run. They are indented, so of JSON lines only the beginning is read."""
    try:
        with path.open("rb") as file:
            if file.readline(3).rstrip() != b"{":
                return False
            msgspec.json.decode(b"{" + file.read(), type=_Attempt)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _input(place: str | PathLike[str] | int) -> tuple[int, int] | None:
    return _regular(0 if str(place) == "-" else place)


def _regular(place: str | PathLike[str] | int) -> tuple[int, int] | None:
    """Device and inode of a regular file, also behind a descriptor; None for anything else, or if it does not exist."""
    try:
        status = os.stat(place)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None

"""Private files that appear at once and whole; written in the calling thread."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agentv_stream.errors import SinkError
from agentv_stream.outputs.durable import appear, is_together, sync_file
from agentv_stream.outputs.naming import prepare_folder, temporary_name
from agentv_stream.sources.files import is_folder

PRIVATE = 0o600
_MOST_LINKS = 40


def own_descriptor(place: str | Path) -> int | None:
    """The descriptor of ours that a name means (`/dev/stdout`, `/dev/fd/3`, a link to one), whatever is behind it.

    Such a name is written to and never replaced: run as root in a container, that would destroy `/dev/stdout`. It is
    not reopened either, which would begin at the start of a file, and is impossible for a socket.
    """
    ours, name = os.path.realpath("/dev/fd"), os.path.abspath(place)  # noqa: PTH100 - links are followed one by one
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(name)
        if last.isascii() and last.isdigit() and os.path.realpath(folder) == ours:
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))  # noqa: PTH115, PTH118 - as above
        except (OSError, ValueError):  # it is not a link
            return None
    return None


def means_stdout(place: str | Path | None) -> bool:
    """Whether a place means standard output: `-`, or one of its names."""
    return place is not None and (str(place) == "-" or own_descriptor(place) == 1)


def private_opener(path: str, flags: int) -> int:
    """Opens with mode 0600, whatever the umask or an existing file's mode; follows no link when creating."""
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), PRIVATE)
    with suppress(OSError):  # a writable file of another user, whose mode we cannot change
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, PRIVATE)  # for a file that existed before
    return descriptor


def publish_now(path: Path, data: bytes | Iterable[bytes], *, sync: bool = True) -> None:
    """Writes a whole private file (`data`: its bytes, or pieces of them) so that it appears at once or not at all.

    With `sync` it is on the disk when this returns (`durable.py`).

    Raises: SinkError.
    """
    pieces = (data,) if isinstance(data, bytes) else data
    if is_folder(path):
        raise SinkError(str(path), IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    temporary = temporary_name(path)
    try:
        if (own := own_descriptor(path)) is not None:
            with os.fdopen(os.dup(own), "wb") as file:
                file.writelines(pieces)
            return
        prepare_folder(path.parent)
        if path.exists() and not path.is_file():  # /dev/null, a pipe: there is nothing to rename
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(pieces)
                file.flush()
                if sync and not is_together():
                    sync_file(file.fileno())
            if sync:
                appear(temporary, path)
            else:
                temporary.replace(path)
        except BaseException:  # pieces are made while they are written, which may raise anything
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SinkError(str(path), error) from error

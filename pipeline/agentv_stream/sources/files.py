"""Reads finished files as plain bytes, decompressing them; synchronous, for bulk workers and threads."""

import gzip
import os
import stat
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from agentv_stream.errors import DamagedArchive, SourceError
from agentv_stream.sources.packed_folder import PACKED

CHUNK_BYTES = 256 * 1024
MOST_LOOKED_AT = 64  # names in a folder, until it is none of OpenCode's


def is_there(path: str | Path) -> bool:
    """Whether a path exists; False inside a folder that may not be entered.

    `Path.exists` raises PermissionError there.
    """
    return os.path.exists(path)  # noqa: PTH110


def is_gone(path: str | Path) -> bool:
    """Whether nothing exists at a path; False if that cannot be determined."""
    try:
        os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def is_folder(path: str | Path) -> bool:
    """As `is_there`, for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: str | Path) -> bool:
    """As `is_there`, for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_store_folder(path: str | Path) -> bool:
    """Whether a folder, or `storage/` in it, holds sessions in OpenCode's layout before 1.2: a file for each message
    and each part."""
    storage = os.path.join(path, "storage")  # noqa: PTH118 - for each of many folders, as in the next line
    return os.path.isdir(os.path.join(storage, "session")) or _has_messages(storage) or _has_messages(path)  # noqa: PTH112, PTH118


def _has_messages(folder: str | Path) -> bool:
    """Whether there is a folder of messages for some session: `message/ses_…`."""
    try:
        with os.scandir(os.path.join(folder, "message")) as entries:  # noqa: PTH118 - for each of many folders
            return any(entry.name.startswith("ses") for entry in islice(entries, MOST_LOOKED_AT))
    except OSError:
        return False


def store_around(path: str | Path) -> tuple[Path, str | None] | None:
    """The store that a path in it belongs to, in OpenCode's layout before 1.2, and the session if the path names one:
    `message/`, `message/<session>`, a message in that, or `session/<project>/<session>.json`."""
    place = Path(path)
    session: str | None = None
    if place.parent.parent.name in ("message", "session") and place.suffix == ".json":
        session = place.parent.name if place.parent.parent.name == "message" else place.stem
        place = place.parent.parent
    elif place.parent.name == "message" and place.name.startswith("ses"):
        session, place = place.name, place.parent
    elif place.name != "message":
        return None
    root = place.parent.parent if place.parent.name == "storage" else place.parent
    if not (session is None or session.startswith("ses")) or not is_store_folder(root):
        return None
    return root, session


def absolute(path: str | Path) -> Path:
    """An absolute path; `..` is resolved only where that is the same place (behind a linked folder it may not be)."""
    as_told = Path(path).absolute()
    short = Path(os.path.abspath(as_told))  # noqa: PTH100 - links stay
    try:
        return short if short == as_told or not is_there(as_told) or short.samefile(as_told) else as_told
    except OSError:
        return as_told


def check_readable(path: Path) -> None:
    """Raises: SourceError for a path that is missing, is a directory, or lacks read permission."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if str(path).lstrip().startswith("{"):
            raise SourceError("an agent's output as text is not a path; give it as bytes") from error
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise SourceError(f"cannot read {str(path)!r}: {error}") from error
    if stat.S_ISDIR(mode):
        raise SourceError(
            f"cannot read {path}: it is a directory; `agentv-stream import {path}` reads a folder of sessions"
        )
    if not os.access(path, os.R_OK):
        raise SourceError(f"cannot read {path}: permission denied")


def compression(path: Path) -> str | None:
    """`gzip` or `zstd`, by the file's first bytes; None for a plain file, and for a pipe, which can be read only
    once."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            return _packed(file.read(4))
    except OSError:
        return None


def content_size(path: str, size: int) -> int:
    """The unpacked size of a file of this size, as recorded in a packed file; 0 if it is not recorded or unreadable.

    For archives that were joined, only the size of one is known, and gzip's figure lacks the part over 4 GiB.
    """
    if not path.endswith(PACKED):
        return size
    with suppress(OSError), Path(path).open("rb") as file:
        head = file.read(18)  # the header of a zstd frame is no longer
        if _packed(head) == "gzip":
            file.seek(-4, os.SEEK_END)
            return int.from_bytes(file.read(4), "little")
        if _packed(head) == "zstd":
            import zstandard

            with suppress(zstandard.ZstdError):
                return max(0, zstandard.frame_content_size(head))
    return 0


def open_plain(path: Path) -> BinaryIO:
    """The file's decompressed bytes. Reading may raise OSError, EOFError or a zstandard error for damaged data."""
    kind = compression(path)
    if kind == "gzip":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if kind == "zstd":
        from agentv_stream.sources.zstd_file import open_zstd

        return cast(BinaryIO, open_zstd(path.open("rb", buffering=0)))
    return path.open("rb", buffering=0)


def read_pieces(path: Path) -> Generator[bytes]:
    """Yields the decompressed bytes of a file in pieces, in the calling thread.

    Raises: SourceError when it cannot be read; DamagedArchive, after what precedes the damage was yielded.
    """
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    with file:
        yield from unpacked(file, str(path))


def unpacked(file: BinaryIO, place: str) -> Iterator[bytes]:
    """As `read_pieces`, for an open file positioned at its start; `place` is its name in errors."""
    damage: tuple[type[Exception], ...] = (gzip.BadGzipFile, EOFError, zlib.error)
    try:
        data = file.read(CHUNK_BYTES)
        kind = _packed(data)
        if kind is not None:
            file.seek(0)
            reader: Any
            if kind == "gzip":
                reader = gzip.GzipFile(fileobj=file)
            else:
                import zstandard

                from agentv_stream.sources.zstd_file import open_zstd

                damage = (*damage, zstandard.ZstdError)
                reader = open_zstd(file, closefd=False)
            with reader:
                # At the end of a truncated archive `read` would lose the bytes that it had already decompressed.
                while data := reader.read1(CHUNK_BYTES):
                    yield data
            return
        while data:
            yield data
            data = file.read(CHUNK_BYTES)
    except damage as error:
        raise DamagedArchive(f"cannot read {place}: {error}") from error
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def first_unpacked(file: BinaryIO, place: str, limit: int) -> bytes:
    """The first `limit` decompressed bytes of an open file, as far as they can be read. Raises: OSError."""
    data = file.read(limit)
    if _packed(data) is None:
        return data
    file.seek(0)
    found: list[bytes] = []
    size = 0
    try:
        for piece in unpacked(file, place):
            found.append(piece)
            size += len(piece)
            if size >= limit:
                break
    except SourceError:
        pass  # it is damaged from here on
    return b"".join(found)[:limit]


def _packed(head: bytes) -> str | None:
    """`gzip` or `zstd`, by the first bytes of a file."""
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if head[:4] == b"\x28\xb5\x2f\xfd" else None

"""Finished files as plain bytes, compressed ones unpacked; synchronous, for bulk workers and threads."""

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from agentv_stream.errors import SourceError

CHUNK_BYTES = 256 * 1024


def is_there(path: str | Path) -> bool:
    """Whether something is seen at a path; no for what lies in a folder that may not be entered.

    `Path.exists` raises PermissionError there.
    """
    return os.path.exists(path)  # noqa: PTH110


def is_folder(path: str | Path) -> bool:
    """As `is_there`, for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def check_readable(path: Path) -> None:
    """Raises: SourceError for what is missing, a directory, or not ours to read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise SourceError(
            f"cannot read {path}: it is a directory; `agentv-stream import {path}` reads a folder of sessions"
        )
    if not os.access(path, os.R_OK):
        raise SourceError(f"cannot read {path}: permission denied")


def compression(path: Path) -> str | None:
    """`gzip` or `zstd`, by the file's first bytes; None for a plain file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError:
        return None
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_plain(path: Path) -> BinaryIO:
    """The file's bytes, unpacked. Reading may raise OSError, EOFError or a zstandard error for damaged data."""
    kind = compression(path)
    if kind == "gzip":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if kind == "zstd":
        from agentv_stream.zstd_file import open_zstd

        return cast(BinaryIO, open_zstd(path.open("rb", buffering=0)))
    return path.open("rb", buffering=0)


def read_pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked, in pieces, in the calling thread.

    Raises: SourceError when it cannot be read or its compression is damaged; what came before has been given.
    """
    failures: tuple[type[Exception], ...] = (OSError, EOFError)
    if compression(path) == "zstd":
        import zstandard

        failures = (OSError, EOFError, zstandard.ZstdError)
    try:
        with open_plain(path) as file:
            # Of an archive that breaks off, `read` would lose what it had unpacked before it noticed.
            read = getattr(file, "read1", file.read)
            while data := read(CHUNK_BYTES):
                yield data
    except failures as error:
        raise SourceError(f"cannot read {path}: {error}") from error

"""Places on disk and in object stores, with one small interface: read pieces, list, write a whole object at once.

A place is a path or a URL (`s3://bucket/key`, `file:///…`, whatever fsspec reads). fsspec is an extra, imported at the
first URL. A write is not visible before it is complete: on disk by a rename, in a store by its own guarantee.
"""

import io
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

from agentv_stream.bulk import leaving
from agentv_stream.errors import SinkError, SourceError, UsageError
from agentv_stream.extras import extra
from agentv_stream.outputs.durable import appear, is_together, sync_file, sync_path, withdraw
from agentv_stream.outputs.naming import prepare_folder
from agentv_stream.sources.files import is_file, is_folder, unpacked

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(place: str) -> bool:
    """Whether a place is an object in a store; `file://` is not."""
    return _URL.match(place) is not None and not place.startswith("file://")


def plain(place: str) -> str:
    """A `file://` URL as a path; everything else unchanged."""
    if place.startswith("file://"):
        return unquote(urlsplit(place).path)
    return place


def join(place: str, *parts: str) -> str:
    """A place below another one."""
    return posixpath.join(place.rstrip("/") if is_url(place) else place, *parts)


@lru_cache(maxsize=16)
def file_system(scheme: str) -> Any:
    """The fsspec file system for a URL's scheme.

    Raises: UsageError if fsspec, or a package that it needs for that scheme, is not installed.
    """
    fsspec = extra("fsspec", "cloud", f"{scheme}://")
    try:
        return fsspec.filesystem(scheme)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{scheme}:// cannot be used: {error}") from error


def of_url(url: str) -> "RaisesOSError":
    """The file system of a URL; its failures are raised as OSError."""
    return RaisesOSError(file_system(url.partition("://")[0]))


class RaisesOSError:
    """Wraps a file system whose library has its own errors (no credentials, no connection), and raises OSError."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.system, name)

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return method(*arguments, **options)
            except Exception as error:
                if type(error).__module__ == "builtins":
                    raise  # an OSError, or a bug
                raise OSError(f"{error}") from error

        return call


def open_input(place: str) -> BinaryIO:
    """The bytes as stored, seekable.

    Raises: SourceError.
    """
    try:
        if is_url(place):
            return of_url(place).open(place, "rb", block_size=4 * 1024 * 1024)  # type: ignore[no-any-return]  # fsspec has no types
        return open(place, "rb", buffering=0)  # noqa: PTH123 - the faster way; the caller closes it
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def lines(place: str) -> Iterator[bytes]:
    """The lines of a file or object, with their ends, one at a time in memory; none if it does not exist.

    Raises: SourceError for other failures.
    """
    try:
        with io.BufferedReader(cast("io.RawIOBase", open_input(place)), 1024 * 1024) as file:
            yield from file
    except SourceError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def pieces(place: str) -> Iterator[bytes]:
    """Yields the decompressed bytes of a file or object in pieces; it is opened once.

    Raises: SourceError when it cannot be read; DamagedArchive, after what precedes the damage was yielded.
    """
    with open_input(place) as file:
        yield from unpacked(file, place)


def read_all(place: str) -> bytes | None:
    """A whole small object; None if it does not exist.

    Raises: SourceError for other failures.
    """
    try:
        if is_url(place):
            return bytes(of_url(place).cat_file(place))
        return Path(place).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def put(place: str, data: bytes, mark: str = "put") -> None:
    """Writes a whole object so that it appears at once or not at all. What is left if we are killed has the `mark`.

    Raises: SinkError.
    """
    try:
        if is_url(place):
            of_url(place).pipe_file(place, data)
            return
        path = Path(place)
        try:
            temporary, descriptor = leaving.make_temporary(path.parent, mark)
        except (FileNotFoundError, NotADirectoryError):  # preparing the folder takes as long as writing a small file
            prepare_folder(path.parent)
            temporary, descriptor = leaving.make_temporary(path.parent, mark)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
                if not is_together():
                    sync_file(file.fileno())
            appear(temporary, path, leaving.settled)
        except BaseException:
            temporary.unlink(missing_ok=True)
            leaving.settled(temporary)
            raise
    except OSError as error:
        raise SinkError(place, error) from error


def put_lines(place: str, lines: Iterable[bytes], mark: str = "put") -> None:
    """As `put_pieces`, for lines without their ends."""
    put_pieces(place, (line + b"\n" for line in lines), mark)


def put_pieces(place: str, pieces: Iterable[bytes], mark: str = "put") -> None:
    """Writes a file that appears at once; its pieces are not held in memory. `mark`: as in `put`.

    Raises: SinkError.
    """
    folder = None if is_url(place) else Path(place).parent
    local: Path | None = None
    try:
        if folder is not None:
            prepare_folder(folder)
        local, descriptor = leaving.make_temporary(folder, mark)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        put_file(local, place)
    except BaseException as error:
        if local is not None:
            local.unlink(missing_ok=True)
            leaving.settled(local)
        if isinstance(error, OSError):
            raise SinkError(place, error) from error
        raise


def put_file(local: Path, place: str) -> None:
    """Moves a finished local file to its place, where it appears at once; a path must be on the same disk. Then the
    file is no longer registered as temporary.

    Raises: SinkError.
    """
    try:
        if is_url(place):
            of_url(place).put_file(str(local), place)
            local.unlink()
            leaving.settled(local)
        else:
            if not is_together():
                sync_path(local)
            appear(local, Path(place), leaving.settled)
    except OSError as error:
        raise SinkError(place, error) from error


def names_below(place: str) -> list[str]:
    """All files below a place, at any depth, as places; empty if it does not exist. Sorted.

    Raises: SourceError for a store that cannot be reached.
    """
    if is_url(place):
        system = of_url(place)
        scheme = place.partition("://")[0]
        system.invalidate_cache()
        try:
            return sorted(f"{scheme}://{name}" for name in system.find(place))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SourceError(f"cannot list {place}: {error.strerror or error}") from error
    if not is_folder(place):
        return []
    return sorted(str(path) for path in Path(place).rglob("*") if is_file(path))


def folders_in(place: str, beginning: str) -> list[str]:
    """The names of folders right below a place that begin so, sorted; none if there is no such place.

    Raises: SourceError.
    """
    try:
        if not is_url(place):
            return sorted(path.name for path in Path(plain(place)).glob(f"{beginning}*") if path.is_dir())
        entries: list[str] = of_url(place).ls(place, detail=False)
        names = {entry.rstrip("/").rpartition("/")[2] for entry in entries}
        return sorted(name for name in names if name.startswith(beginning))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def remove(place: str) -> None:
    """Removes a file or object; it may already be gone.

    Raises: SinkError.
    """
    try:
        if is_url(place):
            of_url(place).rm_file(place)
        else:
            withdraw(Path(place))
            os.unlink(place)  # noqa: PTH108 - the faster way
    except FileNotFoundError:
        return
    except OSError as error:
        raise SinkError(place, error) from error


def remove_tree(place: str) -> None:
    """Removes all files below a place, and its folders; locally, as far as possible.

    Raises: SinkError, for a store.
    """
    if is_url(place):
        for name in names_below(place):
            remove(name)
        return
    import shutil

    shutil.rmtree(place, ignore_errors=True)


def stat(place: str) -> tuple[int, int]:
    """Size in bytes and modification time in ns (0 if there is none).

    Raises: SourceError.
    """
    try:
        if is_url(place):
            info = of_url(place).info(place)
            return int(info.get("size") or 0), changed_ns(info)
        found = os.stat(place)  # noqa: PTH116 - the faster way
        return found.st_size, found.st_mtime_ns
    except OSError as error:
        raise SourceError(f"cannot read {place}: {error.strerror or error}") from error


def changed_ns(info: dict[str, Any]) -> int:
    """The modification time in fsspec's information about an object."""
    for key in ("LastModified", "mtime", "last_modified", "created"):
        value = info.get(key)
        if value is None:
            continue
        if isinstance(value, (int, float)):
            return int(value * 1_000_000_000)
        if hasattr(value, "timestamp"):
            return int(value.timestamp() * 1000) * 1_000_000
    return 0

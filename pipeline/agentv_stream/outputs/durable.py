"""Puts written files on the disk, so that they survive a power cut: the file, then its name, then the folder.

The promise for each output is in docs/outputs.md. To wait for the disk costs milliseconds a file; several files
are waited for at the same time (`together`), which costs a fraction of that.
"""

import errno
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Thread

SYNC: ContextVar[bool] = ContextVar("sync", default=True)
"""Whether to wait for the disk at all: the setting `sync`."""
_batch: "ContextVar[Publications | None]" = ContextVar("batch", default=None)
_QUIETLY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a named pipe would be waited for
_AT_ONCE = 16  # files that are waited for at the same time; with 64 it is hardly faster
_IMPOSSIBLE = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR))


def sync_file(descriptor: int) -> None:
    """Waits until the contents of a file are on the disk. Pipes and devices have none. Raises: OSError."""
    if not SYNC.get():
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE:
            raise


def sync_path(path: str | Path) -> None:
    """As `sync_file`, for a file or folder by its name. One that is gone needs no waiting. Raises: OSError."""
    if not SYNC.get():
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | _QUIETLY)
    except OSError as error:
        if error.errno in (errno.ENOENT, *_IMPOSSIBLE):  # some systems cannot open a folder
            return
        raise
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)


def sync_paths(paths: Iterable[Path]) -> dict[Path, OSError]:
    """As `sync_path`, for several at the same time; returns those that failed."""
    every = list(dict.fromkeys(paths))
    if not every or not SYNC.get():
        return {}
    failed: dict[Path, OSError] = {}
    waiting = iter(every)  # shared by the threads

    def sync() -> None:
        for path in waiting:
            try:
                sync_path(path)
            except OSError as error:
                failed[path] = error

    threads = [
        Thread(target=sync) for _ in range(min(_AT_ONCE, len(every)) - 1)
    ]  # a new thread has the default: to wait
    for thread in threads:
        thread.start()
    sync()
    for thread in threads:
        thread.join()
    return failed


def appear(temporary: Path, path: Path, settled: Callable[[Path], None] = lambda path: None) -> None:
    """Moves a temporary file to its name; within `together`, at its end. `settled` is called when it has moved.

    The caller has waited for its contents, unless `is_together`. Raises: OSError.
    """
    batch = _batch.get()
    if batch is not None:
        withdraw(path)  # an earlier one of that name
        batch.waiting[path] = temporary, settled
        return
    temporary.replace(path)
    settled(temporary)
    sync_path(path.parent)


def withdraw(path: Path) -> None:
    """Forgets a file that has not appeared yet."""
    batch = _batch.get()
    if batch is not None and path in batch.waiting:
        batch.discard(path)


def is_together() -> bool:
    """Whether files appear at the end of a batch, which then waits for their contents."""
    return _batch.get() is not None


class Publications:
    """Files that appear together; `failed` are those that could not."""

    def __init__(self) -> None:
        self.waiting: dict[Path, tuple[Path, Callable[[Path], None]]] = {}
        self.failed: dict[Path, OSError] = {}

    def publish(self) -> None:
        """Waits for the contents of all files, moves them to their names, and waits for the folders."""
        unwritten = sync_paths(temporary for temporary, _ in self.waiting.values())
        folders = {path.parent for path in self.waiting}
        for path, (temporary, settled) in list(self.waiting.items()):
            try:
                if temporary in unwritten:
                    raise unwritten[temporary]
                temporary.replace(path)
                settled(temporary)
                del self.waiting[path]
            except OSError as error:
                self.discard(path)
                self.failed[path] = error
        self.failed |= sync_paths(folders)

    def discard(self, path: Path) -> None:
        temporary, settled = self.waiting.pop(path)
        with suppress(OSError):
            temporary.unlink()
        settled(temporary)


@contextmanager
def together() -> Generator[Publications]:
    """Files that appear within this context do so at its end; if it is left by an exception, they do not."""
    batch = Publications()
    before = _batch.set(batch)
    try:
        yield batch
    except BaseException:
        for path in list(batch.waiting):
            batch.discard(path)
        raise
    finally:
        _batch.reset(before)
    batch.publish()

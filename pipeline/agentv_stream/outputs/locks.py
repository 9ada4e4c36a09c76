"""Locks between processes: held while a descriptor is open, and released when its process ends."""

import os
from pathlib import Path

from agentv_stream.outputs.publish import PRIVATE


class LockTaken(Exception):
    """Another process holds the lock."""


def take_lock(path: Path, *, folder: bool = False) -> int | None:
    """The descriptor that holds a lock on a file, which is created, or with `folder` on an existing folder.

    None if the system or the file system has no locks. Raises: Taken, OSError if the path cannot be opened.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    flags = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LockTaken(str(path)) from error
    except OSError:
        os.close(descriptor)
        return None
    return descriptor

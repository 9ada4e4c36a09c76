"""How a worker process ends at once: nothing half-written stays, and none outlives the run that it works for."""

import os
import shutil
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path

_ENDING = frozenset(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_temporary: set[Path] = set()


def temporary(place: Path) -> None:
    """A file or folder that goes when the worker has to end."""
    _temporary.add(place)


def settled(place: Path) -> None:
    """It has been removed or moved to where it belongs."""
    _temporary.discard(place)


def obey_parent() -> None:
    """Once per worker: Ctrl-C is the parent's business, SIGTERM ends at once, and so does the parent's death.

    A pool's idle worker waits for a queue whose other end it holds itself: without this it would wait for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: _end())
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # see `undisturbed`
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


@contextmanager
def undisturbed() -> Generator[None]:
    """While processes are started in it, signals that end this one wait.

    What a handler raises in the middle of a fork Python only prints; and a child has its parent's handlers at first.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    _end()


def _end() -> None:
    for place in list(_temporary):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
    os._exit(128 + signal.SIGTERM)

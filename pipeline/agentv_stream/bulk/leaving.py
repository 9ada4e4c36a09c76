"""How a worker, process or thread, ends at once: nothing half-written stays, and none outlives the run it works for.

What a run that was killed left half-written bears its mark; the next one at its place removes that.
"""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path

_ENDING = frozenset(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_temporary: set[Path] = set()
_NUMBERS = count()
_thread = threading.local()


def temporary(folder: Path | None, mark: str) -> Path:
    """A hidden name that nobody else takes, in a folder or where the system keeps such.

    What is made under it goes when the worker has to end, from before it is there.
    """
    where = folder if folder is not None else Path(tempfile.gettempdir())
    place = where / f".{mark}-{os.getpid()}-{next(_NUMBERS)}.tmp"
    _temporary.add(place)
    return place


def known(place: Path) -> None:
    """One that another process of this run made goes with this one, too."""
    _temporary.add(place)


def make_temporary(folder: Path | None, mark: str) -> tuple[Path, int]:
    """As `temporary`, and the descriptor of a new private file there. Raises: OSError."""
    place = temporary(folder, mark)
    try:
        return place, os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        settled(place)
        raise


def sweep(folder: Path, mark: str) -> None:
    """Removes what a run left that was killed; it is surely over."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if entry.name.startswith(f".{mark}-")]
    except OSError:
        return  # nothing lies there
    for path in left:
        if path.endswith(".tmp"):
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a name from the listing


def settled(place: Path) -> None:
    """It has been removed or moved to where it belongs."""
    _temporary.discard(place)


def obey(over: threading.Event) -> None:
    """Once per worker thread: once `over` is set, it does nothing more."""
    _thread.over = over


def give_up() -> None:
    """Between two batches. Raises: KeyboardInterrupt where the run that this thread works for is over."""
    over: threading.Event | None = getattr(_thread, "over", None)
    if over is not None and over.is_set():
        raise KeyboardInterrupt


def obey_parent() -> None:
    """Once per worker: Ctrl-C and the end of the terminal are the parent's business, although all of its group gets
    them; SIGTERM ends at once, and so does the parent's death.

    A pool's idle worker waits for a queue whose other end it holds itself: without this it would wait for ever.
    """
    for number in _ENDING - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
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


def remove_temporary() -> None:
    """What this process knows of that is half-written goes, whoever made it."""
    for place in list(_temporary):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def _end() -> None:
    remove_temporary()
    os._exit(128 + signal.SIGTERM)

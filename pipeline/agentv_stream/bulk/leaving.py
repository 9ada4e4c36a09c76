"""How a worker, process or thread, ends at once: it leaves nothing half-written, and none outlives its run.

Half-written files of a run that was killed have its mark; the next run at the same place removes them.
"""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_ENDING = frozenset(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_temporary: set[Path] = set()
_NUMBERS = count()
_thread = threading.local()


def temporary(folder: Path | None, mark: str) -> Path:
    """A unique hidden name, in a folder or in the system's temporary folder.

    The file is removed when the worker has to end; the name is registered before the file exists.
    """
    if folder is None:
        from tempfile import gettempdir

        folder = Path(gettempdir())
    place = folder / f".{mark}-{os.getpid()}-{next(_NUMBERS)}.tmp"
    _temporary.add(place)
    return place


def known(place: Path) -> None:
    """Registers a file that another process of this run made, so that it is also removed."""
    _temporary.add(place)


def make_temporary(folder: Path | None, mark: str) -> tuple[Path, int]:
    """As `temporary`, with the descriptor of a new private file there. Raises: OSError."""
    place = temporary(folder, mark)
    try:
        return place, os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        settled(place)
        raise


def sweep(folder: Path, mark: str) -> None:
    """Removes the remains of a killed run; only for a run that is certainly over."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if entry.name.startswith(f".{mark}-")]
    except OSError:
        return  # there is nothing
    for path in left:
        if path.endswith(".tmp"):
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a name from the listing


def settled(place: Path) -> None:
    """Unregisters a file that has been removed or moved to its place."""
    _temporary.discard(place)


def obey(over: threading.Event) -> None:
    """Call once per worker thread: it stops once `over` is set."""
    _thread.over = over


def give_up() -> None:
    """Call between two batches. Raises: KeyboardInterrupt if this thread's run is over."""
    over: threading.Event | None = getattr(_thread, "over", None)
    if over is not None and over.is_set():
        raise KeyboardInterrupt


def obey_parent() -> None:
    """Call once per worker process: Ctrl-C and SIGHUP are left to the parent, although the whole group receives them;
    SIGTERM, or the parent's death, ends the worker at once.

    An idle pool worker waits for a queue whose other end it holds itself: without this it would wait forever.
    """
    for number in _ENDING - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: end())
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # see `undisturbed`
    from multiprocessing import parent_process  # 10 ms that only a worker needs

    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


@contextmanager
def undisturbed() -> Generator[None]:
    """Holds signals that end this process while others are started within this context; they count at its end.

    Python only prints an exception raised by a handler during a fork; and a child at first has its parent's handlers. A
    process that is started when a handler raises is in no pool, so no code ends it. Blocking the signals does not do
    where there are threads: another thread takes the signal, and the handler still runs in the main one.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        for number in handlers if is_main else ():
            signal.signal(number, lambda number, frame: held.append(number))
        yield
    finally:
        try:
            for number in handlers if is_main else ():
                signal.signal(number, handlers[number])
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


def _end_after(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    end()


def remove_temporary() -> None:
    """Removes all registered half-written files of all processes."""
    import shutil

    for place in list(_temporary):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def end() -> None:
    """Ends this process at once."""
    remove_temporary()
    os._exit(128 + signal.SIGTERM)

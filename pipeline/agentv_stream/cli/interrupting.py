"""Bulk commands and the signals that end them: Ctrl-C, SIGTERM, a closed terminal stop the workers first."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Ended(KeyboardInterrupt):
    """A signal other than Ctrl-C's SIGINT; to be handled in the same way."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def interruptible() -> Generator[None]:
    """Within this context SIGTERM and SIGHUP raise `Ended`, once; ignored signals stay ignored."""
    before: dict[int, object] = {}

    def end(number: int, frame: FrameType | None) -> None:
        for known in before:
            signal.signal(known, signal.SIG_DFL)
        raise Ended(number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code by which a shell reports a death by signal."""
    return 128 + (error.number if isinstance(error, Ended) else signal.SIGINT)

"""What Ctrl-C does before a command is at work and after it: the process dies of it, as programs do, and says nothing.

Python's own way, an exception wherever it just is, prints a traceback out of an import or out of the end of Python.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager


def die_of_it() -> None:
    """From now on, where Ctrl-C would raise; where it is ignored or handled by somebody else it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def raised() -> Generator[None]:
    """While this is open Ctrl-C raises KeyboardInterrupt, as commands expect, unless it is ignored; then as before.

    asyncio does not put back what was there before its own handler.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""Ctrl-C before a command starts and after it has finished: it kills the process silently, as in other programs.

Python's default, an exception at whatever point is executing, prints a traceback from an import or from shutdown.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager


def die_of_it() -> None:
    """From now on Ctrl-C kills the process instead of raising, unless it is ignored or has another program's
    handler.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def raised() -> Generator[None]:
    """Within this context Ctrl-C raises KeyboardInterrupt, as commands expect, unless ignored; afterwards as before.

    asyncio does not restore the handler that was set before its own.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""How a command that reads a stream for long uses memory: few garbage collections, and one heap for all threads."""

import gc

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def tune_memory() -> None:
    """Makes garbage collections rare, because a stream creates no cycles and reference counting frees its objects, and
    lets all threads share a heap. Otherwise each thread that reads or writes files keeps its freed memory.
    """
    gc.freeze()  # no collection before it: it takes 15 ms and finds 1 % of the objects
    gc.set_threshold(100_000, 50, 1000)
    _share_heap()


def _share_heap() -> None:
    """Must be called before there are threads. Without glibc there is nothing to do."""
    try:
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    except (ImportError, OSError, AttributeError):
        return

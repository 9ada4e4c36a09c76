"""Ends a process pool at once, whatever its workers are doing; and detects whether one of them has died.

Python does not offer this before 3.14, and then not all of it. A pool reads its workers' answers from one pipe: if one
was killed in the middle of an answer it waits for the rest, because others, and it itself, could still write to that
pipe.
"""

from concurrent.futures import Executor
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

PATIENCE_SECONDS = 5.0


def _workers(pool: Executor) -> list[BaseProcess]:
    workers: dict[int, BaseProcess] = getattr(pool, "_processes", None) or {}
    return list(workers.values())


def dead_in(pool: Executor) -> set[int]:
    """The process ids of workers that have ended."""
    of = {worker.sentinel: worker.pid for worker in _workers(pool)}
    return {pid for end in wait(list(of), 0) if isinstance(end, int) and (pid := of.get(end)) is not None}


def end_pool(pool: Executor, wait: bool = True) -> None:
    """Ends a pool: running tasks may take minutes, and would not count.

    Its futures also end. With `wait` it returns when the pool is closed: a pool that closes during Python's shutdown
    prints a traceback.
    """
    workers = _workers(pool)
    answers: Any = getattr(pool, "_result_queue", None)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        _end_worker(worker)
    if answers is not None:
        with suppress(AttributeError, OSError):
            answers._writer.close()  # the last writing end
    if wait:
        pool.shutdown(cancel_futures=True)


def _end_worker(worker: BaseProcess) -> None:
    if not wait([worker.sentinel], PATIENCE_SECONDS):
        worker.kill()
        wait([worker.sentinel])

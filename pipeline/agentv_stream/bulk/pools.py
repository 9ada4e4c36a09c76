"""Ends a process pool at once, whatever its workers are at; and tells whether one of them has died.

What Python does not offer before 3.14, and not all of it there. A pool reads its workers' answers from one pipe: of who
was killed in the middle of one it waits for the rest, because others could still write into that pipe, itself too.
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
    return {pid for one in wait(list(of), 0) if isinstance(one, int) and (pid := of.get(one)) is not None}


def end_pool(pool: Executor, wait: bool = True) -> None:
    """Ends a pool: what its workers are at may take minutes, and nothing of it would count.

    Its futures end, too. With `wait` it is over at the end: one that closes while Python ends prints a traceback.
    """
    workers = _workers(pool)
    answers: Any = getattr(pool, "_result_queue", None)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        _gone(worker)
    if answers is not None:
        with suppress(AttributeError, OSError):
            answers._writer.close()  # the last one that could write there
    if wait:
        pool.shutdown(cancel_futures=True)


def _gone(worker: BaseProcess) -> None:
    if not wait([worker.sentinel], PATIENCE_SECONDS):
        worker.kill()
        wait([worker.sentinel])

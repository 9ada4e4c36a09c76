"""Runs a function over many tasks on any `concurrent.futures.Executor`, with a bounded number of tasks in flight.

Engines by name: `process` (the default: all cores), `thread`, `serial`, `dask://HOST:PORT` (a cluster; an extra).
"""

import gc
import logging
import multiprocessing
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from agentv_stream.bulk.leaving import obey, obey_parent, undisturbed
from agentv_stream.bulk.pools import dead_in, end_pool
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.extras import extra

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 3  # tasks in flight per worker: one running, two queued so that it never waits
LOOK_SECONDS = 2.0  # between checks, while no task ends, that the workers are alive
RETRIES = 3  # of a task whose cluster machine went away


class SerialExecutor(Executor):
    """Runs each task immediately, in the calling thread."""

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def cores() -> int:
    """How many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_worker() -> None:
    """Run once per worker process: it obeys its parent, imports everything, and pauses the garbage collector."""
    obey_parent()
    import agentv_stream.bulk.worker  # noqa: F401  # pyright: ignore[reportUnusedImport] - loads all that tasks need
    from agentv_stages.providers import NAMES, get_provider

    get_provider(NAMES[0])  # the commonest; others on first use: importing Codex takes as long as reading 30 sessions
    gc.disable()
    gc.freeze()  # no collection before it: that would copy all pages that this process shares with its parent


def process_context() -> BaseContext:
    """Fork where that is safe, because a worker then has everything loaded; spawn in a program with threads."""
    methods = multiprocessing.get_all_start_methods()
    if "fork" in methods and sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of prepared workers."""
    if threading.active_count() == 1:
        import agentv_stream.bulk.worker  # noqa: F401  # pyright: ignore[reportUnusedImport] - loaded once, then forked
    return ProcessPoolExecutor(workers, mp_context=process_context(), initializer=prepare_worker)


@contextmanager
def open_engine(engine: str | Executor, workers: int | None = None) -> Generator["Crew"]:
    """An engine by its name; or an executor of the caller's, which is not closed.

    Raises: UsageError for an unknown name, one whose extra is not installed, and for less than one worker.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"workers = {workers}: expected 1 or more")
    count = workers or cores()
    if isinstance(engine, Executor):
        yield Crew(engine, workers or getattr(engine, "_max_workers", None) or count)
    elif engine == "serial":
        yield Crew(SerialExecutor(), 1)
    elif engine == "thread":
        over = threading.Event()
        pool = ThreadPoolExecutor(count, initializer=obey, initargs=(over,))
        try:
            yield Crew(pool, count)
        except BaseException:
            over.set()  # running tasks may take minutes, and would not count
            raise
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C waiting tasks need not be done
    elif engine == "process":
        crew = Crew(process_pool(count), count, lambda: process_pool(count), process_context())
        try:
            yield crew
        except BaseException:
            end_pool(crew.executor)
            raise
        crew.executor.shutdown()
    elif str(engine).startswith("dask://"):
        with _dask(engine.removeprefix("dask://"), workers) as crew:
            yield crew
    else:
        raise UsageError(f"no engine is called {engine!r}: process, thread, serial or dask://HOST:PORT")


@contextmanager
def _dask(address: str, workers: int | None) -> Generator["Crew"]:
    if not re.fullmatch(r"\S+:\d{1,5}", address):
        raise UsageError(f"--engine dask://{address}: the scheduler's address is expected, dask://HOST:PORT")
    distributed = extra("distributed", "dask", "the dask engine")
    try:
        client: Any = distributed.Client(f"tcp://{address}", timeout="10s")
    except (OSError, TimeoutError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from error
    with _without_its_log(), client:
        known = sum(client.nthreads().values()) or 1
        try:
            executor = client.get_executor(pure=False, retries=RETRIES)
            yield Crew(executor, workers or known, passing=ValueError, killed=distributed.KilledWorker)
        except CancelledError as error:
            raise SourceError(f"the Dask scheduler at {address} has gone; --resume continues from here") from error


@contextmanager
def _without_its_log() -> Generator[None]:
    """Dask's client and its event loop log tracebacks when the scheduler goes; the caller gets one error instead."""
    logs = [logging.getLogger(name) for name in ("distributed.client", "tornado.application")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


class Crew:
    """An executor and its number of workers; a pool broken by a worker's death is replaced.

    `context` starts processes on this machine; None if the engine has none here. `passing` is an error after which a
    task is retried a limited number of times: Dask's executor unpacks a result as if it were an error (too many values
    to unpack) if its worker dies at that moment. `killed` is an error that means that a task killed its workers.
    """

    def __init__(
        self,
        executor: Executor,
        workers: int,
        again: Callable[[], Executor] | None = None,
        context: BaseContext | None = None,
        passing: type[Exception] | tuple[()] = (),
        killed: type[Exception] | tuple[()] = (),
    ) -> None:
        self.executor = executor
        self.workers = workers
        self.context = context
        self._again = again
        self._passing = passing
        self._killed = killed

    def run(
        self, call: Callable[[T], R], tasks: Sequence[T], split: Callable[[T], list[T]]
    ) -> Iterator[tuple[T, R | None]]:
        """Yields (task, its result) as tasks end, in any order.

        When a worker dies, the tasks in flight are run again one by one, divided by `split`; a task that kills its
        worker again comes out with None.
        """
        lost: list[T] = []
        waiting = list(reversed(tasks))
        flying: dict[Future[R], T] = {}
        failed: dict[int, int] = {}  # by the task's `id`
        while waiting or flying:
            while waiting and len(flying) < self.workers * AHEAD:
                task = waiting.pop()
                try:
                    flying[self._submit(call, task)] = task
                except BrokenExecutor:
                    lost.append(task)
                    break
            for future in self._ended(flying):
                task = flying.pop(future)
                try:
                    result = future.result()
                except BrokenExecutor:
                    lost.append(task)
                except self._killed:
                    parts = split(task)
                    if len(parts) > 1:
                        waiting += parts
                    else:
                        yield task, None
                except self._passing:
                    failed[id(task)] = failed.get(id(task), 0) + 1
                    if failed[id(task)] > RETRIES:
                        raise
                    waiting.append(task)
                else:
                    yield task, result
            if lost:
                for future, task in flying.items():
                    wait([future])
                    if future.exception() is None:
                        yield task, future.result()
                    else:
                        lost.append(task)
                flying.clear()
                yield from self._one_by_one(call, [part for task in lost for part in split(task)])
                lost = []

    def _submit(self, call: Callable[[T], R], task: T) -> Future[R]:
        if isinstance(self.executor, SerialExecutor):
            return self.executor.submit(call, task)  # the work itself, which signals may end
        with undisturbed():  # it may start processes
            return self.executor.submit(call, task)

    def _one_by_one(self, call: Callable[[T], R], tasks: list[T]) -> Iterator[tuple[T, R | None]]:
        if self._again is None:
            raise BrokenExecutor("the executor broke and cannot be replaced")
        end_pool(self.executor)  # completely: while threads of it run, the next one cannot be forked
        self.executor = self._again()
        for task in tasks:
            try:
                future = self._submit(call, task)
                self._ended([future])
                yield task, future.result()
            except BrokenExecutor:
                end_pool(self.executor)
                self.executor = self._again()
                yield task, None

    def _ended(self, flying: Collection[Future[R]]) -> set[Future[R]]:
        """Waits until some futures have ended, and returns them; none if none are in flight.

        A process pool whose worker was killed while sending its answer would wait for the rest of it forever.
        """
        dead: set[int] = set()
        while True:
            ended, _ = wait(flying, None if self._again is None else LOOK_SECONDS, FIRST_COMPLETED)
            if ended or not flying:
                return ended
            before, dead = dead, dead_in(self.executor)
            if dead & before:  # the pool had enough time to notice
                end_pool(self.executor, wait=False)

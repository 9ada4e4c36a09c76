"""SIGINT and SIGTERM while a run reads and writes: they are told to it, and kill nothing until all is written."""

import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskStatus

ENDING = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def heeded(note: Callable[[int], None], numbers: Sequence[signal.Signals] = ENDING) -> AsyncGenerator[None]:
    """While this is open, each signal of `numbers` is handed to `note`, and does nothing else.

    An error of the body is raised as it is, in no group.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        await tasks.start(_listen, note, numbers)
        try:
            yield
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _listen(
    note: Callable[[int], None], numbers: Sequence[signal.Signals], *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(*numbers) as received:
        task_status.started()
        async for number in received:
            note(int(number))

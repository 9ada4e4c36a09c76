"""SIGINT, SIGTERM, SIGHUP while a run reads and writes: they are passed to it and kill nothing before it has
written."""

import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskStatus

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@asynccontextmanager
async def heeded(note: Callable[[int], None], numbers: Sequence[signal.Signals] = ENDING) -> AsyncGenerator[None]:
    """Within this context each signal of `numbers` is only passed to `note`; an ignored SIGHUP (`nohup`) stays ignored.

    An error of the body is raised unwrapped, not in an exception group.
    """
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_IGN:
        numbers = [number for number in numbers if number != hangup]
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

"""Copies one channel of batches to all sinks and applies each sink's failure policy.

Each sink has a bounded channel, or takes its turn: a slow sink slows the reader. A sink that fails is detached and the
others continue: a disk too full for the transcript is no reason to lose the statistics. A required sink's failure fails
the run; an optional one's is a warning.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agentv_stages.model.batch import Batch
from agentv_stream.errors import SinkError
from agentv_stream.live.pump import hand_on, items_of
from agentv_stream.outputs.sink import Sink


async def fan_out(
    receive: MemoryObjectReceiveStream[Batch],
    sinks: Sequence[Sink],
    bound: int,
    failed: Callable[[Sink, SinkError], None],
) -> None:
    """Hands every batch to every sink and closes the sinks at the end.

    A sink that fails gets no more batches and is reported to `failed`, once; the others continue.
    """
    async with anyio.create_task_group() as tasks:
        sends: list[MemoryObjectSendStream[Batch]] = []
        for sink in sinks:
            send, of_sink = anyio.create_memory_object_stream[Batch](bound)
            sends.append(send)
            tasks.start_soon(_feed, sink, of_sink, failed)
        with receive:
            try:
                async for batch in items_of(receive):
                    for send in sends:
                        try:
                            await hand_on(send, batch)
                        except anyio.BrokenResourceError:
                            continue  # the sink has failed, and `failed` was called
            finally:
                for send in sends:
                    send.close()


async def write_in_turn(
    receive: MemoryObjectReceiveStream[Batch], sinks: Sequence[Sink], failed: Callable[[Sink, SinkError], None]
) -> None:
    """As `fan_out`, for an input that is not live: one sink after the other, without the switches between tasks."""
    left, whole = list(sinks), False

    async def close(sink: Sink) -> None:
        if sink in left:
            await _close(sink, whole, failed)

    async with AsyncExitStack() as closing:
        for sink in reversed(sinks):
            closing.push_async_callback(close, sink)
        with receive:
            async for batch in items_of(receive):
                for sink in [*left]:
                    try:
                        await sink.write(batch)
                    except (SinkError, OSError) as error:
                        failed(sink, _as_told(sink, error))
                        left.remove(sink)
                        await _close(sink, False, failed)
        whole = True


async def _feed(
    sink: Sink, receive: MemoryObjectReceiveStream[Batch], failed: Callable[[Sink, SinkError], None]
) -> None:
    whole = False
    with receive:
        try:
            async for batch in items_of(receive):
                await sink.write(batch)
            whole = True
        except (SinkError, OSError) as error:
            failed(sink, _as_told(sink, error))
        finally:
            await _close(sink, whole, failed)


async def _close(sink: Sink, whole: bool, failed: Callable[[Sink, SinkError], None]) -> None:
    with anyio.CancelScope(shield=True):
        try:
            await sink.close(whole)
        except (SinkError, OSError) as error:
            if whole:  # else the failure was already reported
                failed(sink, _as_told(sink, error))


def _as_told(sink: Sink, error: SinkError | OSError) -> SinkError:
    """A third-party sink need not know our errors: an OSError such as a refused connection is a failure, not a bug."""
    return SinkError(sink.name, error) if isinstance(error, OSError) else error

"""One channel to one per sink, each with the sink's policy.

A slow sink slows the reader: its channel is bounded. An optional sink that fails is detached; a required one ends
the run.
"""

from collections.abc import Callable, Sequence

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agentv_stages.batch import Batch
from agentv_stream.errors import SinkError
from agentv_stream.sink import Sink


async def fan_out(
    receive: MemoryObjectReceiveStream[Batch],
    sinks: Sequence[Sink],
    bound: int,
    warn: Callable[[Sink, SinkError], None],
) -> None:
    """Hands every batch to every sink and closes them at the end.

    Raises: SinkError (in a group) of a required sink; the other sinks are closed first, with what they have.
    """
    async with anyio.create_task_group() as tasks:
        sends: list[MemoryObjectSendStream[Batch]] = []
        for sink in sinks:
            send, of_sink = anyio.create_memory_object_stream[Batch](bound)
            sends.append(send)
            tasks.start_soon(_feed, sink, of_sink, warn)
        with receive:
            try:
                async for batch in receive:
                    for send in sends:
                        try:
                            await send.send(batch)
                        except anyio.BrokenResourceError:
                            continue  # the sink has failed, and said so
            finally:
                for send in sends:
                    send.close()


async def _feed(sink: Sink, receive: MemoryObjectReceiveStream[Batch], warn: Callable[[Sink, SinkError], None]) -> None:
    with receive:
        whole = False
        try:
            async for batch in receive:
                await sink.write(batch)
            whole = True
        except SinkError as error:
            if sink.required:
                raise
            warn(sink, error)
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await sink.close(whole)
                except SinkError as error:
                    if sink.required and whole:
                        raise
                    if whole:
                        warn(sink, error)

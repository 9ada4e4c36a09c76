"""The destination of batches: the contract of a sink, and the sink that renders batches into a file.

Sinks take batches in order. If a required one fails the run fails; an optional one is detached with a warning.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from anyio.to_thread import run_sync

from agentv_stages.model.batch import Batch
from agentv_stream.outputs.output_file import OutputFile


class Sink(Protocol):
    """A consumer of batches, in order, one at a time.

    `name` is used in messages. If a `required` sink fails the run fails; an optional one is detached with a warning
    (`stream.report.warnings`). A slow sink slows the reading down.
    """

    name: str
    required: bool

    async def write(self, batch: Batch) -> None:
        """Takes one batch. Raises: SinkError or any OSError when it fails; anything else is a bug, and propagates."""
        ...

    async def close(self, whole: bool) -> None:
        """Called once: the input has ended, or (`whole` False) this sink or something else failed, or was cancelled.

        Raises: as `write`.
        """
        ...


class RenderSink:
    """Renders each batch with a function and appends the bytes to a file.

    `place` returns its path once there is something to write; when it later returns another path, the file is moved
    there. `another`: an existing file is left alone, and this returns the path to try next.
    """

    def __init__(
        self,
        name: str,
        place: Callable[[], Path],
        render: Callable[[Batch], bytes],
        flush: Callable[[], bytes] = bytes,
        *,
        another: Callable[[], Path] | None = None,
        required: bool = False,
    ) -> None:
        self.name = name
        self.required = required
        self._place = place
        self._another = another
        self._file: OutputFile | None = None
        self._render = render
        self._flush = flush

    @property
    def path(self) -> Path | None:
        """The current path of the file; None before it exists, and if nothing could be written."""
        return self._file.path if self._file is not None and not self._file.got_nothing else None

    async def write(self, batch: Batch) -> None:
        await self._append(self._render(batch))

    async def _append(self, data: bytes) -> None:
        if not data:
            return
        if self._file is None:
            self._file = OutputFile(await run_sync(self._place), another=self._another)
        else:
            await self.settle()
        await self._file.write(data)

    async def settle(self) -> None:
        """Moves the file to its current `place`."""
        if self._file is not None and self._place() != self._file.path:
            await self._file.move(self._place())

    async def close(self, whole: bool) -> None:
        try:
            if whole:
                await self._append(self._flush())
        finally:
            if self._file is not None:
                await self._file.close()

"""The sink of one output of a live session. In: batches. Out: a file, written from within an event loop."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.output import Append, Operation, Output, Patch, Put
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import blob_folder, temporary_name
from agentv_stream.outputs.output_file import OutputFile, publish


def remove_letters(path: Path) -> None:
    """Removes dead letters that an earlier reading wrote at `path`, as far as possible."""
    with suppress(OSError):
        path.unlink()
        shutil.rmtree(blob_folder(path), ignore_errors=True)


class OutputSink:
    """Writes an output beside the transcript; its file is created when there is something to write.

    `place` returns its path, and the session. `finished`: the path may belong to an earlier reading, whose file stays
    until `settle`. Until `known` says that the session can be named, little is held back: the first file of a session
    names all its files. `another`: an existing file is left alone, and this returns the path to try next.
    """

    def __init__(
        self,
        name: str,
        output: Output,
        observer: Observer,
        place: Callable[[], tuple[Path, Identity]],
        another: Callable[[], Path] | None = None,
        *,
        finished: bool = False,
        known: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name = name
        self.required = output.required
        self.suffix = output.suffix
        self._output = output
        self._observer = observer
        self._place = place
        self._another = another
        self._finished = finished
        self._known = known
        self._file: OutputFile | None = None
        self._blob: OutputFile | None = None

    @property
    def path(self) -> Path | None:
        """The current or future path of the file; None as long as there is none."""
        if self._file is None or self._file.got_nothing:
            return None
        return self._file.place

    async def write(self, batch: Batch) -> None:
        output = self._output
        output.take(batch)
        if not output.ready:
            if not output.waiting or not (output.urgent or self._known()):
                return
            await self._begin()
        await self._apply(output.operations())

    async def _begin(self) -> None:
        place, identity = await run_sync(self._place)
        if self._finished:
            self._file = OutputFile(temporary_name(place), final=place)
        else:
            self._file = OutputFile(place, another=self._another)
        await self._file.open()
        self._output.begin(identity, blob_folder(self._file.place).name)

    async def _apply(self, operations: list[Operation]) -> None:
        for operation in operations:
            if isinstance(operation, Put):
                await self._put(operation)
                continue
            if self._file is None:  # it was ready before the session had its name
                await self._begin()
            assert self._file is not None
            if isinstance(operation, Append):
                await self._file.write(operation.data)
            else:
                await self._patch(self._file, operation)

    @staticmethod
    async def _patch(file: OutputFile, patch: Patch) -> None:
        await file.patch(patch.offset, patch.data)

    async def _put(self, put: Put) -> None:
        if self._file is None:
            await self._begin()
        assert self._file is not None
        place = blob_folder(self._file.place) / put.name
        if put.part == "whole":
            await publish(place, put.data)
            return
        if put.part == "begin" or self._blob is None:
            self._blob = OutputFile(place)
        if put.data:
            await self._blob.write(put.data)
        if put.part == "end":
            blob, self._blob = self._blob, None
            await blob.close()

    async def close(self, whole: bool) -> None:
        output = self._output
        if not output.ready and output.waiting:
            await self._begin()
        try:
            if output.ready:
                await self._apply(output.close(self._observer) if whole else output.operations())
        finally:
            if self._blob is not None:
                await self._blob.close()
            if self._file is not None:
                await self._file.close()

    async def settle(self, keep: bool) -> None:
        """Replaces the output of an earlier reading, or with `keep` discards its own. Raises: SinkError."""
        if self._file is None or self._file.final is None or self._file.failed:
            return
        if keep:
            await self._file.remove()
            self._file = None
        else:
            self._file.final, _ = await run_sync(self._place)
            await self._file.take_place()

"""Dead letters beside the transcript: a line per fault, large records in files of their own."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Fault
from agentv_stages.sinks import dead_letters
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import blob_folder, temporary_name
from agentv_stream.outputs.output_file import OutputFile, publish

_MOST_HELD = 256 * 1024  # bytes of records whose lines are written together, or held until the session can be named


def remove_letters(path: Path) -> None:
    """Removes what an earlier `DeadLetterSink` wrote at `path`, as far as possible."""
    with suppress(OSError):
        path.unlink()
        shutil.rmtree(blob_folder(path), ignore_errors=True)


class DeadLetterSink:
    """Writes dead letters beside the transcript; the file is created at the first fault.

    `finished`: the path may belong to an earlier reading, whose letters stay until `settle`. Until `known` says that
    the session can be named, faults are held back if they are few: the first file of a session names all its files.
    """

    name = "dead letters"
    required = True

    def __init__(
        self,
        place: Callable[[], Path],
        another: Callable[[], Path] | None = None,
        *,
        finished: bool = False,
        known: Callable[[], bool] = lambda: True,
    ) -> None:
        """`another`: an existing file is left alone, and this returns the path to try next."""
        self._place = place
        self._another = another
        self._finished = finished
        self._known = known
        self._waiting: list[Fault] = []
        self._file: OutputFile | None = None
        self._blob: OutputFile | None = None
        self._blob_fault: Fault | None = None

    @property
    def path(self) -> Path | None:
        """The current or future path of the file; None as long as there are no letters."""
        if self._file is None or self._file.got_nothing:
            return None
        return self._file.place

    async def write(self, batch: Batch) -> None:
        faults = batch.faults
        if self._file is None:
            faults = [*self._waiting, *faults]
            if not self._known() and all(fault.part == "whole" for fault in faults):
                if sum(fault.length for fault in faults) < _MOST_HELD:
                    self._waiting = faults
                    return
            self._waiting = []
        await self._take(faults)

    async def _take(self, faults: list[Fault]) -> None:
        lines: list[bytes] = []  # noise gives many short lines, and a system call for each would take 40 µs
        held = 0
        try:
            for fault in faults:
                await self._fault(fault, lines)
                held += fault.length
                if held >= _MOST_HELD:
                    await self._write(lines)
                    held = 0
        except SinkError:  # raised by a file in the blobs folder
            await self._write(lines)
            raise
        await self._write(lines)

    async def _write(self, lines: list[bytes]) -> None:
        if lines and self._file is not None:
            await self._file.write(b"".join(lines))
            lines.clear()

    async def _fault(self, fault: Fault, lines: list[bytes]) -> None:
        if self._file is None:
            self._file = await run_sync(self._begin)
            await self._file.open()
        blobs = blob_folder(self._file.place)
        if fault.part == "whole":
            blob = None
            if not dead_letters.stands_in_line(fault):
                path = blobs / dead_letters.blob_name(fault)
                await publish(path, fault.data)
                blob = f"{blobs.name}/{path.name}"
            lines.append(dead_letters.render(fault, blob))
            return
        if fault.part == "begin":
            self._blob_fault = fault
            self._blob = OutputFile(blobs / dead_letters.blob_name(fault))
        if self._blob is not None and fault.data:
            await self._blob.write(fault.data)
        if fault.part == "end" and self._blob is not None and self._blob_fault is not None:
            await self._blob.close()
            blob = f"{blobs.name}/{self._blob.path.name}"
            lines.append(dead_letters.render(self._blob_fault, blob, self._blob.size))
            self._blob = self._blob_fault = None

    async def close(self, whole: bool) -> None:
        waiting, self._waiting = self._waiting, []
        await self._take(waiting)
        if self._blob is not None:
            await self._blob.close()
        if self._file is not None:
            await self._file.close()

    async def settle(self, keep: bool) -> None:
        """Replaces the letters of an earlier reading, or with `keep` discards its own. Raises: SinkError."""
        if self._file is None or self._file.told is None or self._file.failed:
            return
        if keep:
            await self._file.remove()
        else:
            await self._file.take_place()

    def _begin(self) -> OutputFile:
        place = self._place()
        if not self._finished:
            return OutputFile(place, another=self._another)
        return OutputFile(temporary_name(place), told=place)

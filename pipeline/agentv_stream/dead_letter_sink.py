"""Dead letters beside the transcript: a line per fault, large or binary records in files of their own."""

from collections.abc import Callable
from pathlib import Path

from agentv_stages.batch import Batch
from agentv_stages.fault import Fault
from agentv_stages.sinks import dead_letters
from agentv_stream.output_file import OutputFile, publish


class DeadLetterSink:
    """Dead letters, beside the transcript; the file comes into being with the first fault."""

    name = "dead letters"
    required = True

    def __init__(self, place: Callable[[], Path]) -> None:
        self._place = place
        self._file: OutputFile | None = None
        self._blob: OutputFile | None = None
        self._blob_fault: Fault | None = None
        self._folder = Path()
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        for fault in batch.faults:
            await self._fault(fault)

    async def _fault(self, fault: Fault) -> None:
        if self._file is None:
            self.path = self._place()
            self._folder = self.path.with_name(self.path.name.removesuffix("-letters.jsonl"))
            self._file = OutputFile(self.path)
        if fault.part == "whole":
            blob = None
            if dead_letters.inline_text(fault) is None and fault.data:
                path = self._folder / f"{fault.offset}.bin"
                await publish(path, fault.data)
                blob = f"{self._folder.name}/{path.name}"
            await self._file.write(dead_letters.render(fault, blob))
            return
        if fault.part == "begin":
            self._blob_fault = fault
            self._blob = OutputFile(self._folder / f"{fault.offset}.bin")
        if self._blob is not None and fault.data:
            await self._blob.write(fault.data)
        if fault.part == "end" and self._blob is not None and self._blob_fault is not None:
            await self._blob.close()
            blob = f"{self._folder.name}/{self._blob.path.name}"
            await self._file.write(dead_letters.render(self._blob_fault, blob, self._blob.size))
            self._blob = self._blob_fault = None

    async def close(self, whole: bool) -> None:
        if self._blob is not None:
            await self._blob.close()
        if self._file is not None:
            await self._file.close()

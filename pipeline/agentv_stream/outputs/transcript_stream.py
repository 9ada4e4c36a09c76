"""The transcript where it cannot be patched: standard output, a named pipe. The totals are in its last row."""

from pathlib import Path

from agentv_stages.figures.result import Observer
from agentv_stages.sinks.output import Operation, lines_of
from agentv_stages.sinks.outputs import Transcript
from agentv_stream.errors import SinkError
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.pipe_output import PipeOutput, cannot_seek
from agentv_stream.outputs.transcript_sink import TranscriptSink


class TranscriptStream(TranscriptSink):
    """Writes rows as they are completed, except the newest, which is held: it may be the last one and get the totals.

    A reader that leaves ends the transcript, not the run. There is no `path`; `written` says where the rows went, once
    there are any.
    """

    def __init__(self, target: str, names: OutputNames, observer: Observer, output: Transcript | None = None) -> None:
        super().__init__(names, observer, finished=False, output=output or Transcript(at_end=True))
        self.output = PipeOutput(target)
        self.written: str | None = None
        self._target = target
        self._broken = False

    async def _write(self, output: Transcript) -> None:
        self._begin()
        await self._send(output.operations())

    async def close(self, whole: bool) -> None:
        try:
            if self._output.held and not self._broken:
                self._begin()
                await self._send(self._output.close(self._observer))
        finally:
            self.output.close()

    def _begin(self) -> None:
        if not self._output.ready:
            _, _, identity = self._names.propose()
            self._output.begin(identity, "")

    async def _send(self, operations: list[Operation]) -> None:
        data = lines_of(operations)
        if not data:
            return
        try:
            await self.output.write(data)
        except SinkError:
            self._broken = True
            self.required = not self.output.left
            raise
        self.written = self._target


def transcript_file(target: str | None) -> Path | None:
    """The file that `--transcript` names, None if it names none."""
    return None if target is None or cannot_seek(target) else Path(target)


def make_transcript(
    target: str | None, names: OutputNames, observer: Observer, finished: bool, output: Transcript
) -> TranscriptSink:
    """The transcript's sink: to a file of the usual name, to the file `target`, or through the pipe `target`."""
    if target is not None and cannot_seek(target):
        return TranscriptStream(target, names, observer, output)
    return TranscriptSink(names, observer, finished, transcript_file(target), output)

"""The session as one ATIF document, which appears at the end and at once."""

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.batch import Batch
from agentv_stages.message import Message
from agentv_stages.result import Observer
from agentv_stages.sinks.atif import Trajectory
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import TRAJECTORY, temporary_name
from agentv_stream.outputs.output_file import OutputFile
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.publish import publish_now

GATHER_BYTES = 512 * 1024
_NOWHERE = -1


class StepPlaces:
    """Where the step of each message stands in a file of lines, in 12 bytes a message."""

    def __init__(self) -> None:
        self._offsets = array("q")  # by the message's index
        self._streams = array("l")
        self._names: dict[str, int] = {}

    def add(self, message: Message, offset: int) -> None:
        missing = message.index + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.extend([_NOWHERE] * missing)
            self._streams.extend([_NOWHERE] * missing)
        self._offsets[message.index] = offset
        self._streams[message.index] = self._names.setdefault(message.source.stream, len(self._names))

    def lines(self, path: Path, stream: str) -> Iterator[bytes]:
        """The lines of a stream in the order of its messages. Raises: OSError."""
        number, at = self._names[stream], 0
        with path.open("rb", buffering=GATHER_BYTES) as file:
            for offset, of_stream in zip(self._offsets, self._streams, strict=True):
                if of_stream != number:
                    continue
                if offset != at:
                    file.seek(offset)
                line = file.readline()
                at = offset + len(line)
                yield line


class TrajectorySink:
    """Steps wait in a hidden file beside their document, because a message may be complete after a later one."""

    name = "trajectory"
    required = True

    def __init__(self, names: OutputNames, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._trajectory = Trajectory()
        self._places = StepPlaces()
        self._steps: OutputFile | None = None
        self._size = 0
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        if not batch.messages:
            return
        lines: list[bytes] = []
        for message in batch.messages:
            line = self._trajectory.step(message)
            self._places.add(message, self._size)
            self._size += len(line)
            lines.append(line)
        if self._steps is None:
            folder, name, _ = self._names.propose()
            self._steps = OutputFile(temporary_name(folder / f"{name}{TRAJECTORY}"), gather=GATHER_BYTES)
        await self._steps.write(b"".join(lines))

    async def close(self, whole: bool) -> None:
        """Writes the document; after a failure there is none. Raises: SinkError."""
        steps = self._steps
        if steps is None:
            return  # ATIF knows no session without a step
        try:
            await steps.close()
            if whole:
                self.path = await run_sync(self._names.file, TRAJECTORY)
                self.path = await run_sync(self._write, steps.path)
        finally:
            await run_sync(lambda: steps.path.unlink(missing_ok=True))

    def _write(self, steps: Path) -> Path:
        about = self._observer.result(self._trajectory.open_calls, lists=False)

        def read(stream: str) -> Iterable[bytes]:
            return self._places.lines(steps, stream)

        document = temporary_name(self._names.file(TRAJECTORY))
        try:
            publish_now(document, self._trajectory.document(about, read))
            return self._names.appear(document, TRAJECTORY)
        except OSError as error:
            raise SinkError(str(self.path), error) from error
        finally:
            document.unlink(missing_ok=True)

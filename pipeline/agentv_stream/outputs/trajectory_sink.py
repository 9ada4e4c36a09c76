"""The session as one ATIF document, which is written at once at the end."""

from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.message import Message
from agentv_stages.sinks.atif import Trajectory
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import TRAJECTORY, temporary_name
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.publish import publish_now
from agentv_stream.outputs.step_spool import StepSpool


class TrajectorySink:
    """Holds steps until the end of the session, because a message may be completed after a later one."""

    name = "trajectory"
    required = True

    def __init__(self, names: OutputNames, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._trajectory = Trajectory()
        self._spool = StepSpool()
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        if batch.messages:
            await run_sync(self._take, batch.messages)

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            self._spool.add(message, self._trajectory.step(message))

    async def close(self, whole: bool) -> None:
        """Writes the document, unless the sink has failed or the session has no message."""
        try:
            if whole and self._trajectory.models:
                self.path = await run_sync(self._write)
        finally:
            self._spool.close()

    def _write(self) -> Path | None:
        about = self._observer.result(self._trajectory.open_calls, lists=False)
        wanted = self._names.file(TRAJECTORY)
        document = temporary_name(wanted)
        try:
            publish_now(document, self._trajectory.document(about, self._spool.lines))
            return self._names.appear(document, TRAJECTORY)
        except (OSError, SinkError) as error:
            raise SinkError(str(wanted), error.error if isinstance(error, SinkError) else error) from error
        finally:
            document.unlink(missing_ok=True)

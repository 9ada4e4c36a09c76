"""The transcript with one line per case; it is written at once at the end, because half a line is not valid JSON."""

from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.message import Message
from agentv_stages.sinks.case import CaseLine
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import CASE, temporary_name
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.publish import publish_now
from agentv_stream.outputs.step_spool import StepSpool


class CaseSink:
    """Holds messages until the end of the session, because one may be completed after a later one."""

    name = "case transcript"
    required = True

    def __init__(self, names: OutputNames, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._line = CaseLine()
        self._spool = StepSpool()
        self._failed = self._begun = False
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        if batch.messages:
            await run_sync(self._take, batch.messages)

    def _take(self, messages: list[Message]) -> None:
        self._failed = self._begun = True
        for message in messages:
            self._spool.add(message, self._line.element(message) + b"\n")
        self._failed = False

    async def close(self, whole: bool) -> None:
        """Writes the line, unless the sink has failed."""
        try:
            if not self._failed and (whole or self._begun):
                self.path = await run_sync(self._write)
        finally:
            self._spool.close()

    def _write(self) -> Path | None:
        totals = self._observer.totals
        _, _, identity = self._names.propose()
        elements = (line[:-1] for line in self._spool.all_lines())
        pieces = self._line.line(elements, identity, totals.tokens(), totals.cost_usd, totals.duration_ms)
        wanted = self._names.file(CASE)
        document = temporary_name(wanted)
        try:
            publish_now(document, pieces)
            return self._names.appear(document, CASE)
        except (OSError, SinkError) as error:
            raise SinkError(str(wanted), error.error if isinstance(error, SinkError) else error) from error
        finally:
            document.unlink(missing_ok=True)

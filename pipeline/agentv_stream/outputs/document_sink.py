"""The sink of one document of a live session: batches in, a file that appears at once at the end out."""

from collections.abc import Callable
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stream.errors import SinkError
from agentv_stream.outputs.documents import Document
from agentv_stream.outputs.naming import temporary_name
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.publish import publish_now


class DocumentSink:
    """Writes a document beside the transcript; `about` returns the result of the session.

    `rescued`: it is also written where the run fails, with the messages until then.
    """

    required = True

    def __init__(
        self, document: Document, names: OutputNames, about: Callable[[], Result], *, rescued: bool = False
    ) -> None:
        self.name = document.name
        self.path: Path | None = None
        self._document = document
        self._names = names
        self._about = about
        self._rescued = rescued
        self._failed = self._begun = False

    async def write(self, batch: Batch) -> None:
        if batch.messages or batch.events:
            await run_sync(self._take, batch)

    def _take(self, batch: Batch) -> None:
        self._failed = True
        self._document.take(batch)
        self._failed, self._begun = False, self._begun or bool(batch.messages)

    async def close(self, whole: bool) -> None:
        """Writes the document, unless the sink has failed or there is none."""
        try:
            wanted = whole or (self._rescued and self._begun)
            if wanted and not self._failed and not self._document.empty:
                self.path = await run_sync(self._write)
        finally:
            self._document.close()

    def _write(self) -> Path | None:
        suffix = self._document.suffix
        wanted = self._names.file(suffix)
        document = temporary_name(wanted)
        try:
            publish_now(document, self._document.document(self._about()))
            return self._names.appear(document, suffix)
        except (OSError, SinkError) as error:
            raise SinkError(str(wanted), error.error if isinstance(error, SinkError) else error) from error
        finally:
            document.unlink(missing_ok=True)

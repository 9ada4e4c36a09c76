"""The page of a live session: it appears at once when the session has ended."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from msgspec import UNSET

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.redaction.redactor import Redactor
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import temporary_name
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.publish import publish_now
from agentv_stream.pages.making import PAGE, PageMaker


class PageSink:
    """`verdicts` returns those of the session when all of it was seen."""

    name = "page"
    required = True

    def __init__(
        self,
        names: OutputNames,
        observer: Observer,
        redactor: Redactor | None,
        open_calls: Callable[[], list[str]],
        verdicts: Callable[[], list[Any]],
    ) -> None:
        self._names = names
        self._observer = observer
        self._open_calls = open_calls
        self._verdicts = verdicts
        self._maker = PageMaker(redactor)
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        if batch.messages or batch.events:
            await run_sync(self._maker.take, batch)

    async def close(self, whole: bool) -> None:
        """Writes the page, unless the sink has failed or the session has no message."""
        try:
            if whole and not self._maker.empty:
                self.path = await run_sync(self._write)
        finally:
            self._maker.close()

    def _write(self) -> Path | None:
        about = self._observer.result(self._open_calls(), lists=False)
        about.verdicts = self._verdicts() or UNSET
        wanted = self._names.file(PAGE)
        document = temporary_name(wanted)
        try:
            publish_now(document, self._maker.document(about))
            return self._names.appear(document, PAGE)
        except (OSError, SinkError) as error:
            raise SinkError(str(wanted), error.error if isinstance(error, SinkError) else error) from error
        finally:
            document.unlink(missing_ok=True)

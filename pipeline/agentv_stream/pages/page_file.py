"""The page of one session, written by a bulk worker: it appears at once, under a unique name."""

from collections.abc import Callable

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stages.redaction.redactor import Redactor
from agentv_stream.bulk import object_store
from agentv_stream.pages.making import PAGE, PageMaker


class PageFile:
    """Takes batches after `Consolidate`. `folder` is a folder or a URL; `stem` returns the beginning of its file's
    name, `run` identifies the writer."""

    def __init__(self, folder: str, stem: Callable[[], str], run: str, redactor: Redactor | None) -> None:
        self._folder = folder
        self._stem = stem
        self._run = run
        self._maker = PageMaker(redactor)

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        self._maker.take(batch)

    def close(self, about: Result) -> str | None:
        """Publishes the page; returns its place, None if there was no message. Raises: SinkError."""
        place = None
        if not self._maker.empty:
            place = object_store.join(self._folder, f"{self._stem()}{PAGE}")
            object_store.put_pieces(place, self._maker.document(about), self._run)
        self._maker.close()
        return place

    def abandon(self) -> None:
        """The session could not be read to its end: discards everything."""
        self._maker.close()

"""One document of a session (ATIF, a page), written by a bulk worker: it appears at once, under a unique name."""

from collections.abc import Callable

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stream.bulk import object_store
from agentv_stream.outputs.documents import Document


class DocumentFile:
    """Takes batches after `Consolidate`. `folder` is a folder or a URL; `stem` returns the beginning of its file's
    name, `run` identifies the writer."""

    def __init__(self, document: Document, folder: str, stem: Callable[[], str], run: str) -> None:
        self._document = document
        self._folder = folder
        self._stem = stem
        self._run = run

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        self._document.take(batch)

    def close(self, about: Result) -> str | None:
        """Publishes the document of a session; returns its place, None if there was no message. Raises: SinkError."""
        place = None
        if not self._document.empty:
            place = object_store.join(self._folder, f"{self._stem()}{self._document.suffix}")
            object_store.put_pieces(place, self._document.document(about), self._run)
        self._document.close()
        return place

    def abandon(self) -> None:
        """The session could not be read to its end: discards everything."""
        self._document.close()

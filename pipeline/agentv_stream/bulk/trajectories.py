"""One session as an ATIF document, written by a bulk worker: it appears at once, under a unique name."""

from collections.abc import Callable

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.atif import Trajectory
from agentv_stream.bulk import object_store
from agentv_stream.outputs.naming import TRAJECTORY
from agentv_stream.outputs.step_spool import StepSpool


class TrajectoryFile:
    """Takes batches after `Consolidate`. `folder` is a folder or a URL; `stem` returns the beginning of its file's
    name, `run` identifies the writer."""

    def __init__(self, folder: str, stem: Callable[[], str], run: str) -> None:
        self._folder = folder
        self._stem = stem
        self._run = run
        self._trajectory = Trajectory()
        self._spool = StepSpool()

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        for message in batch.messages:
            self._spool.add(message, self._trajectory.step(message))

    def close(self, about: Result) -> str | None:
        """Publishes the document of a session; returns its place, None if there was no message. Raises: SinkError."""
        place = None
        if self._trajectory.models:
            place = object_store.join(self._folder, f"{self._stem()}{TRAJECTORY}")
            object_store.put_pieces(place, self._trajectory.document(about, self._spool.lines), self._run)
        self._spool.close()
        return place

    def abandon(self) -> None:
        """The session could not be read to its end: discards everything."""
        self._spool.close()

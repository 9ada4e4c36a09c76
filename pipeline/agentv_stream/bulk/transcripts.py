"""One session's transcript and dead letters, written by a bulk worker: they appear at once; rows are as `consume`'s."""

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.message import Message
from agentv_stages.sinks.transcript import TranscriptRows, closing_members, patch
from agentv_stream.bulk import object_store
from agentv_stream.bulk.gathered import Gathered
from agentv_stream.bulk.letters import Letters
from agentv_stream.bulk.session_name import SessionName
from agentv_stream.outputs.naming import TRANSCRIPT


class Transcript:
    """Takes batches after `Consolidate`. `folder` is a folder or a URL; `run` identifies the writer."""

    def __init__(self, folder: str, name: SessionName, run: str) -> None:
        self._folder = folder
        self._name = name
        self._held: list[Message] = []
        self._rows: TranscriptRows | None = None
        self._file = Gathered(folder, run)
        self._letters = Letters(folder, name, run)
        self.path: str | None = None
        self.dead_letters: str | None = None

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        if batch.messages:
            self._held += batch.messages
        if batch.faults:
            self._letters.write(batch.faults)
        if self._held and (self.begun or self._name.told):
            self._render()

    @property
    def begun(self) -> bool:
        """Whether the session of the rows is fixed; from then on only `close` needs to know more about it."""
        return self._rows is not None

    def attach(self, observer: Observer) -> None:
        """Handed over from another process: this is the session's observer here."""
        self._name.attach(observer)

    def close(self, observer: Observer) -> None:
        """Writes what is held, puts the totals into the first row, and publishes; a session without a message has no
        transcript. Raises: SinkError."""
        if self._render().rows:
            place = object_store.join(self._folder, f"{self._name.stem}{TRANSCRIPT}")
            self._file.publish(place, patch(closing_members(observer)))
            self.path = place
        self.dead_letters = self._letters.close()

    def abandon(self) -> None:
        """The session could not be read to its end: discards everything."""
        self._file.abandon()
        self._letters.abandon()

    def _render(self) -> TranscriptRows:
        if self._rows is None:
            self._rows = TranscriptRows(self._name.identity)
        data = self._rows.render(self._held)
        self._held = []
        if data:
            self._file.write(data)
        return self._rows

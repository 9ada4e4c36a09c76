"""The outputs of one session, written by a bulk worker: each appears at once when the session is complete.

In: batches that have passed all stages. Rows are as `consume` writes them; names end in the session's key.
"""

from msgspec import Raw, Struct

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.session.saved import restore_stages, saved_stages
from agentv_stages.sinks.output import Append, Operation, Patch, Put, Writer
from agentv_stages.sinks.outputs import Letters, Wanted, make_outputs
from agentv_stages.sinks.suffixes import LETTERS, TRANSCRIPT
from agentv_stages.sinks.transcript import Identity
from agentv_stream.bulk import object_store
from agentv_stream.bulk.blobs import Blobs
from agentv_stream.bulk.gathered import Gathered
from agentv_stream.outputs.session_name import FixedIdentity, name_of

TRANSCRIPTS = Wanted()


class HandedOutputs(Struct):
    """The state that one process hands to the next that continues writing. `files` are the hidden files by suffix."""

    identity: Identity | None
    files: dict[str, str]
    blobs: list[str]
    states: list[Raw]


class SessionOutputs:
    """`folder` is a folder or a URL; `run` identifies the writer."""

    def __init__(self, folder: str, key: str, run: str, fixed: FixedIdentity, wanted: Wanted = TRANSCRIPTS) -> None:
        self._folder, self._key, self._run = folder, key, run
        self._fixed = fixed
        self.identity: Identity | None = None
        self._writer = Writer(make_outputs(wanted))
        self._files: dict[str, Gathered] = {}
        self._patches: dict[str, tuple[int, bytes]] = {}
        self._blobs = Blobs(folder, key, run)
        self.places: dict[str, str] = {}  # by suffix, once written
        for output in self._writer.outputs:
            if isinstance(output, Letters):
                output.blobs = self._blobs.name  # known before the session is

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        writer = self._writer
        writer.take(batch)
        if self.identity is None and writer.waiting:
            self._begin(self._fixed.known())
        self._apply(writer.operations())

    @property
    def begun(self) -> bool:
        """Whether the session of the rows is fixed; from then on only `close` needs to know more about it."""
        return self.identity is not None

    def _begin(self, identity: Identity | None) -> None:
        self.identity = identity
        if identity is not None:
            self._writer.begin(identity, self._blobs.name)

    def _apply(self, operations: list[Operation]) -> None:
        for operation in operations:
            if isinstance(operation, Append):
                self._file(operation.suffix).write(operation.data)
            elif isinstance(operation, Put):
                self._blobs.put(operation)
            else:
                self._patch(operation)

    def _file(self, suffix: str) -> Gathered:
        return self._files.setdefault(suffix, Gathered(self._folder, self._run))

    def _patch(self, patch: Patch) -> None:
        """Patches close an output: they are applied when it is published."""
        self._patches[patch.suffix] = patch.offset, patch.data

    @property
    def stem(self) -> str:
        """The common beginning of the names of the session's outputs."""
        if self.identity is None:
            self._begin(self._fixed.certain())
        assert self.identity is not None
        return name_of(self.identity, key=self._key)

    def close(self, observer: Observer) -> None:
        """Writes the held rows and publishes everything. Raises: SinkError."""
        stem = self.stem
        self._apply(self._writer.close(observer))
        for output in self._writer.outputs:
            place = object_store.join(self._folder, f"{stem}{output.suffix}")
            file = self._files.get(output.suffix)
            if file is not None:
                file.publish(place, self._patches.get(output.suffix))
                self.places[output.suffix] = place
            elif output.suffix != TRANSCRIPT and not object_store.is_url(self._folder):
                object_store.remove(place)  # left by an earlier reading
        self._blobs.keep()

    def abandon(self) -> None:
        """The session could not be read to its end: discards everything."""
        for file in self._files.values():
            file.abandon()
        self._blobs.abandon()

    def hand_on(self) -> HandedOutputs:
        """For another process to continue writing. Raises: SinkError."""
        files = {suffix: str(file.hand_on()) for suffix, file in self._files.items()}
        return HandedOutputs(self.identity, files, sorted(self._blobs.written), saved_stages(self._writer.outputs))

    def take_over(self, handed: HandedOutputs) -> None:
        """Continues what another process has begun."""
        self._begin(handed.identity)
        restore_stages(self._writer.outputs, handed.states)
        self._files = {name: Gathered(self._folder, self._run, local) for name, local in handed.files.items()}
        self._blobs.written = set(handed.blobs)

    @property
    def transcript(self) -> str | None:
        """The place of the transcript; None for a session without a message."""
        return self.places.get(TRANSCRIPT)

    @property
    def letters(self) -> str | None:
        """The place of the dead letters; None if there are none."""
        return self.places.get(LETTERS)

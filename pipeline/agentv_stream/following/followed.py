"""One followed session: its files, its chain of stages, its outputs, and its state in the cursors.

    files -> lines -> (records seen before are skipped) -> chain -> outputs, merged events, listeners

A log that was truncated, rewritten or rotated continues as a further generation: repeated records are recognised by a
hash and skipped, new ones are taken; nothing that was read is undone. Only a document (one JSON value that is rewritten
as a whole) is read again from its beginning and its outputs are rewritten. The cursors keep only the files of a
log that is read from its beginning at each change (a document, a session that is not known yet).
"""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agentv_stages.figures.result import Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.providers import get_provider
from agentv_stages.session.chain import SessionChain
from agentv_stages.session.parts import transform
from agentv_stream.following.cursors import CursorStore, SessionRow
from agentv_stream.following.delivered import Delivery
from agentv_stream.following.follow_outputs import FollowOutputs
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.growing import GrowingFile, Mark, OpenFiles
from agentv_stream.following.recognition import Recognised, Recognition
from agentv_stream.following.session_files import Input, SessionFiles
from agentv_stream.following.stored import MUTE_ALL, StoredLog, Stores, is_stored
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.sources.folder import context_of


class Listener:
    """Takes notice of what happens in the sessions of a follower. Here every method does nothing."""

    def restored(self, session: "Followed") -> None:
        """A session is in memory again, as it was committed."""

    def skipped(self, session: "Followed") -> None:
        """Records were read that are from before the end of the log at which following began (`--from end`)."""

    def observe(self, session: "Followed", batch: Batch) -> None:
        """A batch with new events has passed `session.reached`."""

    def settled(self, session: "Followed", after: SessionChain, outputs: Outputs) -> None:
        """The outputs of a session at rest are written; `after` is the chain that has read it to its end."""


@dataclass
class Shared:
    """Resources that the sessions of a follower share. `emit` takes lines of merged events."""

    files: OpenFiles
    stores: Stores
    store: CursorStore | None
    emit: Callable[[bytes], None] | None
    plan: Plan
    listeners: list[Listener] = field(default_factory=list[Listener])

    def seen(self, number: int) -> dict[bytes, int]:
        """How often the cursors have each record of a session."""
        return self.store.seen(number) if self.store is not None else {}

    def delivered(self, number: int) -> Iterable[bytes]:
        """The events and messages of a document that the cursors have."""
        return self.store.delivered(number) if self.store is not None else ()

    def log(self, path: str, mark: Mark | None = None) -> GrowingFile:
        """The file at a path, or the session in a store; read from the mark on."""
        if is_stored(path):
            return StoredLog(path, self.files, self.stores, mark)
        return GrowingFile(path, self.files, mark, self.plan.settings.max_record)


class Followed:
    """A session. `chain` is None until its dialect is known. `outputs` is None if no files are written."""

    def __init__(self, number: int, main: str, shared: Shared) -> None:
        self.number = number
        self.shared = shared
        own = weakref.ref(self)  # no cycle: a session that is dropped is freed at once

        def is_saved() -> bool:
            session = own()
            return session is not None and session.saved

        self.files = SessionFiles(main, lambda: shared.seen(number) if is_saved() else {})
        self.records = shared.plan.parts.make_records()
        self.recognition = Recognition(shared.plan.only)
        self.chain: SessionChain | None = None
        self.reached: SessionChain | None = None  # the chain that the last records have passed
        self.outputs: FollowOutputs | None = None
        self.delivery = Delivery(shared.emit, lambda: shared.delivered(number) if is_saved() else ())
        self.dirty = False  # something happened since the last commit
        self.unsettled = False  # something happened since the last settle
        self.saved = False  # it has a row in the cursors
        self.active_ms = 0

    @property
    def main(self) -> str:
        """The path of its log."""
        return self.files.main

    @property
    def provider(self) -> Provider | None:
        return self.chain.provider if self.chain is not None else None

    @property
    def dialect(self) -> Dialect | None:
        return self.chain.dialect if self.chain is not None else None

    @property
    def native_id(self) -> str | None:
        return self.chain.observer.facts.session_id if self.chain is not None else None

    def add(self, path: str, context: DecodeContext | None = None, further: bool = False) -> Input:
        """Adds a file; with `further` a further part of the log."""
        file = self.shared.log(path)
        log = self.files.join(file) if further else self.files.add(file, context)
        if self.chain is not None:
            log.open(self.chain.decode, further)
        self.dirty = self.dirty or further
        return log

    # --- reading

    def read(self, log: Input, now_ms: int, limit: int) -> int:
        """Reads and processes at most `limit` bytes of a file; returns how many there were.

        Raises: OSError, SinkError.
        """
        if isinstance(log.file, StoredLog):
            return self._read_stored(log, log.file, now_ms, limit)
        total = 0
        while total < limit and not self.recognition.given_up:
            stops = [
                end - log.file.position for end in (log.mute_until, log.delivered_until) if end > log.file.position
            ]
            data = log.file.read(min([CHUNK_BYTES, *stops]))
            if not data:
                break
            self.reopen()
            if log.generation and not log.file.position:
                self.files.begin_generation(log)
            total += len(data)
            self.active_ms = now_ms
            for batch in log.file.feed(data, now_ms):
                self._take(log, batch)
            self.unsettled = self.dirty = True
        return total

    def _read_stored(self, log: Input, stored: StoredLog, now_ms: int, limit: int) -> int:
        """The rows of a store that are final and new."""
        before = stored.position
        for batch in stored.take(self.files.taken.row_taken(log.repeated, look=False), now_ms, limit):
            self._hand_on(batch)
        if log.mute_until == MUTE_ALL and not stored.backlog:
            log.mute_until = stored.position
        if stored.position == before:
            self.unsettled = True  # rows that are not final may still have changed
            return 0
        self.active_ms = now_ms
        self.unsettled = self.dirty = True
        return stored.position - before

    def _take(self, log: Input, batch: Batch) -> None:
        """Processes the records of one file. Raises: SinkError, OSError."""
        batch.file = log.printable_path
        self.files.keep_new(log, batch)
        self._hand_on(batch)

    def _hand_on(self, batch: Batch) -> None:
        """Raises: UnknownFormat, SinkError, OSError."""
        for records in transform(self.records, batch):
            if self.chain is not None:
                self._push(records)
                continue
            detector = self.recognition.detector
            found = self.recognition.take(records)
            if found is not None:
                self.begin(found)
            elif self.recognition.detector is not detector:
                self.files.taken.new = []

    def begin(self, found: Recognised) -> None:
        """The dialect is known: processes the records that waited for it. Raises: SinkError, OSError."""
        if found.changed:
            self.delivery.repeat_all()
            for log in self.files.inputs:
                log.delivered_until = 0
        self._start(found.provider, found.dialect)
        for batch in found.held:
            self._push(batch)

    def _start(self, provider: Provider, dialect: Dialect) -> SessionChain:
        """Builds the chain for the dialect."""
        plan = self.shared.plan
        chain = self.chain = SessionChain(
            provider, dialect, plan.settings.watch, growing=True, parts=plan.parts, records=self.records,
            make_cases=plan.cases, specs=plan.specs, dated=plan.dated,
        )  # fmt: skip
        self.files.begin(provider, chain.decode)
        return chain

    def _push(self, batch: Batch) -> None:
        chain = self.chain
        assert chain is not None
        log = self.files.find(batch.file)
        muted = log is not None and batch.end <= log.mute_until
        old = muted or (log is not None and batch.end <= log.delivered_until)
        for done in chain.push(batch):
            if self.outputs is not None and not muted:
                self.outputs.write(done, chain.observer)
            self.deliver(done, chain, old)
        if muted:
            for listener in self.shared.listeners:
                listener.skipped(self)

    def deliver(self, batch: Batch, chain: SessionChain, old: bool) -> None:
        """Hands on a batch that has passed `chain`; of an `old` one only later events take notice. Raises: OSError."""
        self.reached = chain
        files = self.files
        identity = files.inputs[0].printable_path.encode() if files.document else None
        new = self.delivery.take(batch, chain.observer, old, files.rewritten(batch.file), identity)
        if not old:
            for listener in self.shared.listeners:
                listener.observe(self, new)

    def end_partial(self, log: Input) -> None:
        """The unfinished part of a file or store will not be continued: it is taken as it is.

        Raises: SourceError, SinkError, OSError.
        """
        last = self.files.unfinished_of(log)
        if log.file.stored:
            if last is not None:
                self._hand_on(last)
            return
        if last is not None:
            last.end = log.file.position
            self._take(log, last)
            log.file.reader.row += 1
        self.unsettled = self.dirty = True

    # --- beginning again

    def begin_again(self, quietly: bool = False) -> None:
        """Restarts everything: a document was rewritten, or an output lost committed bytes. `quietly`: only the outputs
        are made again, nothing is delivered twice.

        Raises: SinkError.
        """
        for log in self.files.inputs:
            log.restart(self.shared.log(log.path), delivered=quietly)
        self._restart_outputs(quietly)
        self.records = self.shared.plan.parts.make_records()
        chain = self.chain
        if chain is not None and not self.recognition.assumed:
            self.files.find_parents(chain.provider)
            self._start(chain.provider, chain.dialect)
        else:
            self.chain = None
            self.recognition.restart()
        self.files.taken.drop()
        self.dirty = self.unsettled = True

    def reopen(self) -> None:
        """The log continues, or rests once more: if its dialect was only assumed, it may be another one by now.

        Raises: SinkError.
        """
        if not self.recognition.reopen(self.dialect):
            return
        for log in self.files.inputs:
            log.delivered_until = log.file.reader.offset
        self.chain = None
        self._restart_outputs(quietly=True)

    def _restart_outputs(self, quietly: bool) -> None:
        """They are made again and, but for documents, everything is delivered again unless `quietly`.

        Raises: SinkError.
        """
        if not quietly and not self.files.document:
            self.delivery.repeat_all()
        self.delivery.restart()
        if self.outputs is not None:
            self.outputs.restart()

    # --- the cursors

    @property
    def committable(self) -> bool:
        """Whether everything that was read is in the outputs: finally, or until the session continues."""
        if self.recognition.strange:
            return True
        merged = self.delivery.merged
        if self.chain is None or (merged is not None and not merged.ready):
            return False
        if any(log.file.position < max(log.mute_until, log.delivered_until) for log in self.files.inputs):
            return False
        if any(log.file.reader.spilling for log in self.files.inputs):
            return False  # a record over the cap is read and counted again from its beginning
        return self.outputs is None or self.outputs.ready or self.outputs.settled

    @property
    def _anew(self) -> bool:
        """Whether it is read from its beginning when it continues: neither state nor hashes of records are kept."""
        waits = self.outputs is not None and not self.outputs.ready
        return self.recognition.strange or self.files.document or self.recognition.assumed or waits

    def save(self, store: CursorStore) -> None:
        """Writes its state into the cursors, within a transaction; call `note_saved` when that succeeded.

        Raises: CursorError.
        """
        anew, taken, delivered = self._anew, self.files.taken, self.delivery.delivered
        store.put(self._row())
        store.note_seen(self.number, () if anew else taken.new, taken.anew or anew)
        store.note_delivered(self.number, delivered.new, delivered.anew)

    def note_saved(self) -> None:
        """The session is in the cursors."""
        self.saved = True
        self.dirty = False
        self.delivery.delivered.committed()
        if not self._anew:  # otherwise the hashes are written with the first state that is kept
            self.files.taken.committed()

    def _row(self) -> SessionRow:
        chain, outputs, strange = self.chain, self.outputs, self.recognition.strange
        decided = chain if not self.recognition.assumed else None
        row = SessionRow(
            self.number, self.main,
            decided.provider.name if decided is not None else None,
            decided.dialect.name if decided is not None else None,
            self.native_id, not self.unsettled, 0, self.active_ms,
        )  # fmt: skip
        row.inputs = self.files.rows(strange)
        if chain is not None and not strange:
            row.outputs = outputs.snapshot() if outputs is not None else None
            if not self._anew:
                merged = self.delivery.merged
                row.merged = merged.snapshot() if merged is not None else None
                row.state = chain.snapshot()
        return row

    def restore(self, row: SessionRow) -> None:
        """Restores the committed state. Raises: msgspec.MsgspecError, KeyError when it is of another version."""
        self.saved = True
        self.files.main, self.active_ms = row.main, row.active_ms
        self.unsettled = not row.settled
        if row.provider is not None and row.inputs and _forked_since(row, get_provider(row.provider)):
            row.state = None  # it is read again
        for kept in row.inputs:
            self.files.restore(kept, self.shared.log(kept.path, kept.mark if row.state is not None else None))
        if row.outputs is not None and self.outputs is not None:
            self.outputs.restore(row.outputs)
        if row.merged is not None and self.delivery.merged is not None and row.state is not None:
            self.delivery.merged.restore(row.merged)
        if row.provider is None or row.dialect is None:
            return
        provider = get_provider(row.provider)
        dialect = next(d for d in provider.dialects if d.name == row.dialect)
        chain = self._start(provider, dialect)
        self.recognition.known()
        if row.state is not None:
            chain.restore(row.state)
            self.files.open_all(chain.decode)
        for listener in self.shared.listeners:
            listener.restored(self)


def _forked_since(row: SessionRow, provider: Provider) -> bool:
    """Whether the log was not yet known to begin with records of another session."""
    main = row.inputs[0]
    parent = main.context.session_id
    return row.state is not None and context_of(provider, main.path).session_id != parent

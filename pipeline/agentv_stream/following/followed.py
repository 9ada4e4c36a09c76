"""One followed session: its files, its chain of stages, its outputs, and its state in the cursors.

    files -> lines -> (records seen before are skipped) -> chain -> outputs, merged events

A log that was truncated, rewritten or rotated continues as a further generation: repeated records are recognised by a
hash and skipped, new ones are taken; nothing that was read is undone. Only a document (one JSON value that is rewritten
as a whole) is read again from its beginning and its outputs are rewritten. Of a log that is read from its beginning at
each change (a document, a session that is not known yet) the cursors keep only the files.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from msgspec import structs

from agentv_stages.figures.result import Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import DecodeContext, Dialect, Folder, Provider
from agentv_stages.providers import get_provider
from agentv_stages.session.chain import SessionChain
from agentv_stages.session.parts import transform
from agentv_stream.following.cursors import CursorStore, InputRow, SessionRow
from agentv_stream.following.delivered import Delivered
from agentv_stream.following.follow_outputs import FollowOutputs
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.growing import GrowingFile, Mark, OpenFiles
from agentv_stream.following.inputs import Input, Repeated, TakenRecords, printable_context
from agentv_stream.following.merged import MergedEvents
from agentv_stream.following.recognition import Recognised, Recognition
from agentv_stream.following.stored import MUTE_ALL, StoredLog, Stores, is_stored
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.sources.folder import LocalFolder, companions_of, context_of
from agentv_stream.sources.packed_folder import companion_files, unpacked_name


@dataclass
class Shared:
    """What the sessions of a follower share. `emit` takes lines of merged events."""

    files: OpenFiles
    stores: Stores
    store: CursorStore | None
    emit: Callable[[bytes], None] | None
    plan: Plan
    listeners: Sequence["Listener"] = ()
    dated: bool = False
    observers: list[Callable[["Followed", Batch], None]] = field(
        default_factory=lambda: list[Callable[["Followed", Batch], None]]()
    )

    def merged(self) -> MergedEvents | None:
        """The merged events of a session, if they are wanted."""
        return MergedEvents(self.emit) if self.emit is not None else None

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


class Followed:
    """A session. `chain` is None until its dialect is known. `outputs` is None if no files are written."""

    def __init__(self, number: int, main: str, shared: Shared) -> None:
        self.number = number
        self.main = main
        self.shared = shared
        self.chain: SessionChain | None = None
        self.records = shared.plan.parts.make_records()
        self.inputs: list[Input] = []
        self.outputs: FollowOutputs | None = None
        self.merged = shared.merged()
        self.recognition = Recognition(shared.plan.only)
        self.dirty = False  # something happened since the last commit
        self.unsettled = False  # something happened since the last settle
        self.printed = False  # it is one document on several lines
        self.saved = False  # it has a row in the cursors
        self.reached: SessionChain | None = None  # the chain that the last records have passed
        self.deliveries = 0  # times that everything is delivered again
        self.delivered = Delivered(lambda: shared.delivered(number) if self.saved else ())
        self.active_ms = 0
        self.seen = TakenRecords(lambda: shared.seen(number) if self.saved else {})

    @property
    def provider(self) -> Provider | None:
        return self.chain.provider if self.chain is not None else None

    @property
    def dialect(self) -> Dialect | None:
        return self.chain.dialect if self.chain is not None else None

    @property
    def native_id(self) -> str | None:
        return self.chain.observer.facts.session_id if self.chain is not None else None

    @property
    def document(self) -> bool:
        """Whether the log is one JSON value that its agent rewrites at each change."""
        main = self.inputs[0] if self.inputs else None
        return self.printed or (main is not None and main.path.endswith(".json"))

    def _rewritten(self, path: str) -> bool:
        """Whether a file is rewritten as a whole: the log, or what an agent stores beside it, such as its totals."""
        return self.document or path.endswith(".json")

    def add(self, path: str, context: DecodeContext | None = None) -> Input:
        """Adds a file."""
        log = Input(self.shared.log(path), printable_context(path, context or DecodeContext(path)))
        self.inputs.append(log)
        if self.chain is not None:
            self.chain.decode.open(log.printable_path, log.context)
        return log

    def open_all(self, chain: SessionChain) -> None:
        """Gives every file its decoder; further files use that of the first."""
        for n, log in enumerate(self.inputs):
            chain.decode.open(log.printable_path, structs.replace(log.context, further=n > 0 and log.further))

    def join(self, path: str) -> Input:
        """Adds a further part of the log: row numbers continue, repeated records are skipped."""
        context = DecodeContext(printable_path(path))
        log = Input(self.shared.log(path), context, generation=1)
        self.inputs.append(log)
        if self.chain is not None:
            self.chain.decode.open(log.printable_path, structs.replace(context, further=True))
        self.dirty = True
        return log

    def companions(self, folder: Folder) -> list[Input]:
        """Adds new files: further ones of its log, and those of sub-agents of every part."""
        provider = self.provider
        if provider is None:
            return []
        known = {unpacked_name(log.path) for log in self.inputs}  # a file that has been packed meanwhile is not new
        parts = [self.main, *(log.path for log in self.inputs[1:] if log.generation)]
        files = [companion_files(provider, part, folder) for part in parts]
        if all(some is not None and known.issuperset(map(unpacked_name, some)) for some in files):
            return []
        found = {
            c.path: c
            for part in parts
            for c in companions_of(provider, part, folder=folder)
            if unpacked_name(c.path) not in known
        }
        if found:
            self.recognition.confirm()  # an agent that has such files is the right one
        return [self.join(c.path) if c.context.further else self.add(c.path, c.context) for c in found.values()]

    def forked_since(self, folder: Folder) -> bool:
        """Whether the log is now known to begin with records of another session; then it is read again.

        Raises: SinkError.
        """
        if self.provider is None or not self.inputs:
            return False
        if self.provider.context(self.main, folder).begun_ms == self.inputs[0].context.begun_ms:
            return False
        self.begin_again()
        return True

    def parents_since(self) -> bool:
        """Whether it is known by now which call started a sub-agent; then the outputs are made again.

        Raises: SinkError.
        """
        if self.provider is None or self.outputs is None:
            return False
        if any(log.gone or log.generation or log.state != "live" for log in self.inputs):
            return False  # not all could be read again
        if not self._find_parents(self.provider):
            return False
        self.begin_again(quietly=True)
        return True

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
            self._reopen()
            if log.generation and not log.file.position:
                self._begin_generation(log)
            total += len(data)
            self.active_ms = now_ms
            for batch in log.file.feed(data, now_ms):
                self.take(log, batch)
            self.unsettled = self.dirty = True
        return total

    def _begin_generation(self, log: Input) -> None:
        """At its first bytes: counts the records that it may repeat, now that the earlier parts are read to their
        end."""
        log.repeated.begin(self.seen.counts())
        if not log.file.reader.row:  # another file: its rows continue those of its stream
            same = [i for i in self.inputs if i.context.stream == log.context.stream]
            log.file.reader.row = max(self._rows(i) - i.repeated.skipped for i in same)

    def _rows(self, log: Input) -> int:
        """How many rows a file has; a document's only one is not read to its end before the file rests."""
        whole = self.document and log.file.reader.held_bytes > 0
        return log.file.reader.row + whole

    def _read_stored(self, source: Input, log: StoredLog, now_ms: int, limit: int) -> int:
        """The rows of a store that are final and new."""
        before = log.position
        for batch in log.take(self.seen.row_taken(source.repeated, look=False), now_ms, limit):
            self._hand_on(batch)
        if source.mute_until == MUTE_ALL and not log.backlog:
            source.mute_until = log.position
        if log.position == before:
            self.unsettled = True  # rows that are not final may still have changed
            return 0
        self.active_ms = now_ms
        self.unsettled = self.dirty = True
        return log.position - before

    def take(self, log: Input, batch: Batch) -> None:
        """Processes the records of one file. Raises: SinkError, OSError."""
        batch.file = log.printable_path
        others = [other.repeated for other in self.inputs if other is not log]
        self.seen.keep_new(batch, log.repeated, others)
        self._hand_on(batch)

    def _hand_on(self, batch: Batch) -> None:
        for records in transform(self.records, batch):
            if self.chain is None:
                self._recognise(records)
            else:
                self._push(records)

    def _recognise(self, batch: Batch) -> None:
        """Raises: UnknownFormat."""
        detector = self.recognition.detector
        found = self.recognition.take(batch)
        if found is not None:
            self._begin(found)
        elif self.recognition.detector is not detector:
            self.seen.new = []

    def _begin(self, found: Recognised) -> None:
        if found.changed:
            self._deliver_again()
            for log in self.inputs:
                log.delivered_until = 0
        self.start(found.provider, found.dialect)
        for batch in found.held:
            self._push(batch)

    def _reopen(self) -> None:
        """The log continues, or rests once more: if its dialect was only assumed, it may be another one by now."""
        if not self.recognition.reopen(self.dialect):
            return
        for log in self.inputs:
            log.delivered_until = log.file.reader.offset
        self.chain = None
        self._restart_outputs(quietly=True)

    def _restart_outputs(self, quietly: bool = False) -> None:
        """They are made again and, but for documents, everything is delivered again unless `quietly`.

        Raises: SinkError.
        """
        if not quietly and not self.document:
            self._deliver_again()
        self.merged = self.shared.merged()  # the first event again has no parent
        if self.outputs is not None:
            self.outputs.restart()

    def _deliver_again(self) -> None:
        """Everything is delivered again."""
        self.deliveries += 1
        self.delivered.drop()

    def start(self, provider: Provider, dialect: Dialect) -> SessionChain:
        """Builds the chain for the dialect."""
        plan = self.shared.plan
        chain = self.chain = SessionChain(
            provider, dialect, plan.settings.watch, growing=True, parts=plan.parts, records=self.records,
            make_cases=plan.cases, specs=plan.specs, dated=plan.dated,
        )  # fmt: skip
        for n, log in enumerate(self.inputs):
            if n == 0 and not is_stored(log.path):
                log.context = printable_context(log.path, context_of(provider, log.path))
            elif not log.further:
                log.context = structs.replace(log.context, begun_ms=self.inputs[0].context.begun_ms)
        self.open_all(chain)
        return chain

    def _push(self, batch: Batch) -> None:
        chain = self.chain
        assert chain is not None
        log = next((i for i in self.inputs if i.printable_path == batch.file), None)
        muted = log is not None and batch.end <= log.mute_until
        old = muted or (log is not None and batch.end <= log.delivered_until)
        for done in chain.push(batch):
            if self.outputs is not None and not muted:
                self.outputs.write(done, chain.observer)
            self._deliver(done, chain, old)
        if muted:
            for listener in self.shared.listeners:
                listener.skipped(self)

    def _deliver(self, batch: Batch, chain: SessionChain, old: bool) -> None:
        """Hands a batch that has passed `chain` to the merged events and to the observers; of an `old` one only later
        events take notice."""
        self.reached = chain
        new: Iterable[bool] = repeat(not old)
        batch_of_new = batch
        if not old and self._rewritten(batch.file):  # only parts that it did not contain before
            new, batch_of_new = self.delivered.new_in(batch)
        if self.merged is not None:
            identity = self.inputs[0].printable_path.encode() if self.document else None
            self.merged.write(batch, chain.observer, new, identity)
        if not old:
            for observe in self.shared.observers:
                observe(self, batch_of_new)
            for listener in self.shared.listeners:
                listener.observe(self, batch_of_new)

    def end_partials(self) -> None:
        """Nothing will be read any more: takes the unfinished parts of all files and stores.

        Raises: SourceError, SinkError, OSError.
        """
        for log in self.inputs if self.chain is not None else ():
            if log.state != "live" or self._rewritten(log.path):
                continue
            if not isinstance(log.file, StoredLog):
                self.end_partial(log)
            elif (rows := self._rest(log)) is not None:
                self._hand_on(rows)

    def end_partial(self, log: Input) -> None:
        """The unfinished last line will not be continued: it is taken as it is. Raises: SinkError, OSError."""
        last = log.file.reader.rest()
        if last is not None:
            last.end = log.file.position
            self.take(log, last)
            log.file.reader.row += 1
        self.unsettled = self.dirty = True

    def next_generation(self, log: Input) -> None:
        """The path has new contents: they are read from their beginning. Raises: SinkError, OSError."""
        self.end_partial(log)
        log.repeated.known = None
        log.mute_until = 0  # it is an offset in the earlier contents
        log.file = log.file.next_generation()
        log.file.reader.row += log.repeated.skipped
        log.generation += 1
        self.dirty = True

    def begin_again(self, quietly: bool = False) -> None:
        """Restarts everything: a document was rewritten, or an output lost committed bytes. `quietly`: only the outputs
        are made again, nothing is delivered twice.

        Raises: SinkError.
        """
        for log in self.inputs:
            log.delivered_until = max(log.delivered_until, log.file.reader.offset) if quietly else 0
            self.shared.files.close(log.file)
            log.file = self.shared.log(log.path)
            log.repeated = Repeated()
        self._restart_outputs(quietly)
        self.records = self.shared.plan.parts.make_records()
        chain = self.chain
        if chain is not None and not self.recognition.assumed:
            self._find_parents(chain.provider)
            self.start(chain.provider, chain.dialect)
        else:
            self.chain = None
            self.recognition.restart()
        self.seen.drop()
        self.dirty = self.unsettled = True

    def _find_parents(self, provider: Provider) -> bool:
        """Looks which calls started the sub-agents, if that is not known; returns whether some were found."""
        orphans = [log for log in self.inputs if log.context.stream != MAIN and log.context.parent_call is None]
        if not orphans:
            return False
        contexts = {c.path: c.context for c in companions_of(provider, self.main, folder=LocalFolder())}
        for log in orphans:
            log.context = printable_context(log.path, contexts.get(log.path, log.context))
        return any(log.context.parent_call is not None for log in orphans)

    # --- rest

    def settle(self) -> None:
        """Brings the outputs into the form of a finished session. Raises: SinkError, OSError."""
        self.unsettled = False
        self._reopen()
        if not self.decide():
            return
        chain = self.chain
        assert chain is not None
        if self.outputs is None and not any(self._rewritten(log.path) for log in self.inputs):
            return
        after = chain.fork()
        read = [
            (log, done)
            for log, last in self._unfinished()
            for records in transform(after.records, last)
            for done in after.push(records)
        ]
        batches = [*(done for _, done in read), *after.flush()]
        for log, batch in read:
            if self._rewritten(log.path):  # it has no line that is final before its end
                self._deliver(batch, after, log.file.position <= log.mute_until)
        if self.outputs is None:
            return
        verdicts = [case.result() for case in after.cases]
        if verdicts and self.shared.plan.parts.redactor is not None:
            from agentv_stream.checks.check import hidden_results

            verdicts = hidden_results(verdicts, self.shared.plan.parts)
        provisional = self.recognition.assumed
        written = self.outputs.settle(batches, after.observer, after.pair.left, verdicts, provisional)
        if written is not None:
            for listener in self.shared.listeners:
                listener.settled(self, after, written)
        self.dirty = True

    def _unfinished(self) -> list[tuple[Input, Batch]]:
        """Rows that may still change. The rows of further files go on where those before them end."""
        found: list[tuple[Input, Batch]] = []
        row = 0
        for log in self.inputs:
            last = self._rest(log) if log.state == "live" else None
            if last is not None:
                found.append((log, last))
            if isinstance(log.file, StoredLog) or not (log is self.inputs[0] or log.further):
                continue
            row = max(row, log.file.reader.row)
            if last is not None:
                last.records = [structs.replace(r, row=row + i) for i, r in enumerate(last.records)]
                row += len(last.records)
        return found

    def _rest(self, log: Input) -> Batch | None:
        """The part of the log that may still change: its unfinished last line, or rows that a store may change."""
        if isinstance(log.file, StoredLog):
            return log.file.waiting(self.seen.row_taken(log.repeated, look=True))
        return log.file.reader.rest()

    def decide(self) -> bool:
        """Whether the dialect is known, if necessary from the records so far. Raises: SinkError, OSError."""
        if self.chain is not None:
            return True
        last = self._rest(self.inputs[0])
        unfinished = list(transform(self.shared.plan.parts.make_records(), last)) if last is not None else []
        if last is not None:
            self.printed = last.document
        found = self.recognition.at_rest(unfinished)
        if found is not None:
            self._begin(found)
        return found is not None

    def close(self) -> None:
        for log in self.inputs:
            self.shared.files.close(log.file)

    # --- the cursors

    @property
    def committable(self) -> bool:
        """Whether everything that was read is in the outputs: finally, or until the session continues."""
        if self.recognition.strange:
            return True
        if self.chain is None or (self.merged is not None and not self.merged.ready):
            return False
        if any(log.file.position < max(log.mute_until, log.delivered_until) for log in self.inputs):
            return False
        if any(log.file.reader.spilling for log in self.inputs):
            return False  # a record over the cap is read and counted again from its beginning
        return self.outputs is None or self.outputs.ready or self.outputs.settled

    @property
    def _anew(self) -> bool:
        """Whether it is read from its beginning when it continues: neither state nor hashes of records are kept."""
        waits = self.outputs is not None and not self.outputs.ready
        return self.recognition.strange or self.document or self.recognition.assumed or waits

    def save(self, store: CursorStore) -> None:
        """Writes its state into the cursors, within a transaction; call `note_saved` when that succeeded.

        Raises: CursorError.
        """
        anew = self._anew
        store.put(self._row())
        store.note_seen(self.number, () if anew else self.seen.new, self.seen.anew or anew)
        store.note_delivered(self.number, self.delivered.new, self.delivered.anew)

    def note_saved(self) -> None:
        """The session is in the cursors."""
        self.saved = True
        self.dirty = False
        self.delivered.new, self.delivered.anew = [], False
        if not self._anew:  # otherwise the hashes are written with the first state that is kept
            self.seen.new, self.seen.anew = [], False

    def _row(self) -> SessionRow:
        chain, outputs, strange = self.chain, self.outputs, self.recognition.strange
        decided = chain if not self.recognition.assumed else None
        row = SessionRow(
            self.number, self.main,
            decided.provider.name if decided is not None else None,
            decided.dialect.name if decided is not None else None,
            self.native_id, not self.unsettled, 0, self.active_ms,
        )  # fmt: skip
        whole_document = self.document
        for log in self.inputs:
            state = "gone" if log.gone and log.state == "live" else log.state
            state = "other" if strange else "document" if whole_document and state == "live" else state
            read, mark = log.file.signature_read(), log.file.mark()
            skipped, repeating = log.repeated.skipped, log.repeated.repeating
            row.inputs.append(InputRow(log.path, state, log.generation, read, mark, skipped, log.context, repeating))
        if chain is not None and not strange:
            row.outputs = outputs.snapshot() if outputs is not None else None
            if not self._anew:
                row.merged = self.merged.snapshot() if self.merged is not None else None
                row.state = chain.snapshot()
        return row

    def restore(self, row: SessionRow) -> None:
        """Restores the committed state. Raises: msgspec.MsgspecError, KeyError when it is of another version."""
        self.saved = True
        self.main, self.active_ms = row.main, row.active_ms
        self.unsettled = not row.settled
        if row.provider is not None and row.inputs and _forked_since(row, get_provider(row.provider)):
            row.state = None  # it is read again
        for kept in row.inputs:
            mark = kept.mark if row.state is not None else None
            file = self.shared.log(kept.path, mark)
            is_gone = kept.state == "gone"
            state = "live" if kept.state in ("gone", "document", "other") else kept.state
            self.printed = self.printed or kept.state == "document"
            log = Input(
                file, kept.context, state, kept.generation, Repeated(None, kept.skipped, kept.repeating), is_gone
            )
            file.identity = None if kept.signature is None else (kept.signature.device, kept.signature.inode)
            self.inputs.append(log)
            if kept.generation and file.position and not is_stored(kept.path):
                again = GrowingFile(log.path, self.shared.files, cap=self.shared.plan.settings.max_record)
                self.seen.gone_on(log.repeated, again, file.position)
                self.shared.files.close(again)
        if row.outputs is not None and self.outputs is not None:
            self.outputs.restore(row.outputs)
        if row.merged is not None and self.merged is not None and row.state is not None:
            self.merged.restore(row.merged)
        if row.provider is None or row.dialect is None:
            return
        provider = get_provider(row.provider)
        dialect = next(d for d in provider.dialects if d.name == row.dialect)
        chain = self.start(provider, dialect)
        self.recognition.known()
        if row.state is not None:
            chain.restore(row.state)
            self.open_all(chain)
        for listener in self.shared.listeners:
            listener.restored(self)


def _forked_since(row: SessionRow, provider: Provider) -> bool:
    """Whether the log was not yet known to begin with records of another session."""
    main = row.inputs[0]
    parent = main.context.session_id
    return row.state is not None and context_of(provider, main.path).session_id != parent

"""Records to events: runs a dialect's decoder over batches and repairs the records that it refuses.

The attempts for one record, in this order: the dialect's typed decoding; the record cleaned by the standard library's
JSON parser (duplicate keys, NaN, lone surrogates, 1e400, control characters); the same without the members whose shape
does not fit; the intact part of a truncated document; the objects that can be extracted from it (run together as `}{`,
or after noise); the dead letters.
Faults: `not-json`, `torn`, `torn-middle`, `welded`, `nul-run`, `bad-utf8`, `not-object`, `too-deep`, `schema`,
`foreign-record`, `interleaved`.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.chain.depth import PAYLOAD_OF
from agentv_stages.chain.interleaved import Interleaved, id_of
from agentv_stages.chain.objects import objects
from agentv_stages.chain.pruning import prune
from agentv_stages.chain.torn_document import whole_part
from agentv_stages.chain.welded import at_end, cut
from agentv_stages.model.batch import BETWEEN, Batch, Record
from agentv_stages.model.fault import Fault, Reason
from agentv_stages.model.payload import read_json, to_raw
from agentv_stages.model.provider import REFUSED, DecodeContext, Dialect, RecordDecoder
from agentv_stages.model.stage import Flushed
from agentv_stages.model.visible import counted

if TYPE_CHECKING:  # compiling the rules takes time, and most sessions are not redacted
    from agentv_stages.redaction.deltas import RedactDeltas
    from agentv_stages.redaction.redactor import Redactor

_BEGUN = re.compile(r"\s*(?:\{|\[\s*(?:[\[{\"]|\Z))")  # not a wrapper's "[stdout]", "[12:01]"
_MOST_PRUNED = 8
_MOST_STRANGERS = 16
_LONGEST_LAST = 65_536
_SHORT = 12  # bytes of a payload that hold no secret of a known form
_array = msgspec.json.Decoder(list[Raw])


SureDialect: TypeAlias = Callable[[list[Mapping[str, Any]]], Dialect | None]
"""The dialect that certainly has such records; None if there is none."""


class DecodeState(Struct, array_like=True):
    """All that is remembered between two records: the decoder's own state as JSON, the records of unknown type, how far
    row numbers are ahead of line numbers, the ids of the sessions, if there are several, the deltas that wait, and the
    ids of the last records: before each header of another session, and of all."""

    decoder: Raw
    looked_at: int = 0
    strangers: list[Any] = []
    ahead: int = 0
    sessions: list[str] = []
    held: bytes = b""
    last_ids: list[str] = []
    last_id: str | None = None


class Decode:
    """A stage over batches: fills `events`, `ignored`, `unknown` from `records`.

    Several objects on one line each get a row of their own; the rows of later records shift accordingly. With
    `sure_dialect`, records of another agent are looked for among those of unknown type. `redactor` is for texts that
    the decoder reads besides the records, and for texts that it joins from several of them.
    """

    def __init__(
        self,
        dialect: Dialect,
        context: DecodeContext | None = None,
        sure_dialect: SureDialect | None = None,
        redactor: "Redactor | None" = None,
    ) -> None:
        self.dialect = dialect
        self.sure_dialect = sure_dialect
        self.context = context or DecodeContext()
        self.redactor = redactor
        self.decoder: RecordDecoder = dialect.decoder(self.context.redacted(redactor))
        self._deltas = _redact_deltas(dialect, redactor)
        self._strangers: list[Mapping[str, Any]] = []
        self._looked_at = 0
        self._ahead = 0  # rows by which later records shift: objects that were not the first on their line
        self._sessions = Interleaved()
        self._last: Record | None = None  # of the batch before; long ones are not kept for it
        self._known_id: str | None = None  # its id, where the stage was restored after it
        self._flushed = Flushed()

    def push(self, batch: Batch, /) -> tuple[Batch]:
        if self._deltas is not None:
            batch.records = self._deltas.push(batch.records)
        decode, rest = self.decoder.decode, iter(batch.records)
        if not self._ahead and not batch.document:
            for record in rest:
                try:
                    decode(record, batch)
                except REFUSED as error:
                    self._repair(record, batch, error)
                    if self._ahead:
                        break
        self._moved_on(batch, list(rest))
        if self.redactor is not None:
            _redact_decoded(batch, self.redactor)
        if batch.begun or self._sessions.ids:
            self._sessions.look(batch, self._last_id())
        if batch.records:
            last = batch.records[-1]
            self._last, self._known_id = (last if len(last.data) < _LONGEST_LAST else None), None
        if batch.strangers:
            if self.sure_dialect is not None:
                self._look_at_strangers(batch, self.sure_dialect)
            batch.strangers.clear()
        if len(batch.faults) > 1:  # faults of lines and of unknown records: the order must not depend on the chunking
            batch.faults.sort(key=_place)
        return (batch,)

    def _moved_on(self, batch: Batch, rest: list[Record]) -> None:
        """Decodes the remaining records of a batch with shifted rows, or a document."""
        decode, records = self.decoder.decode, batch.records
        for i, record in enumerate(rest, len(records) - len(rest)):
            records[i] = record.moved(self._ahead)
            line, faults = _one_line(records[i]) if batch.document else records[i], len(batch.faults)
            try:
                decode(line, batch)
            except REFUSED as error:
                self._repair(line, batch, error)
            _as_read(batch, faults, line, records[i])

    def flush(self) -> tuple[Batch, ...]:
        self._flushed.once()
        batch = Batch(self.context.file)
        if self._deltas is not None:
            deltas, self._deltas = self._deltas, None
            batch.records = deltas.flush()
            self.push(batch)
        try:
            self.decoder.flush(batch)
        except REFUSED as error:  # the held text cannot be decoded; each of its records could
            batch.faults.append(Fault("schema", batch.file, 0, 0, 0, f"held to the end: {error}", b""))
        if self.redactor is not None:
            _redact_decoded(batch, self.redactor)
        return (batch,) if batch.records or batch.events or batch.faults or batch.ignored else ()

    def snapshot(self) -> DecodeState:
        """A copy that later records do not change."""
        return msgspec.json.decode(self.save(), type=DecodeState)

    def restore(self, snapshot: object, /) -> None:
        self.load(msgspec.json.encode(snapshot))

    def save(self) -> bytes:
        """The state as JSON; equal for two decoders that will behave alike."""
        held = b"" if self._deltas is None else self._deltas.snapshot()
        sessions = self._sessions
        state = (
            *(self.decoder.state, self._looked_at, self._strangers, self._ahead, sessions.ids, held),
            *(sessions.last_ids, self._last_id()),
        )
        return msgspec.json.encode(state)

    def load(self, data: bytes) -> None:
        """Restores what `save` returned. Raises: msgspec.MsgspecError for the state of another dialect or version."""
        state = msgspec.json.decode(data, type=DecodeState)
        running: Struct = self.decoder.state
        self.decoder.state = msgspec.json.decode(state.decoder, type=type(running))
        self._looked_at, self._strangers, self._ahead = state.looked_at, state.strangers, state.ahead
        self._sessions.ids, self._sessions.last_ids = state.sessions, state.last_ids
        self._last, self._known_id = None, state.last_id
        if self._deltas is not None:
            self._deltas.restore(state.held)

    def _last_id(self) -> str | None:
        return self._known_id if self._last is None else id_of(self._last)

    def go_on_in(self, context: DecodeContext) -> "Decode":
        """A stage that continues with the state of this one, in another file."""
        after = Decode(self.dialect, context, self.sure_dialect, self.redactor)
        after.load(self.save())
        return after

    def _repair(self, record: Record, batch: Batch, refusal: Exception) -> None:
        _take_back(record, batch)
        if isinstance(refusal, RecursionError):  # in another form it is as deep, and the decoder may now know its id
            batch.fault("too-deep", record, str(refusal))
            return
        data = record.data
        if data.lstrip()[:1] == b"[" and self._explode(record, batch):
            return
        if not data.strip():
            return
        if b"\0" in data:
            batch.fault("nul-run", record, f"{data.count(0)} NUL bytes")
            data = data.replace(b"\0", b"")
            if not data.strip():
                return
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            batch.fault("bad-utf8", record, str(error))
            text = data.decode("utf-8", "replace")
        try:
            value = read_json(text)
            # e.g. half of a surrogate pair in a text, for which the array as it is was refused
            clean = bytes(to_raw(value)) if isinstance(value, list) else b""
        except RecursionError:
            batch.fault("too-deep", record, "nested too deeply to be read")
            return
        except json.JSONDecodeError as error:
            self._salvage(text, record, batch, error)
            return
        if clean and self._explode(record.replaced(clean), batch):
            return
        self._typed(value, record, batch)

    def _typed(self, value: Any, record: Record, batch: Batch) -> None:
        """Decodes an untyped value again, without the members that the dialect cannot decode."""
        if not isinstance(value, dict):
            batch.fault("not-object", record, f"a JSON {type(value).__name__}")
            return
        pruned: list[str] = []
        faults = len(batch.faults)
        before = len(batch.events)  # a refused object must not cost the others on its line
        while True:
            try:
                clean = record.replaced(bytes(to_raw(value)))
                self.decoder.decode(clean, batch)
            except msgspec.ValidationError as error:
                del batch.events[before:]
                if len(pruned) == _MOST_PRUNED or not prune(value, str(error)):
                    batch.fault("schema", record, str(error))
                    return
                pruned.append(str(error))
            except RecursionError:
                del batch.events[before:]
                batch.fault("too-deep", record, "nested too deeply to be decoded")
                return
            except REFUSED as error:
                del batch.events[before:]
                batch.fault("schema", record, str(error))
                return
            else:
                _as_read(batch, faults, clean, record)
                if pruned:  # else the cleaned record fits: a duplicate key, or a number out of range
                    batch.fault("schema", record, "; ".join(pruned))
                return

    def _explode(self, record: Record, batch: Batch) -> bool:
        """Decodes a top-level array: each element is a record of its own, at the same offset. False if it is none."""
        try:
            elements = _array.decode(record.data)
        except REFUSED:
            return False
        try:
            originals = _array.decode(record.raw) if record.raw else elements
        except REFUSED:
            originals = elements
        self._open_array(len(elements), batch)
        for i, (element, original) in enumerate(zip(elements, originals, strict=True)):
            inner = Record(bytes(original), record.offset, record.row + i)
            inner = inner if element is original else inner.replaced(bytes(element))
            if inner.data.lstrip()[:1] == b"[":
                batch.fault("not-object", inner, "an array within the array of records")
                continue
            try:
                self.decoder.decode(inner, batch)
            except REFUSED as error:
                self._repair(inner, batch, error)
        return True

    def _open_array(self, elements: int, batch: Batch) -> None:
        further = max(elements - 1, 0)
        self._ahead += further
        batch.elements += further

    def _salvage(self, text: str, record: Record, batch: Batch, error: json.JSONDecodeError) -> None:
        """Extracts whole objects from a line that is not valid JSON."""
        if record.row == 0 and self._torn_document(text, record, batch, error):
            return
        found, rest = cut(text)
        torn = batch.unterminated and record is batch.records[-1]
        self._ahead += max(len(found) - 1, 0)
        for i, value in enumerate(found):
            self._typed(value, record.moved(i), batch)
        if not found:
            if _BEGUN.match(text):
                batch.fault("torn" if torn else "torn-middle", record, str(error))
            else:
                batch.fault("not-json", record, "text without JSON")
        elif rest:
            begun = rest.lstrip()[:1] == "{"
            reason: Reason = "torn" if begun and torn else "torn-middle" if begun else "not-json"
            batch.fault(
                reason, record, f"{counted(len(found), 'object')} salvaged, {counted(len(rest), 'character')} left"
            )
        else:
            batch.fault("welded", record, f"{len(found)} objects on one line")

    def _torn_document(self, text: str, record: Record, batch: Batch, error: json.JSONDecodeError) -> bool:
        """Decodes the intact part of a truncated document; the torn part is the fault. False if this does not apply."""
        mended = whole_part(text)
        if mended is None:
            return False
        values, at = mended
        reason: Reason = "torn" if at_end(text, error) else "torn-middle"
        if reason == "torn-middle" and len(values) > 1 and len(cut(text)[0]) >= len(values):
            return False  # there are records after the break, too
        self._open_array(len(values), batch)
        for i, value in enumerate(values):
            self._typed(value, Record(bytes(to_raw(value)), record.offset, record.row + i), batch)
        whole = text[:at].encode("utf-8", "replace")
        if not record.data.startswith(whole):
            whole = b""  # the text was repaired, so its positions are not those of the file
        rest = record.data[len(whole) :]
        fault = Fault(reason, batch.file, record.row, record.offset + len(whole), len(rest), str(error), rest)
        batch.faults.append(fault)
        return True

    def _look_at_strangers(self, batch: Batch, sure_dialect: SureDialect) -> None:
        """Checks whether records of unknown type are another agent's: two logs in one input are a fault.

        It is no fault if the other dialect's decoder does not know the record either: ACP's decoder also reads
        Copilot's variant, and a new kind of update is new to both. An agent's log on disk after its stream is one.
        """
        for record in batch.strangers:
            if self._looked_at >= _MOST_STRANGERS:
                break
            self._looked_at += 1
            alone = objects(record)
            self._strangers += alone
            # one record may not be enough to be certain: Pi is recognised by its header and an entry together
            for head in (alone, self._strangers):
                other = sure_dialect(head)
                if other is not None and self._is_other(other, record):
                    detail = f"looks like {other.name} in a {self.dialect.name} log"
                    batch.fault("foreign-record", record, detail)
                    self._strangers.clear()
                    break

    def _is_other(self, dialect: Dialect, record: Record) -> bool:
        own, other = self.dialect, dialect.decoder(self.context)
        if dialect.name == own.name or (dialect.live == own.live and type(other) is type(self.decoder)):
            return False
        batch = Batch(self.context.file)
        try:
            other.decode(record, batch)
        except REFUSED:
            return True  # records that do not fit completely would be repaired when read
        return not batch.unknown


def _redact_deltas(dialect: Dialect, redactor: "Redactor | None") -> "RedactDeltas | None":
    """The part that holds back the deltas of a redacted session; None where there are none."""
    if redactor is None or not dialect.deltas:
        return None
    from agentv_stages.redaction.deltas import RedactDeltas

    return RedactDeltas(redactor, dialect.deltas)


def _redact_decoded(batch: Batch, redactor: "Redactor") -> None:
    """Redacts the payloads that a decoder has made, of pieces of several records or of JSON in a text: no record alone
    showed the secrets in them. Those that are part of their record were redacted with it."""
    payloads: list[tuple[int, str, bytes]] = []
    for i, event in enumerate(batch.events):
        name = PAYLOAD_OF.get(type(event))
        payload = getattr(event, name) if name is not None else None
        if name is not None and payload is not None and len(payload) >= _SHORT:
            payloads.append((i, name, bytes(payload)))
    records = batch.records
    first = records[0].row if records else 0
    if redactor.is_fast and not redactor.may_hold(BETWEEN.join([data for _, _, data in payloads])):
        return
    for i, name, data in payloads:
        row = batch.events[i].source.row
        at = row - first
        whole = records[at].data if 0 <= at < len(records) and records[at].row == row else b""
        if (redacted := redactor.redact_part(data, whole)) is not data:
            batch.events[i] = replace(batch.events[i], **{name: Raw(redacted)})


def _take_back(record: Record, batch: Batch) -> None:
    """Removes the events that a decoder made of a record before refusing it: the record will be decoded again."""
    events = batch.events
    while events and events[-1].source.row == record.row and events[-1].source.offset == record.offset:
        events.pop()


def _as_read(batch: Batch, since: int, cleaned: Record, record: Record) -> None:
    """Puts the record as it was read in the place of its `cleaned` form, where faults or strangers hold that: the
    removed members may show which dialect it is.
    """
    if batch.strangers and batch.strangers[-1] is cleaned:
        batch.strangers[-1] = record
    for i in range(since, len(batch.faults)):
        if batch.faults[i].data is cleaned.data:
            batch.faults[i] = replace(batch.faults[i], length=record.length, data=record.data)


def _place(fault: Fault) -> int:
    return fault.offset


def _one_line(record: Record) -> Record:
    """A pretty-printed document without its line breaks, because its payloads are spliced into lines."""
    try:
        return record.replaced(msgspec.json.format(record.data, indent=-1))
    except REFUSED:
        return record

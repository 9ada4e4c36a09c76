"""Repetitions: drops events that a record repeats from an earlier one, and gives answers that share an id their own.

In: the events of a session in file order. Out: the same events without repetitions, `message_id` and `key` unique by
model call. Resumed sessions, compactions that write the history again, logs merged from two that overlap, and relays
that send twice all repeat whole records. A record repeats an earlier one of its stream, however far back, if it has the
same id, time and contents; its other members (branch, version, folder) may differ. A record without an id, or
without a time, must also be as long. If it has no id, but the log gives its message one, that id must be equal. A
record without both never counts as repeated, nor does a piece of a text before a later one has come.
"""

from msgspec import Struct, convert
from msgspec.structs import replace

from agentv_stages.chain.answers import Answer, Answers, Block
from agentv_stages.chain.contents import BLOCKS, REPEATED, contents_of, id_summed, piece_summed, summed
from agentv_stages.chain.known_records import MOST_NOTED, KnownRecords, KnownState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    PIECES,
    AnyEvent,
    Events,
    Notification,
    QueueOperation,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Source,
    TokenUsage,
    ToolResult,
    UserText,
)

MOST_SHARED = 64
_NO_ANSWERS = frozenset((Notification, QueueOperation, SessionInfo, SessionEnd))
"""Kinds of events of which no answer consists, and which none ends."""


class StreamState(Struct, array_like=True):
    """A `_Stream`, saved."""

    known: KnownState
    last_id: str
    last_contents: int
    shared: list[str]
    results: int
    inputs: int
    latest_ms: int = -1


class IdentityState(Struct, array_like=True):
    """`answers` is by message id. `row` of `file` is the last record, `own` are the checksums of its events."""

    streams: dict[str, StreamState] = {}
    answers: dict[str, list[Answer]] = {}
    file: str = ""
    row: int = -1
    own: list[int] = []


class _Stream:
    """The records of one stream. `last_id` and `last_contents` are of the last one; `results` and `inputs` are counts.

    `shared` are ids of two records in a row that differ in time or contents: one word was put in the place of all ids,
    so it proves nothing. `native` is the message id of the current answer, if its tokens are known and
    nothing came after it; `number` is its request, `plain`: it may keep its id. `latest_ms` is the time of the latest
    event of a record that is no piece of an answer.
    """

    __slots__ = (
        *("inputs", "known", "last_contents", "last_id", "latest_ms", "native", "number", "plain", "results", "shared"),
    )

    def __init__(self) -> None:
        self.known = KnownRecords()
        self.last_contents = 0
        self.last_id = ""
        self.latest_ms = -1
        self.shared: set[str] = set()
        self.results = 0
        self.inputs = 0
        self.native = ""
        self.number = PIECES
        self.plain = True


class Identity:
    """Part of `Pair`; batches must come in order."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}
        self._name = ""
        self._stream = _Stream()  # that of `_name`
        self._answers = Answers()
        self._file, self._row, self._at = "", -1, -1
        self._own: list[int] = []
        self._copied = False  # the current record
        self._native: str = ""  # its message id
        self._answer: str = ""  # the own id of the answer

    def settle(self, batch: Batch) -> None:
        """Drops repetitions from a batch and counts them; replaces events whose answer has another id."""
        events = batch.events
        out: list[AnyEvent] | None = None
        last: Source | None = None
        plain = False  # the current record stays as it is
        stream, name, keeps_id = self._stream, self._name, self._answers.keeps_id
        newest_ms, last_id, note = stream.known.newest_ms, stream.last_id, stream.known.noted.append
        names, few = stream.known.names, stream.known.few
        at, end = -1, len(events)
        for i, event in enumerate(events):
            source = event.source
            if source is not last:
                time_ms, base_id, answer = source.time_ms, source.base_id, source.answer
                if (
                    time_ms is not None
                    and time_ms > newest_ms
                    and base_id != last_id
                    and answer is not None
                    and answer <= PIECES
                    and source.stream == name
                    and base_id
                    and not stream.shared
                ):
                    # nearly every record of a large session: the newest one
                    newest_ms, last_id, at, last = time_ms, base_id, i, source
                    note(source)
                    self._copied, plain = False, True
                elif (
                    time_ms is None
                    and base_id
                    and base_id != last_id
                    and answer is not None
                    and answer <= PIECES
                    and source.stream == name
                    and base_id not in names
                    and len(names) < few
                    and not stream.shared
                ):
                    # likewise of a stream whose records have no times
                    last_id, at, last = base_id, i, source
                    names.add(base_id)
                    self._copied, plain = False, True
                else:
                    stream.known.newest_ms, stream.last_id, self._at = newest_ms, last_id, at
                    plain = self._is_new(source, events, i, last)
                    stream, name, last = self._stream, self._name, source
                    newest_ms, last_id, note = stream.known.newest_ms, stream.last_id, stream.known.noted.append
                    names, few = stream.known.names, stream.known.few
                    at = self._at
                if plain:
                    kind = type(event)
                    if kind is ToolResult:
                        stream.results += 1
                        stream.native = ""
                    elif kind is UserText:
                        stream.inputs += 1
                        stream.native = ""
                    elif i + 1 == end or (after := events[i + 1]).source is not source:
                        if kind in BLOCKS:
                            if event.message_id == stream.native and answer == stream.number:  # type: ignore[union-attr]  # narrowed by `kind`, which mypy does not follow
                                plain = stream.plain
                            else:
                                plain = self._is_own_answer(source, events, i)
                        elif kind not in _NO_ANSWERS:
                            plain = self._is_own_answer(source, events, i)
                    elif (
                        type(after) is TokenUsage
                        and kind in BLOCKS
                        and (
                            i + 2 == end
                            or (ending := events[i + 2]).source is not source
                            or (type(ending) is SessionEnd and (i + 3 == end or events[i + 3].source is not source))
                        )
                        and keeps_id(event, after, stream)  # type: ignore[arg-type]  # as above
                    ):
                        stream.native, stream.number, stream.plain = after.key, answer or PIECES, True
                    else:
                        plain = self._is_own_answer(source, events, i)
            elif plain and type(event) is UserText:
                stream.inputs += 1
                stream.native = ""
            if plain:
                if out is not None:
                    out.append(event)
                continue
            settled = self._settled(event, source, batch)
            if settled is not event and out is None:
                out = events[:i]
            if out is not None and settled is not None:
                out.append(settled)
        if last is not None:
            self._row, self._file = last.row, last.file
            stream.known.newest_ms, stream.last_id, self._at = newest_ms, last_id, at
            self._stream_ends(events)
        if out is not None:
            batch.events = out

    def _stream_ends(self, events: Events) -> None:
        """The batch ends, or goes on with another stream."""
        if self._at >= 0:
            self._stream.last_contents, self._at = contents_of(events, self._at), -1
        if len(self._stream.known.noted) > MOST_NOTED:
            self._stream.known.compress()

    def _is_new(self, source: Source, events: Events, at: int, last: Source | None) -> bool:
        """Whether a record, whose first event is `events[at]`, is written once and is known to be new. `last` is the
        source before it in the batch.
        """
        if last is not None:
            self._row, self._file = last.row, last.file
        if source.stream != self._name:
            self._turn_to(source.stream, events)
        stream, pieces = self._stream, source.answer is not None and source.answer <= PIECES
        if source.row == self._row and source.file == self._file:  # a record may have several sources
            return pieces and not self._copied
        self._row, self._file, self._own = source.row, source.file, []
        if not pieces:
            return False
        base_id = source.base_id
        if not base_id or base_id == stream.last_id or base_id in stream.shared:
            self._copied = self._is_like_earlier(source, events, at)
        else:
            self._copied = stream.known.has(source)
        stream.last_id, self._at = base_id, at
        return not self._copied

    def _is_like_earlier(self, source: Source, events: Events, at: int) -> bool:
        """Whether a record is a copy that its id does not identify."""
        stream, base_id, time_ms = self._stream, source.base_id, source.time_ms
        if not base_id and time_ms is None:
            return False
        contents = contents_of(events, at)
        if base_id and base_id not in stream.shared:
            before = contents_of(events, self._at) if self._at >= 0 else stream.last_contents
            if contents == before and stream.known.has(source):
                return True
            if len(stream.shared) < MOST_SHARED:
                stream.shared.add(base_id)
        return stream.known.has_contents(base_id, time_ms, contents + source.length)

    def _is_own_answer(self, source: Source, events: Events, at: int) -> bool:
        """Notes the blocks of a record that may hold a piece; returns whether its answer keeps the id in the log."""
        stream = self._stream
        native: str = ""
        parts: list[Block] = []
        usage: TokenUsage | None = None
        for i in range(at, len(events)):
            event = events[i]
            if event.source is not source:
                break
            kind = type(event)
            if kind in BLOCKS:
                part: Block = event  # type: ignore[assignment]  # narrowed by `kind`, which mypy does not follow
                native = native or part.message_id
                parts.append(part)
            elif kind is TokenUsage:
                usage = event if event.scope == "call" else usage  # type: ignore[union-attr,assignment]  # as above
            elif kind is ToolResult:
                if not native:  # else it is that of a tool of the server
                    stream.results += 1
                    stream.native = ""
            elif kind is SlashCommand:
                stream.inputs += 1
                stream.native = ""
        if usage is not None and not native:
            native = usage.key
        if not native:
            return True
        self._native = native
        if usage is not None and not parts and not usage.input:
            self._answer = self._answers.latest(native, self._name)
            return self._answer == native
        number = source.answer or PIECES
        answer = self._answers.piece(native, self._name, number, usage, parts, stream.results, stream.inputs)
        self._answer, plain = answer.id, answer.ordinal == 1
        # later records without tokens also belong to it; the marks of its blocks are only needed where none has any
        stream.native = native if answer.prompt is not None else ""
        stream.number, stream.plain = number, plain
        return plain

    def _settled(self, event: AnyEvent, source: Source, batch: Batch) -> AnyEvent | None:
        """An event of a record that is not plain, with its answer's own id; None for a repetition."""
        kind = type(event)
        if kind not in REPEATED or (kind is TokenUsage and event.scope != "call"):  # type: ignore[union-attr]  # narrowed by `kind`, which mypy does not follow
            return event
        if kind is SessionInfo and not (event.begins or event.another):  # type: ignore[union-attr]  # as above
            return event
        number = source.answer
        pieces = number is not None and number <= PIECES
        if self._copied if pieces else self._is_repeated(event, source):
            batch.ignore(REPEATED[kind])
            if pieces and isinstance(event, TokenUsage):
                # The decoder does not say these tokens once more: they are those of the next record without any.
                self._answers.goes_on(event, self._stream)
            return None
        if kind is Retract:
            assert isinstance(event, Retract)
            own_ids = tuple(self._answers.latest(message_id, source.stream) for message_id in event.message_ids)
            return event if own_ids == event.message_ids else replace(event, message_ids=own_ids)
        if number is None:
            return event
        native = ""
        if isinstance(event, TokenUsage):
            native = event.key
        elif kind in BLOCKS:
            part: Block = event  # type: ignore[assignment]  # narrowed by `kind`, which mypy does not follow
            native = part.message_id
        if pieces:
            own: str = self._answer if native == self._native else native
        else:
            own = self._answers.numbered(native, source.stream, number) if native else ""
        if own == native:
            return event
        return replace(event, key=own) if kind is TokenUsage else replace(event, message_id=own)

    def _is_repeated(self, event: AnyEvent, source: Source) -> bool:
        """Whether an earlier record said this. One record may say it several times."""
        base_id, time_ms = source.base_id, source.time_ms
        contents = summed(event) if base_id or time_ms is not None else 0
        stream, known = self._stream, self._stream.known
        late = False
        if time_ms is not None:
            late = time_ms < stream.latest_ms
            stream.latest_ms = max(stream.latest_ms, time_ms)
        if not contents:
            piece = piece_summed(event)
            # Two pieces of one moment may be equal. When a later event has come, the moment is over.
            return (
                time_ms is not None
                and piece != 0
                and known.has_contents(base_id, time_ms, piece + source.length)
                and late
            )
        if not base_id or time_ms is None:
            contents += source.length
        if not base_id and source.answer is not None:
            contents += id_summed(event)
        if known.has_contents(base_id, time_ms, contents):
            return contents not in self._own
        self._own.append(contents)
        return False

    def _turn_to(self, name: str, events: Events) -> None:
        self._stream_ends(events)
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = _Stream()
        self._name, self._stream = name, stream

    def snapshot(self) -> IdentityState:
        streams = {
            name: StreamState(
                *(s.known.snapshot(), s.last_id, s.last_contents, sorted(s.shared), s.results, s.inputs, s.latest_ms)
            )
            for name, s in self._streams.items()
        }
        return IdentityState(streams, self._answers.snapshot(), self._file, self._row, list(self._own))

    def restore(self, snapshot: object, /) -> None:
        state = convert(snapshot, IdentityState, from_attributes=True)
        self._name, self._stream, self._streams = "", _Stream(), {}
        for name, saved in state.streams.items():
            stream = self._streams[name] = _Stream()
            stream.known.restore(saved.known)
            stream.last_id, stream.last_contents = saved.last_id, saved.last_contents
            stream.shared, stream.results, stream.inputs = set(saved.shared), saved.results, saved.inputs
            stream.latest_ms = saved.latest_ms
        self._answers.restore(state.answers)
        self._file, self._row, self._own = state.file, state.row, state.own

"""Dates a session's figures: observed batches in, sums by quarter of an hour and model out.

A figure belongs to the time of its model call or tool call, a result to that of its call. What has no time of its own
belongs to the last time before it in the log. What only a total of the agent says is dated by that total; where a total
is less than its calls, the latest ones are reduced. So the spans add up to the session, to the last token.
"""

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, convert, field

from agentv_stages.figures.facts import Facts
from agentv_stages.figures.histogram import Histogram
from agentv_stages.figures.latest import Latest
from agentv_stages.figures.stats import Stats
from agentv_stages.figures.totals import DEFAULT_WINDOW, Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AssistantText, Reasoning, SessionInfo, TokenUsage, ToolCall, ToolResult, call_key
from agentv_stages.model.recent import Recent, remember
from agentv_stages.model.tokens import FIELDS, Tokens, pico

SLOT_MS = 15 * 60 * 1000
"""A quarter of an hour: days begin with one in every time zone since 1972."""
MOST_SPANS = 10_000
MOST_CELLS = 50_000
MOST_OPEN = 10_000
MONEY = "cost_pico"
ROUNDING_PICO = 1_000_000
"""Costs by model add up to the total but for binary rounding."""
OTHER = "(other)"
Key: TypeAlias = tuple[int | None, str | None]


class ToolSpan(Struct, array_like=True):
    """The calls of one tool and kind in a span, by outcome where they have one. Bytes are of the raw JSON."""

    tool: str
    kind: str
    calls: int = 0
    edits: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    outcomes: dict[str, int] = {}
    durations: Histogram = field(default_factory=Histogram)


class Span(Struct, array_like=True):
    """A session's work with one model in one quarter of an hour: `slot`, counted since 1970; None: not known.
    `turns` are those of the main stream. Tokens that are None are 0 unless the whole session does not report them."""

    slot: int | None
    model: str | None
    turns: int = 0
    model_calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    tools: list[ToolSpan] = []


class Mark(Struct, array_like=True):
    """The amounts that the totals up to a slot added to the model calls."""

    slot: int | None
    added: Tokens


class DatedState(Struct):
    """The state of `Dated`: the spans of recent model calls (`keys`), and of calls without a time or a model whose
    results are awaited (`open`)."""

    spans: list[Span] = []
    keys: dict[str, int] = {}
    open: dict[str, int] = {}
    marks: list[Mark] = []
    marked: bool = False
    mark: int | None = None
    slot: int | None = None
    model: str | None = None
    latest: Latest = field(default_factory=Latest)


class Dated:
    """An observer of batches that `stats` and `totals` have observed just before."""

    def __init__(self, stats: Stats, totals: Totals) -> None:
        self.state = DatedState()
        self._totals = totals
        self._begun = stats.begun = deque[AssistantText | Reasoning | ToolCall]()
        self._counted = totals.counted = deque[tuple[TokenUsage | None, TokenUsage]]()
        totals.on_total = self._total
        self._index: dict[Key, int] = {}
        self._cells: dict[tuple[int, str, str], ToolSpan] = {}
        self._keys = Recent[int](DEFAULT_WINDOW // 2)
        self._open: dict[str, int] = {}
        self._slot_ms = 1, 0  # the beginning and the end of `slot`, if that is known

    def observe(self, batch: Batch) -> None:
        state, begun, cells, latest = self.state, self._begun, self._cells, self.state.latest
        events = batch.events
        begin_ms, end_ms = self._slot_ms
        newest_ms = latest.event_ms  # of the events so far
        last = None
        for event in events:
            source = event.source
            if source is not last:  # the events of one record share it
                last = source
                time_ms = source.time_ms
                if time_ms is not None:
                    if not begin_ms <= time_ms < end_ms:
                        state.slot = time_ms // SLOT_MS
                        begin_ms = state.slot * SLOT_MS
                        end_ms = begin_ms + SLOT_MS
                    if newest_ms is None or time_ms > newest_ms:
                        newest_ms = time_ms
            kind = type(event)
            if kind is ToolResult:
                self._result(event)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is TokenUsage:
                if event.scope == "call":  # type: ignore[union-attr]  # as above
                    self._usage(*self._counted.popleft())
            elif kind is ToolCall:
                call: ToolCall = event  # type: ignore[assignment]  # as above
                index = self._span(call.model)
                cell = cells.get((index, call.tool or call.name, call.kind))
                if cell is None:
                    cell = self._new_cell(index, call.tool or call.name, call.kind)
                cell.calls += 1
                cell.edits += call.edit
                cell.bytes_in += len(call.input_json)
                if source.time_ms is None or call.model is None:  # else its result finds the span by these
                    remember(self._open, call_key(call), index, MOST_OPEN)
                latest.called(call, newest_ms if source.time_ms is None else source.time_ms)
            elif kind is SessionInfo:
                state.model = event.model or state.model  # type: ignore[union-attr]  # as above
            if begun and event is begun[0]:
                begun.popleft()
                state.spans[self._span(event.model)].turns += 1  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType,reportUnknownArgumentType]
        self._slot_ms = begin_ms, end_ms
        if events:
            latest.passed(events, self._totals.state.last_ms)

    def _span(self, model: str | None) -> int:
        """The span of what happens now."""
        state = self.state
        key = state.slot, model or state.model
        index = self._index.get(key)
        return self._span_of(key) if index is None else index

    def _span_of(self, key: Key) -> int:
        index = self._index.get(key)
        if index is None:
            state = self.state
            if len(state.spans) >= MOST_SPANS:
                key = (None, None)
                if key in self._index:
                    return self._index[key]
            index = self._index[key] = len(state.spans)
            state.spans.append(Span(*key))
        return index

    def _new_cell(self, index: int, tool: str, kind: str) -> ToolSpan:
        if len(self._cells) >= MOST_CELLS:
            tool = OTHER
            if (index, tool, kind) in self._cells:
                return self._cells[index, tool, kind]
        cell = self._cells[index, tool, kind] = ToolSpan(tool, kind)
        self.state.spans[index].tools.append(cell)
        return cell

    def _result(self, result: ToolResult) -> None:
        """A result belongs to the span of its call."""
        call = result.call
        if call is None or result.partial:
            return
        time_ms = call.source.time_ms
        if time_ms is not None and call.model is not None:
            key = time_ms // SLOT_MS, call.model
            index = self._index.get(key)
            if index is None:
                index = self._span_of(key)
        else:
            known = self._open.pop(call_key(call), None)
            index = self._span(call.model) if known is None else known
        cell = self._cells.get((index, call.tool or call.name, call.kind))
        if cell is None:
            cell = self._new_cell(index, call.tool or call.name, call.kind)
        outcome, outcomes = result.outcome or "ok", cell.outcomes
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if result.output_json is not None:
            cell.bytes_out += len(result.output_json)
        if result.duration_ms is not None:
            cell.durations.add(result.duration_ms)

    def _usage(self, known: TokenUsage | None, usage: TokenUsage) -> None:
        """Takes the figures of a model call; `known` are those that counted for it before."""
        spans, keys = self.state.spans, self._keys
        before = keys.get(usage.key) if known is not None else None
        if known is not None and before is not None:  # the time of the call stays that of its first record
            if known is usage:
                keys.put(usage.key, before)
                return
            span = spans[before]
            span.tokens.add(known, -1)
            span.model_calls -= 1
            index = before if usage.model in (known.model, span.model) else self._span(usage.model)
        else:
            index = self._span(usage.model)
        keys.put(usage.key, index)
        span = spans[index]
        span.tokens.add(usage)
        span.model_calls += 1

    def _total(self, time_ms: int | None) -> None:
        """A total is about to be taken: notes what those before it added, if they are of another slot."""
        state, slot = self.state, None if time_ms is None else time_ms // SLOT_MS
        if state.marked and slot != state.mark and len(state.marks) < MOST_SPANS:
            state.marks.append(Mark(state.mark, self._added()))
        state.marked, state.mark = True, slot

    def _added(self) -> Tokens:
        return self._whole().less(self._totals.calls)

    def _whole(self) -> Tokens:
        """The session's tokens, with its cost as it is reported."""
        whole, cost_usd = self._totals.tokens(), self._totals.cost_usd
        whole.cost_pico = None if cost_usd is None else pico(cost_usd)
        return whole

    def spans(self, facts: Facts) -> list[Span]:
        """The session's spans, in order. Their sums are the figures of the session."""
        whole, shares = self._whole(), self._totals.model_shares()
        called = {span.model for span in self.state.spans if span.model is not None}
        if not called <= shares.keys():
            shares = {}
        models = called or set(shares)
        only = next(iter(models | set(shares))) if len(models | set(shares)) == 1 else None if models else facts.model
        started = None if facts.started_ms is None else facts.started_ms // SLOT_MS
        out: dict[Key, Span] = {}
        for span in self.state.spans:
            slot = started if span.slot is None else span.slot
            _merge(_at(out, slot, span.model or only), span)
        latest = max((slot for slot, _ in out if slot is not None), default=started)
        for name in (*FIELDS, MONEY, "unsure", "web_searches"):
            if getattr(whole, name) is None or (name == "unsure" and not whole.unsure):
                for span in out.values():
                    setattr(span.tokens, name, getattr(whole, name))
                continue
            if shares or getattr(whole, name) != sum([getattr(span.tokens, name) or 0 for span in self.state.spans]):
                for slot, model, more in self._beyond_calls(name, whole, shares, only, latest):
                    tokens = _at(out, slot, model).tokens
                    setattr(tokens, name, (getattr(tokens, name) or 0) + more)
            _settle(list(out.values()), name)
        return sorted(out.values(), key=lambda span: (span.slot is None, span.slot or 0, span.model or ""))

    def _beyond_calls(
        self, name: str, whole: Tokens, shares: dict[str, Tokens], only: str | None, latest: int | None
    ) -> Iterator[tuple[int | None, str | None, int]]:
        """The amounts that totals add to the calls in one figure, by slot and model."""
        state = self.state
        rest = getattr(whole, name) - sum(getattr(span.tokens, name) or 0 for span in state.spans)
        slots: list[tuple[int | None, int]] = []
        before = 0
        for mark in state.marks:
            added = getattr(mark.added, name) or 0
            slots.append((mark.slot, added - before))
            before = added
        slots.append((state.mark if state.marked else latest, rest - before))
        slots = [(latest if slot is None else slot, more) for slot, more in slots if more]
        models: dict[str | None, int] = {}
        for model, share in shares.items() if name != "unsure" else ():
            models[model] = getattr(share, name) or 0
        for span in state.spans if models else ():
            models[span.model or only] = models.get(span.model or only, 0) - (getattr(span.tokens, name) or 0)
        beyond = rest - sum(models.values())
        rounded = name == MONEY and models and abs(beyond) <= ROUNDING_PICO
        whose = max(models, key=lambda model: models[model]) if rounded else only
        models[whose] = models.get(whose, 0) + beyond
        parts = [(model, more) for model, more in models.items() if more]
        if len(parts) == 1 and len(slots) > 1:
            yield from ((slot, parts[0][0], more) for slot, more in slots)
        elif len(slots) > 1 and all(more > 0 for _, more in chain(slots, parts)):
            yield from _shared_out(slots, parts)
        else:
            yield from ((slots[-1][0] if slots else latest, model, more) for model, more in parts)

    def snapshot(self) -> DatedState:
        self.state.keys, self.state.open = self._keys.items(), dict(self._open)
        return self.state

    def restore(self, snapshot: object, /) -> None:
        state = self.state = convert(snapshot, DatedState, from_attributes=True)
        self._index = {(span.slot, span.model): i for i, span in enumerate(state.spans)}
        self._cells = {(i, cell.tool, cell.kind): cell for i, span in enumerate(state.spans) for cell in span.tools}
        self._keys.load(state.keys)
        self._open = dict(list(state.open.items())[-MOST_OPEN:])
        self._slot_ms = 1, 0
        state.keys, state.open = {}, {}


def _at(out: dict[Key, Span], slot: int | None, model: str | None) -> Span:
    span = out.get((slot, model))
    if span is None:
        span = out[slot, model] = Span(slot, model)
    return span


def _merge(span: Span, other: Span) -> None:
    span.turns += other.turns
    span.model_calls += other.model_calls
    span.tokens.add(other.tokens)
    span.tools = [*span.tools, *other.tools]


def _shared_out(
    slots: list[tuple[int | None, int]], parts: list[tuple[str | None, int]]
) -> Iterator[tuple[int | None, str | None, int]]:
    """Positive amounts by slot and by model, with the same sum, as amounts by both, each in order as far as it goes."""
    waiting = deque(parts)
    for slot, room in slots:
        while room:
            model, more = waiting.popleft()
            used = min(room, more)
            yield slot, model, used
            room -= used
            if more > used:
                waiting.appendleft((model, more - used))


def _settle(spans: list[Span], name: str) -> None:
    """Evens out amounts below 0: they reduce the latest spans of the same model, then those of others."""
    for span in spans:
        owed = -(getattr(span.tokens, name) or 0)
        if owed <= 0:
            continue
        setattr(span.tokens, name, 0)
        others = sorted(spans, key=lambda s: (s.model == span.model, s.slot or 0), reverse=True)
        for other in others:
            there = max(0, getattr(other.tokens, name) or 0)
            used = min(there, owed)
            if used:
                setattr(other.tokens, name, there - used)
                owed -= used
        setattr(span.tokens, name, -owed)

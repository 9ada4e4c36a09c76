"""Tokens, cost and time of a session, without double counting.

One model call is counted once: by its key, of repeated records the larger output wins, a final one before a
placeholder. Totals of the agent replace the calls that they cover. What the log does not say is None.
"""

from typing import Any

from msgspec import Struct, convert, field

from agentv_stages.batch import Batch
from agentv_stages.event import MAIN, SessionEnd, SessionInfo, Source, TokenUsage
from agentv_stages.recent import Recent

DEFAULT_WINDOW = 2_048
MOST_SUMS = 1_000  # streams whose tokens are told apart; those of later sub-agents are summed up under one name
OTHER_STREAMS = "(other)"
FIELDS = ("input", "cached", "cache_write", "cache_write_1h", "output", "reasoning")


class Tokens(Struct, gc=False):
    """Sums in the meaning of docs/metrics.md; a field that no record told stays None."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    unsure: int = 0  # model calls whose output was only a placeholder
    cost_usd: float | None = None

    def add(self, other: "Tokens | TokenUsage", sign: int = 1) -> None:
        """Adds another sum or one model call, or takes it away again."""
        if other.input is not None:
            self.input = (self.input or 0) + sign * other.input
        if other.cached is not None:
            self.cached = (self.cached or 0) + sign * other.cached
        if other.cache_write is not None:
            self.cache_write = (self.cache_write or 0) + sign * other.cache_write
        if other.cache_write_1h is not None:
            self.cache_write_1h = (self.cache_write_1h or 0) + sign * other.cache_write_1h
        if other.output is not None:
            self.output = (self.output or 0) + sign * other.output
        if other.reasoning is not None:
            self.reasoning = (self.reasoning or 0) + sign * other.reasoning
        if isinstance(other, Tokens):
            self.unsure += sign * other.unsure
        elif not other.output_final:
            self.unsure += sign
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + sign * other.cost_usd

    def known(self) -> bool:
        return self.input is not None or self.output is not None


class StreamModel(Struct):
    """The sum of one model's calls on one stream."""

    stream: str
    model: str | None
    tokens: Tokens


class TotalsState(Struct):
    """Everything that `Totals` keeps; the window of recent calls bounds its size."""

    calls: dict[str, TokenUsage] = field(default_factory=dict[str, TokenUsage])
    sums: list[StreamModel] = field(default_factory=list[StreamModel])
    segments: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    sessions: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    covering: Tokens | None = None
    model_calls: int = 0
    cost_usd: float | None = None
    duration_ms: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    agent_num_turns: int | None = None
    last_input: int | None = None
    context_window: int | None = None


class Totals:
    """An observer of batches. `window` is how many model calls are remembered to tell repetitions."""

    def __init__(self, window: int = DEFAULT_WINDOW) -> None:
        self.state = TotalsState()
        self._calls = Recent[TokenUsage](window // 2)
        self._sums: dict[tuple[str, str | None], Tokens] = {}
        self._places: dict[str, Source] = {}

    def observe(self, batch: Batch) -> None:
        state = self.state
        events = batch.events
        if not events:
            return
        last: Source | None = None
        for event in events:
            kind = type(event)
            if kind is TokenUsage:
                self._usage(event)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is SessionEnd:
                self._end(event)  # type: ignore[arg-type]  # as above
            elif kind is SessionInfo:
                assert isinstance(event, SessionInfo)
                state.context_window = event.context_window or state.context_window
            if event.source is last:  # the events of one record share it
                continue
            last = event.source
            time_ms = last.time_ms
            if time_ms is not None:
                if state.first_ms is None or time_ms < state.first_ms:
                    state.first_ms = time_ms
                if state.last_ms is None or time_ms > state.last_ms:
                    state.last_ms = time_ms

    def _usage(self, usage: TokenUsage) -> None:
        if usage.scope == "call":
            self._call(usage)
            return
        state = self.state
        stream = usage.source.stream
        tokens = Tokens()
        tokens.add(usage)
        if usage.scope == "session":
            if usage.cost_usd is not None:
                state.cost_usd = usage.cost_usd
            if usage.covers_streams:
                state.covering = tokens
            else:
                state.sessions[stream] = tokens
            return
        state.segments.setdefault(stream, Tokens()).add(tokens)
        if usage.covers_streams:
            if state.covering is None:
                state.covering = Tokens()
            state.covering.add(tokens)

    def _call(self, usage: TokenUsage) -> None:
        state = self.state
        known = self._calls.get(usage.key)
        if usage.input is not None and usage.source.stream == MAIN:
            state.last_input = usage.input
        if known is None:
            state.model_calls += 1
        else:
            self._sum(known).add(known, -1)
            usage = _better(known, usage)
        self._calls.put(usage.key, self._kept(usage))
        self._sum(usage).add(usage)

    def _kept(self, usage: TokenUsage) -> TokenUsage:
        """What is remembered of a call: its figures and its stream, not where each one stood in the file."""
        stream = usage.source.stream
        place = self._places.get(stream)
        if place is None:
            if len(self._places) >= 1024:
                self._places.clear()
            place = self._places[stream] = Source("", 0, 0, 0, None, stream)
        return TokenUsage(
            place,
            "",
            usage.key,
            "call",
            usage.model,
            usage.input,
            usage.cached,
            usage.cache_write,
            usage.cache_write_1h,
            usage.output,
            usage.reasoning,
            usage.output_final,
            False,
            usage.cost_usd,
        )

    def _sum(self, usage: TokenUsage) -> Tokens:
        key = (usage.source.stream, usage.model)
        tokens = self._sums.get(key)
        if tokens is None and len(self._sums) >= MOST_SUMS:
            key = (OTHER_STREAMS, usage.model)
            tokens = self._sums.get(key)
        if tokens is None:
            tokens = self._sums[key] = Tokens()
            self.state.sums.append(StreamModel(*key, tokens))
        return tokens

    def _end(self, end: SessionEnd) -> None:
        state = self.state
        if end.cost_usd is not None:
            state.cost_usd = end.cost_usd
        if end.duration_ms is not None:
            state.duration_ms = (state.duration_ms or 0) + end.duration_ms
        if end.agent_num_turns is not None:
            state.agent_num_turns = (state.agent_num_turns or 0) + end.agent_num_turns

    def snapshot(self) -> TotalsState:
        self.state.calls = self._calls.items()
        return self.state

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, TotalsState, from_attributes=True)
        self._sums = {(row.stream, row.model): row.tokens for row in self.state.sums}
        self._calls.load(self.state.calls)
        self.state.calls = {}

    def tokens(self) -> Tokens:
        """The session's tokens, sub-agents included."""
        state = self.state
        if state.covering is not None:
            return state.covering
        total = Tokens()
        for tokens in self._by_stream().values():
            total.add(tokens)
        return total

    def _by_stream(self) -> dict[str, Tokens]:
        """Each stream's tokens: its own total where the agent gave one, else the sum of its calls."""
        state = self.state
        streams: dict[str, Tokens] = {}
        for row in state.sums:
            streams.setdefault(row.stream, Tokens()).add(row.tokens)
        return {**streams, **state.segments, **state.sessions}

    @property
    def cost_usd(self) -> float | None:
        """What the agent reported: its own total, else the sum of its calls."""
        return self.state.cost_usd if self.state.cost_usd is not None else self.tokens().cost_usd

    @property
    def duration_ms(self) -> int | None:
        """What the agent reported, else last event minus first event."""
        state = self.state
        if state.duration_ms is not None:
            return state.duration_ms
        if state.first_ms is None or state.last_ms is None or state.first_ms == state.last_ms:
            return None
        return state.last_ms - state.first_ms

    def by_model(self) -> dict[str, dict[str, Any]]:
        """Tokens per model, from the single calls."""
        models: dict[str, Tokens] = {}
        for row in self.state.sums:
            if row.model is not None:
                models.setdefault(row.model, Tokens()).add(row.tokens)
        return {name: tokens_json(tokens) for name, tokens in models.items()}

    def by_stream(self) -> dict[str, dict[str, Any]]:
        """Tokens per stream, where the log tells them apart."""
        return {name: tokens_json(tokens) for name, tokens in self._by_stream().items()}


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """The public form: an output that is only a lower bound is named so."""
    out: dict[str, Any] = {name: getattr(tokens, name) for name in FIELDS}
    if tokens.unsure and tokens.output is not None:
        out["output"] = None
        out["output_at_least"] = tokens.output
    return out


def _better(old: TokenUsage, new: TokenUsage) -> TokenUsage:
    """Of two records of one model call the one with the larger output; what it lacks comes from the other."""
    if new.output_final != old.output_final:
        first, second = (new, old) if new.output_final else (old, new)
    elif (new.output or 0) >= (old.output or 0):
        first, second = new, old
    else:
        first, second = old, new
    return TokenUsage(
        old.source,  # the stream that it was counted on first
        old.part,
        old.key,
        "call",
        old.model or new.model,
        _either(first.input, second.input),
        _either(first.cached, second.cached),
        _either(first.cache_write, second.cache_write),
        _either(first.cache_write_1h, second.cache_write_1h),
        _either(first.output, second.output),
        _either(first.reasoning, second.reasoning),
        first.output_final,
        False,
        first.cost_usd if first.cost_usd is not None else second.cost_usd,
    )


def _either(value: int | None, other: int | None) -> int | None:
    return other if value is None else value

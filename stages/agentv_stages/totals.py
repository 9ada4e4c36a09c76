"""Tokens, cost and time of a session, without double counting.

One model call is counted once: by its key, of repeated records the larger output wins, a final one before a
placeholder. Totals of the agent replace the calls that they cover. What the log does not say is None.
"""

from typing import Any

from msgspec import Struct, convert, field

from agentv_stages.batch import Batch
from agentv_stages.event import MAIN, SessionEnd, SessionInfo, TokenUsage

DEFAULT_WINDOW = 16_384
FIELDS = ("input", "cached", "cache_write", "cache_write_1h", "output", "reasoning")


class Tokens(Struct):
    """Sums in the meaning of docs/metrics.md; a field that no record told stays None."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    unsure: int = 0  # model calls whose output was only a placeholder
    cost_usd: float | None = None

    def add(self, other: "Tokens", sign: int = 1) -> None:
        """Adds another sum, or takes it away again."""
        for name in FIELDS:
            value = getattr(other, name)
            if value is not None:
                setattr(self, name, (getattr(self, name) or 0) + sign * value)
        self.unsure += sign * other.unsure
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + sign * other.cost_usd

    def known(self) -> bool:
        return self.input is not None or self.output is not None


class ModelCall(Struct):
    """What is known of one model call, and the stream it was counted on."""

    stream: str
    model: str | None
    tokens: Tokens


class TotalsState(Struct):
    """Everything that `Totals` keeps; the window of recent calls bounds its size."""

    calls: dict[str, ModelCall] = field(default_factory=dict[str, ModelCall])
    sums: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    by_model: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
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
        self.window = window
        self.state = TotalsState()

    def observe(self, batch: Batch) -> None:
        state = self.state
        events = batch.events
        if not events:
            return
        for event in events:
            kind = type(event)
            if kind is TokenUsage:
                self._usage(event)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is SessionEnd:
                self._end(event)  # type: ignore[arg-type]  # as above
            elif kind is SessionInfo:
                assert isinstance(event, SessionInfo)
                state.context_window = event.context_window or state.context_window
            time_ms = event.source.time_ms
            if time_ms is not None:
                if state.first_ms is None or time_ms < state.first_ms:
                    state.first_ms = time_ms
                if state.last_ms is None or time_ms > state.last_ms:
                    state.last_ms = time_ms

    def _usage(self, usage: TokenUsage) -> None:
        state = self.state
        tokens = Tokens(
            usage.input, usage.cached, usage.cache_write, usage.cache_write_1h, usage.output, usage.reasoning,
            0 if usage.output_final else 1, usage.cost_usd,
        )  # fmt: skip
        stream = usage.source.stream
        if usage.scope == "session":
            if usage.cost_usd is not None:
                state.cost_usd = usage.cost_usd
            if usage.covers_streams:
                state.covering = tokens
            else:
                state.sessions[stream] = tokens
        elif usage.scope == "segment":
            state.segments.setdefault(stream, Tokens()).add(tokens)
            if usage.covers_streams:
                if state.covering is None:
                    state.covering = Tokens()
                state.covering.add(tokens)
        else:
            self._call(usage, stream, tokens)

    def _call(self, usage: TokenUsage, stream: str, tokens: Tokens) -> None:
        state = self.state
        known = state.calls.get(usage.key)
        if stream == MAIN and usage.input is not None:
            state.last_input = usage.input
        if known is None:
            state.model_calls += 1
            if len(state.calls) >= self.window:
                del state.calls[next(iter(state.calls))]
            known = ModelCall(stream, usage.model, tokens)
            state.calls[usage.key] = known
        else:
            self._sum(known, -1)
            known.tokens = _better(known.tokens, tokens)
            known.model = known.model or usage.model
        self._sum(known, 1)

    def _sum(self, call: ModelCall, sign: int) -> None:
        state = self.state
        total = state.sums.get(call.stream)
        if total is None:
            total = state.sums[call.stream] = Tokens()
        total.add(call.tokens, sign)
        if call.model is not None:
            model = state.by_model.get(call.model)
            if model is None:
                model = state.by_model[call.model] = Tokens()
            model.add(call.tokens, sign)

    def _end(self, end: SessionEnd) -> None:
        state = self.state
        if end.cost_usd is not None:
            state.cost_usd = end.cost_usd
        if end.duration_ms is not None:
            state.duration_ms = (state.duration_ms or 0) + end.duration_ms
        if end.agent_num_turns is not None:
            state.agent_num_turns = (state.agent_num_turns or 0) + end.agent_num_turns

    def snapshot(self) -> TotalsState:
        return self.state

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, TotalsState, from_attributes=True)

    def tokens(self) -> Tokens:
        """The session's tokens, sub-agents included."""
        state = self.state
        if state.covering is not None:
            return state.covering
        total = Tokens()
        for stream in {**state.sums, **state.segments, **state.sessions}:
            total.add(self._stream(stream))
        return total

    def _stream(self, stream: str) -> Tokens:
        state = self.state
        if stream in state.sessions:
            return state.sessions[stream]
        if stream in state.segments:
            return state.segments[stream]
        return state.sums[stream]

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

    def by_model(self) -> dict[str, dict[str, int | None]]:
        """Tokens per model, from the single calls."""
        return {name: tokens_json(tokens) for name, tokens in self.state.by_model.items()}

    def by_stream(self) -> dict[str, dict[str, int | None]]:
        """Tokens per stream, where the log tells them apart."""
        state = self.state
        return {name: tokens_json(self._stream(name)) for name in {**state.sums, **state.segments, **state.sessions}}


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """The public form: an output that is only a lower bound is named so."""
    out: dict[str, Any] = {name: getattr(tokens, name) for name in FIELDS}
    if tokens.unsure and tokens.output is not None:
        out["output"] = None
        out["output_at_least"] = tokens.output
    return out


def _better(old: Tokens, new: Tokens) -> Tokens:
    """Of two records of one model call the one with the larger output; what it lacks comes from the other."""
    if new.unsure != old.unsure:
        first, second = (new, old) if old.unsure else (old, new)
    elif (new.output or 0) >= (old.output or 0):
        first, second = new, old
    else:
        first, second = old, new
    values = {
        name: getattr(first, name) if getattr(first, name) is not None else getattr(second, name) for name in FIELDS
    }
    cost = first.cost_usd if first.cost_usd is not None else second.cost_usd
    return Tokens(**values, unsure=first.unsure, cost_usd=cost)

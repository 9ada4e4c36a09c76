"""Tokens, cost and time of a session, without double counting.

Each model call, identified by its key, counts once: of repeated records the one with the larger output wins, and a
final one over a placeholder. Totals of the agent replace the calls that they cover. What the log does not say is None.
"""

from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct, convert, field

from agentv_stages.figures.call_sums import ALL, MOST_SUMS, CallSums, StreamModel
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN, SessionEnd, SessionInfo, Source, TokenUsage
from agentv_stages.model.tokens import FIELDS, Tokens, TokenTotals, added_usd, possible, possible_usd, token_totals

DEFAULT_WINDOW = 2_048
MOST_PROCESSES = 64  # of one session, kept apart; the first ones are merged


PROMPT = ("input", "cached", "cache_write")


def _doubled(total: Tokens, calls: Tokens) -> bool:
    """Whether a run's total has the prompt of each of its calls twice, as Claude Code of mid-2025 prints it: it added
    the prompt up when a call began, and again when it ended.
    """
    return bool(calls.cached) and all(getattr(total, name) == 2 * (getattr(calls, name) or 0) for name in PROMPT)


class Process(Struct):
    """A process of a session that saved its total when it ended: `grown` is the growth of the total, `calls` the calls
    since the last one, including sub-agents' up to `until_ms`. `calls` is larger where processes before it were killed.
    """

    until_ms: int | None
    calls: Tokens
    grown: Tokens


class TotalsState(Struct):
    """Everything that `Totals` keeps; the window of recent calls bounds its size."""

    calls: dict[str, TokenUsage] = {}
    sums: list[StreamModel] = []
    segments: dict[str, Tokens] = {}
    sessions: dict[str, Tokens] = {}
    covering: Tokens | None = None
    covered: dict[str, Tokens] = {}  # a stream's calls when its last total came
    models: dict[str, Tokens] = {}  # each model's share, as the agent reported it
    shares: dict[str, Tokens] = {}  # the same of each stream
    ended: Tokens | None = None  # total of the earlier sessions in the same input
    ended_streams: dict[str, Tokens] = {}
    ended_cost: float = 0.0
    model_calls: int = 0
    cost_usd: float | None = None
    duration_ms: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    agent_num_turns: int | None = None
    last_input: int | None = None
    context_window: int | None = None
    begun: Tokens | None = None  # the calls of all streams when the current run began, until its total comes
    saved: Tokens | None = None  # the last total of all streams
    processes: list[Process] = []  # those that left a total
    restarted: Tokens = field(default_factory=Tokens)  # totals from which a later process did not continue
    covered_ms: int | None = None  # the latest known time when the last total of all streams came
    apart: list[str] = []  # the streams that no total of all streams covers
    unknowable: bool = False  # several sessions are interleaved: their totals cannot be separated
    segment_models: dict[str, str] = {}  # the model of a stream's own total, if it has only one


class Totals:
    """An observer of batches. `window` is how many model calls are remembered, to recognise repetitions."""

    def __init__(self, window: int = DEFAULT_WINDOW) -> None:
        self.state = TotalsState()
        self._calls = CallSums(window)
        self.counted: deque[tuple[TokenUsage | None, TokenUsage]] | None = None  # calls as they counted, for `Dated`
        self.on_total: Callable[[int | None], None] | None = None  # before a total of that time is taken

    @property
    def calls(self) -> Tokens:
        """The sum of all model calls."""
        return self._calls.of(ALL)

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
                if event.another:
                    self._another()
                if event.begins:
                    state.begun = self._calls.of(ALL)
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
        usage = possible(usage)
        if usage.scope == "call":
            self._call(usage)
            return
        state = self.state
        stream = usage.source.stream
        tokens = Tokens()
        tokens.add(usage)
        if usage.scope == "share":
            if usage.model is not None:
                state.models[usage.model] = tokens
            else:
                state.shares.setdefault(stream, Tokens()).add(tokens)
            return
        self._calls.touch(stream)
        calls = self._calls.of(stream)
        since = calls.less(state.covered.get(stream))
        made_ms = _later(state.last_ms, usage.source.time_ms, usage.until_ms)
        if self.on_total is not None:
            self.on_total(None if usage.covers_later else made_ms)
        if usage.saved:
            self._saved(tokens, made_ms)
        elif usage.scope == "session" and usage.covers_streams:
            self._ended(tokens)
        if not usage.covers_later:
            state.covered[stream] = calls
            if usage.covers_streams:
                state.covered[ALL] = self._calls.of(ALL)
                state.covered_ms = made_ms
        if usage.scope == "session":
            if usage.cost_usd is not None:
                state.cost_usd = added_usd(state.ended_cost, usage.cost_usd)
            before = state.ended if usage.covers_streams else state.ended_streams.get(stream)
            if before is not None:
                tokens.add(before)
            if usage.covers_streams:
                state.covering = tokens
            else:
                state.sessions[stream] = tokens
            return
        if not usage.covers_streams and (since.input or 0) > (usage.input or 0):
            tokens = since  # Claude Code of August 2025 reports the last call as the usage of the whole run
        elif not usage.covers_streams and _doubled(tokens, since):
            for name in PROMPT:
                setattr(tokens, name, getattr(since, name))
        state.segments.setdefault(stream, Tokens()).add(tokens)
        if usage.model is not None and len(state.segment_models) < MOST_SUMS:
            state.segment_models[stream] = usage.model
        state.apart += [
            covered for covered in usage.apart[: MOST_SUMS - len(state.apart)] if covered not in state.apart
        ]
        if usage.covers_streams:
            if state.covering is None:
                state.covering = state.ended.copy() if state.ended is not None else Tokens()
            state.covering.add(tokens)

    def _saved(self, total: Tokens, now_ms: int | None) -> None:
        """Notes by how much a process's total grew, and the calls since the last total."""
        state, before = self.state, self.state.saved
        state.saved = total.copy()
        if before is not None and (total.input or 0) < (before.input or 0):
            state.restarted.add(before)  # the process started again from 0
            before = None
        calls = self._calls.of(ALL).less(state.covered.get(ALL))
        self._note(Process(now_ms, calls, total.less(before)))

    def _ended(self, total: Tokens) -> None:
        """Notes the tokens of runs that were killed before the run that ends with this total: the calls before its
        start, as far as all calls exceed the growth of the total. If runs of a process overlap, each total has both.
        """
        state, before, begun = self.state, self.state.saved, self.state.begun
        state.saved, state.begun = total.copy(), None
        if begun is None:
            return
        covered = state.covered.get(ALL)
        ahead, more = begun.less(covered), self._calls.of(ALL).less(covered).less(total.less(before))
        lost = ahead if (ahead.input or 0) <= (more.input or 0) else more
        if (lost.input or 0) > 0:
            self._note(Process(None, lost, Tokens()))

    def _note(self, process: Process) -> None:
        processes = self.state.processes
        processes.append(process)
        if len(processes) > MOST_PROCESSES:
            first = processes.pop(0)
            processes[0].calls.add(first.calls)
            processes[0].grown.add(first.grown)

    def _unsaved(self) -> Tokens:
        """The tokens of processes that left no total because they were killed."""
        unsaved = self.state.restarted.copy()
        for process in self.state.processes:
            more = process.calls.less(process.grown)
            if (more.input or 0) > 0:
                unsaved.add(more)
        unsaved.cost_pico = None
        return unsaved

    def _call(self, usage: TokenUsage) -> None:
        state = self.state
        covered = self._covering(usage.source) if state.covered_ms is not None else ()
        if usage.input is not None and usage.source.stream == MAIN and not usage.of_subagent:
            state.last_input = usage.input
        known, usage = self._calls.take(usage)
        if self.counted is not None:
            self.counted.append((known, usage))
        state.model_calls += known is None
        for tokens in covered:
            if known is not None:
                tokens.add(known, -1)
            tokens.add(usage)

    def _covering(self, source: Source) -> list[Tokens]:
        """The covered sums to which a sub-agent's call belongs if an earlier total covers it: its log is read later."""
        covered_ms, time_ms = self.state.covered_ms, source.time_ms
        if covered_ms is None or time_ms is None or time_ms > covered_ms or source.stream == MAIN:
            return []
        covered = self.state.covered.get(ALL)
        process = next((p for p in self.state.processes if p.until_ms is not None and time_ms <= p.until_ms), None)
        return [*([covered] if covered is not None else ()), *([process.calls] if process is not None else ())]

    def _end(self, end: SessionEnd) -> None:
        state = self.state
        cost_usd = possible_usd(end.cost_usd)
        if cost_usd is not None:
            if self.on_total is not None:
                self.on_total(_later(state.last_ms, end.source.time_ms))
            state.cost_usd = added_usd(state.ended_cost, cost_usd)
        if end.duration_ms is not None and end.source.stream == MAIN:  # sub-agents work while the main agent waits
            state.duration_ms = (state.duration_ms or 0) + end.duration_ms
        if end.agent_num_turns is not None:
            state.agent_num_turns = (state.agent_num_turns or 0) + end.agent_num_turns

    def _another(self) -> None:
        """Another session begins in the same input: its totals will be added to those known so far.

        Streams without events since the last session began are as they were: there may be a thousand.
        """
        state, known = self.state, self._calls.changed()
        changed = {**self._calls.streams(), **state.segments, **state.sessions} if known is None else known
        streams = self._by_stream(changed)
        since = None if known is None or state.covering is not None else self._sum_since(streams)
        total = since or self._sum()
        if known is None:
            state.ended_streams, state.covered = {}, {}
        for stream in changed:
            if stream not in streams:  # covered by a total of all streams
                state.covered.pop(stream, None)
                continue
            tokens = streams[stream]
            state.ended_streams[stream] = tokens.copy()
            state.covered[stream] = self._calls.of(stream)
            for totals in (state.segments, state.sessions):
                if stream in totals:
                    totals[stream] = tokens.copy()
        state.ended = total.copy() if total.known() else None
        state.ended_cost = state.cost_usd or 0.0
        if state.covering is not None:
            state.covering = total.copy()
        state.apart = []  # their totals are part of it now
        state.covered[ALL] = self._calls.of(ALL)
        state.covered_ms = state.saved = state.begun = None
        state.processes, state.restarted = [], Tokens()
        self._calls.begin()

    def _sum_since(self, streams: dict[str, Tokens]) -> Tokens | None:
        """The sum over all streams, starting with the sum of the earlier sessions; None where it must be added up anew:
        a figure that is no longer known makes the sum unknown.
        """
        state = self.state
        if state.ended is None:
            return None
        total = state.ended.copy()
        for stream, tokens in streams.items():
            before = state.ended_streams.get(stream)
            if before is not None:
                if tokens.lacks(before):
                    return None
                total.add(before, -1)
            total.add(tokens)
        return total

    def snapshot(self) -> TotalsState:
        self.state.calls, self.state.sums = self._calls.remembered(), self._calls.rows
        return self.state

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, TotalsState, from_attributes=True)
        self._calls.restore(self.state.sums, self.state.calls)
        self.state.calls = {}

    def tokens(self) -> Tokens:
        """The session's tokens, sub-agents included."""
        if self.state.unknowable:
            return Tokens()
        total = self._sum()
        if total.blind:
            total.input = None
        return total

    def _sum(self) -> Tokens:
        state = self.state
        if state.covering is not None:
            total = self._grown(state.covering, ALL, self._calls.of(ALL)).copy()
            for own in self._apart().values():
                total.add(own)
            unsaved = self._unsaved() if state.processes else None
            if unsaved is not None and unsaved.known():
                total.add(unsaved)
            return total
        total = Tokens()
        for tokens in self._by_stream().values():
            total.add(tokens)
        return total

    def _apart(self) -> dict[str, Tokens]:
        """The own totals of streams that went on after the total of all streams that should have covered them."""
        segments = self.state.segments
        return {stream: segments[stream] for stream in self.state.apart if stream in segments}

    def _by_stream(self, some: Iterable[str] | None = None) -> dict[str, Tokens]:
        """Each stream's tokens: its own total where the agent gave one, or the sum of its calls. `some`: of these."""
        state = self.state
        parts = self._calls.streams()
        streams: dict[str, Tokens] = {}
        totals = {**state.segments, **state.sessions} if some is None else {}
        for stream in {**parts, **totals} if some is None else some:
            total = state.sessions.get(stream) or state.segments.get(stream)
            calls = parts.get(stream)
            if total is not None:
                streams[stream] = self._grown(total, stream, calls or Tokens())
            elif calls is not None:
                streams[stream] = calls.copy()
        return streams

    def _grown(self, total: Tokens, stream: str, calls: Tokens) -> Tokens:
        """A total of the agent plus the `calls` of the stream after it: a run that was cut off has no later total."""
        covered = self.state.covered.get(stream)
        since = None if covered is None else calls.less(covered)
        if since is None or not (since.input or since.output):
            return total
        grown = total.copy()
        grown.add(since)
        for name in (*FIELDS, "web_searches"):
            if getattr(total, name) is None:
                setattr(grown, name, None)  # a figure known only for a part is no figure for the whole
        return grown

    @property
    def cost_usd(self) -> float | None:
        """The cost that the agent reported: its own total, or the sum of its calls."""
        if self.state.unknowable:
            return None
        return self.state.cost_usd if self.state.cost_usd is not None else self.tokens().cost_usd

    @property
    def duration_ms(self) -> int | None:
        """The duration that the agent reported, or the time from the first event to the last."""
        state = self.state
        if state.unknowable:
            return None
        if state.duration_ms is not None:
            return state.duration_ms
        if state.first_ms is None or state.last_ms is None or state.first_ms == state.last_ms:
            return None
        return state.last_ms - state.first_ms

    def _shared_out(self) -> bool:
        """Whether the shares that the agent reported cover everything: one session, and no call since."""
        covered, calls = self.state.covered.get(MAIN), self._calls.of(MAIN)
        return self.state.ended is None and covered is not None and covered == calls

    def by_model(self) -> dict[str, TokenTotals]:
        """Tokens per model: its share where the agent reported it, or the sum of its calls."""
        models = self.model_shares()
        if not models and not self.state.unknowable:
            for row in self._calls.rows:
                if row.model is not None:
                    models.setdefault(row.model, Tokens()).add(row.tokens)
        return {name: token_totals(tokens) for name, tokens in models.items()}

    def model_shares(self) -> dict[str, Tokens]:
        """Each model's share as the agent reported it, and of the streams apart; none if that is not everything."""
        if not self.state.models or self.state.unknowable or not self._shared_out():
            return {}
        models = {name: tokens.copy() for name, tokens in self.state.models.items()}
        for stream, own in self._apart().items():
            models.setdefault(self.state.segment_models.get(stream, ""), Tokens()).add(own)
        whole = "" not in models and sum(share.input or 0 for share in models.values()) == self.tokens().input
        return models if whole else {}

    def by_stream(self) -> dict[str, TokenTotals]:
        """Tokens per stream, where the log distinguishes them; otherwise as `by_model`."""
        if self.state.unknowable:
            return {}
        streams = self._by_stream()
        for stream, share in self.state.shares.items() if self._shared_out() else ():
            known = streams.get(stream, Tokens())
            if (share.input or 0) >= (known.input or 0):  # else an answer broke off, and only the calls include it
                streams[stream] = share
        return {name: token_totals(tokens) for name, tokens in streams.items()}


def _later(*times: int | None) -> int | None:
    return max((time for time in times if time is not None), default=None)

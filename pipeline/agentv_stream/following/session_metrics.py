"""Tokens, costs, ends and verdicts of a follower's sessions as metrics. In: batches. Out: families of counters.

Counters contain the records that this process has read. A session that is read again is not counted twice: its new
figures replace its earlier ones.
"""

from collections.abc import Callable

from msgspec import UNSET

from agentv_stages.figures.result import Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import ToolResult
from agentv_stages.model.tokens import TokenTotals, token_totals
from agentv_stages.session.chain import SessionChain
from agentv_stream.costs.rates import Rates, Spent
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.metric_families import Counter, Histogram, Page

SECONDS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
MOST_SESSIONS = 5_000
UNFINISHED = ("unknown", "incomplete", "running")


class _Used:
    """The contribution of one session so far: tokens by model and type, reasoning by model, cost reported and
    estimated."""

    def __init__(self, name: tuple[str, str | None]) -> None:
        self.name = name  # main file and session id
        self.tokens: dict[tuple[str, str], int] = {}
        self.reasoning: dict[str, int] = {}
        self.reported_usd = 0.0
        self.estimated_usd = 0.0
        self.seen: tuple[object, ...] = ()  # by which an unchanged session is recognised


class SessionMetrics(Listener):
    """See the module. `rates` estimates costs; None: they are not estimated. Rounds run in one thread, `write` may be
    called from another."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates
        self.in_use: Callable[[], set[int]] = set  # the sessions in memory or in trouble
        self._sessions: dict[int, _Used] = {}
        self._numbers: dict[tuple[str, str | None], int] = {}
        self.tokens = Counter(("provider", "model", "type"), free=("model",))
        self.reasoning = Counter(("provider", "model"), free=("model",))
        self.reported = Counter(("provider",))
        self.estimated = Counter(("provider",))
        self.ended = Counter(("provider", "status"))
        self.verdicts = Counter(("case", "verdict"), free=("case",))
        self.durations = Histogram("kind", SECONDS)

    # --- sessions

    def restored(self, session: Followed) -> None:
        if session.number not in self._sessions and session.chain is not None:
            self._take(session, session.chain, count=False)

    def skipped(self, session: Followed) -> None:
        if session.chain is not None:
            self._take(session, session.chain, count=False)

    def observe(self, session: Followed, batch: Batch) -> None:
        chain = session.reached
        assert chain is not None  # the batch has passed it
        for event in batch.events:
            if isinstance(event, ToolResult) and not event.partial and event.call is not None:
                if event.duration_ms is not None and event.duration_ms >= 0:
                    self.durations.add(event.call.kind or "other", event.duration_ms / 1000)
        self._take(session, chain, count=True)

    def settled(self, session: Followed, after: SessionChain, outputs: Outputs) -> None:
        self._take(session, after, count=True)
        assert session.outputs is not None  # they are written
        standing, observer = session.outputs.standing, after.observer
        end = observer.facts.end
        before = end is not None and end.source.offset < session.files.inputs[0].mute_until
        if standing.ended and standing.status not in UNFINISHED and end is not None:
            if standing.counted_end != end.source.row and not before:
                self.ended.add((after.provider.name, standing.status))
            standing.counted_end = end.source.row
        for case in after.cases:
            verdict = case.result().verdict or "skipped"
            if standing.verdicts.get(case.name) != verdict:
                standing.verdicts = {**standing.verdicts, case.name: verdict}
                self.verdicts.add((case.name, verdict))

    def _forget(self) -> None:
        """Drops the figures of sessions that are neither in memory nor in trouble."""
        for number in self._sessions.keys() - self.in_use():
            del self._sessions[number]
        self._numbers = {used.name: number for number, used in self._sessions.items()}

    def _take(self, session: Followed, chain: SessionChain, count: bool) -> None:
        """Brings the contribution of a session up to date. Without `count` the difference is not counted."""
        used = self._of(session)
        totals, provider = chain.observer.totals, chain.provider.name
        whole = totals.tokens()
        seen = (whole, totals.cost_usd, chain.observer.facts.model)
        if seen == used.seen:
            return
        used.seen = seen
        spent = _spent(chain, token_totals(whole))
        tokens, reasoning = _by_model(spent)
        reported = totals.cost_usd or 0.0
        estimated = 0.0 if self._rates is None else self._rates.cost_of(spent) or 0.0
        if count:
            for key in tokens.keys() | used.tokens.keys():
                change = tokens.get(key, 0) - used.tokens.get(key, 0)
                if change:
                    self.tokens.add((provider, *key), change)
            for name in reasoning.keys() | used.reasoning.keys():
                change = reasoning.get(name, 0) - used.reasoning.get(name, 0)
                if change:
                    self.reasoning.add((provider, name), change)
            if reported != used.reported_usd:
                self.reported.add((provider,), reported - used.reported_usd)
            if estimated != used.estimated_usd:
                self.estimated.add((provider,), estimated - used.estimated_usd)
        used.tokens, used.reasoning, used.reported_usd, used.estimated_usd = tokens, reasoning, reported, estimated

    def _of(self, session: Followed) -> _Used:
        used = self._sessions.get(session.number)
        name = (session.main, session.native_id)
        if used is None:
            # A session of which nothing was committed is read again under another number.
            before = self._numbers.get(name) if name[1] is not None else None
            used = self._sessions.pop(before, None) if before is not None else None
            if len(self._sessions) >= MOST_SESSIONS:
                self._forget()
            used = self._sessions[session.number] = used or _Used(name)
        if used.name != name or name not in self._numbers:
            used.name = name
            self._numbers[name] = session.number
        return used

    # --- families

    def write(self, page: Page) -> None:
        """Adds the families."""
        counted = "Tokens by type; the types add up."
        page.add("tokens_total", "counter", counted, *self.tokens.series())
        page.add("reasoning_tokens_total", "counter", "The reasoning part of the output.", *self.reasoning.series())
        page.add("reported_cost_usd_total", "counter", "Cost that agents reported.", *self.reported.series())
        if self._rates is not None:
            text = "Cost estimated from a price table, whether agents reported one or not."
            page.add("estimated_cost_usd_total", "counter", text, *self.estimated.series())
        page.add("sessions_ended_total", "counter", "Ends of sessions by status.", *self.ended.series())
        page.add("verdicts_total", "counter", "Verdicts of --check on sessions at rest.", *self.verdicts.series())
        page.histogram("tool_call_duration_seconds", "Durations of tool calls by kind.", self.durations)


def _spent(chain: SessionChain, tokens: TokenTotals) -> Spent:
    facts, totals = chain.observer.facts, chain.observer.totals
    return Spent(
        chain.provider.name, chain.dialect.name, facts.model, facts.started_ms, tokens, totals.by_model(),
        totals.state.model_calls,
    )  # fmt: skip


def _by_model(spent: Spent) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Tokens by model and type, and reasoning by model; tokens of no known model have the session's model."""
    whole, model = _types(spent.tokens), spent.model or "unknown"
    parts = {name: _types(part) for name, part in spent.by_model.items()}
    rest = whole
    for part in parts.values():
        rest = {kind: count - part[kind] for kind, count in rest.items()}
    if min(rest.values()) < 0:  # the agent's total is less than its calls: it is not known which model has less
        parts, rest = {}, whole
    own = parts.setdefault(model, dict.fromkeys(rest, 0))
    parts[model] = {kind: own[kind] + count for kind, count in rest.items()}
    reasoning = {name: part.pop("reasoning") for name, part in parts.items()}
    return {(name, kind): n for name, part in parts.items() for kind, n in part.items()}, reasoning


def _types(tokens: TokenTotals) -> dict[str, int]:
    """Tokens by type; all but `reasoning`, a part of `output`, add up to the whole."""
    cached, written = tokens.cached or 0, tokens.cache_write or 0
    output = tokens.output if tokens.output_at_least is UNSET else tokens.output_at_least
    return {
        "input_uncached": max(0, (tokens.input or 0) - cached - written),
        "input_cached": cached,
        "input_cache_write": written,
        "output": output or 0,
        "reasoning": tokens.reasoning or 0,
    }

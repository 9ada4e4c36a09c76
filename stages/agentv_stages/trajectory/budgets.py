"""execution-metrics, latency, cost, token-usage, and our max_turns and first_edit_turn: limits on the use of a run.

Score: limits kept ÷ limits (execution-metrics), or 1 if all are kept, else 0. Numbers are defined in docs/metrics.md;
in particular `input` includes cached tokens. A limit on what only grows (calls, turns, tokens, cost) is broken for
good. Durations are those that the agent reports, so they are decided at the end, like ratios and missing data.
Money is compared with a tolerance: 0.1 and 0.2 add up to 0.30000000000000004.
`compat`: AgentV 4.42, where `input` excludes cached tokens, and tool names decide which calls explore.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from agentv_stages.figures.totals import Totals, TotalsState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    ToolCall,
)
from agentv_stages.model.turns import AnswersBeside, Turns, TurnState
from agentv_stages.trajectory.calls import counts
from agentv_stages.trajectory.verdict import EPSILON, Bounds, Evidence, Proof, evidence_of, plain

EXPLORING_KINDS = frozenset(("read", "search"))
EXPLORING_TOOLS = frozenset(("read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"))


class BudgetState(Struct):
    done: bool = False
    calls: int = 0
    exploring: int = 0
    answers: int = 0
    beside: dict[str, str] = {}
    turns: TurnState = field(default_factory=TurnState)
    first_edit_turn: int | None = None
    edit: Evidence | None = None
    totals: TotalsState = field(default_factory=TotalsState)
    broken: dict[str, Evidence] = {}


class Budgets:
    """`limits` maps max_tool_calls, max_llm_calls, max_tokens, max_cost_usd, max_duration_ms, max_total, max_input,
    max_output, max_turns, max_first_edit_turn and target_exploration_ratio to numbers; `partial` gives a share of the
    score for each limit that is kept.

    Tokens and cost are those of all streams, as far as the agent reports them; calls and model calls are those of the
    main stream unless `all_streams`; turns and the first edit are always those of the main stream.
    """

    threshold: float | None = None

    def __init__(
        self,
        limits: Mapping[str, float],
        partial: bool = True,
        tolerance: float = 0.2,
        all_streams: bool = False,
        compat: bool = False,
    ) -> None:
        self._limits = dict(limits)
        self._partial = partial
        self._tolerance = tolerance
        self._all = all_streams
        self._compat = compat
        self._turns = Turns()
        self._beside = AnswersBeside()
        self._totals = Totals()
        self._state = BudgetState()

    @property
    def state(self) -> BudgetState:
        self._state.turns = self._turns.snapshot()
        self._state.beside = self._beside.snapshot()
        self._state.totals = self._totals.snapshot()
        return self._state

    @state.setter
    def state(self, state: BudgetState) -> None:
        self._state = state
        self._turns.restore(state.turns)
        self._beside.restore(state.beside)
        state.beside = {}
        self._totals.restore(state.totals)

    def observe(self, event: AnyEvent) -> bool:
        kind = type(event)
        if kind is TokenUsage or kind is SessionEnd or kind is SessionInfo:
            self._totals.observe(Batch(events=[event]))
            return self._check(event)
        time_ms = event.source.time_ms
        if time_ms is not None:
            totals = self._totals.state
            if totals.first_ms is None or time_ms < totals.first_ms:
                totals.first_ms = time_ms
            if totals.last_ms is None or time_ms > totals.last_ms:
                totals.last_ms = time_ms
        if isinstance(event, ToolCall | AssistantText | Reasoning):
            changed = self._answer(event)
            if isinstance(event, ToolCall):
                changed = self._call(event) or changed
            return changed and self._check(event)
        return False

    def _answer(self, event: ToolCall | AssistantText | Reasoning) -> bool:
        """Counts model answers; the main stream's are its turns."""
        state = self._state
        before = self._turns.count
        self._turns.turn_of(event)
        if self._all and event.source.stream != MAIN and self._beside.begins(event):
            state.answers += 1
            return True
        return self._turns.count != before

    def _call(self, call: ToolCall) -> bool:
        state = self._state
        if call.source.stream == MAIN and call.edit and state.first_edit_turn is None:
            state.first_edit_turn = self._turns.turn_of(call)
            state.edit = evidence_of(call)
        if not counts(call, self._all):
            return False
        state.calls += 1
        if self._compat:
            state.exploring += (call.tool or call.name) in EXPLORING_TOOLS
        else:
            state.exploring += call.kind in EXPLORING_KINDS
        return True

    def _check(self, event: AnyEvent) -> bool:
        """Notes the limits that this event broke, which is final; True if the bounds may have changed."""
        state = self._state
        found = False
        for name, limit in self._limits.items():
            if name not in state.broken and self._over(name, limit):
                state.broken[name] = evidence_of(event)
                found = True
        return found or (state.first_edit_turn is not None and "max_first_edit_turn" in self._limits)

    def _over(self, name: str, limit: float) -> bool:
        """Whether a limit is broken, which nothing that follows can mend."""
        if name in ("max_duration_ms", "target_exploration_ratio"):
            reported = self._totals.state.duration_ms
            return name == "max_duration_ms" and reported is not None and self._exceeds(reported, limit)
        if name == "max_first_edit_turn":
            first = self._state.first_edit_turn
            return first > limit if first is not None else self._turns.count > limit
        value = self.value(name, True)
        return value is not None and self._exceeds(value, limit)

    def _exceeds(self, value: float, limit: float) -> bool:
        if isinstance(value, int) or self._compat:
            return value > limit
        return value - limit > EPSILON * max(1.0, limit)

    def value(self, name: str, at_least: bool = False) -> float | None:
        """The amount spent, None where the log has no figure; with `at_least`, a lower bound for the final value."""
        state = self._state
        if name == "max_tool_calls":
            return state.calls
        if name in ("max_llm_calls", "max_turns"):
            return self._turns.count + (state.answers if name == "max_llm_calls" else 0)
        if name == "max_first_edit_turn":
            return state.first_edit_turn
        if name == "max_cost_usd":
            return self._totals.cost_usd
        if name == "max_duration_ms":
            return self._totals.duration_ms
        if name == "target_exploration_ratio":
            return state.exploring / state.calls if state.calls else None
        tokens = self._totals.tokens()
        if not tokens.known():
            return None
        prompt, output = tokens.input or 0, tokens.output
        cache = (tokens.cached or 0) + (tokens.cache_write or 0) if self._compat else 0
        if name == "max_input":
            return prompt - cache if tokens.input is not None else None
        if tokens.unsure and not at_least:
            output = None  # a placeholder is only a lower bound
        if name == "max_output":
            return output
        if output is None and not at_least:
            return None
        # AgentV's max_tokens excludes cached tokens, its token-usage adds them: input + output + cached.
        total = prompt - cache + (output or 0)
        return total + (tokens.cached or 0) if self._compat and name == "max_total" else total

    def finish(self) -> None:
        self._state.done = True

    def _kept(self, name: str, limit: float) -> bool | None:
        """Whether a limit is kept; None while that can change."""
        if name in self._state.broken:
            return False
        if name == "max_first_edit_turn" and self._state.first_edit_turn is not None:
            return self._state.first_edit_turn <= limit
        if not self._state.done:
            return None
        value = self.value(name)
        if value is None:
            return False
        if name == "target_exploration_ratio":
            return abs(value - limit) <= self._tolerance + 1e-12
        return not self._exceeds(value, limit)

    def bounds(self) -> Bounds:
        kept = [self._kept(name, limit) for name, limit in self._limits.items()]
        low, high = sum(k is True for k in kept), sum(k is not False for k in kept)
        if self._partial:
            return Bounds(low / len(kept), high / len(kept))
        return Bounds(float(low == len(kept)), float(high == len(kept)))

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for name, limit in self._limits.items():
            value, outcome = self.value(name), self._kept(name, limit)
            kept = outcome is True
            evidence = self._state.broken.get(name)
            if name == "max_first_edit_turn" and self._state.edit is not None:
                evidence = self._state.edit
            where = (evidence,) if evidence is not None else ()
            most = plain(limit)
            if value is None:
                low = self.value(name, True)
                text = f"{TITLES[name]}: " + (f"at least {plain(low)}" if low is not None else "no data")
                proof.add(f"{text} (limit {most})", kept, where)
            elif name == "target_exploration_ratio":
                text = f"{TITLES[name]} {value:.2f}, target {most} ± {self._tolerance:g}"
                proof.add(text, kept, where)
            elif outcome is None:
                proof.add(f"{TITLES[name]} {plain(value)} so far, limit {most}", kept, where)
            elif not kept and not self._exceeds(value, limit):
                # The sum of the calls broke it; the agent's own total leaves out a call that was interrupted.
                proof.add(f"{TITLES[name]} exceeded {most}; at the end the log says {plain(value)}", False, where)
            else:
                spent = plain(value)
                if spent == most and not kept:
                    spent = repr(value)
                proof.add(f"{TITLES[name]} {spent} {'<=' if kept else '>'} {most}", kept, where)

    def warnings(self) -> list[str]:
        return [f"{TITLES[name]}: no data" for name in self._limits if self._state.done and self.value(name) is None]


TITLES = {
    "max_tool_calls": "Tool calls",
    "max_llm_calls": "Model calls",
    "max_tokens": "Total tokens",
    "max_cost_usd": "Cost in USD",
    "max_duration_ms": "Duration in ms",
    "target_exploration_ratio": "Exploration ratio",
    "max_total": "Total tokens",
    "max_input": "Input tokens",
    "max_output": "Output tokens",
    "max_turns": "Turns",
    "max_first_edit_turn": "Turn of the first edit",
}

"""One evaluator: a rule, its threshold, and the moment from which its verdict can no longer change.

In: events, one by one, in the order of the stream. Out: the `Decision` when it is made, and a `Result` at the end. The
same object serves a live stream and a finished log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct, convert, to_builtins

from agentv_stages.model.event import AnyEvent, ToolCall
from agentv_stages.model.stage import Flushed
from agentv_stages.trajectory.verdict import (
    EPSILON,
    MAX_ASSERTIONS,
    NO_TRACE,
    PASS,
    Assertion,
    Bounds,
    Decision,
    Evidence,
    Proof,
    Result,
    Standing,
    Verdict,
    evidence_of,
)


class Rule(Protocol):
    """A check of a trajectory. Its memory is `state`, which does not grow with the session.

    `threshold` is the rule's own default for the score to reach, None for the usual one.
    """

    state: Any
    threshold: float | None

    def observe(self, event: AnyEvent) -> bool:
        """Takes the next event; True where it may have changed the bounds."""
        ...

    def finish(self) -> None:
        """Called at the end of the input: decides the open questions, so the bounds become equal."""
        ...

    def bounds(self) -> Bounds:
        """The lowest and the highest score that is still possible. The range never widens."""
        ...

    def broken(self) -> bool:
        """Whether it has failed, whatever the score is, and nothing that follows can change that."""
        ...

    def prove(self, proof: Proof) -> None:
        """Adds the assertions as they stand now."""
        ...

    def warnings(self) -> list[str]:
        """Data that was missing."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that a spec has for any evaluator.

    `threshold` is the value set by the spec, or None. `required`: a failure fails the case; `min_score` is the score
    that it then needs. `weight` is that in the mean of the case. `compat`: AgentV's semantics. `judges_nothing`: the
    rule judges even a run without any event, which otherwise fails.
    """

    name: str
    type: str
    weight: float = 1.0
    required: bool = False
    min_score: float | None = None
    threshold: float | None = None
    negate: bool = False
    compat: bool = False
    judges_nothing: bool = False


class EvaluatorState(Struct):
    """The state of an evaluator; `rule` is that of its rule as JSON builtins."""

    events: int = 0
    calls: int = 0
    decided: Decision | None = None
    rule: Any = None


class Evaluator:
    """A stage from events to a decision: `push` returns it once, when it is made; `flush` if only the end decides.
    `standing` is available at any time, the final `result` after the flush.

    `gates` are required evaluators within the rule (members of a composite): if a gate fails, the rule also fails.
    """

    def __init__(self, terms: Terms, rule: Rule, gates: "Sequence[Evaluator]" = ()) -> None:
        self.terms = terms
        self.rule = rule
        self.gates = tuple(gates)
        self.events = 0
        self.calls = 0
        self.moved = False  # whether the last event may have changed the bounds
        self.decided: Decision | None = None
        own = rule.threshold
        self.threshold = terms.threshold if terms.threshold is not None else own if own is not None else PASS
        self._flushed = Flushed()

    @property
    def standing(self) -> Standing:
        """`open` until the verdict is final."""
        return "open" if self.decided is None else self.decided.standing

    @property
    def final(self) -> bool:
        """Whether no later event can change the standing."""
        return self.decided is not None

    @property
    def broken(self) -> bool:
        """Whether it has failed for good, whatever its score is; `negate` is not applied."""
        return self.rule.broken() or any(gate.requirement_failed for gate in self.gates)

    @property
    def requirement_failed(self) -> bool:
        """Whether it is required, and has failed for good."""
        terms = self.terms
        if not terms.required:
            return False
        if terms.min_score is not None:
            return self.score_bounds().high < terms.min_score - EPSILON
        return self.standing == "violated"

    @property
    def requirement_met(self) -> bool:
        """Whether it is not required, or has passed for good."""
        terms = self.terms
        if not terms.required:
            return True
        if terms.min_score is not None:
            return self.score_bounds().low >= terms.min_score - EPSILON
        return self.standing == "satisfied"

    def push(self, event: AnyEvent, /) -> Iterable[Decision]:
        """Takes the next event of the stream; returns the decision once, when it is made."""
        self.events += 1
        if type(event) is ToolCall:
            self.calls += 1
        self.moved = self.rule.observe(event)
        if (self.moved or self.events == 1) and self.decided is None:
            return self._decide(evidence_of(event))
        return ()

    def flush(self) -> Iterable[Decision]:
        """Decides at the end of the input. Raises: RuntimeError when called again."""
        self._flushed.once()
        self.rule.finish()
        if self.decided is not None:
            return ()
        decision = self._decide(None)
        if decision:
            return decision
        # Equal bounds are on one side of the threshold; this is for rules that leave a gap.
        self.decided = Decision(self._swap("violated"), self.events, self.calls)
        return (self.decided,)

    @property
    def _blank(self) -> bool:
        """Whether there was no event at all: nothing shows that anything was kept."""
        return not (self.events or self.terms.judges_nothing)

    def _bounds(self) -> Bounds:
        if self._blank:
            return Bounds(0.0, float(not self._flushed.done))
        low, high = self.rule.bounds()
        if not self._flushed.done and not all(gate.requirement_met for gate in self.gates):
            low = 0.0  # it can still break
        return Bounds(low, high)

    @property
    def _negates(self) -> bool:
        """Whether the outcome is inverted: in AgentV even that of a run of which nothing is known."""
        return self.terms.negate and (self.terms.compat or not (self._blank and self._flushed.done))

    def score_bounds(self) -> Bounds:
        """The lowest and the highest score that is still possible, with `negate` applied.

        A rule that is `broken` whatever its score scores 1 when negated, so that a passing evaluator cannot fail the
        case.
        """
        low, high = self._bounds()
        if not self._negates:
            return Bounds(low, high)
        return Bounds(1.0, 1.0) if self.broken else Bounds(1.0 - high, 1.0 - low)

    def result(self) -> Result:
        """The outcome; before the flush, the current standing, where whatever is open counts as a failure."""
        proof = Proof()
        if self._blank and self._flushed.done:
            proof.add(NO_TRACE, False)
        else:
            self.rule.prove(proof)
        negates = self._negates
        score = self.score_bounds().high if negates else self.score_bounds().low
        passed = self.standing == "satisfied"
        assertions = tuple(
            Assertion(a.text, not a.passed, a.evidence) if negates else a for a in proof.listed[:MAX_ASSERTIONS]
        )
        verdict: Verdict = "pass" if passed else "fail"
        return Result(
            self.terms.name,
            self.terms.type,
            score,
            verdict,
            self.terms.weight,
            self.terms.required,
            self.threshold,
            assertions,
            proof.dropped > 0,
            self.decided,
            None,
            tuple(self.rule.warnings()),
        )

    def snapshot(self) -> EvaluatorState:
        """The state, for `restore` of an evaluator built from the same configuration."""
        return EvaluatorState(self.events, self.calls, self.decided, to_builtins(self.rule.state))

    def restore(self, snapshot: Any, /) -> None:
        """Raises: msgspec.ValidationError when it belongs to another one."""
        state = convert(snapshot, EvaluatorState, from_attributes=True)
        self.events, self.calls, self.decided = state.events, state.calls, state.decided
        kind: type[Any] = type(self.rule.state)  # pyright: ignore[reportUnknownVariableType] - `state` is Any
        self.rule.state = convert(state.rule, kind)

    def _swap(self, standing: Standing) -> Standing:
        if not self._negates or standing == "open":
            return standing
        return "violated" if standing == "satisfied" else "satisfied"

    def _decide(self, at: Evidence | None) -> tuple[Decision, ...]:
        low, high = self._bounds()
        if self.broken or high < self.threshold - EPSILON:
            standing: Standing = "violated"
        elif low >= self.threshold - EPSILON and all(gate.requirement_met for gate in self.gates):
            standing = "satisfied"
        else:
            return ()
        self.decided = Decision(self._swap(standing), self.events, self.calls, at)
        return (self.decided,)

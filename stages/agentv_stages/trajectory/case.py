"""A case: several evaluators, their weighted mean, and one verdict.

In: batches (or events). The score is the weighted mean of the evaluators that were not skipped. The case passes when
the mean reaches the threshold and every required evaluator passes. A case is violated, finally, when a required
evaluator is, or when the best mean that is still possible is below the threshold.
`compat`: as in AgentV, a required evaluator that fails makes the score 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import Struct, convert

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.stage import Flushed
from agentv_stages.trajectory.evaluator import Evaluator, EvaluatorState, Terms
from agentv_stages.trajectory.verdict import (
    EPSILON,
    PASS,
    Bounds,
    Decision,
    Evidence,
    Result,
    Standing,
    Verdict,
    evidence_of,
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An evaluator that was not built because it needs a model or a script. It is not part of the score."""

    terms: Terms
    reason: str

    def result(self) -> Result:
        """The result in the usual form: no score, verdict `skipped`, with the reason."""
        terms = self.terms
        threshold = terms.threshold if terms.threshold is not None else PASS
        return Result(
            terms.name, terms.type, None, "skipped", terms.weight, terms.required, threshold, reason=self.reason
        )


Member: TypeAlias = Evaluator | Skipped


class CaseResult(Struct, frozen=True):
    """The outcome of a case. `score` and `verdict` are None and `skipped` where every evaluator was skipped."""

    case: str
    score: float | None
    verdict: Verdict
    threshold: float
    evaluators: tuple[Result, ...]
    decided: Decision | None = None
    complete: bool = True

    def __repr__(self) -> str:
        failed = ", ".join(repr(result.name) for result in self.evaluators if result.verdict == "fail")
        score = "" if self.score is None else f" {self.score:.2f}"
        return f"<CaseResult {self.case!r}: {self.verdict}{score}{f'; failed: {failed}' if failed else ''}>"


class CaseState(Struct):
    """The state of a case, JSON-encodable."""

    events: int = 0
    decided: Decision | None = None
    evaluators: list[EvaluatorState] = []


class Case:
    """A stage from events to the decision of the case. `on_batch` takes a whole batch."""

    def __init__(
        self, name: str, members: Sequence[Member], threshold: float | None = None, compat: bool = False
    ) -> None:
        self.name = name
        self.members = tuple(members)
        self.evaluators = [m for m in members if isinstance(m, Evaluator)]
        self.threshold = PASS if threshold is None else threshold
        self.compat = compat
        self.events = 0
        self.decided: Decision | None = None
        self._flushed = Flushed()

    @property
    def standing(self) -> Standing:
        """`open` until the verdict is final."""
        return "open" if self.decided is None else self.decided.standing

    def push(self, event: AnyEvent, /) -> Iterable[Decision]:
        """Takes the next event, normalised and paired; returns the decision of the case when it is made."""
        self.events += 1
        moved = False
        for evaluator in self.evaluators:
            evaluator.push(event)
            moved = moved or evaluator.moved
        if not moved or self.decided is not None:
            return ()
        return self._decide(evidence_of(event))

    def on_batch(self, batch: Batch) -> list[Decision]:
        """Takes the events of a batch; returns the decision of the case if it was made."""
        return [decision for event in batch.events for decision in self.push(event)]

    def flush(self) -> Iterable[Decision]:
        """Decides the open questions at the end of the input. Raises: RuntimeError when called again."""
        self._flushed.once()
        for evaluator in self.evaluators:
            evaluator.flush()
        if self.decided is not None or not self.evaluators:
            return ()
        return self._decide(None)

    def bounds(self) -> Bounds:
        """The lowest and the highest mean with which the case can still end."""
        return mean([(e.score_bounds(), e.terms.weight) for e in self.evaluators])

    def _decide(self, at: Evidence | None) -> tuple[Decision, ...]:
        low, high = self.bounds()
        if high < self.threshold - EPSILON or any(e.requirement_failed for e in self.evaluators):
            standing: Standing = "violated"
        elif low >= self.threshold - EPSILON and all(e.requirement_met for e in self.evaluators):
            standing = "satisfied"
        elif self._flushed.done:
            standing = "violated"
        else:
            return ()
        calls = max((e.calls for e in self.evaluators), default=0)
        self.decided = Decision(standing, self.events, calls, at)
        return (self.decided,)

    def result(self) -> CaseResult:
        """The outcome; before the flush `complete` is false, and open evaluators count as they stand."""
        results = tuple(m.result() for m in self.members)
        scored = [(r.score, r.weight) for r in results if r.score is not None]
        if not scored:
            return CaseResult(self.name, None, "skipped", self.threshold, results, None, self._flushed.done)
        score = mean([(Bounds(s, s), w) for s, w in scored]).low
        if self.compat and any(e.requirement_failed for e in self.evaluators):
            score = 0.0
        verdict: Verdict = "pass" if self.standing == "satisfied" else "fail"
        return CaseResult(self.name, score, verdict, self.threshold, results, self.decided, self._flushed.done)

    def snapshot(self) -> CaseState:
        """The state, for `restore` of a case built from the same configuration."""
        return CaseState(self.events, self.decided, [e.snapshot() for e in self.evaluators])

    def restore(self, snapshot: Any, /) -> None:
        """Raises: msgspec.ValidationError, ValueError when it belongs to another case."""
        state = convert(snapshot, CaseState, from_attributes=True)
        self.events, self.decided = state.events, state.decided
        for evaluator, saved in zip(self.evaluators, state.evaluators, strict=True):
            evaluator.restore(saved)


def mean(scores: Sequence[tuple[Bounds, float]]) -> Bounds:
    """The weighted mean of bounds; 0 where all weights are 0."""
    total = sum(weight for _, weight in scores)
    if total <= 0:
        return Bounds(0.0, 0.0)
    return Bounds(sum(b.low * w for b, w in scores) / total, sum(b.high * w for b, w in scores) / total)

"""AgentV's `composite`: several evaluators combined into one score, by an aggregator without a model or a script."""

from collections.abc import Sequence

from msgspec import Struct

from agentv_stages.model.event import AnyEvent
from agentv_stages.trajectory.case import Member, mean
from agentv_stages.trajectory.evaluator import Evaluator, EvaluatorState
from agentv_stages.trajectory.verdict import EPSILON, Bounds, Proof

AGGREGATORS = ("weighted_average", "threshold", "all_or_nothing", "minimum", "maximum")


class CompositeState(Struct):
    evaluators: list[EvaluatorState] = []


def _counted(member: Evaluator) -> Bounds:
    """The score of a member, 0 if it has failed whatever its score is (`exact` with further calls)."""
    return Bounds(0.0, 0.0) if member.broken and not member.terms.negate else member.score_bounds()


class Composite:
    """Members that need a model or a script are left out.

    `weighted_average` is the mean by `weights`; `minimum` and `maximum` are those of the scores; `threshold` is 1 if at
    least `share` of the members pass, `all_or_nothing` if all do; else 0.
    """

    threshold: float | None = None

    def __init__(
        self, members: Sequence[Member], weights: Sequence[float], kind: str = "weighted_average", share: float = 1.0
    ) -> None:
        self._members = tuple(members)
        self.evaluators = [m for m in members if isinstance(m, Evaluator)]
        self._weights = [w for m, w in zip(members, weights, strict=True) if isinstance(m, Evaluator)]
        self._kind = kind
        self._share = share

    @property
    def state(self) -> CompositeState:
        return CompositeState([e.snapshot() for e in self.evaluators])

    @state.setter
    def state(self, state: CompositeState) -> None:
        for evaluator, saved in zip(self.evaluators, state.evaluators, strict=True):
            evaluator.restore(saved)

    def observe(self, event: AnyEvent) -> bool:
        for evaluator in self.evaluators:
            evaluator.push(event)
        return any(evaluator.moved for evaluator in self.evaluators)

    def finish(self) -> None:
        for evaluator in self.evaluators:
            evaluator.flush()

    def bounds(self) -> Bounds:
        scores = [_counted(e) for e in self.evaluators]
        if self._kind == "weighted_average":
            return mean(list(zip(scores, self._weights, strict=True)))
        if self._kind in ("minimum", "maximum"):
            choose = min if self._kind == "minimum" else max
            return Bounds(choose(b.low for b in scores), choose(b.high for b in scores))
        low = sum(e.standing == "satisfied" for e in self.evaluators) / len(scores)
        high = sum(e.standing != "violated" for e in self.evaluators) / len(scores)
        return Bounds(float(low >= self._share - EPSILON), float(high >= self._share - EPSILON))

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for member in self._members:
            result = member.result()
            if result.score is None:
                proof.add(f"{result.name}: skipped, {result.reason}", True)
                continue
            passed = result.verdict == "pass"
            required = ", required" if result.required and not passed else ""
            proof.add(f"{result.name}: score {result.score:.2f}{required}", passed)
            for assertion in result.assertions:
                proof.add(f"{result.name}: {assertion.text}", assertion.passed, assertion.evidence)

    def warnings(self) -> list[str]:
        return [text for evaluator in self.evaluators for text in evaluator.result().warnings]

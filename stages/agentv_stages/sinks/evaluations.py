"""Verdicts as events of OpenTelemetry, `gen_ai.evaluation.result`: one for each case and for each of its evaluators."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentv_stages.model.otlp import Attribute, LogRecord, pairs

if TYPE_CHECKING:  # importing the evaluators takes 80 ms, and most sessions are not checked
    from agentv_stages.trajectory.case import CaseResult

EVENT = "gen_ai.evaluation.result"
_MOST_REASONS = 10


def evaluations(results: "Sequence[CaseResult]", trace_id: str, span_id: str, time_ms: int) -> list[LogRecord]:
    """The events, about the span of a prompt; `explanation` has what failed."""
    time = str(time_ms * 1_000_000)
    return [
        LogRecord(time, time, EVENT, pairs(attributes), trace_id, span_id)
        for result in results
        for attributes in _of_case(result)
    ]


def _of_case(case: "CaseResult") -> Iterator[dict[str, Attribute]]:
    yield _attributes(case.case, case.score, case.verdict, [])
    for evaluator in case.evaluators:
        failed = [assertion.text for assertion in evaluator.assertions if not assertion.passed]
        reasons = failed[:_MOST_REASONS] or ([evaluator.reason] if evaluator.reason is not None else [])
        yield _attributes(f"{case.case}/{evaluator.name}", evaluator.score, evaluator.verdict, reasons)


def _attributes(name: str, score: float | None, label: str, reasons: list[str]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": label}
    if score is not None:
        found["gen_ai.evaluation.score.value"] = float(score)
    if reasons:
        found["gen_ai.evaluation.explanation"] = "; ".join(reasons)
    return found

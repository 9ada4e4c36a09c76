"""Verdicts on an agent's trajectory: events in, one by one, and a verdict out as soon as it can no longer change.

The same evaluators serve a live stream and a finished log, with the same verdicts. docs/trajectory.md explains each
rule.
"""

from agentv_stages.trajectory.build import build
from agentv_stages.trajectory.case import Case, CaseResult, CaseState, Member, Skipped
from agentv_stages.trajectory.config import ConfigError
from agentv_stages.trajectory.evaluator import Evaluator, EvaluatorState, Rule, Terms
from agentv_stages.trajectory.makers import Context
from agentv_stages.trajectory.verdict import (
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

__all__ = [
    "Assertion",
    "Bounds",
    "Case",
    "CaseResult",
    "CaseState",
    "ConfigError",
    "Context",
    "Decision",
    "Evaluator",
    "EvaluatorState",
    "Evidence",
    "Member",
    "Proof",
    "Result",
    "Rule",
    "Skipped",
    "Standing",
    "Terms",
    "Verdict",
    "build",
    "evidence_of",
]

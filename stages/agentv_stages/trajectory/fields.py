"""The fields that each type of evaluator has, in snake_case: a type in, its names out.

Unknown fields are refused, so that a rule with a misspelt name is not silently ignored.
"""

from agentv_stages.trajectory.makers import METRICS

_COMMON = frozenset(
    (
        *("name", "type", "metric", "id", "description", "metadata", "enabled", "preprocessors"),
        *("weight", "required", "min_score", "threshold", "negate", "compat", "streams"),
    )
)

_OF_TYPE: dict[str, frozenset[str]] = {
    "tool-trajectory": frozenset(("mode", "minimums", "expected", "args_match")),
    "expected-messages": frozenset(("mode", "args_match")),
    "expected-tool-calls": frozenset(("mode", "args_match")),
    "skill-trigger": frozenset(("skill", "value", "should_trigger", "outputs")),
    "skill-used": frozenset(("value", "skill", "inverse")),
    "not-skill-used": frozenset(("value", "skill", "inverse")),
    "trajectory:tool-used": frozenset(("value", "inverse")),
    "trajectory:tool-args-match": frozenset(("value", "inverse")),
    "trajectory:tool-sequence": frozenset(("value", "inverse")),
    "trajectory:step-count": frozenset(("value", "inverse")),
    "execution-metrics": frozenset((*METRICS, "exploration_tolerance")),
    "latency": frozenset(("max_duration_ms",)),
    "cost": frozenset(("budget", "max_cost_usd")),
    "token-usage": frozenset(("max_total", "max_input", "max_output")),
    "max-turns": frozenset(("max", "value", "max_turns")),
    "first-edit-turn": frozenset(("max", "value")),
    "forbid": frozenset(("calls", "value", "tools")),
    "watched-commands": frozenset(("used", "not_used", "unused", "value")),
    "max-repeats": frozenset(("max", "value", "window", "tools")),
    "cycles": frozenset(("max", "value", "longest", "tools")),
    "repeated-failures": frozenset(("max", "value", "tools")),
    "no-progress": frozenset(("max", "value", "tools")),
    "composite": frozenset(("assertions", "assert", "evaluators", "aggregator")),
    "regex": frozenset(("value", "flags")),
    "is-json": frozenset(("value",)),
}
"""In addition to the common ones; the checks on texts have `value`."""


def fields_of(kind: str) -> frozenset[str]:
    """The fields that an evaluator of this type may have."""
    return _COMMON | _OF_TYPE.get(kind, frozenset(("value",)))

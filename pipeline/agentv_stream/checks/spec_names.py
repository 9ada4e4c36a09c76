"""The names that AgentV's spec files have had in any version, and ours. A name in none of these tables is an error.

Source: AgentV 0.25 (evalcases, execution.evaluators) to 4.42 and 5.3 (tests, assertions), its validators and schemas.
"""

from agentv_stages.trajectory.build import MAKERS, SKIPPED
from agentv_stages.trajectory.makers import METRICS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOP = _names(
    """
    $schema name description category version author tags license requires input input_messages input_files
    tests evalcases eval_cases cases target targets execution assertions assert evaluators evaluator
    preprocessors workspace metadata governance dataset conversation_id expected_output expected_messages
    rubrics threshold imports experiment policy run runs repeat providers prompts default_test default_tests
    scenarios vars env options evaluate_options derived_metrics extensions environment
    timeout_seconds budget_usd workers model agent
    compat streams
    """
)

CASE = _names(
    """
    id vars criteria description input input_messages input_files expected_output expected_messages
    expected_outcome expected_tool_calls outcome assertions assert evaluators evaluator rubrics rubric execution
    run workspace metadata conversation_id suite dataset note depends_on on_dependency_failure mode turns
    aggregation on_turn_failure window_size target targets tags threshold provider providers prompts options
    weight name preprocessors compat streams files extensions environment guideline guidelines eval_id test_id
    """
)

EXECUTION = _names(
    """
    target targets workers assertions assert evaluators evaluator skip_defaults cache trials budget_usd
    fail_on_error threshold agent model agent_options scripts repeat runs early_exit timeout_seconds sandbox
    workspace setup workspace_template compat streams verbose trace keep_workspaces otel_file export_otel
    max_retries
    """
)

COMMON = _names(
    """
    name type weight required min_score threshold negate compat streams description metric id enabled metadata
    preprocessors inverse
    """
)

OF_TYPE: dict[str, frozenset[str]] = {
    "tool-trajectory": frozenset(("mode", "minimums", "expected", "args_match")),
    "expected-messages": frozenset(("mode", "args_match")),
    "expected-tool-calls": frozenset(("mode", "args_match")),
    "skill-trigger": frozenset(("skill", "value", "should_trigger", "outputs")),
    "skill-used": frozenset(("value", "skill")),
    "not-skill-used": frozenset(("value", "skill")),
    "trajectory:tool-used": frozenset(("value",)),
    "trajectory:tool-args-match": frozenset(("value",)),
    "trajectory:tool-sequence": frozenset(("value",)),
    "trajectory:step-count": frozenset(("value",)),
    "execution-metrics": frozenset((*METRICS, "exploration_tolerance")),
    "latency": frozenset(("max_duration_ms",)),
    "cost": frozenset(("budget", "max_cost_usd")),
    "token-usage": frozenset(("max_total", "max_input", "max_output")),
    "max-turns": frozenset(("max", "value", "max_turns")),
    "first-edit-turn": frozenset(("max", "value")),
    "forbid": frozenset(("calls", "value", "tools")),
    "watched-commands": frozenset(("used", "not_used", "unused", "value")),
    "max-repeats": frozenset(("max", "value", "window", "tools")),
    "composite": frozenset(("assertions", "assert", "evaluators", "aggregator")),
    "regex": frozenset(("value", "flags")),
    "is-json": frozenset(("value",)),
}
"""Keys of each type beside the common ones; the checks on texts have `value`."""

STEP = frozenset(("tool", "kind", "args", "input", "args_match", "max_duration_ms", "output", "description"))

TYPES = (*MAKERS, *SKIPPED)

CAMEL = {
    "argsMatch": "args_match",
    "maxDurationMs": "max_duration_ms",
    "minScore": "min_score",
    "shouldTrigger": "should_trigger",
    "budgetUsd": "budget_usd",
    "failOnError": "fail_on_error",
    "maxToolCalls": "max_tool_calls",
    "maxLlmCalls": "max_llm_calls",
    "maxTokens": "max_tokens",
    "maxCostUsd": "max_cost_usd",
    "defaultTest": "default_test",
    "evaluateOptions": "evaluate_options",
    "derivedMetrics": "derived_metrics",
    "inputFiles": "input_files",
    "expectedOutput": "expected_output",
    "skipDefaults": "skip_defaults",
}
"""Spellings in camelCase that AgentV takes, too."""


def snake(key: str) -> str:
    return CAMEL.get(key, key)


def type_name(written: str) -> str:
    """The one spelling of a type: AgentV has had `tool_trajectory` and `tool-trajectory`."""
    return written.strip().lower().replace("_", "-")


def keys_of(kind: str) -> frozenset[str] | None:
    """The keys that an evaluator may have; None where they are not looked at (it is skipped anyway)."""
    if kind in SKIPPED:
        return None
    return COMMON | OF_TYPE.get(kind, frozenset(("value",)))

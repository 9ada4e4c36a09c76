"""The names that AgentV's spec files have had in any version, and ours. A name in none of these tables is an error.

Source: AgentV 0.25 (evalcases, execution.evaluators) to 4.42 and 5.3 (tests, assertions), its validators and schemas.
"""

from agentv_stages.trajectory.build import MAKERS, SKIPPED
from agentv_stages.trajectory.fields import fields_of


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
    reference_answer
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
"""Spellings in camelCase that AgentV also accepts."""


def snake(key: str) -> str:
    return CAMEL.get(key, key)


def type_name(written: str) -> str:
    """The canonical spelling of a type: AgentV has had `tool_trajectory` and `tool-trajectory`."""
    return written.strip().lower().replace("_", "-")


def keys_of(kind: str) -> frozenset[str] | None:
    """The keys that an evaluator may have; None if they are not checked (it is skipped anyway)."""
    return None if kind in SKIPPED else fields_of(kind)

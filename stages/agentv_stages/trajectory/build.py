"""Builds evaluators from their configuration: one mapping of a spec in, an `Evaluator` (or `Skipped`) out.

Fields are in snake_case, as in specs; the reader of the files has already converted other spellings.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentv_stages.trajectory import makers
from agentv_stages.trajectory.answer import KINDS
from agentv_stages.trajectory.case import Member, Skipped
from agentv_stages.trajectory.composite import AGGREGATORS, Composite
from agentv_stages.trajectory.config import Config, ConfigError, flag, known_fields, number, spelled
from agentv_stages.trajectory.evaluator import Evaluator, Rule, Terms
from agentv_stages.trajectory.fields import fields_of
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.makers import Context
from agentv_stages.trajectory.verdict import PASS

OWN_LIMITS = frozenset(
    (
        *("max-turns", "first-edit-turn", "forbid", "watched-commands", "max-repeats"),
        *("cycles", "repeated-failures", "no-progress"),
    )
)
"""Our own types; a spec names one on purpose, so they are required unless it says otherwise."""

JUDGE_NOTHING = frozenset(("skill-trigger", "skill-used", "not-skill-used", "composite", *KINDS))
"""Types that AgentV judges even without a trace."""

MODEL_AGGREGATORS = (
    "code-grader",
    "code_grader",
    "code-judge",
    "code_judge",
    "llm-grader",
    "llm_grader",
    "llm-judge",
    "llm_judge",
)


def build(config: Config, context: Context | None = None) -> Member:
    """Builds one evaluator for one stream; `Skipped` where its type needs a model or a script.

    `config` is an entry of a spec's assertions, fields in snake_case: `{"type": "max-turns", "max": 5}`. `context` is
    the part that it inherits from the spec and the case; by default nothing.

    Raises: ConfigError for an invalid entry: no type, an unknown type, an unknown field, a value that does not fit.
    """
    if not isinstance(config, Mapping) or "type" not in config:  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
        raise ConfigError("an evaluator must be a mapping with a type", ("type",), tuple(MAKERS))
    context = context or Context()
    kind = str(config["type"])
    if config.get("compat") not in (None, "agentv", True, False):
        raise ConfigError(f"compat knows no {config['compat']!r}", ("compat",), ("agentv",))
    streams = config.get("streams")
    if streams not in (None, "all", "main"):
        raise ConfigError("streams is all or main", ("streams",), ("all", "main"))
    own = kind in OWN_LIMITS
    terms = _terms(config, kind, own, context)
    if kind in SKIPPED:
        return Skipped(terms, SKIPPED[kind])
    maker = MAKERS.get(kind)
    if maker is None:
        raise ConfigError(f"no evaluator has the type {kind!r}", ("type",), tuple(MAKERS))
    known_fields(config, (), fields_of(kind))
    if not flag(config, "enabled", True):
        return Skipped(terms, "the spec says that it is not enabled")
    everywhere = streams == "all" if streams is not None else context.all_streams
    own_goal = any(config.get(key) is not None for key in ("threshold", "min_score")) or terms.min_score is not None
    explicit = terms.threshold is not None and (own_goal or context.of_spec)
    goal = PASS if terms.threshold is None else terms.threshold
    scope = makers.Scope(everywhere, is_compat(config, context), goal, explicit, context)
    try:
        rule = maker(config, scope)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error), ("value",) if "value" in config else ()) from error
    if isinstance(rule, Skipped):
        return Skipped(terms, rule.reason)
    if rule.threshold is not None and not explicit:
        # A verdict that is stricter than its score must not get lost in the mean of the case.
        terms = replace(terms, required=terms.required or "required" not in config, threshold=None)
    gates = _gates(rule, scope.compat) if isinstance(rule, Composite) else ()
    if gates:
        terms = replace(terms, required=terms.required or "required" not in config)
    return Evaluator(terms, rule, gates)


def _gates(rule: Composite, compat: bool) -> list[Evaluator]:
    """The required members of a composite. AgentV ignores `required` there, but does not have our own types."""
    return [
        member
        for member in rule.evaluators
        if member.terms.required and (not compat or member.terms.type in OWN_LIMITS or member.gates)
    ]


def is_compat(config: Config, context: Context) -> bool:
    """Whether the evaluator itself, or the spec around it, selects AgentV's semantics."""
    compat = config.get("compat")
    return context.compat if compat is None else compat in ("agentv", True)


def context_within(config: Config, context: Context) -> Context:
    """The context of a composite's members: it includes the composite's own settings for streams and `compat`."""
    streams = config.get("streams")
    everywhere = context.all_streams if streams is None else streams == "all"
    return replace(context, compat=is_compat(config, context), all_streams=everywhere)


def _terms(config: Config, kind: str, own: bool, context: Context) -> Terms:
    weight = number(config, "weight", 0.0)
    required = spelled(config.get("required"))
    min_score = number(config, "min_score", 0.0, 1.0)
    if required is not None and not isinstance(required, bool):
        if not isinstance(required, int | float):
            raise ConfigError("required must be true, false, or the score that is needed", ("required",))
        share = number({"required": required}, "required", 0.0, 1.0)
        min_score = share if min_score is None else min_score
        required = True
    # In AgentV the threshold is the limit itself, in milliseconds or dollars.
    threshold = None if kind in ("latency", "cost") else number(config, "threshold", 0.0, 1.0)
    if threshold is None:
        threshold = min_score if min_score is not None else context.threshold
    negate = flag(config, "negate", False)
    compat = is_compat(config, context)
    name = config.get("name")
    if name is not None and not isinstance(name, str):
        raise ConfigError("name must be a text", ("name",))
    return Terms(
        name or kind,
        kind,
        1.0 if weight is None else weight,
        own if required is None else bool(required),
        min_score,
        threshold,
        negate,
        compat,
        compat and kind in JUDGE_NOTHING,
    )


def _composite(config: Config, scope: makers.Scope) -> Rule | Skipped:
    items: Any = config.get("assertions", config.get("evaluators"))
    key = "assertions" if "assertions" in config else "evaluators"
    if not is_list(items) or not items:
        raise ConfigError("composite needs assertions", (), ("assertions",))
    configs: list[Any] = items
    members: list[Member] = []
    context = context_within(config, scope.context)
    for i, item in enumerate(configs):
        try:
            members.append(build(item, context))
        except ConfigError as error:
            raise ConfigError(error.message, (key, i, *error.path), error.known, error.wrong) from error
    aggregator: Any = config.get("aggregator", {"type": "weighted_average"})
    kind = aggregator.get("type", "weighted_average") if is_object(aggregator) else aggregator
    if kind not in AGGREGATORS:
        if kind not in MODEL_AGGREGATORS:
            path = ("aggregator", "type") if is_object(aggregator) else ("aggregator",)
            raise ConfigError(f"composite knows no aggregator {kind!r}", path, (*AGGREGATORS, *MODEL_AGGREGATORS))
        return Skipped(Terms("", ""), f"its aggregator {kind} needs a model or a script")
    if all(isinstance(member, Skipped) for member in members):
        return Skipped(Terms("", ""), "all its members are skipped")
    share, weights = 1.0, [m.terms.weight for m in members]
    if is_object(aggregator):
        known_fields(aggregator, ("aggregator",), ("type", "weights", "threshold"))
        table: Any = aggregator.get("weights")
        if table is not None:
            if not is_object(table):
                raise ConfigError("weights maps names of members to numbers", ("aggregator", "weights"))
            within = ("aggregator", "weights")
            known_fields(table, within, [m.terms.name for m in members])
            given_weights = [number(table, m.terms.name, 0.0, path=within) for m in members]
            weights = [m.terms.weight if w is None else w for m, w in zip(members, given_weights, strict=True)]
        if kind == "threshold":
            threshold = number(aggregator, "threshold", 0.0, 1.0, ("aggregator",))
            share = PASS if threshold is None else threshold
    return Composite(members, weights, str(kind), share)


MAKERS: dict[str, makers.Maker] = {
    "tool-trajectory": makers.tool_trajectory,
    "expected-messages": makers.expected_messages,
    "expected-tool-calls": makers.expected_messages,
    "skill-trigger": makers.skill_trigger,
    "skill-used": makers.skill_used,
    "not-skill-used": makers.skill_used,
    "trajectory:tool-used": makers.tool_used,
    "trajectory:tool-args-match": makers.args_match,
    "trajectory:tool-sequence": makers.tool_sequence,
    "trajectory:step-count": makers.step_count,
    "execution-metrics": makers.metrics,
    "latency": makers.budget("max_duration_ms", "threshold", "max_duration_ms"),
    "cost": makers.budget("max_cost_usd", "budget", "max_cost_usd", "threshold"),
    "token-usage": makers.token_usage,
    "max-turns": makers.budget("max_turns", "max", "value", "max_turns"),
    "first-edit-turn": makers.budget("max_first_edit_turn", "max", "value"),
    "forbid": makers.forbid,
    "watched-commands": makers.watched,
    "max-repeats": makers.repeats,
    "cycles": makers.cycles,
    "repeated-failures": makers.repeated_failures,
    "no-progress": makers.no_progress,
    "composite": _composite,
    **dict.fromkeys(KINDS, makers.answer),
}

MODEL = "it needs a model"
SCRIPT = "it needs a script"

SKIPPED: dict[str, str] = {
    **dict.fromkeys(
        (
            "llm-grader", "llm-judge", "llm-rubric", "rubric", "rubrics", "agent-judge", "agent-rubric", "g-eval",
            "factuality", "model-graded-closedqa", "model-graded-factuality", "similar", "answer-relevance",
            "context-faithfulness", "context-recall", "context-relevance", "trajectory:goal-success", "search-rubric",
            "select-best", "classifier", "moderation",
        ),
        MODEL,
    ),
    **dict.fromkeys(
        (
            "code-grader", "code-judge", "code", "script", "script-grader", "inline-assert", "javascript", "python",
            "ruby", "webhook", "command",
        ),
        SCRIPT,
    ),
    "field-accuracy": "it compares fields of the answer with expected ones, and looks at no trajectory",
}  # fmt: skip
"""Evaluators of AgentV's versions that are not built here, with the reason."""

"""Makes evaluators of their configuration: one mapping of a spec in, an `Evaluator` (or `Skipped`) out.

Keys are in snake_case, as specs have them; the reader of the files has brought other spellings into that form. Which
keys a type knows is checked there, too: here values are read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentv_stages.trajectory.answer import KINDS, Answer
from agentv_stages.trajectory.arguments import MISSING
from agentv_stages.trajectory.budgets import Budgets
from agentv_stages.trajectory.calls import Step
from agentv_stages.trajectory.case import Member, Skipped
from agentv_stages.trajectory.composite import AGGREGATORS, Composite
from agentv_stages.trajectory.config import (
    KIND_NAMES,
    Config,
    ConfigError,
    args_match_of,
    flag,
    integer,
    matcher_of,
    number,
    steps_of,
    texts,
)
from agentv_stages.trajectory.evaluator import Evaluator, Rule, Terms
from agentv_stages.trajectory.exact import Exact
from agentv_stages.trajectory.in_order import InOrder, InOrderCompat
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.limits import Forbid, MaxRepeats, WatchedCommands
from agentv_stages.trajectory.minimums import Minimums
from agentv_stages.trajectory.path_steps import ArgsCheck, ArgsSpec, Matcher, StepCount, ToolSequence
from agentv_stages.trajectory.sets import Subset, Superset
from agentv_stages.trajectory.skills import SkillTrigger, SkillUsed, skill_counts
from agentv_stages.trajectory.verdict import PASS

TRAJECTORY_MODES = ("any_order", "in_order", "exact", "superset", "subset")
OWN_LIMITS = frozenset(("max-turns", "first-edit-turn", "forbid", "watched-commands", "max-repeats"))
"""Types of ours; a spec that names one means it, so they are required unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Context:
    """What holds around an evaluator: the threshold that the spec sets (None: none), `compat`, whether all streams
    count, and the tool calls of the case's expected messages."""

    threshold: float | None = None
    compat: bool = False
    all_streams: bool | None = None
    expected_calls: tuple[Mapping[str, Any], ...] = ()


def build(config: Config, context: Context) -> Member:
    """Builds one evaluator. Raises: ConfigError."""
    kind = str(config["type"])
    compat = config.get("compat")
    is_compat = context.compat if compat is None else compat in ("agentv", True)
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
    everywhere = streams == "all" if streams is not None else context.all_streams
    scope = _Scope(everywhere, is_compat, terms.threshold if terms.threshold is not None else PASS, context)
    explicit = terms.threshold is not None
    try:
        rule = maker(config, scope, explicit)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error), ("value",) if "value" in config else ()) from error
    if isinstance(rule, Skipped):
        return Skipped(terms, rule.reason)
    if rule.threshold is not None and not explicit and "required" not in config:
        # A verdict that is stricter than its score must not get lost in the mean of the case.
        terms = Terms(terms.name, kind, terms.weight, True, terms.min_score, None, terms.negate)
    return Evaluator(terms, rule)


@dataclass(frozen=True, slots=True)
class _Scope:
    everywhere: bool | None
    compat: bool
    goal: float
    context: Context

    @property
    def all(self) -> bool:
        return self.everywhere is True

    @property
    def all_unless_told(self) -> bool:
        return self.everywhere is not False


def _terms(config: Config, kind: str, own: bool, context: Context) -> Terms:
    weight = number(config, "weight", 0.0)
    required = config.get("required")
    min_score = number(config, "min_score", 0.0, 1.0)
    if required is not None and not isinstance(required, bool):
        share = number(config, "required", 0.0, 1.0)
        min_score = share if min_score is None else min_score
        required = True
    threshold = None if kind == "latency" else number(config, "threshold", 0.0, 1.0)
    if threshold is None:
        threshold = min_score if min_score is not None else context.threshold
    negate = config.get("negate", False)
    if not isinstance(negate, bool):
        raise ConfigError("negate is true or false", ("negate",))
    name = config.get("name")
    if name is not None and not isinstance(name, str):
        raise ConfigError("name is a text", ("name",))
    return Terms(
        name or kind,
        kind,
        1.0 if weight is None else weight,
        own if required is None else bool(required),
        min_score,
        threshold,
        negate,
    )


def _tool_trajectory(config: Config, scope: _Scope, explicit: bool) -> Rule:
    mode = config.get("mode")
    if mode not in TRAJECTORY_MODES:
        raise ConfigError(f"tool-trajectory knows no mode {mode!r}", ("mode",) if mode else (), TRAJECTORY_MODES)
    steps = steps_of(config, scope.compat)
    if mode == "any_order":
        return Minimums(_minimums(config, steps, scope.compat), scope.all, scope.compat)
    if mode == "exact":
        return Exact(steps, scope.all, not (explicit or scope.compat), scope.compat)
    if mode == "in_order":
        return InOrderCompat(steps, scope.all) if scope.compat else InOrder(steps, scope.all)
    if mode == "superset":
        return Superset(steps, scope.all, scope.compat)
    return Subset(steps, scope.all, scope.compat, scope.goal)


def _minimums(config: Config, steps: Sequence[Step], compat: bool) -> dict[str, float]:
    value: Any = config.get("minimums")
    if value is None:
        numbers: dict[str, float] = {}
        # AgentV looks at `minimums` only; a list of steps in any order says how often each is to come.
        for step in () if compat else steps:
            numbers[step.title] = numbers.get(step.title, 0) + 1
        return numbers
    if not is_object(value):
        raise ConfigError("minimums maps tools to numbers", ("minimums",))
    minimums: Mapping[Any, Any] = value
    for name, least in minimums.items():
        if isinstance(least, bool) or not isinstance(least, int | float) or least < 0:
            raise ConfigError(f"the minimum of {name} is a number from 0", ("minimums", str(name)))
        if str(name).startswith("kind:") and str(name)[5:] not in KIND_NAMES:
            raise ConfigError(f"no kind {str(name)[5:]!r}", ("minimums", str(name)), KIND_NAMES)
    return {str(name): float(least) for name, least in minimums.items()}


def _expected_messages(config: Config, scope: _Scope, explicit: bool) -> Rule:
    steps: list[Step] = []
    for call in scope.context.expected_calls:
        given = call["input"] if "input" in call else call.get("args", MISSING)
        usual = config.get("args_match")
        mode = "exact" if usual is None else args_match_of(usual, ("args_match",))
        steps.append(Step(str(call.get("tool", "")), None, given, mode, None, scope.compat))
    if config.get("mode") == "in_order" and not scope.compat:
        return InOrder(steps, scope.all)
    return Exact(steps, scope.all, False, scope.compat, True)


def _skill_trigger(config: Config, scope: _Scope, explicit: bool) -> Rule:
    skill = config.get("skill", config.get("value"))
    if not isinstance(skill, str) or not skill:
        raise ConfigError("skill-trigger needs the name of a skill", ("skill",) if "skill" in config else ())
    outputs = flag(config, "outputs", True)
    return SkillTrigger(skill, flag(config, "should_trigger", True), scope.all, scope.compat, outputs)


def _skill_used(config: Config, scope: _Scope, explicit: bool) -> Rule:
    inverse = (str(config["type"]) == "not-skill-used") != flag(config, "inverse", False)
    value: Any = config.get("value", config.get("skill"))
    wanted = skill_counts(value)
    if inverse and is_object(value):
        if "min" in value or value.get("max", 0) != 0:
            raise ConfigError("not-skill-used takes no bounds but max: 0", ("value",))
    return SkillUsed(wanted, inverse, scope.all, scope.compat)


def _tool_used(config: Config, scope: _Scope, explicit: bool) -> Rule:
    value: Any = config.get("value")
    items: list[Any] = value if is_list(value) else [value]
    matchers: list[Matcher] = []
    for i, item in enumerate(items):
        path: tuple[str | int, ...] = ("value", i) if is_list(value) else ("value",)
        found = matcher_of(item, path)
        if found.pattern == "*" and not isinstance(item, str):
            raise ConfigError("tool-used needs a name or a pattern", path)
        # "used" means a tool; a command counts as one but where AgentV keeps them apart.
        matchers.append(Matcher(found.pattern, found.type or "tool", found.least, found.most))
    return StepCount(matchers, flag(config, "inverse", False), scope.all, scope.compat)


def _args_match(config: Config, scope: _Scope, explicit: bool) -> Rule:
    value: Any = config.get("value")
    if not is_object(value):
        raise ConfigError("tool-args-match needs {name | pattern, args}", ("value",))
    item: Mapping[str, Any] = value
    args = item.get("args", item.get("arguments", MISSING))
    if args is MISSING:
        raise ConfigError("tool-args-match needs args", ("value",), ("args", "arguments"))
    mode = item.get("mode", "partial")
    if mode not in ("partial", "exact"):
        raise ConfigError(f"tool-args-match knows no mode {mode!r}", ("value", "mode"), ("partial", "exact"))
    found = matcher_of(item, ("value",))
    if found.pattern == "*" and "name" not in item and "pattern" not in item:
        raise ConfigError("tool-args-match needs a name or a pattern", ("value",))
    defaults: Any = item.get("defaults", {})
    if not is_object(defaults):
        raise ConfigError("defaults is an object", ("value", "defaults"))
    spec = ArgsSpec(args, mode == "exact", tuple(texts(item, "ignore")), dict(defaults))
    return ArgsCheck(Matcher(found.pattern, found.type), spec, flag(config, "inverse", False), scope.all, scope.compat)


def _tool_sequence(config: Config, scope: _Scope, explicit: bool) -> Rule:
    value: Any = config.get("value")
    mode = "in_order"
    path: tuple[str | int, ...] = ("value",)
    if is_object(value):
        item: Mapping[str, Any] = value
        value, mode, path = item.get("steps"), item.get("mode", "in_order"), ("value", "steps")
    if mode not in ("in_order", "exact"):
        raise ConfigError(f"tool-sequence knows no mode {mode!r}", ("value", "mode"), ("in_order", "exact"))
    if not is_list(value) or not value:
        raise ConfigError("tool-sequence needs a list of steps", path)
    items: list[Any] = value
    steps = [matcher_of(one, (*path, i)) for i, one in enumerate(items)]
    return ToolSequence(steps, mode == "exact", flag(config, "inverse", False), scope.all, scope.compat)


def _step_count(config: Config, scope: _Scope, explicit: bool) -> Rule:
    value: Any = config.get("value")
    if not is_object(value) or ("min" not in value and "max" not in value):
        raise ConfigError("step-count needs min or max", ("value",), ("min", "max"))
    found = matcher_of(value, ("value",))
    inverse = flag(config, "inverse", False)
    return StepCount([found], inverse, scope.all, scope.compat, "trajectory:step-count")


METRICS = (
    "max_tool_calls",
    "max_llm_calls",
    "max_tokens",
    "max_cost_usd",
    "max_duration_ms",
    "target_exploration_ratio",
    "max_turns",
    "max_first_edit_turn",
)


def _metrics(config: Config, scope: _Scope, explicit: bool) -> Rule:
    numbers = ((name, number(config, name, 0.0)) for name in METRICS)
    limits = {name: most for name, most in numbers if most is not None}
    if not limits:
        raise ConfigError("execution-metrics needs a limit", (), METRICS)
    tolerance = number(config, "exploration_tolerance", 0.0)
    return Budgets(limits, True, 0.2 if tolerance is None else tolerance, scope.all, scope.compat)


def _budget(limit: str, *keys: str) -> "Maker":
    def make(config: Config, scope: _Scope, explicit: bool) -> Rule:
        for key in keys:
            most = number(config, key, 0.0)
            if most is not None:
                return Budgets({limit: most}, False, all_streams=scope.all, compat=scope.compat)
        raise ConfigError(f"{config['type']} needs {keys[0]}", (), keys)

    return make


def _token_usage(config: Config, scope: _Scope, explicit: bool) -> Rule:
    names = ("max_total", "max_input", "max_output")
    numbers = ((name, number(config, name, 0.0)) for name in names)
    limits = {name: most for name, most in numbers if most is not None}
    if not limits:
        raise ConfigError("token-usage needs a limit", (), names)
    return Budgets(limits, False, all_streams=scope.all, compat=scope.compat)


def _forbid(config: Config, scope: _Scope, explicit: bool) -> Rule:
    forms = texts(config, "calls", "value", "tools")
    if not forms:
        raise ConfigError("forbid needs a list of calls, such as Bash(rm *)", (), ("calls",))
    return Forbid(forms, scope.all_unless_told)


def _watched(config: Config, scope: _Scope, explicit: bool) -> Rule:
    used, unused = texts(config, "used", "value"), texts(config, "not_used", "unused")
    if not used and not unused:
        raise ConfigError("watched-commands needs used or not_used", (), ("used", "not_used"))
    return WatchedCommands(used, unused, scope.all_unless_told)


def _repeats(config: Config, scope: _Scope, explicit: bool) -> Rule:
    most = integer(config, "max", 1)
    most = integer(config, "value", 1) if most is None else most
    if most is None:
        raise ConfigError("max-repeats needs max", (), ("max",))
    window = integer(config, "window", 2)
    if window is not None and window > 10_000:
        raise ConfigError("window is at most 10000", ("window",))
    return MaxRepeats(most, 100 if window is None else window, texts(config, "tools"), scope.all)


def _answer(config: Config, scope: _Scope, explicit: bool) -> Rule:
    kind = str(config["type"])
    values = texts(config, "value") if kind != "is-json" else []
    if not values and kind != "is-json":
        raise ConfigError(f"{kind} needs value", (), ("value",))
    flags = config.get("flags", "")
    return Answer(kind, values, flags if isinstance(flags, str) else "")


def _composite(config: Config, scope: _Scope, explicit: bool) -> Rule | Skipped:
    items: Any = config.get("assertions", config.get("evaluators"))
    key = "assertions" if "assertions" in config else "evaluators"
    if not is_list(items) or not items:
        raise ConfigError("composite needs assertions", (), ("assertions",))
    configs: list[Any] = items
    members: list[Member] = []
    for i, item in enumerate(configs):
        try:
            members.append(build(item, scope.context))
        except ConfigError as error:
            raise ConfigError(error.message, (key, i, *error.path), error.known) from error
    aggregator: Any = config.get("aggregator", {"type": "weighted_average"})
    kind = aggregator.get("type") if is_object(aggregator) else aggregator
    if kind not in AGGREGATORS:
        return Skipped(Terms("", ""), f"its aggregator {kind} needs a model or a script")
    if all(isinstance(member, Skipped) for member in members):
        return Skipped(Terms("", ""), "all its members are skipped")
    share, weights = 1.0, [m.terms.weight for m in members]
    if is_object(aggregator):
        table: Any = aggregator.get("weights")
        if is_object(table):
            weights = [
                number(table, m.terms.name, 0.0) or 0.0 if m.terms.name in table else m.terms.weight for m in members
            ]
        if kind == "threshold":
            given = number(aggregator, "threshold", 0.0, 1.0)
            share = PASS if given is None else given
    return Composite(members, weights, str(kind), share)


Maker: TypeAlias = Callable[[Config, _Scope, bool], Rule | Skipped]

MAKERS: dict[str, Maker] = {
    "tool-trajectory": _tool_trajectory,
    "expected-messages": _expected_messages,
    "expected-tool-calls": _expected_messages,
    "skill-trigger": _skill_trigger,
    "skill-used": _skill_used,
    "not-skill-used": _skill_used,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-args-match": _args_match,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:step-count": _step_count,
    "execution-metrics": _metrics,
    "latency": _budget("max_duration_ms", "threshold", "max_duration_ms"),
    "cost": _budget("max_cost_usd", "budget", "max_cost_usd", "threshold"),
    "token-usage": _token_usage,
    "max-turns": _budget("max_turns", "max", "value", "max_turns"),
    "first-edit-turn": _budget("max_first_edit_turn", "max", "value"),
    "forbid": _forbid,
    "watched-commands": _watched,
    "max-repeats": _repeats,
    "composite": _composite,
    **dict.fromkeys(KINDS, _answer),
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

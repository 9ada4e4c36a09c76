"""Builds the rule of each type of evaluator: configuration in, rule out. One function for one type or several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentv_stages.trajectory.answer import Answer
from agentv_stages.trajectory.arguments import MISSING
from agentv_stages.trajectory.budgets import Budgets
from agentv_stages.trajectory.call_form import CallForm
from agentv_stages.trajectory.calls import Step
from agentv_stages.trajectory.case import Skipped
from agentv_stages.trajectory.config import (
    KIND_NAMES,
    MOST,
    Config,
    ConfigError,
    args_match_of,
    ending_of,
    flag,
    integer,
    known_fields,
    matcher_of,
    number,
    spelled,
    steps_of,
    texts,
)
from agentv_stages.trajectory.endings import ANYHOW, FIELDS
from agentv_stages.trajectory.evaluator import Rule
from agentv_stages.trajectory.exact import Exact
from agentv_stages.trajectory.in_order import InOrder, InOrderCompat
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.limits import Forbid, Forbidden, MaxRepeats, WatchedCommands
from agentv_stages.trajectory.minimums import Least, Minimums
from agentv_stages.trajectory.path_steps import ArgsCheck, ArgsSpec, Matcher, StepCount, ToolSequence
from agentv_stages.trajectory.sets import Subset, Superset
from agentv_stages.trajectory.skills import SkillTrigger, SkillUsed, skill_counts
from agentv_stages.trajectory.stuck import Cycles, NoProgress, RepeatedFailures

TRAJECTORY_MODES = ("any_order", "in_order", "exact", "superset", "subset")
EXPECTED_MODES = ("exact", "in_order")


@dataclass(frozen=True, slots=True)
class Context:
    """The settings that an evaluator inherits from spec and case: the threshold that is set (None: none), `compat`,
    whether all streams count, and the tool calls of the case's expected messages.

    `of_spec`: whether the spec sets the threshold. One of the command line does not make an `exact` less strict.
    """

    threshold: float | None = None
    compat: bool = False
    all_streams: bool | None = None
    expected_calls: tuple[Mapping[str, Any], ...] = ()
    of_spec: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """The settings of one evaluator: whether all streams count (None: not set), `compat`, the score to reach (`goal`),
    whether the spec sets that (`explicit`), and its `Context`."""

    everywhere: bool | None
    compat: bool
    goal: float
    explicit: bool
    context: Context

    @property
    def all(self) -> bool:
        return self.everywhere is True

    @property
    def all_unless_told(self) -> bool:
        return self.everywhere is not False


Maker: TypeAlias = Callable[[Config, Scope], Rule | Skipped]
"""Raises: ConfigError, ValueError."""


def tool_trajectory(config: Config, scope: Scope) -> Rule:
    mode = config.get("mode")
    if mode is None:
        raise ConfigError(f"tool-trajectory needs a mode: {', '.join(TRAJECTORY_MODES)}")
    if mode not in TRAJECTORY_MODES:
        raise ConfigError(f"tool-trajectory knows no mode {mode!r}", ("mode",), TRAJECTORY_MODES)
    steps = steps_of(config, scope.compat, scope.all)
    if mode == "any_order":
        return Minimums(_minimums(config, steps, scope.compat), scope.all, scope.compat)
    if mode == "exact":
        return Exact(steps, scope.all, not (scope.explicit or scope.compat), scope.compat)
    if mode == "in_order":
        return InOrderCompat(steps, scope.all) if scope.compat else InOrder(steps, scope.all)
    if mode == "superset":
        return Superset(steps, scope.all, scope.compat)
    return Subset(steps, scope.all, scope.compat, scope.goal)


MINIMUM = ("min", "stream", *FIELDS)


def _minimums(config: Config, steps: Sequence[Step], compat: bool) -> dict[str, Least]:
    value: Any = config.get("minimums")
    if value is None:
        found: dict[str, Least] = {}
        # AgentV uses only `minimums`; a list of steps in any order says how often each must occur.
        for step in () if compat else steps:
            name = step.tool if step.tool is not None else f"kind:{step.kind}"
            number = found[step.title].number if step.title in found else 0
            found[step.title] = Least(name, number + 1, step.ending, step.stream)
        return found
    if not is_object(value):
        raise ConfigError("minimums maps tools to numbers", ("minimums",))
    found = {}
    for key, wanted in value.items():
        name, path = str(key), ("minimums", str(key))
        item: Mapping[str, Any] = wanted if is_object(wanted) else {"min": wanted}
        known_fields(item, path, MINIMUM)
        least = spelled(item.get("min", 1))
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= MOST:
            raise ConfigError(f"the minimum of {name} must be a number from 0", path)
        if name.startswith("kind:") and name[5:] not in KIND_NAMES:
            raise ConfigError(f"no kind {name[5:]!r}", path, KIND_NAMES, name[5:])
        ending, stream = ending_of(item, path, compat)
        title = name + (f"@{stream}" if stream is not None else "") + ending.title
        found[title] = Least(name, float(least), ending, stream)
    return found


def expected_messages(config: Config, scope: Scope) -> Rule:
    steps: list[Step] = []
    if config.get("mode") not in (None, *EXPECTED_MODES):
        raise ConfigError(f"{config['type']} knows no mode {config['mode']!r}", ("mode",), EXPECTED_MODES)
    usual = config.get("args_match")
    mode = "exact" if usual is None else args_match_of(usual, ("args_match",))
    for call in scope.context.expected_calls:
        arguments = spelled(call["input"] if "input" in call else call.get("args", MISSING))
        steps.append(Step(str(call.get("tool", "")), None, arguments, mode, None, scope.compat))
    if steps and config.get("mode") == "in_order" and not scope.compat:
        return InOrder(steps, scope.all)
    return Exact(steps, scope.all, False, scope.compat, True)


def skill_trigger(config: Config, scope: Scope) -> Rule:
    skill = config.get("skill", config.get("value"))
    if not isinstance(skill, str) or not skill:
        raise ConfigError("skill-trigger needs the name of a skill", ("skill",) if "skill" in config else ())
    outputs = flag(config, "outputs", True)
    return SkillTrigger(skill, flag(config, "should_trigger", True), scope.all, scope.compat, outputs)


def skill_used(config: Config, scope: Scope) -> Rule:
    inverse = (str(config["type"]) == "not-skill-used") != flag(config, "inverse", False)
    value: Any = config.get("value", config.get("skill"))
    if is_object(value):
        path = ("value",) if config.get("value") is not None else ("skill",)
        known_fields(value, path, ("name", "pattern", "min", "max"))
        for key in ("name", "pattern"):
            if value.get(key) is not None and (not isinstance(value[key], str) or not value[key]):
                raise ConfigError(f"{key} must be a text", (*path, key))
        value = {**value, **{key: integer(value, key, path=path) for key in ("min", "max") if key in value}}
    wanted = skill_counts(value)
    if inverse and is_object(value):
        if "min" in value or value.get("max", 0) != 0:
            raise ConfigError("not-skill-used takes no bounds but max: 0", ("value",))
    return SkillUsed(wanted, inverse, scope.all, scope.compat)


def tool_used(config: Config, scope: Scope) -> Rule:
    value: Any = config.get("value")
    items: list[Any] = value if is_list(value) else [value]
    if not items:
        raise ConfigError("tool-used needs a name", ("value",))
    matchers: list[Matcher] = []
    for i, item in enumerate(items):
        path: tuple[str | int, ...] = ("value", i) if is_list(value) else ("value",)
        found = matcher_of(item, path)
        if is_object(item) and not any(key in item for key in ("name", "pattern", "tool")):
            raise ConfigError("tool-used needs a name or a pattern", path)
        # "used" means a tool; a command counts as one, except in `compat`, because AgentV separates them.
        matchers.append(Matcher(found.pattern, found.type or "tool", found.least, found.most))
    return StepCount(matchers, flag(config, "inverse", False), scope.all, scope.compat)


def args_match(config: Config, scope: Scope) -> Rule:
    value: Any = config.get("value")
    if not is_object(value):
        raise ConfigError("tool-args-match needs {name | pattern, args}", ("value",))
    item: Mapping[str, Any] = value
    args = spelled(item.get("args", item.get("arguments", MISSING)))
    if args is MISSING:
        raise ConfigError("tool-args-match needs args", ("value",), ("args", "arguments"))
    mode = item.get("mode", "partial")
    if mode not in ("partial", "exact"):
        raise ConfigError(f"tool-args-match knows no mode {mode!r}", ("value", "mode"), ("partial", "exact"))
    found = matcher_of(item, ("value",), ("args", "arguments", "mode", "ignore", "defaults"))
    if not any(key in item for key in ("name", "pattern", "tool")):
        raise ConfigError("tool-args-match needs a name or a pattern", ("value",))
    defaults: Any = spelled(item.get("defaults", {}))
    if not is_object(defaults):
        raise ConfigError("defaults must be an object", ("value", "defaults"))
    spec = ArgsSpec(args, mode == "exact", tuple(texts(item, "ignore")), dict(defaults))
    return ArgsCheck(Matcher(found.pattern, found.type), spec, flag(config, "inverse", False), scope.all, scope.compat)


def tool_sequence(config: Config, scope: Scope) -> Rule:
    value: Any = config.get("value")
    mode = "in_order"
    path: tuple[str | int, ...] = ("value",)
    if is_object(value):
        item: Mapping[str, Any] = value
        known_fields(item, path, ("steps", "mode"))
        value, mode, path = item.get("steps"), item.get("mode", "in_order"), ("value", "steps")
    if mode not in ("in_order", "exact"):
        raise ConfigError(f"tool-sequence knows no mode {mode!r}", ("value", "mode"), ("in_order", "exact"))
    if not is_list(value) or not value:
        raise ConfigError("tool-sequence needs a list of steps", path)
    items: list[Any] = value
    steps = [matcher_of(entry, (*path, i)) for i, entry in enumerate(items)]
    return ToolSequence(steps, mode == "exact", flag(config, "inverse", False), scope.all, scope.compat)


def step_count(config: Config, scope: Scope) -> Rule:
    value: Any = config.get("value")
    if not is_object(value) or ("min" not in value and "max" not in value):
        raise ConfigError("step-count needs min or max", ("value",), ("min", "max"))
    found = matcher_of(value, ("value",))
    inverse = flag(config, "inverse", False)
    return StepCount([found], inverse, scope.all, scope.compat)


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


def metrics(config: Config, scope: Scope) -> Rule:
    numbers = ((name, number(config, name, 0.0)) for name in METRICS)
    limits = {name: most for name, most in numbers if most is not None}
    if not limits:
        raise ConfigError("execution-metrics needs a limit", (), METRICS)
    tolerance = number(config, "exploration_tolerance", 0.0)
    return Budgets(limits, True, 0.2 if tolerance is None else tolerance, scope.all, scope.compat)


def budget(limit: str, *keys: str) -> Maker:
    def make(config: Config, scope: Scope) -> Rule:
        for key in keys:
            most = number(config, key, 0.0)
            if most is not None:
                return Budgets({limit: most}, False, all_streams=scope.all, compat=scope.compat)
        raise ConfigError(f"{config['type']} needs {keys[0]}", (), keys)

    return make


def token_usage(config: Config, scope: Scope) -> Rule:
    names = ("max_total", "max_input", "max_output")
    numbers = ((name, number(config, name, 0.0)) for name in names)
    limits = {name: most for name, most in numbers if most is not None}
    if not limits:
        raise ConfigError("token-usage needs a limit", (), names)
    return Budgets(limits, False, all_streams=scope.all, compat=scope.compat)


FORBIDDEN = ("call", "stream", *FIELDS)


def forbid(config: Config, scope: Scope) -> Rule:
    key = next((name for name in ("calls", "value", "tools") if config.get(name) is not None), "calls")
    value: Any = config.get(key)
    items: list[Any] = value if is_list(value) else [] if value is None else [value]
    if not items:
        raise ConfigError("forbid needs a list of calls, such as Bash(rm *)", (), ("calls",))
    found: list[Forbidden] = []
    for i, item in enumerate(items):
        at = (key, i) if is_list(value) else (key,)
        if is_object(item):
            known_fields(item, at, FORBIDDEN)
        form: Any = item.get("call") if is_object(item) else item
        if not isinstance(form, str) or not form:
            raise ConfigError(f"{key} holds texts" if not is_object(item) else "a forbidden call needs call", at)
        kind = form.strip().removeprefix("kind:").partition("(")[0]
        if form.strip().startswith("kind:") and kind not in KIND_NAMES:
            raise ConfigError(f"no kind {kind!r}", at, KIND_NAMES, kind)
        ending, stream = ending_of(item, at, False) if is_object(item) else (ANYHOW, None)
        try:
            found.append(Forbidden(CallForm(form), ending, stream))
        except ValueError as error:
            raise ConfigError(str(error), at) from error
    return Forbid(found, scope.all_unless_told)


def watched(config: Config, scope: Scope) -> Rule:
    used, unused = texts(config, "used", "value"), texts(config, "not_used", "unused")
    if not used and not unused:
        raise ConfigError("watched-commands needs used or not_used", (), ("used", "not_used"))
    return WatchedCommands(used, unused, scope.all_unless_told)


def repeats(config: Config, scope: Scope) -> Rule:
    most = integer(config, "max", 1)
    most = integer(config, "value", 1) if most is None else most
    if most is None:
        raise ConfigError("max-repeats needs max", (), ("max",))
    window = integer(config, "window", 2)
    if window is not None and window > 10_000:
        raise ConfigError("window is at most 10000", ("window",))
    return MaxRepeats(most, 100 if window is None else window, texts(config, "tools"), scope.all)


def _most(config: Config, usual: int) -> int:
    most = integer(config, "max", 0)
    most = integer(config, "value", 0) if most is None else most
    return usual if most is None else most


def cycles(config: Config, scope: Scope) -> Rule:
    longest = integer(config, "longest", 2)
    if longest is not None and longest > 100:
        raise ConfigError("longest is at most 100", ("longest",))
    most = integer(config, "max", 1)
    most = integer(config, "value", 1) if most is None else most
    tools = texts(config, "tools")
    return Cycles(2 if most is None else most, 5 if longest is None else longest, tools, scope.all)


def repeated_failures(config: Config, scope: Scope) -> Rule:
    return RepeatedFailures(_most(config, 2), texts(config, "tools"), scope.all)


def no_progress(config: Config, scope: Scope) -> Rule:
    return NoProgress(_most(config, 20), texts(config, "tools"), scope.all)


ONE_TEXT = frozenset(("equals", "starts-with", "ends-with", "regex"))
JAVASCRIPT_FLAGS = "dgimsuvy"


def answer(config: Config, scope: Scope) -> Rule:
    kind = str(config["type"])
    values = texts(config, "value", empty=True) if kind != "is-json" else []
    if not values and kind != "is-json":
        raise ConfigError(f"{kind} needs value", (), ("value",))
    if len(values) > 1 and kind in ONE_TEXT:
        raise ConfigError(f"{kind} takes one text, not a list", ("value",))
    flags = config.get("flags", "")
    if not isinstance(flags, str) or set(flags) - set(JAVASCRIPT_FLAGS):
        raise ConfigError(f"flags are letters of {JAVASCRIPT_FLAGS!r}, as in JavaScript", ("flags",))
    return Answer(kind, values, flags, flag(config, "negate", False), scope.compat)

"""Things that a spec may contain but hardly intends. In: an evaluator's configuration and its case. Out: warnings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentv_stages.trajectory import Context
from agentv_stages.trajectory.build import context_within, is_compat
from agentv_stages.trajectory.config import spelled
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.spec_tools import misnamed

REPEATED_REPEAT = re.compile(r"\((?:\\.|[^()\\])*(?:[+*]|\{\d+,\})\??\)(?:[+*]|\{\d+,\})")
"""Finds `(a+)+`: a group that ends with a repetition, and is itself repeated."""

NO_WEIGHT = "all weights are 0, so the score is 0"

STEP_DETAILS = ("args", "input", "args_match", "max_duration_ms")


def doubts(config: Mapping[str, Any], context: Context, left_out: int, own: frozenset[str] = frozenset()) -> list[str]:
    """The warnings. `left_out` is the number of the case's expected tool calls that name no tool, `own` the tools
    of the spec's own agent."""
    kind = config["type"]
    if kind == "composite":
        within = context_within(config, context)
        found = [text for member in config["assertions"] for text in doubts(member, within, left_out, own)]
        return found + [f"composite: {NO_WEIGHT}"] * _is_weightless(config)
    title = f"tool-trajectory {config.get('mode')}" if kind == "tool-trajectory" else kind
    found = [*_of_every(config), *_of_its_own(config, context, left_out), *misnamed(config, context, own)]
    return [f"{title}: {text}" for text in found]


def _is_weightless(config: Mapping[str, Any]) -> bool:
    aggregator: Any = config.get("aggregator")
    kind = aggregator.get("type", "weighted_average") if is_object(aggregator) else aggregator or "weighted_average"
    table: Any = aggregator.get("weights") if is_object(aggregator) else None
    members: list[Any] = config["assertions"]
    own = [m.get("weight", 1) if table is None else table.get(m.get("name", m["type"]), 1) for m in members]
    return kind == "weighted_average" and weightless([spelled(weight) for weight in own])


CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value) or is_list(value):
        for member in value.values() if is_object(value) else value:
            yield from _texts(member)


def _of_every(config: Mapping[str, Any]) -> Iterator[str]:
    """The doubtful parts of an evaluator of any type."""
    for text in dict.fromkeys(_texts(config)):
        if found := CONTROL.search(text):
            yield (
                f"a text contains the control character U+{ord(found[0]):04X}, as \\b in double quotes is one; for a "
                "pattern write single quotes, or two backslashes"
            )


def weightless(weights: Sequence[float]) -> bool:
    """Whether nothing counts in a mean, which is then 0."""
    return bool(weights) and not any(weights)


def _of_its_own(config: Mapping[str, Any], context: Context, left_out: int) -> Iterator[str]:
    """The doubtful parts of an evaluator of this type."""
    kind, value = config["type"], config.get("value")
    if kind == "tool-trajectory":
        yield from _of_trajectory(config, context)
    elif kind in ("expected-messages", "expected-tool-calls"):
        yield from _of_expected(context, left_out, is_compat(config, context))
    elif kind == "regex" and isinstance(value, str) and REPEATED_REPEAT.search(value):
        yield "it repeats what is repeated already; on some answers that takes hours"


def _of_trajectory(config: Mapping[str, Any], context: Context) -> Iterator[str]:
    mode, steps, minimums = config.get("mode"), config.get("expected"), config.get("minimums")
    if mode != "any_order":
        yield from _of_fields(config, steps if is_list(steps) else [])
        if minimums:
            yield "minimums are read in the mode any_order only"
        elif not steps and (mode in ("in_order", "superset") or (mode == "exact" and is_compat(config, context))):
            yield "it expects no call, so it always passes"
        return
    if steps and (minimums is not None or is_compat(config, context)):
        yield "expected is not read" + (" next to minimums" if minimums is not None else " with compat: agentv")
        steps = None
    if not minimums and not steps:
        yield "it expects no call, so it always passes"
    several: list[Any] = steps if is_list(steps) else []
    details = config, *(step for step in several if is_object(step))
    if several and any(name in detail for detail in details for name in STEP_DETAILS):
        yield "it counts calls by name, whatever their arguments and durations; the mode superset looks at them"


def _of_fields(config: Mapping[str, Any], steps: list[Any]) -> Iterator[str]:
    """Fields of `args_match` that no `args` has: they are not compared."""
    details = [step for step in steps if is_object(step)]
    lists = [(step.get("args_match"), [step]) for step in details] + [(config.get("args_match"), details)]
    for fields, among in lists:
        for field in fields if is_list(fields) else ():
            arguments = [step.get("args", step.get("input")) for step in among]
            if any(is_object(args) for args in arguments) and not any(_has(args, str(field)) for args in arguments):
                yield f"args_match names {field!r}, which args does not have: it is not compared"


def _has(args: Any, field: str) -> bool:
    for part in field.split("."):
        if not is_object(args) or part not in args:
            return False
        args = args[part]
    return True


def _of_expected(context: Context, left_out: int, compat: bool) -> Iterator[str]:
    if left_out:
        yield f"{left_out} of the case's expected tool calls are left out, because they have no tool"
    if not context.expected_calls:
        yield "the case expects no tool call, so " + ("it always passes" if compat else "any call fails it")

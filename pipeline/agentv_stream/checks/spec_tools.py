"""Tool names in a spec that hardly any call has: `edit` for `Edit`, `Wirte`, `fetchPage`.

A rule with such a name checks nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from agentv_stages.model.tools import CANONICAL
from agentv_stages.providers import all_providers
from agentv_stages.trajectory import Context
from agentv_stages.trajectory.call_form import FORM, SHELL_TOOLS
from agentv_stages.trajectory.json_values import is_list, is_object

LIKENESS = 0.8
"""Of two names, as `difflib` measures it: that of `Wirte` and `Write`."""

_EVERY_AGENTS = {name.lower(): name for name in CANONICAL}


def misnamed(config: Mapping[str, Any], context: Context, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """A text about each name in an evaluator's configuration that is nearly a canonical name; `own` are the names that
    a spec has for tools of its own agent."""
    for name in dict.fromkeys(_names(config, context)):
        near = None if name in own or _is_pattern(name) else nearly_tool(name)
        if near is not None:
            yield f"{name!r} is no tool's name for every agent; did you mean {near!r}?"


def own_tools(configs: Iterable[tuple[Mapping[str, Any], Context]]) -> frozenset[str]:
    """The tools of a spec's own agent: all its names that are not canonical, if more of them are like no known tool
    than are native names of known agents (`webSearch` beside `fetchPage` and `summarize`). Else they are slips."""
    names = {name for config, context in configs for name in _deep_names(config, context) if not _is_pattern(name)}
    names -= CANONICAL.keys()
    known = {name for name in names if is_known(name)}
    strange = {name for name in names - known if nearly_tool(name) is None}
    return frozenset(names if len(strange) > len(known) else strange)


def nearly_tool(name: str) -> str | None:
    """The canonical name that another name is nearly; None for a canonical name, and for a name that is like none."""
    if name in CANONICAL:
        return None
    plain = name.lower().replace("_", "").replace("-", "")
    near = get_close_matches(plain, _EVERY_AGENTS, 1, LIKENESS)
    if not near and len(plain) > 3 and not is_known(name):
        # `Raed`, `Reed`: too short for difflib
        near = [known for known in _EVERY_AGENTS if _one_slip(plain, known)][:1]
    return _EVERY_AGENTS[near[0]] if near else None


def _one_slip(first: str, other: str) -> bool:
    """Whether two names differ by one letter, or by two that changed places."""
    if len(first) == len(other):
        different = [i for i, (a, b) in enumerate(zip(first, other, strict=True)) if a != b]
        swapped = len(different) == 2 and different[1] == different[0] + 1
        return len(different) == 1 or (swapped and sorted(first) == sorted(other))
    short, long = sorted((first, other), key=len)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@cache
def is_known(name: str) -> bool:
    """Whether an agent has a tool of this name."""
    return name in CANONICAL or any(provider.tools.find(name) is not None for provider in all_providers())


def _is_pattern(name: str) -> bool:
    return re.search(r"[*?:]|^mcp__", name) is not None


def _deep_names(config: Mapping[str, Any], context: Context) -> Iterator[str]:
    if config["type"] == "composite":
        for member in config["assertions"]:
            yield from _deep_names(member, context)
    yield from _names(config, context)


def _names(config: Mapping[str, Any], context: Context) -> Iterator[str]:
    kind, value = config["type"], config.get("value")
    if kind == "tool-trajectory":
        minimums: Any = config.get("minimums")
        yield from map(str, minimums if is_object(minimums) else ())
        yield from _texts(config.get("expected"), "tool")
    elif kind in ("expected-messages", "expected-tool-calls"):
        yield from _texts(list(context.expected_calls), "tool")
    elif kind == "forbid":
        for form in _texts(next((config[key] for key in ("calls", "value", "tools") if config.get(key)), None), "call"):
            found = FORM.fullmatch(form)
            if found is not None and found[1] not in SHELL_TOOLS:
                yield found[1]
    elif kind in ("max-repeats", "cycles", "repeated-failures", "no-progress"):
        yield from _texts(config.get("tools"))
    elif kind.startswith("trajectory:"):
        steps: Any = value.get("steps", value) if is_object(value) else value
        yield from _texts(steps, "name", "pattern", "tool")


def _texts(value: Any, *keys: str) -> Iterator[str]:
    """The texts of a list, or of one value; of a step, the first of its members `keys` that there is."""
    items: list[Any] = value if is_list(value) else [value]
    for item in items:
        if is_object(item) and item.get("type", "tool") == "tool":
            item = next((item[key] for key in keys if key in item), None)
        if isinstance(item, str):
            yield item

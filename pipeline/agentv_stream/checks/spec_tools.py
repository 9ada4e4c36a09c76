"""Tool names in a spec that hardly any call has: `edit` for `Edit`, `Wirte`. A rule with such a name checks nothing."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from agentv_stages.model.tools import CANONICAL
from agentv_stages.trajectory import Context
from agentv_stages.trajectory.call_form import FORM, SHELL_TOOLS
from agentv_stages.trajectory.json_values import is_list, is_object

LIKENESS = 0.8
"""Of two names, as `difflib` measures it: that of `Wirte` and `Write`."""

_EVERY_AGENTS = {name.lower(): name for name in CANONICAL}


def misnamed(config: Mapping[str, Any], context: Context) -> Iterator[str]:
    """What to say of each name in an evaluator's configuration that is nearly a canonical one."""
    for name in dict.fromkeys(_names(config, context)):
        if name in CANONICAL or re.search(r"[*?:]|^mcp__", name):
            continue
        near = get_close_matches(name.lower().replace("_", "").replace("-", ""), _EVERY_AGENTS, 1, LIKENESS)
        if near:
            yield f"{name!r} is no tool's name for every agent; did you mean {_EVERY_AGENTS[near[0]]!r}?"


def _names(config: Mapping[str, Any], context: Context) -> Iterator[str]:
    kind, value = config["type"], config.get("value")
    if kind == "tool-trajectory":
        yield from map(str, config.get("minimums") or ())
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

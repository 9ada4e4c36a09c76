"""Reads the values of an evaluator's configuration, and reports where a bad one is."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import structs

from agentv_stages.trajectory.arguments import MISSING, MODES, ArgsMatch
from agentv_stages.trajectory.calls import Step
from agentv_stages.trajectory.endings import FIELDS, OUTCOMES, Ending
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.path_steps import STEP_TYPES, Matcher

Config: TypeAlias = Mapping[str, Any]

KIND_NAMES = ("read", "write", "execute", "search", "plan", "ask", "other")


MOST = 1e300
"""The largest number of a specification; an integer beyond floats can neither be compared with one nor be shown."""

STEP = frozenset(
    ("tool", "kind", "args", "input", "args_match", "max_duration_ms", "output", "description", "stream", *FIELDS)
)
"""The fields of a step of `expected`."""

PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)


class Filled(str):
    """A text that a variable stood for, and nothing else: it can spell a number or a truth value."""


def spelled(value: Any) -> Any:
    """The value itself; of a variable's text the number or the truth value that it spells, at any depth."""
    if isinstance(value, Filled):
        if value in ("true", "false"):
            return value == "true"
        return (float(value) if "." in value else int(value)) if PLAIN_NUMBER.fullmatch(value) else str(value)
    if is_object(value):
        return {key: spelled(member) for key, member in value.items()}
    return [spelled(item) for item in value] if is_list(value) else value


class ConfigError(ValueError):
    """A configuration that cannot be used. `path` leads to the bad value; `known` are the valid names in place of
    `wrong`, by default the bad value itself."""

    def __init__(
        self, message: str, path: tuple[str | int, ...] = (), known: Sequence[str] = (), wrong: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.known = tuple(known)
        self.wrong = wrong

    def __str__(self) -> str:
        return f"{self.message}; there are: {', '.join(self.known)}" if self.known else self.message


def known_fields(item: Config, path: tuple[str | int, ...], names: Collection[str]) -> None:
    """Refuses unknown fields: a rule with a misspelt name must not be silently ignored."""
    for key in item:
        if key not in names and not str(key).startswith("x-"):
            raise ConfigError(f"there is no field {str(key)!r} here", (*path, key), sorted(names), str(key))


def number(
    config: Config, key: str, least: float | None = None, most: float | None = None, path: tuple[str | int, ...] = ()
) -> float | None:
    """The number under `key`, None where there is none. Raises: ConfigError, with `path` before the key."""
    at = (*path, key)
    value: Any = spelled(config.get(key))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ConfigError(f"{key} must be a number", at)
    if abs(value) > MOST:
        raise ConfigError(f"{key} must be a number up to {MOST:g}", at)
    if (least is not None and value < least) or (most is not None and value > most):
        above = f" to {most:g}" if most is not None else " on"
        raise ConfigError(f"{key} must be a number from {least:g}{above}", at)
    return value


def integer(config: Config, key: str, least: int = 0, path: tuple[str | int, ...] = ()) -> int | None:
    value = number(config, key, least, path=path)
    if value is not None and value != int(value):
        raise ConfigError(f"{key} must be a whole number", (*path, key))
    return None if value is None else int(value)


def texts(config: Config, *keys: str, empty: bool = False) -> list[str]:
    """The list of strings under the first of the keys that is present; a single string counts as a list of one.
    `empty`: whether a text may be empty."""
    for key in keys:
        value: Any = config.get(key)
        if value is None:
            continue
        items: list[Any] = value if is_list(value) else [value]
        for i, item in enumerate(items):
            if not isinstance(item, str) or not (item or empty):
                raise ConfigError(f"{key} holds texts", (key, i) if is_list(value) else (key,))
        return items
    return []


def flag(config: Config, key: str, default: bool) -> bool:
    value = spelled(config.get(key, default))
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be true or false", (key,))
    return value


def args_match_of(value: Any, path: tuple[str | int, ...]) -> ArgsMatch:
    """Reads `args_match`. Raises: ConfigError."""
    if isinstance(value, str):
        if value not in MODES:
            raise ConfigError(f"args_match knows no {value!r}", path, MODES)
        return value
    if is_list(value):
        fields: list[Any] = value
        if all(isinstance(name, str) for name in fields):
            return tuple(str(name) for name in fields)
    raise ConfigError("args_match must be a mode or a list of fields", path, MODES)


def ending_of(item: Config, path: tuple[str | int, ...], compat: bool) -> tuple[Ending, str | None]:
    """Reads `outcome`, `exit_code`, `max_ms` and `stream`. Raises: ConfigError."""
    for key in (*FIELDS, "stream"):
        if compat and key in item:
            raise ConfigError(f"AgentV has no {key}: leave out compat: agentv", (*path, key))
    outcomes: Any = item.get("outcome", [])
    for outcome in outcomes if is_list(outcomes) else [outcomes]:
        if outcome not in OUTCOMES:
            raise ConfigError(f"unknown outcome {outcome!r}", (*path, "outcome"), OUTCOMES, str(outcome))
    codes: Any = spelled(item.get("exit_code", []))
    several: list[Any] = codes if is_list(codes) else [codes]
    if any(isinstance(code, bool) or not isinstance(code, int) for code in several):
        raise ConfigError("exit_code must be a whole number, or a list of them", (*path, "exit_code"))
    stream: Any = item.get("stream")
    if stream is not None and (not isinstance(stream, str) or not stream):
        raise ConfigError("stream must be main, sub, or the name of a stream", (*path, "stream"))
    wanted: list[Any] = outcomes if is_list(outcomes) else [outcomes]
    return Ending(tuple(wanted), tuple(several), number(item, "max_ms", 0.0, path=path)), stream


def steps_of(config: Config, compat: bool, everywhere: bool = True) -> list[Step]:
    """Reads `expected` of tool-trajectory. `everywhere`: whether all streams count. Raises: ConfigError."""
    value: Any = config.get("expected")
    if value is None:
        return []
    if not is_list(value):
        raise ConfigError("expected must be a list of steps", ("expected",))
    items: list[Any] = value
    usual = config.get("args_match")
    usual_mode = "exact" if usual is None else args_match_of(usual, ("args_match",))
    steps: list[Step] = []
    for i, item in enumerate(items):
        path: tuple[str | int, ...] = ("expected", i)
        if isinstance(item, str):
            item = {"tool": item}
        if not is_object(item):
            raise ConfigError("a step is {tool: NAME, …} or {kind: KIND, …}", path)
        step: Mapping[str, Any] = item
        tool, kind = step.get("tool"), step.get("kind")
        if (tool is None) == (kind is None):
            raise ConfigError("a step has either tool or kind", path)
        known_fields(step, path, STEP)
        if tool is not None and (not isinstance(tool, str) or not tool):
            raise ConfigError("tool must be a name", (*path, "tool"))
        if kind is not None and kind not in KIND_NAMES:
            raise ConfigError(f"no kind {kind!r}", (*path, "kind"), KIND_NAMES)
        mode = step.get("args_match")
        own_mode = usual_mode if mode is None else args_match_of(mode, (*path, "args_match"))
        args = spelled(step["args"] if "args" in step else step.get("input", MISSING))
        if args is not MISSING and not isinstance(args, str | Mapping | list):
            raise ConfigError("args must be an object or the word any", (*path, "args"))
        try:
            limit = number(step, "max_duration_ms", 0.0)
        except ConfigError as error:
            raise ConfigError(error.message, (*path, *error.path)) from error
        ending, stream = ending_of(step, path, compat)
        steps.append(Step(tool, kind, args, own_mode, limit, compat, ending, stream))
    if any(step.stream is not None for step in steps):
        # The streams that steps name are also examined; the other steps stay on theirs.
        steps = [structs.replace(step, everywhere=everywhere) for step in steps]
    return steps


NAMES = ("name", "pattern", "tool")
MATCHER = (*NAMES, "type", "min", "max")


def matcher_of(value: Any, path: tuple[str | int, ...], also: Sequence[str] = ()) -> Matcher:
    """Reads a name glob or `{name | pattern, type, min, max}`, also with the fields `also`. Raises: ConfigError."""
    if isinstance(value, str) and value:
        return Matcher(value)
    if not is_object(value):
        raise ConfigError("a step must be a name or {name | pattern, type, min, max}", path)
    item: Mapping[str, Any] = value
    known_fields(item, path, (*MATCHER, *also))
    key = next((key for key in NAMES if key in item), None)
    name = None if key is None else item[key]
    kind = item.get("type")
    if kind is not None and kind not in STEP_TYPES:
        raise ConfigError(f"no type of steps {kind!r}", (*path, "type"), STEP_TYPES)
    try:
        least, most = integer(item, "min"), integer(item, "max")
    except ConfigError as error:
        raise ConfigError(error.message, (*path, *error.path)) from error
    if least is not None and most is not None and most < least:
        raise ConfigError("max is less than min", (*path, "max"))
    if key is not None and (not isinstance(name, str) or not name):
        raise ConfigError(f"{key} must be a text", (*path, key))
    lower = least if least is not None else (0 if most is not None else 1)
    return Matcher(name or "*", kind, lower, most)

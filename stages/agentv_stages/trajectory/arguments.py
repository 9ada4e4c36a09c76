"""Compares the arguments of a call with the expected ones. Plain JSON values in, yes or no out.

Source: AgentV 0.26 to 4.42, `args` and `args_match` of tool-trajectory; the newer `trajectory:tool-args-match`.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from agentv_stages.trajectory.json_values import is_list, is_object

ArgsMatch: TypeAlias = str | tuple[str, ...]
"""`exact`, `superset`, `subset`, `ignore`, `superset_deep`, or a tuple of fields with dots."""

MODES = ("exact", "superset", "subset", "ignore", "superset_deep")

MAX_DEPTH = 100


class _Missing:
    """Stands for an absent value; null is a value."""


MISSING = _Missing()


def deep_equal(left: Any, right: Any, depth: int = 0) -> bool:
    """Equality of JSON values: the order of keys does not matter, that of elements does; true is not 1, 1 is 1.0."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or (left != left and right != right)  # NaN; `isnan` takes no integer beyond floats
    if is_object(left) and is_object(right):
        a: Mapping[str, Any] = left
        b: Mapping[str, Any] = right
        return a.keys() == b.keys() and all(deep_equal(v, b[k], depth + 1) for k, v in a.items())
    if is_list(left) and is_list(right):
        xs: Sequence[Any] = left
        ys: Sequence[Any] = right
        return len(xs) == len(ys) and all(deep_equal(x, y, depth + 1) for x, y in zip(xs, ys, strict=True))
    return type(left) is type(right) and bool(left == right)


def contains(actual: Any, expected: Any, depth: int = 0) -> bool:
    """Whether `actual` contains `expected`: objects key by key, at any depth; arrays of the same length element by
    element; everything else must be equal."""
    if depth > MAX_DEPTH:
        return False
    if is_object(expected):
        wanted: Mapping[str, Any] = expected
        return is_object(actual) and all(k in actual and contains(actual[k], v, depth + 1) for k, v in wanted.items())
    if is_list(expected):
        items: Sequence[Any] = expected
        if not is_list(actual):
            return False
        have: Sequence[Any] = actual
        return len(have) == len(items) and all(contains(a, e, depth + 1) for a, e in zip(have, items, strict=True))
    return deep_equal(actual, expected)


def lookup(value: Any, path: str) -> Any:
    """The value at a dotted path (`config.query`), `MISSING` where there is none. List elements are given by index."""
    if is_object(value) and path in value:
        return value[path]
    here: Any = value
    for part in path.split("."):
        if is_object(here) and part in here:
            here = here[part]
        elif is_list(here) and part.isascii() and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        else:
            return MISSING
    return here


def args_match(expected: Any, actual: Any, mode: ArgsMatch) -> bool:
    """Whether a call's arguments fit. `expected` MISSING or `any` fits all; `actual` MISSING is a call without
    arguments, which fits only those and the mode `ignore`."""
    if expected is MISSING or expected == "any" or mode == "ignore":
        return True
    if actual is MISSING:
        return False
    if isinstance(mode, tuple):
        for name in mode:
            wanted = lookup(expected, name)
            if wanted is not MISSING and not _same(wanted, lookup(actual, name)):
                return False
        return True
    if mode == "superset_deep":
        return contains(actual, expected)
    if mode in ("superset", "subset"):
        if not is_object(expected) or not is_object(actual):
            return deep_equal(expected, actual)
        inner, outer = (expected, actual) if mode == "superset" else (actual, expected)
        small: Mapping[str, Any] = inner
        large: Mapping[str, Any] = outer
        return all(k in large and deep_equal(v, large[k]) for k, v in small.items())
    return deep_equal(expected, actual)


def _same(wanted: Any, found: Any) -> bool:
    return found is not MISSING and deep_equal(wanted, found)


def without(value: Any, ignore: Sequence[str], defaults: Mapping[str, Any], keep: Any) -> Any:
    """Drops from the top level of an object the keys that match `ignore` (globs), and those that have their default
    value and are not in `keep`."""
    if not is_object(value):
        return value
    source: Mapping[str, Any] = value
    wanted: Any = keep if is_object(keep) else {}
    return {
        k: v
        for k, v in source.items()
        if not any(k == name or fnmatchcase(k, name) for name in ignore)
        and not (k in defaults and k not in wanted and deep_equal(v, defaults[k]))
    }

"""Decoded JSON of any shape, read as objects and arrays."""

from collections.abc import Mapping
from typing import Any, cast


def as_object(value: Any) -> dict[str, Any]:
    """A decoded JSON value if it is an object; otherwise an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A decoded JSON value if it is an array; otherwise an empty one."""
    found: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return found


def items_of(value: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """The objects of a list under one of the names."""
    found = next((value[name] for name in names if isinstance(value.get(name), list)), None)
    return [as_object(item) for item in as_list(found) if isinstance(item, dict)]

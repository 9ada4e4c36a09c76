"""Type guards for decoded JSON and YAML values."""

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)

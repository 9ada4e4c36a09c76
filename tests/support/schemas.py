"""Values held against the published schemas."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol, cast

from jsonschema import Draft202012Validator

from agentv_stream.documentation.schemas import schema


class Validator(Protocol):
    """What is used of jsonschema's validators, whose stubs are typed in part only."""

    def iter_errors(self, instance: Any) -> Iterator[Any]: ...

    def is_valid(self, instance: Any) -> bool: ...


@cache
def validator(name: str) -> Validator:
    made = schema(name)
    Draft202012Validator.check_schema(made)
    return cast("Validator", Draft202012Validator(closed(made)))


def closed(made: Any) -> Any:
    """A schema in which an object with named members has no others: a new member has to be written down."""
    if isinstance(made, list):
        return [closed(inner) for inner in made]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(made, dict):
        return made
    inner: dict[str, Any] = {str(key): closed(value) for key, value in made.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - JSON
    if inner.get("type") == "object" and isinstance(inner.get("properties"), dict):
        inner.setdefault("additionalProperties", False)
    return inner


def fits(name: str, value: Any) -> None:
    errors = [f"{error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(value)]
    assert not errors, (name, errors[:3])

"""A caller's stages in workers: they go there by name, and are imported there."""

from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

from agentv_stages.session.parts import MakeStage, Parts
from agentv_stream.errors import UsageError
from agentv_stream.redaction.redaction import Redaction, redactor_of


def names_of(option: str, parts: Iterable[MakeStage]) -> tuple[str, ...]:
    """The names, `module:name`, of classes or functions that make stages.

    Raises: UsageError for a function that a worker could not import; `option` is the argument's name.
    """
    names: list[str] = []
    for part in parts:
        name = f"{getattr(part, '__module__', '')}:{getattr(part, '__qualname__', '')}"
        try:
            found = _imported(name)
        except (ImportError, AttributeError, ValueError):
            found = None
        if found is not part:
            raise UsageError(f"{option}: {part!r} cannot be imported by a worker; give a class or function of a module")
        names.append(name)
    return tuple(names)


@lru_cache(8)
def stages_of(records: tuple[str, ...], stages: tuple[str, ...], redaction: Redaction | None) -> Parts:
    """The stages with these names, and what redacts the records."""
    redactor = None if redaction is None else redactor_of(redaction)
    return Parts(tuple(map(_imported, records)), tuple(map(_imported, stages)), redactor)


def _imported(name: str) -> Any:
    module, _, names = name.partition(":")
    found: Any = import_module(module)
    for part in names.split("."):
        found = getattr(found, part)
    return found

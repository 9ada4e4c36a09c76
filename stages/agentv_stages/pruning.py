"""Takes out of decoded JSON the member that a validation error names, so that the rest can be used."""

import re
from collections.abc import Iterator
from typing import Any, cast

ANY = "..."  # how msgspec writes the key of an object that is read as a dict
_STEP = re.compile(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]")
_GOT = re.compile(r"got `(\w+)`")
_NAMES: tuple[tuple[type[Any], str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "str"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)


def prune(value: Any, message: str) -> bool:
    """Removes the member that a validation message names (`… - at `$.message.content[0].name``); False if it cannot.

    A step of the path that is no name (`[...]`) stands for every member that has the type that was refused.
    """
    path = message.rpartition("`$")[2].rstrip("`") if "`$" in message else ""
    steps = [m[1] if m[1] is not None else m[2] for m in _STEP.finditer(path)]
    if not steps:
        return False
    holders = [value]
    for step in steps[:-1]:
        holders = [inner for holder in holders for inner in _below(holder, step)]
    got = _GOT.search(message) if ANY in steps else None
    removed = [_take(holder, steps[-1], got[1] if got else None) for holder in holders]
    return any(removed)


def _below(holder: Any, step: str) -> Iterator[Any]:
    if isinstance(holder, dict):
        members = cast(dict[str, Any], holder)
        if step in members:
            yield members[step]
        elif step == ANY:
            yield from members.values()
    elif isinstance(holder, list):
        items: list[Any] = holder  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if step == ANY:
            yield from items
        elif step.isdigit() and int(step) < len(items):
            yield items[int(step)]


def _take(holder: Any, step: str, got: str | None) -> bool:
    """Removes a member, or with `...` all of them; where `got` is known, only what is of that type."""
    if isinstance(holder, dict):
        members = cast(dict[str, Any], holder)
        keys = list(members) if step == ANY else [step] if step in members else []
        keys = [key for key in keys if got is None or _name(members[key]) == got]
        for key in keys:
            del members[key]
        return bool(keys)
    if isinstance(holder, list):
        items: list[Any] = holder  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        kept = [item for i, item in enumerate(items) if not _meant(i, item, step, got)]
        removed = len(kept) < len(items)
        items[:] = kept
        return removed
    return False


def _meant(index: int, item: Any, step: str, got: str | None) -> bool:
    return (step == ANY or step == str(index)) and (got is None or _name(item) == got)


def _name(value: Any) -> str:
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "")

"""Applies the mutations of VS Code's chat log to decoded JSON."""

from typing import Any

SET, APPEND, DELETE = 1, 2, 3


def mutate(target: Any, path: list[str | int], kind: int, value: Any, start: int | None) -> bool:
    """Sets, cuts to `start` and appends, or deletes at a path. False if the path does not exist."""
    for step in path[:-1]:
        if not _holds(target, step):
            return False
        target = target[step]
    step = path[-1]
    if kind == APPEND:
        return _append(target, step, value, start)
    if _holds(target, step):
        if kind == DELETE:
            del target[step]
        else:
            target[step] = value
        return True
    if isinstance(target, dict):
        if kind == SET:
            target[step] = value
        return True
    if isinstance(target, list) and kind == SET and step == len(target):  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        target.append(value)  # pyright: ignore[reportUnknownMemberType] - decoded JSON
        return True
    return False


def _holds(target: Any, step: str | int) -> bool:
    if isinstance(target, dict):
        return step in target
    return isinstance(target, list) and isinstance(step, int) and 0 <= step < len(target)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON


def _append(target: Any, step: str | int, value: Any, start: int | None) -> bool:
    if not _holds(target, step):
        if not isinstance(target, dict):
            return False
        target[step] = []
    items: Any = target[step]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not isinstance(items, list):
        return False
    if start is not None:
        del items[max(start, 0) :]  # pyright: ignore[reportUnknownMemberType] - decoded JSON
    items.extend(value if isinstance(value, list) else [])  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
    return True

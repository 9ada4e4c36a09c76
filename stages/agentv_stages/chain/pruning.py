"""Removes from decoded JSON the member that a validation error names, so that the rest can be used."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import decode_json, to_raw

T = TypeVar("T")
REFUSED = (msgspec.MsgspecError, UnicodeDecodeError)
_elements = msgspec.json.Decoder(list[Raw]).decode
MOST = 64
"""Members that are removed from one element of a document, at most."""

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
_KNOWN = frozenset(name for _, name in _NAMES)


def read_pruned(raw: Raw | bytes, decode: Callable[[Raw | bytes], T]) -> tuple[T | None, str | None]:
    """Decodes an element of a document without the members that do not fit; also returns the reason.

    The first is None where the element is not an object, or where too many members do not fit.

    Raises: RecursionError where it is nested too deeply.
    """
    try:
        return decode(raw), None
    except REFUSED as error:
        problem = str(error)
    try:
        value = decode_json(raw)
    except ValueError:
        return None, problem
    if isinstance(value, dict):
        for _ in range(MOST):
            try:
                return decode(to_raw(value)), problem
            except REFUSED as error:
                if not prune(value, str(error)):
                    break
    return None, problem


def decode_member(raw: Raw | bytes, decode: Callable[[Raw | bytes], T], place: str) -> T:
    """Decodes a member that a record holds raw at `place` (such as `message.content`).

    Raises: msgspec.ValidationError with the path within the record of what does not fit, which `prune` needs.
    """
    try:
        return decode(raw)
    except msgspec.ValidationError as error:
        text = str(error)
        text = text.replace("`$", f"`$.{place}", 1) if "`$" in text else f"{text} - at `$.{place}`"
        raise msgspec.ValidationError(text) from None


def read_each(
    raws: Iterable[Raw], decode: Callable[[Raw | bytes], T], name: str, record: Record, batch: Batch
) -> list[tuple[int, T]]:
    """The elements of a document's list `name`, each with its index; an element that does not fit fully is a fault."""
    found: list[tuple[int, T]] = []
    for place, raw in enumerate(raws):
        try:
            value, problem = read_pruned(raw, decode)
        except RecursionError as error:
            batch.fault("too-deep", record, f"{name}[{place}]: {error}")
            continue
        if problem is not None:
            batch.fault("schema", record, f"{name}[{place}]: {problem}")
        if value is not None:
            found.append((place, value))
    return found


def fitting(raw: Raw | bytes, decode: Callable[[Raw | bytes], T]) -> Iterator[T]:
    """The elements of a list that fit, objects without the members that do not."""
    try:
        elements = _elements(raw)
    except REFUSED:
        return
    for element in elements:
        found = read_pruned(element, decode)[0]
        if found is not None:
            yield found


def prune(value: Any, message: str) -> bool:
    """Removes the member that a validation message names (`… - at `$.message.content[0].name``); False if it cannot.

    A path step without a name (`[...]`) stands for every member of the refused type; an element of a list stands for
    all elements of its type there, because none of them fits.
    """
    path = message.rpartition("`$")[2].rstrip("`") if "`$" in message else ""
    steps = _whole(value, [m[1] if m[1] is not None else m[2] for m in _STEP.finditer(path)])
    if not steps:
        return False
    holders = [value]
    for step in steps[:-1]:
        holders = [inner for holder in holders for inner in _below(holder, step)]
    found = _GOT.search(message)
    got = found[1] if found and found[1] in _KNOWN else None
    removed = [_take(holder, steps[-1], got, ANY in steps) for holder in holders]
    return any(removed)


def _whole(value: Any, steps: list[str]) -> list[str]:
    """The steps, those joined that are one name with dots in it (`github.com/copilot`)."""
    here, out = value, list[str]()
    while steps and isinstance(here, dict):
        members = cast(dict[str, Any], here)
        names = (".".join(steps[:end]) for end in range(1, len(steps) + 1))
        name = next((name for name in names if name in members), None)
        if name is None:
            break
        out.append(name)
        here, steps = members[name], steps[name.count(".") + 1 :]
        while steps and steps[0].isdigit() and isinstance(here, list) and int(steps[0]) < len(here):  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
            out.append(steps[0])
            here, steps = here[int(steps[0])], steps[1:]  # pyright: ignore[reportUnknownVariableType] - as above
    return out + steps


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


def _take(holder: Any, step: str, got: str | None, any_of: bool) -> bool:
    """Removes a member; if `step` stands for several, only those of the type `got`."""
    if isinstance(holder, dict):
        members = cast(dict[str, Any], holder)
        keys = list(members) if step == ANY else [step] if step in members else []
        keys = [key for key in keys if not any_of or got is None or _name(members[key]) == got]
        for key in keys:
            del members[key]
        return bool(keys)
    if isinstance(holder, list):
        items: list[Any] = holder  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if got is None:
            kept = [item for i, item in enumerate(items) if step not in (ANY, str(i))]
        elif step == ANY or (step.isdigit() and int(step) < len(items) and _name(items[int(step)]) == got):
            kept = [item for item in items if _name(item) != got]
        else:
            kept = items
        removed = len(kept) < len(items)
        items[:] = kept
        return removed
    return False


def _name(value: Any) -> str:
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "")

"""Reads the arguments of a call, whatever their shape: named fields of an object, paths, patches."""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentv_stages.model.patch import Patch, changes_of, read_patch
from agentv_stages.model.payload import add_key, decode_json, to_raw
from agentv_stages.model.tools import PATH_KEYS

_KEPT_FILES = 1_000
PATCH_KEYS = ("input", "patch", "patchText", "raw", "changes", "diff", "patch_text")

Values: TypeAlias = tuple[Any, ...]
DecodeFields: TypeAlias = Callable[[Raw], Values | None]
_decoders: dict[tuple[str, ...], DecodeFields] = {}


def fields_decoder(names: tuple[str, ...]) -> DecodeFields:
    """A function from a JSON object to the values of `names`, `UNSET` where absent; None for anything but an object."""
    decoder = _decoders.get(names)
    if decoder is None:
        decoder = _decoders[names] = _make_decoder(names)
    return decoder


def _make_decoder(names: tuple[str, ...]) -> DecodeFields:
    slots = [f"f{i}" for i in range(len(names))]
    struct: type[Struct] = msgspec.defstruct(
        "Fields",
        [(slot, str | list[Any] | None | UnsetType, UNSET) for slot in slots],
        rename=dict(zip(slots, names, strict=True)),
        gc=False,
    )
    decode = msgspec.json.Decoder(struct).decode
    astuple = msgspec.structs.astuple

    def values(raw: Raw) -> Values | None:
        try:
            return astuple(decode(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _loose_values(raw, names)

    return values


def _loose_values(raw: Raw, names: tuple[str, ...]) -> Values | None:
    """As the typed decoder, for inputs that it refuses."""
    found = loose_json(raw)
    if isinstance(found, dict):
        return tuple([found.get(name, UNSET) for name in names])  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return None


def loose_json(raw: Raw) -> Any:
    """The decoded value; None if no parser can read it."""
    try:
        return decode_json(raw)
    except (ValueError, RecursionError):
        return None


def paths_in(values: list[Any]) -> tuple[str, ...]:
    """The paths in a list of paths, or of objects that each name one."""
    found: list[str] = []
    for value in values[:_KEPT_FILES]:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            item: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
            path = next((item[key] for key in PATH_KEYS if isinstance(item.get(key), str)), None)
            if path is not None and path not in found:
                found.append(path)
    return tuple(found)


def patch_of(value: Any) -> Patch | None:
    """The patch in a decoded input: a patch text, a list or map of changes, or an object that holds one of them."""
    if isinstance(value, str):
        return read_patch(value)
    if isinstance(value, list):
        return changes_of(value)
    if isinstance(value, dict):
        for key in PATCH_KEYS:
            inner: Any = value.get(key)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            if isinstance(inner, str):
                return read_patch(inner)
            if isinstance(inner, (list, dict)):
                return changes_of(inner)
        command: Any = value.get("command")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        if isinstance(command, list) and command and isinstance(command[-1], str):
            return read_patch(command[-1])
        path: Any = value.get("path")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        if isinstance(path, str):  # an edit tool that takes patches may also take the old and new text of one file
            return Patch((path,), False)
        return changes_of(value)
    return None


def with_key(raw: Raw, key: str, value: str) -> Raw:
    """`raw` with one more key, if it is an object that does not have it; else `raw`."""
    values = fields_decoder((key,))(raw)
    if values is None or values[0] is not UNSET:
        return raw
    return add_key(raw, key, to_raw(value))

"""Which files a patch touches: Codex's patch format, unified diffs, oh-my-pi's sections, lists or maps of changes."""

import re
from typing import Any, NamedTuple

_BEGIN = re.compile(r"^([ \t]*)\*\*\* Begin Patch", re.M)
_HEADER = re.compile(r"^([ \t]*)\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$", re.M)
_UNIFIED = re.compile(r"^--- (?:[ab]/)?([^\t\r\n]++)[^\n]*+\n\+\+\+ (?:[ab]/)?([^\t\r\n]+)", re.M)
_ANCHORED = re.compile(r"^\[([^\]\r\n]+)#[0-9A-Fa-f]{4,16}\][ \t\r]*$", re.M)
_KEPT_FILES = 1_000


class Patch(NamedTuple):
    """`files` as named and ordered in the patch, without repeats. `adds_only`: all of them are new."""

    files: tuple[str, ...]
    adds_only: bool


def read_patch(text: str) -> Patch:
    """The files of a patch text; none if its form is unknown. At most 1,000 files are listed.

    Context lines begin with a blank: a header there is text of the file (as in a patch of documentation).
    """
    files: dict[str, None] = {}
    adds_only = True
    begin = _BEGIN.search(text)
    headers = [found.groups() for found in _HEADER.finditer(text)]
    if begin is not None:
        headers = [header for header in headers if header[0] == begin[1]] or headers
    for _, action, path in headers:
        adds_only = adds_only and action == "Add"
        if len(files) < _KEPT_FILES:
            files[path.rstrip(" \t\r") or path[0]] = None
    if not files:
        for found in _UNIFIED.finditer(text):
            old, path = found.groups()
            adds_only = adds_only and old == "/dev/null"
            if len(files) < _KEPT_FILES:
                files[old if path == "/dev/null" else path] = None
    if not files and text[:1] == "[":  # sections of oh-my-pi's edits: `[path#hash]`, of files that exist
        adds_only = False
        files.update((found[1], None) for found in _ANCHORED.finditer(text) if len(files) < _KEPT_FILES)
    return Patch(tuple(files), adds_only and bool(files))


def changes_of(value: Any) -> Patch:
    """The files of Codex's change lists: `[{path, kind}]`, or a map of path to `{type: add}` or `{add: …}`."""
    files: dict[str, None] = {}
    adds_only = True
    if isinstance(value, dict):
        items: list[tuple[Any, Any]] = list(value.items())  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
    elif isinstance(value, list):
        items = [(v.get("path"), v) for v in value if isinstance(v, dict)]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    else:
        items = []
    for path, change in items:
        if not isinstance(path, str):
            continue
        adds_only = adds_only and _action(change) in ("add", "create", "created", "added")
        if len(files) < _KEPT_FILES:
            files[path] = None
    return Patch(tuple(files), adds_only and bool(files))


def _action(change: Any) -> str:
    if isinstance(change, str):
        return change
    if isinstance(change, dict):
        members: dict[str, Any] = change  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        kind: Any = members.get("kind", members.get("type"))
        if isinstance(kind, dict):
            kind = kind.get("type")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        if isinstance(kind, str):
            return kind.lower()
        return next((name for name in ("add", "update", "delete") if name in members), "")
    return ""

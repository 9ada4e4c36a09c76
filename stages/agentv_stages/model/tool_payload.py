"""Typed arguments of tool calls: a normalised call in, a tagged payload out; what does not fit exactly is `Generic`.

The shapes are agtrace's (file_read, file_edit, file_write, execute, search, mcp, generic), tagged by `type`, so that
they round-trip through JSON. A payload copies from the call and never changes it.
"""

from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.event import ToolCall
from agentv_stages.model.patch import read_patch
from agentv_stages.model.payload import decode_json
from agentv_stages.model.tools import split_mcp


class Payload(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The member of all payloads: `extra` holds the arguments that have no field."""

    extra: dict[str, Any] = {}


class FileRead(Payload, frozen=True, tag="file_read"):
    """A file that is read, or a folder that is listed; if the agent counts lines, they count from 1."""

    file_path: str | None = None
    offset: int | None = None
    limit: int | None = None


class FileEdit(Payload, frozen=True, tag="file_edit"):
    """A text that is replaced. For a patch, `new_string` is the whole patch and `old_string` is empty."""

    file_path: str
    old_string: str = ""
    new_string: str = ""
    replace_all: bool = False


class FileWrite(Payload, frozen=True, tag="file_write"):
    """A file that is written as a whole. For a patch that adds files, `content` is the whole patch."""

    file_path: str
    content: str = ""


class Execute(Payload, frozen=True, tag="execute"):
    """A command that is run; `timeout` is in the agent's own unit."""

    command: str | None = None
    description: str | None = None
    timeout: int | float | None = None


class Search(Payload, frozen=True, tag="search"):
    """A search in files, for files, or on the web."""

    pattern: str | None = None
    query: str | None = None
    path: str | None = None


class Mcp(Payload, frozen=True, tag="mcp"):
    """A call of an MCP server's tool, arguments in `extra`. Server and tool are None if the name has neither."""

    server: str | None = None
    tool: str | None = None


class Generic(Struct, frozen=True, tag_field="type", tag="generic"):
    """Any other call: its arguments as they are."""

    arguments: Any = None


AnyPayload: TypeAlias = FileRead | FileEdit | FileWrite | Execute | Search | Mcp | Generic

_Names: TypeAlias = dict[str, tuple[str, ...]]

_PATH: tuple[str, ...] = ("file_path", "path", "filePath", "absolute_path", "notebook_path")

_READ: _Names = {"file_path": _PATH, "offset": ("offset", "startLine", "start_line"), "limit": ("limit",)}
_LIST: _Names = {"file_path": ("path", "dir_path", "directory_path", "file_path")}
_EDIT: _Names = {
    "file_path": _PATH,
    "old_string": ("old_string", "oldString", "old_str", "oldText"),
    "new_string": ("new_string", "newString", "new_str", "newText", "new_source", "code", "insert_text"),
    "replace_all": ("replace_all", "replaceAll", "allow_multiple"),
}
_WRITE: _Names = {"file_path": _PATH, "content": ("content", "file_text", "fileText")}
_EXECUTE: _Names = {
    "description": ("description", "explanation", "justification"),
    "timeout": ("timeout", "timeout_ms", "yield_time_ms"),
}
_SEARCH: _Names = {
    "pattern": ("pattern", "globPattern"),
    "query": ("query", "search_query", "searchTerm", "url", "prompt"),
    "path": ("path", "dir_path", "targetDirectory", "include"),
}

_SHAPES: dict[str, tuple[type[Payload], _Names, tuple[str, ...]]] = {
    "Read": (FileRead, _READ, ("file_path",)),
    "NotebookRead": (FileRead, _READ, ("file_path",)),
    "LS": (FileRead, _LIST, ()),
    "Edit": (FileEdit, _EDIT, ("file_path", "old_string", "new_string")),
    "NotebookEdit": (FileEdit, _EDIT, ("file_path", "new_string")),
    "Write": (FileWrite, _WRITE, ("file_path", "content")),
    "Bash": (Execute, _EXECUTE, ()),
    "BashOutput": (Execute, _EXECUTE, ()),
    "KillShell": (Execute, _EXECUTE, ()),
    "Grep": (Search, _SEARCH, ("pattern",)),
    "Glob": (Search, _SEARCH, ("pattern",)),
    "WebFetch": (Search, _SEARCH, ()),
    "WebSearch": (Search, _SEARCH, ()),
}
"""Canonical name -> payload, the native names of its fields, and the required fields."""

_decode = msgspec.json.Decoder(AnyPayload).decode
_encode = msgspec.json.Encoder().encode


def payload_of(call: ToolCall) -> AnyPayload:
    """The typed payload of a normalised call; `Generic` where its arguments do not fit exactly."""
    try:
        arguments: Any = decode_json(call.input_json)
    except (ValueError, RecursionError):
        return Generic(None)
    if call.command is not None and call.origin == "system":
        shell = _shell_payload(call, arguments)
        if shell is not None:
            return shell
    if call.edit and call.files:
        patch = _patch_payload(call, arguments)
        if patch is not None:
            return patch
    if not isinstance(arguments, dict):
        return Generic(arguments)
    values: dict[str, Any] = dict(arguments)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
    if call.origin == "mcp":
        server, tool = split_mcp(call.tool) or ("", "")
        return Mcp(server or None, tool or None, extra=values)
    shape = _SHAPES.get(call.tool)
    if shape is None:
        return Generic(values)
    return _strict(*shape, values) or Generic(values)


def _strict(
    kind: type[Payload], names: _Names, required: tuple[str, ...], values: dict[str, Any]
) -> FileRead | FileEdit | FileWrite | Execute | Search | None:
    """The arguments as the payload `kind`; None where one has the wrong type or a required one is missing."""
    extra = dict(values)
    found: dict[str, Any] = {}
    for name, natives in names.items():
        for native in natives:
            if native in extra:
                found[name] = extra.pop(native)
                for copy in natives:  # a key that `Normalize` added
                    if copy in extra and extra[copy] == found[name]:
                        del extra[copy]
                break
    if any(found.get(name) is None for name in required):
        return None
    limits = (found.get("offset"), found.get("limit"))
    if any(isinstance(n, int) and n < 0 for n in limits):
        return None
    try:
        payload: Any = msgspec.convert({**found, "extra": extra}, kind)
    except (msgspec.ValidationError, RecursionError):
        return None
    assert isinstance(payload, (FileRead, FileEdit, FileWrite, Execute, Search))
    return payload


def _shell_payload(call: ToolCall, arguments: Any) -> AnyPayload | None:
    """The payload of a shell call, by what its text was found to do."""
    extra = {"command": call.command}
    if call.edit:
        if not call.files:
            return None
        text = call.command or ""
        return FileWrite(call.files[0], text) if call.tool == "Write" else FileEdit(call.files[0], "", text)
    if call.tool == "Read":
        return FileRead(call.files[0] if call.files else None, extra=extra)
    if call.tool == "LS":
        return FileRead(extra=extra)
    values: dict[str, Any] = dict(arguments) if isinstance(arguments, dict) else {}  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
    if call.tool in ("Grep", "Glob"):
        pattern = values.get("pattern")
        return Search(pattern if isinstance(pattern, str) else None, extra=extra)
    if not isinstance(arguments, dict):
        return Execute(call.command)
    for key in ("command", "cmd"):
        values.pop(key, None)
    command = _strict(Execute, _EXECUTE, (), values)
    if command is None:
        return None
    assert isinstance(command, Execute)
    return Execute(call.command, command.description, command.timeout, extra=command.extra)


def _patch_payload(call: ToolCall, arguments: Any) -> AnyPayload | None:
    """The payload of a patch: its first file, and the whole patch as text; None if there is no patch text."""
    text: Any = arguments
    if isinstance(arguments, dict):
        values: dict[str, Any] = arguments  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        text = next((values[key] for key in ("input", "patch", "patchText", "raw") if key in values), None)
    if not isinstance(text, str) or not read_patch(text).files:
        return None
    first = call.files[0]
    extra = {"files": list(call.files)} if len(call.files) > 1 else {}
    if call.tool == "Write":
        return FileWrite(first, text, extra=extra)
    return FileEdit(first, "", text, extra=extra)


def encode_payload(payload: AnyPayload) -> Raw:
    """A payload as JSON, with its `type`."""
    return Raw(_encode(payload))


def decode_payload(data: bytes | Raw) -> AnyPayload:
    """Reads back what `encode_payload` wrote.

    Raises: msgspec.ValidationError or DecodeError for anything else.
    """
    payload: AnyPayload = _decode(data)
    return payload

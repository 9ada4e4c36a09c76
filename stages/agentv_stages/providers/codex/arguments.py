"""Arguments and outputs of Codex's tools: the object inside a string, the patch inside a shell call."""

import re

import msgspec
from msgspec import Raw, Struct

from agentv_stages.event import EMPTY_OBJECT
from agentv_stages.payload import decode_json, given, text_of, to_raw
from agentv_stages.providers.codex.wire import first

SHELLS = frozenset(("shell", "shell_command", "exec_command", "container.exec", "local_shell"))
BEGIN_PATCH = b"*** Begin Patch"
_HEREDOC = re.compile(r"\s*(?:cd\s+\S+\s*&&\s*)?(?:apply_patch|applypatch)\b\s*(?:<<|['\"]?\*\*\* Begin Patch)")
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_as_raw = msgspec.json.Decoder(Raw).decode
_decode_str = msgspec.json.Decoder(str).decode


def unwrap(value: Raw) -> Raw:
    """Arguments as JSON: the object inside a JSON string; the string itself where it holds none."""
    head = bytes(value) if len(value) < 1024 else bytes(memoryview(value)[:40])
    if head[:2] != b'"{':
        if not given(value):
            return EMPTY_OBJECT
        if head[:1] != b'"':
            return value
        if len(value) == 2:
            return EMPTY_OBJECT
        inner = head[1:].lstrip()
        if inner[:1] not in (b"{", b"[") and inner[:2] not in (b"\\n", b"\\t", b"\\r"):
            return value
    try:
        text = _decode_str(value).strip()
    except (msgspec.MsgspecError, UnicodeError):
        text = text_of(value).strip()
    if text[:1] not in ("{", "["):
        return value
    try:
        return _as_raw(text)
    except (msgspec.MsgspecError, UnicodeError):
        return value


class Shell(Struct, gc=False):
    """The arguments of a shell call, as far as a patch can stand in them."""

    cmd: str | list[str] | None = None
    command: str | list[str] | None = None


def heredoc(arguments: Raw) -> Raw | None:
    """The patch that a shell call carries as a heredoc: Codex runs it as `apply_patch`, not in a shell.

    `arguments` may be an object or, as in the log, a string that holds one.
    """
    try:
        value = _shell(_decode_str(arguments) if first(arguments) == b'"' else arguments)
    except (msgspec.MsgspecError, UnicodeError):  # lone surrogates, or a member of another shape
        try:
            inner = decode_json(arguments)
            value = msgspec.convert(decode_json(inner.encode()) if isinstance(inner, str) else inner, Shell)
        except (msgspec.MsgspecError, ValueError):
            return None
    command = value.cmd or value.command
    if isinstance(command, list):
        command = " ".join(command) if command[0].endswith("apply_patch") else command[-1]
    if command is None or not _HEREDOC.match(command):
        return None
    begin = command.find(_BEGIN)
    if begin < 0:
        return None
    end = command.find(_END, begin + len(_BEGIN))
    return to_raw(command[begin:] if end < 0 else command[begin : end + len(_END)])


_shell = msgspec.json.Decoder(Shell).decode


def agent_of(output: Raw) -> str:
    """The sub-agent that a `spawn_agent` call started, from its output `{"agent_id":…}`; "" for other outputs."""
    data = bytes(output)
    if b"agent_id" not in data and b"task_name" not in data:
        return ""
    value = decode_json(unwrap(output))
    if not isinstance(value, dict):
        return ""
    agent = value.get("task_name") or value.get("nickname") or value.get("agent_id")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return agent if isinstance(agent, str) else ""

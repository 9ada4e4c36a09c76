"""Arguments and outputs of Codex's tools: extracts the object inside a string, and the patch inside a shell call."""

import re

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import ABSENT, decode_json, has_value, one_line, text_of, to_raw
from agentv_stages.providers.codex.wire import first, word

SHELLS = frozenset(("shell", "shell_command", "exec_command", "container.exec", "local_shell"))
BEGIN_PATCH = b"*** Begin Patch"
_HEREDOC = re.compile(r"\s*(?:cd\s+\S+\s*&&\s*)?(?:apply_patch|applypatch)\b\s*(?:<<|['\"]?\*\*\* Begin Patch)")
_BEGIN, _END = BEGIN_PATCH.decode(), b"*** End Patch"
_decode_str = msgspec.json.Decoder(str).decode
_check = msgspec.json.Decoder(Raw).decode


def unwrap(value: Raw) -> Raw:
    """Arguments as JSON: the object that a JSON string holds; the string itself if it holds none."""
    head = bytes(value) if len(value) < 1024 else bytes(memoryview(value)[:40])
    if head[:2] != b'"{':
        if not has_value(value):
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
        whole = _check(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # a lone surrogate has no UTF-8
        return value
    return Raw(one_line(bytes(whole))) if "\n" in text else whole


class Shell(Struct, gc=False):
    """The arguments of a shell call, as far as they can hold a patch: a command line, or a list of words."""

    cmd: Raw = ABSENT
    command: Raw = ABSENT


_shell = msgspec.json.Decoder(Shell).decode
_words = msgspec.json.Decoder(list[Raw]).decode


def heredoc(arguments: Raw) -> Raw | None:
    """The patch that a shell call carries as a heredoc: Codex runs it as `apply_patch`, not in a shell.

    `arguments` may be an object or, as in the log, a string that holds one. The patch is returned unchanged.
    """
    try:
        value = _shell(_decode_str(arguments) if first(arguments) == b'"' else arguments)
    except (msgspec.MsgspecError, UnicodeError):  # lone surrogates
        try:
            inner = decode_json(arguments)
            value = _shell(to_raw(decode_json(inner.encode()) if isinstance(inner, str) else inner))
        except (msgspec.MsgspecError, ValueError):
            return None
    command = value.cmd if has_value(value.cmd) and len(value.cmd) > 2 else value.command
    program = ""
    if first(command) == b"[":
        words = _words(command)
        if not words:
            return None
        command = words[-1]
        if word(words[0]).endswith("apply_patch"):  # no shell: the patch is an argument of the command itself
            program = "apply_patch "
            command = next((text for text in words if BEGIN_PATCH in bytes(text)), command)
    data = bytes(command)
    begin = data.find(BEGIN_PATCH)
    if begin < 0 or data[:1] != b'"' or not _HEREDOC.match(program + text_of(data[:begin] + b'"') + _BEGIN):
        return None
    end = data.find(_END, begin)
    return Raw(b'"%b"' % (data[begin:-1] if end < 0 else data[begin : end + len(_END)]))


def agent_of(output: Raw) -> str:
    """The id of the sub-agent that `spawn_agent` started, from its output `{"agent_id":…}`; "" for other outputs."""
    data = bytes(output)
    if b"agent_id" not in data and b"task_name" not in data:
        return ""
    value = decode_json(unwrap(output))
    if not isinstance(value, dict):
        return ""
    agent = value.get("task_name") or value.get("nickname") or value.get("agent_id")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return agent if isinstance(agent, str) else ""

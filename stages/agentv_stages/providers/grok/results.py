"""The results of Grok's calls. In: `rawOutput` or the shown content. Out: output, exit code, outcome.

`rawOutput` is an object of the tool's own shape, with its text under one of a few names, at most two levels deep. That
of a shell has the output that the model received, and the exit code. A call that never ran has no `rawOutput`, only a
text.
Source: Grok Build 0.1.220 to 1.0.41, recordings of every tool that they offer.
"""

import re
from typing import NamedTuple

from msgspec import Raw

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import NULL, has_value, json_in, text_of, to_raw
from agentv_stages.providers.grok.wire import decode_bridge, decode_bytes, decode_members, decode_pieces

OVER = frozenset(("completed", "failed", "cancelled"))
_BRIDGE = "use_tool"
_TEXTS = (
    *("output_for_prompt", "tool_output_for_prompt", "summary_for_prompt", "content"),
    *("output", "message", "text", "summary", "error"),
)
_REFUSED = re.compile(
    r"User (?:rejected|cancelled) the execution|Tool `[^`]*` was not executed|Hook denied: |"
    r"Denied by permission policy: "
)
_STARTED = re.compile(r"\ASubagent started in background\.\s+subagent_id: ([\w-]+)")
_DEEPEST = 3
_KILLED = -1  # by a signal or a timeout: it has no exit code
_TRUE = Raw(b"true")


class Returned(NamedTuple):
    """`agent_id` is the sub-agent that a call started; `finished`: that sub-agent has already ended."""

    output: Raw | None = None
    exit_code: int | None = None
    outcome: Outcome = "ok"
    agent_id: str | None = None
    finished: bool = False


def effective_call(name: str, arguments: Raw) -> tuple[str, Raw]:
    """Name and arguments of the tool that runs: MCP tools are called through `use_tool`."""
    if not has_value(arguments):
        return name, Raw(b"{}")
    if name == _BRIDGE:
        try:
            bridge = decode_bridge(arguments)
        except REFUSED:
            return name, arguments
        if bridge.tool_name:
            return bridge.tool_name, bridge.tool_input if has_value(bridge.tool_input) else Raw(b"{}")
    return name, arguments


def returned(status: str, raw: Raw, content: Raw) -> Returned:
    """The result of a call that ended with a `status` of `OVER`."""
    failed = status != "completed"
    members = _members(raw)
    if not members:
        output = raw if has_value(raw) else _shown(content)
        refused = failed and not has_value(raw) and output is not None and _REFUSED.match(text_of(output)[:400])
        return Returned(output, None, "denied" if refused else _outcome(status, failed))
    kind = text_of(members.get("type", NULL)) if starts(members.get("type", NULL), b'"') else ""
    code, agent_id, finished = None, None, False
    if kind == "Bash":
        code = _number(members.get("exit_code"))
        failed = failed or bool(code) or members.get("timed_out") == _TRUE
        code = None if code == _KILLED else code
    output = _bytes(members.get("stdout")) if kind == "GrepSearch" else _text(members, 0)
    if output is None:
        output = _shown(content) or raw
    if kind.startswith("Subagent"):
        agent_id = text_of(members.get("subagent_id", NULL)) or None
        finished = True
    elif kind == "Text" and (started := _STARTED.match(text_of(output)[:200])):
        agent_id = started[1]
    return Returned(output, code, _outcome(status, failed), agent_id, finished)


def returned_text(content: Raw, failed: bool) -> Returned:
    """The result in a `tool_result` block, whose text is `rawOutput` as JSON, or the content if there is none."""
    status = "failed" if failed else "completed"
    if not starts(content, b'"'):
        return returned(status, content if has_value(content) else NULL, NULL)
    inner = json_in(text_of(content)) or NULL
    if starts(inner, b"{") and _members(inner):
        return returned(status, inner, NULL)
    if starts(inner, b"[") and (shown := _shown(inner)) is not None:
        return returned(status, NULL, inner) if shown else Returned(None, None, "error" if failed else "ok")
    return Returned(content, None, "error" if failed else "ok")


def starts(raw: Raw, mark: bytes) -> bool:
    """Whether a value is of the JSON type that its first byte shows."""
    return bytes(memoryview(raw)[:1]) == mark


def _outcome(status: str, failed: bool) -> Outcome:
    return "cancelled" if status == "cancelled" else "error" if failed else "ok"


def _members(raw: Raw) -> dict[str, Raw]:
    if not starts(raw, b"{"):
        return {}
    try:
        return decode_members(raw)
    except REFUSED:
        return {}


def _text(members: dict[str, Raw], depth: int) -> Raw | None:
    """The text among the members: under a known name, or of a variant that is only a text; else deeper."""
    for name in _TEXTS:
        value = members.get(name)
        if value is not None and starts(value, b'"'):
            return value
    for name, value in members.items():
        if name[:1].isupper() and starts(value, b'"'):
            return value
    for value in members.values() if depth < _DEEPEST else ():
        found = _text(_members(value), depth + 1)
        if found is not None:
            return found
    return None


def _bytes(raw: Raw | None) -> Raw | None:
    """A search's output, which is printed as a list of bytes."""
    if raw is None or not starts(raw, b"["):
        return None
    try:
        return to_raw(bytes(decode_bytes(raw)).decode("utf-8", "replace"))
    except (*REFUSED, ValueError):
        return None


def _number(raw: Raw | None) -> int | None:
    """A whole number in the range of exit codes."""
    data = bytes(raw or b"")
    return int(data) if len(data) < 12 and data.lstrip(b"-").isdigit() else None


def _shown(content: Raw) -> Raw | None:
    """The texts of a call's content, joined; None if there is none."""
    if not starts(content, b"["):
        return None
    try:
        pieces = decode_pieces(content)
    except REFUSED:
        return None
    texts = [piece.content.text for piece in pieces if piece.content is not None and has_value(piece.content.text)]
    if len(texts) == 1 and starts(texts[0], b'"'):
        return texts[0]
    return to_raw("".join(map(text_of, texts))) if texts else None

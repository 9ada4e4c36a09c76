"""Gemini CLI: stream-json, and chat recordings as a mutation log or as the older document.

Source: Gemini CLI 0.1 to 0.61.

Gemini CLI's habits over ACP: no arguments, names in ids. Source: recordings of 0.29 to 0.61.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.deltas import DELTA_TEXT
from agentv_stages.model.event import sidechain
from agentv_stages.model.provider import (
    MODEL,
    PROMPT,
    About,
    Companion,
    DecodeContext,
    Dialect,
    Folder,
    Head,
    LogRoot,
    Provider,
    Start,
)
from agentv_stages.providers.gemini.chat import LOSSES as CHAT_LOSSES
from agentv_stages.providers.gemini.chat import ChatDecoder
from agentv_stages.providers.gemini.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.gemini.stream import StreamDecoder
from agentv_stages.providers.gemini.tools import TABLE
from agentv_stages.providers.gemini.wire import decode_chat

# Distinguishes Gemini CLI's logs from others by their first records.

_STREAM_KEYS = {"tool_use": "tool_name", "tool_result": "tool_id", "message": "role", "result": "stats"}


def is_stream(head: Head) -> float:
    """Stream-json begins with `init`; lines from its middle have `tool_name` and `tool_id`."""
    best = 0.0
    for line in head:
        kind = line.get("type")
        if kind == "init" and "session_id" in line and "subtype" not in line:
            return 1.0 if "timestamp" in line and "model" in line else 0.9
        if not isinstance(line.get("timestamp"), str) or not isinstance(kind, str):
            continue
        if _STREAM_KEYS.get(kind, "") in line and "id" not in line and "sessionId" not in line:
            best = max(best, 0.8 if kind.startswith("tool_") else 0.5)
    return best


def is_document(head: Head) -> float:
    """The older form: one object that contains the messages."""
    if not head:
        return 0.0
    first = head[0]
    messages: Any = first.get("messages")
    if not isinstance(messages, list) or "sessionId" not in first or "type" in first:
        return 0.0
    if not messages and len(head) > 1:
        return 0.0
    sure = "projectHash" in first or _has_answer(messages)
    return 1.0 if sure else 0.7 if "startTime" in first else 0.0


def is_log(head: Head) -> float:
    """The newer form: a header, then messages and patches."""
    best = 0.0
    for line in head:
        if "$rewindTo" in line or "$set" in line:
            best = max(best, 0.9)
        elif _is_header(line):
            if "projectHash" in line:
                return 1.0
            best = max(best, 0.7)
        elif line.get("type") == "gemini" and "id" in line and ("content" in line or "tokens" in line):
            best = max(best, 0.9)
    return best


def _has_answer(messages: Any) -> bool:
    return any(isinstance(m, dict) and cast(dict[str, Any], m).get("type") == "gemini" for m in messages)


def _is_header(line: Mapping[str, Any]) -> bool:
    """Qwen's usage ledger (`usage_record.jsonl`) has the same two members, but its times are numbers."""
    if not isinstance(line.get("startTime"), str):
        return False
    return "sessionId" in line and "type" not in line and not line.get("messages")


ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,127}?)__(?P=name)_\d+_(?P<part>\d+)\Z")
OLD_ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]*?)-\d{11,}(?:-\d+)?\Z")  # with a counter behind it in 0.41


def name_in_id(call_id: str) -> str | None:
    """`read_file__read_file_1795239158108_1`, older `read_file-1795239158108`."""
    found = ID.match(call_id) or OLD_ID.match(call_id)
    return found["name"] if found else None


def part_in_id(call_id: str) -> int:
    found = ID.match(call_id) if "__" in call_id else None
    return int(found["part"]) if found else 0


HABITS = AcpHabits(
    marks=("gemini",), name_in_id=name_in_id, part_in_id=part_in_id, shows_arguments=True, awaits_arguments=False
)


# Finds the recordings of a Gemini session's sub-agents: `chats/<session id>/<agent's session id>.jsonl`.
MOST_BYTES = 64 * 1024 * 1024
_MARK = b'"agentId":"'


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files, in the order of their names; the main file has the call that started each."""
    folder_path, _, name = path.replace("\\", "/").rpartition("/")
    short = name.rpartition(".")[0].rpartition("-")[2]
    if not name.startswith("session-") or len(short) < 8:
        return []
    base = f"{folder_path}/" if folder_path else ""
    found = folder.glob(f"{base}{short}*/*.jsonl")
    if not found:
        return []
    session_id, started = _started(folder.read(path, MOST_BYTES))
    out: list[Companion] = []
    for file in found:
        agent = file.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl")
        context = DecodeContext(file, sidechain(agent), started.get(agent), session_id)
        out.append(Companion(file, context))
    return out


def _started(data: bytes) -> tuple[str | None, dict[str, str]]:
    """The session's id, and the call that started each agent."""
    session_id: str | None = None
    calls: dict[str, str] = {}
    for i, line in enumerate(data.split(b"\n")):
        if i and _MARK not in line:
            continue
        try:
            record = decode_chat(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        session_id = session_id or record.sessionId
        for call in record.toolCalls or ():
            if call.agentId and call.id:
                calls[call.agentId] = call.id
    return session_id, calls


PROVIDER = Provider(
    name="gemini",
    title="Gemini CLI",
    dialects=(
        Dialect(
            "gemini-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            deltas=(rb'"content":' + DELTA_TEXT + rb',\s*"delta":\s*true',),
            about=About(
                made_by="gemini -p PROMPT --output-format stream-json", versions="0.15.3 to 0.61.0", end="`result`"
            ),
        ),
        Dialect(
            "gemini-chat",
            is_log,
            ChatDecoder,
            False,
            False,
            CHAT_LOSSES,
            about=About(
                made_by="every session",
                versions="0.29.0 to 0.61.0 and others that the log does not name",
                end="none; an API error or a cancelled request that nothing follows, else unknown",
            ),
        ),
        Dialect(
            "gemini-chat-json",
            is_document,
            ChatDecoder,
            False,
            False,
            CHAT_LOSSES,
            about=About(
                made_by="every session, older versions",
                end="none; an API error or a cancelled request that nothing follows, else unknown",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(
        ("gemini", "-p", PROMPT, "--output-format", "stream-json"),
        ("-m", MODEL),
        ("gemini", "--output-format", "stream-json"),
        kinds=("gemini-cli",),
    ),
    aliases=("gemini-cli",),
    roots=(LogRoot("~/.gemini/tmp", "GEMINI_CLI_HOME", ".gemini/tmp", ("*/chats/session-*.json*",)),),
    companions=companions,
)

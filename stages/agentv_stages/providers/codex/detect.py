"""Recognises Codex's logs by their records.

Any complete record of a known kind is enough, because a log may begin with noise or in the middle.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.codex.old_exec import MESSAGES
from agentv_stages.providers.codex.rollout_catalogue import LINES as ROLLOUT_LINES
from agentv_stages.providers.codex.stream import LINES as EXEC_LINES

_METHODS = frozenset(
    {"thread/started", "turn/started", "turn/completed", "item/started", "item/completed", "thread/status/changed"}
    | {"thread/tokenUsage/updated", "item/agentMessage/delta", "turn/start"}
)
_OLD_ITEMS = frozenset(("message", "reasoning", "function_call", "function_call_output", "local_shell_call"))


def detect_exec(head: Head) -> float:
    best = 0.0
    for line in head:
        inner: Any = line.get("data")
        record: Mapping[str, Any] = line
        if isinstance(inner, dict) and "event" in line and "type" not in line:
            record = cast("dict[str, Any]", inner)  # AgentV's log of the SDK
        kind = record.get("type")
        if not isinstance(kind, str):
            continue
        if kind == "thread.started" and isinstance(record.get("thread_id"), str):
            return 1.0
        if kind == "session.created" and isinstance(record.get("session_id"), str) and "data" not in record:
            return 1.0
        item = record.get("item")
        if kind in EXEC_LINES and isinstance(item, dict) and isinstance(item.get("id"), str):  # pyright: ignore[reportUnknownMemberType] - decoded JSON
            best = max(best, 0.95)
        elif kind in ("turn.started", "turn.completed", "turn.failed") and set(record) <= {"type", "usage", "error"}:
            best = max(best, 0.8)
        elif kind == "error" and set(record) == {"type", "message"}:
            best = max(best, 0.3)
    return best


def detect_app_server(head: Head) -> float:
    for record in head:
        method, params, result = record.get("method"), record.get("params"), record.get("result")
        if isinstance(method, str) and isinstance(params, dict):
            if method in _METHODS and ("threadId" in params or "thread" in params):
                return 1.0
        elif isinstance(result, dict) and "id" in record:
            thread = result.get("thread")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            if "codexHome" in result or (isinstance(thread, dict) and "cliVersion" in thread):
                return 1.0
    return 0.0


def detect_old_exec(head: Head) -> float:
    for record in head:
        message = record.get("msg")
        if isinstance(record.get("id"), str) and isinstance(message, dict) and str(message.get("type")) in MESSAGES:  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
            return 1.0
        if "type" not in record and {"workdir", "model", "provider"} <= record.keys():
            return 1.0
    return 0.0


def detect_rollout(head: Head) -> float:
    best = 0.0
    for record in head:
        if isinstance(record.get("payload"), dict) and isinstance(record.get("timestamp"), str):
            if str(record.get("type")) in ROLLOUT_LINES:
                return 1.0
            best = 0.4
    return best


def detect_old_rollout(head: Head) -> float:
    best = 0.0
    for record in head:
        if record.get("type") in ("system", "tool_result") and "content" in record:
            return 0.0  # Grok Build's chat history, which has reasoning items in between
        if "type" not in record and _header(record):
            return 1.0
        if record.get("record_type") == "state" and len(record) == 1:
            best = 0.9
        elif str(record.get("type")) in _OLD_ITEMS and ("call_id" in record or "role" in record or "summary" in record):
            if "timestamp" not in record and "uuid" not in record and "message" not in record:
                best = max(best, 0.7)
    return best


def _header(record: Mapping[str, Any]) -> bool:
    known = isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)
    return known and ("instructions" in record or "git" in record)

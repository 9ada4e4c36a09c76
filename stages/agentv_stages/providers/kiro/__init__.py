"""Kiro CLI and Amazon Q CLI, which it was before: sessions as lines, and conversations in a database.

Source: Kiro CLI 2.5.1 to 2.x; Amazon Q CLI's published source of April 2026.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, LogRoot, Provider
from agentv_stages.providers.kiro.companions import companions
from agentv_stages.providers.kiro.conversation import LOSSES as CONVERSATION_LOSSES
from agentv_stages.providers.kiro.conversation import ConversationDecoder
from agentv_stages.providers.kiro.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.kiro.session import SessionDecoder
from agentv_stages.providers.kiro.store import STORE
from agentv_stages.providers.kiro.tools import TABLE

KINDS = ("Prompt", "AssistantMessage", "ToolResults", "Clear", "Compaction", "ResetTo")


def is_session(head: Head) -> float:
    return max(map(_session_line, head), default=0.0)


def _session_line(line: Mapping[str, Any]) -> float:
    if line.get("version") == "v1" and line.get("kind") in KINDS:
        return float(isinstance(line.get("data"), dict))
    document = "session_id" in line and isinstance(line.get("session_state"), dict) and "session_created_reason" in line
    return 0.9 if document else 0.0


def is_conversation(head: Head) -> float:
    return max(map(_conversation_line, head), default=0.0)


def _conversation_line(line: Mapping[str, Any]) -> float:
    message = line.get("message")
    if isinstance(line.get("history"), list) and isinstance(line.get("conversation_id"), str):
        return 1.0
    if not isinstance(message, dict):
        return 0.0
    element = cast("Mapping[str, Any]", message)
    return float(isinstance(element.get("user"), dict) and "assistant" in element)


PROVIDER = Provider(
    name="kiro",
    title="Kiro CLI",
    dialects=(
        Dialect(
            "kiro-session",
            is_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=SESSION_LOSSES,
            about=About(
                "every session",
                "2.5.1 to 2.x of June to August 2026",
                "the last turn's `end_reason` in the document beside; without it the last answer",
            ),
        ),
        Dialect(
            "kiro-conversation",
            is_conversation,
            ConversationDecoder,
            live=False,
            has_end=False,
            losses=CONVERSATION_LOSSES,
            stored=True,
            about=About(
                "agentv-stream consume data.sqlite3 --session SESSION; `/chat save FILE` in Amazon Q CLI",
                "Amazon Q CLI of April 2026 by its source (unverified)",
                "none; complete when the last answer asks for no tool",
                places=("data.sqlite3",),
            ),
        ),
    ),
    tools=TABLE,
    aliases=("kiro-cli", "amazon-q"),
    roots=(
        LogRoot("~/.kiro/sessions/cli", "KIRO_HOME", "sessions/cli", ("*.jsonl",)),
        LogRoot("~/.local/share/kiro-cli", "XDG_DATA_HOME", "kiro-cli", ("data.sqlite3",), database=True),
        LogRoot("~/.local/share/amazon-q", "XDG_DATA_HOME", "amazon-q", ("data.sqlite3",), database=True),
        LogRoot("~/Library/Application Support/kiro-cli", None, "", ("data.sqlite3",), database=True),
        LogRoot("~/Library/Application Support/amazon-q", None, "", ("data.sqlite3",), database=True),
    ),
    companions=companions,
    store=STORE,
)

"""Copilot chat in VS Code: session documents, and the log of mutations that newer versions write.

Source: VS Code 1.9x to 1.10x, versions 1 to 3 of the document.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, LogRoot, Provider
from agentv_stages.providers.vscode.log import LogDecoder
from agentv_stages.providers.vscode.session import LOSSES, SessionDecoder
from agentv_stages.providers.vscode.tools import TABLE

# Distinguishes VS Code's chat sessions from other JSON.
_LAST_KIND = 3


def is_document(head: Head) -> float:
    """One object with a list of requests."""
    return _session(head[0]) if len(head) == 1 else 0.0


def is_log(head: Head) -> float:
    """Lines with an integer `kind`; the first is the whole session."""
    if not head:
        return 0.0
    first = head[0]
    kind, value = first.get("kind"), first.get("v")
    if kind == 0 and isinstance(value, dict):
        return 1.0 if _session(cast(dict[str, Any], value)) else 0.8
    mutations = [line for line in head if _is_mutation(line)]
    return 0.8 if len(mutations) == len(head) else 0.0


def _session(document: Mapping[str, Any]) -> float:
    if not isinstance(document.get("requests"), list) or "kind" in document:
        return 0.0
    if "sessionId" in document or "responderUsername" in document:
        return 1.0
    return 0.6 if "version" in document else 0.0


def _is_mutation(line: Mapping[str, Any]) -> bool:
    kind = line.get("kind")
    return isinstance(kind, int) and 0 <= kind <= _LAST_KIND and isinstance(line.get("k"), list)


_FILES = (
    "workspaceStorage/*/chatSessions/*.json",
    "workspaceStorage/*/chatSessions/*.jsonl",
    "globalStorage/emptyWindowChatSessions/*.json",
    "globalStorage/emptyWindowChatSessions/*.jsonl",
)
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_HOMES = (
    *(
        f"{base}/{editor}/User"
        for editor in _EDITORS
        for base in ("~/.config", "~/Library/Application Support", "~/AppData/Roaming")
    ),
    "~/.vscode-server/data/User",
    "~/.vscode-server-insiders/data/User",
)

PROVIDER = Provider(
    name="vscode",
    title="Copilot chat in VS Code",
    dialects=(
        Dialect(
            "vscode-chat",
            is_document,
            SessionDecoder,
            False,
            False,
            LOSSES,
            about=About(made_by="VS Code", end="none; the last request's `result`, `isCanceled` or `modelState`"),
        ),
        Dialect(
            "vscode-chat-jsonl",
            is_log,
            LogDecoder,
            False,
            False,
            (*LOSSES, "whether a change is repeated"),
            about=About(
                made_by="VS Code, newer versions",
                end="none; the last request's `result`, `isCanceled` or `modelState`",
                places=("workspaceStorage/*/chatSessions/*.jsonl",),
            ),
        ),
    ),
    tools=TABLE,
    aliases=("vscode", "vscode-insiders"),
    roots=tuple(LogRoot(home, patterns=_FILES) for home in _HOMES),
)

"""Copilot chat in VS Code: session documents, and the log of mutations that newer versions write.

Source: VS Code 1.9x to 1.10x, versions 1 to 3 of the document.
"""

from agentv_stages.model.provider import About, Dialect, LogRoot, Provider
from agentv_stages.providers.vscode.detect import is_document, is_log
from agentv_stages.providers.vscode.log import LogDecoder
from agentv_stages.providers.vscode.session import LOSSES, SessionDecoder
from agentv_stages.providers.vscode.tools import TABLE

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

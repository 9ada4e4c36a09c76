"""Cline: the stream of `cline --json`, the sessions of the command line, and the tasks of the editor extension.

Roo Code and Kilo Code keep tasks in the same form. Source: Cline CLI 3.0.65; tasks of Cline 3.5x, Roo Code's source.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import (
    MODEL,
    PROMPT,
    About,
    Companion,
    Dialect,
    Folder,
    Head,
    LogRoot,
    Provider,
    Start,
)
from agentv_stages.providers.cline.companions import companions, kept_in, task_companions
from agentv_stages.providers.cline.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.cline.session import SessionDecoder
from agentv_stages.providers.cline.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.cline.stream import StreamDecoder
from agentv_stages.providers.cline.task import LOSSES as TASK_LOSSES
from agentv_stages.providers.cline.task import TaskDecoder
from agentv_stages.providers.cline.tools import TABLE

# Distinguishes Cline's logs from others.
STREAM = frozenset(("agent_event", "hook_event", "team_event", "run_start", "run_result", "run_aborted"))


def detect_stream(head: Head) -> float:
    return max(map(_stream_line, head), default=0.0)


def _stream_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if not isinstance(kind, str) or not isinstance(line.get("ts"), str):
        return 0.0
    if kind in ("agent_event", "team_event"):
        event = line.get("event")
        return 1.0 if isinstance(event, dict) and "type" in event else 0.0
    if kind in STREAM:
        keys = ("hookEventName", "finishReason", "providerId", "reason")
        return 1.0 if any(key in line for key in keys) else 0.0
    return 0.3 if kind == "error" and list(line) == ["ts", "type", "message"] else 0.0


def detect_session(head: Head) -> float:
    return max(map(_session, head), default=0.0)


def _session(line: Mapping[str, Any]) -> float:
    origin = line.get("origin")
    if isinstance(line.get("messages"), list) and isinstance(origin, dict):
        return 1.0 if "agent" in line and "sessionId" in line and "sessionId" in origin else 0.0
    return 1.0 if all(key in line for key in ("session_id", "source", "interactive", "provider", "pid")) else 0.0


def detect_task(head: Head) -> float:
    return float(any(map(_task_entry, head)))


def _task_entry(line: Mapping[str, Any]) -> bool:
    kind, time = line.get("type"), line.get("ts")
    return kind in ("say", "ask") and isinstance(line.get(kind), str) and isinstance(time, (int, float))


def all_companions(path: str, folder: Folder) -> list[Companion]:
    """The files of a session of the command line, or of a task."""
    return companions(path, folder) or task_companions(path, folder)


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
_TASKS = tuple(
    LogRoot(
        f"{base}/{editor}/User/globalStorage", None, "", tuple(f"{e}/tasks/*/ui_messages.json" for e in _EXTENSIONS)
    )
    for editor in _EDITORS
    for base in ("~/.config", "~/Library/Application Support", "~/AppData/Roaming")
)
_SESSIONS = ("*/*.messages.json",)

PROVIDER = Provider(
    name="cline",
    title="Cline",
    dialects=(
        Dialect(
            "cline-stream",
            detect_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            about=About(
                made_by="cline --json PROMPT",
                versions="3.0.57, 3.0.65",
                end="`run_result`; a `run_aborted` after it means that it was stopped",
            ),
        ),
        Dialect(
            "cline-session",
            detect_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="3.0.57, 3.0.65",
                end="none; the manifest's `status`, without it a last answer that asks for no tool",
                places=_SESSIONS,
            ),
        ),
        Dialect(
            "cline-task",
            detect_task,
            TaskDecoder,
            False,
            False,
            TASK_LOSSES,
            about=About(
                made_by="every task of the editor extension, and of Roo Code and Kilo Code",
                versions="Cline 3.5x of February 2026; Roo Code and Kilo Code by Roo's source (unverified)",
                end="`completion_result`; a cancelled request and `resume_task` mean that it was stopped",
                places=tuple(f"{extension}/tasks/*/ui_messages.json" for extension in _EXTENSIONS),
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("cline", "--json", PROMPT), ("-m", MODEL), kinds=("cline",)),
    aliases=("cline-cli",),
    roots=(
        LogRoot("~/.cline/data/sessions", "CLINE_SESSION_DATA_DIR", "", _SESSIONS),
        LogRoot("~/.cline/data/sessions", "CLINE_DATA_DIR", "sessions", _SESSIONS),
        LogRoot("~/.cline/data/sessions", "CLINE_DIR", "data/sessions", _SESSIONS),
        *_TASKS,
    ),
    companions=all_companions,
    kept_outputs=kept_in,
)

"""Cline's CLI: the stream of `cline --json`, and its sessions on disk.

Source: Cline CLI 3.0.65. The tasks of its editor extension (`ui_messages.json`) are not read.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.cline.companions import companions
from agentv_stages.providers.cline.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.cline.session import SessionDecoder
from agentv_stages.providers.cline.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.cline.stream import StreamDecoder
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
                end="`run_result`; a `run_aborted` behind it says that it was stopped",
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
    ),
    companions=companions,
)

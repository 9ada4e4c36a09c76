"""Factory's Droid: the stream of `droid exec -o stream-json`, and its sessions on disk.

Source: public logs of October 2025 and January 2026; parsers and documentation of later builds.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.droid.companions import companions, history
from agentv_stages.providers.droid.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.droid.session import SessionDecoder
from agentv_stages.providers.droid.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.droid.stream import StreamDecoder
from agentv_stages.providers.droid.tools import TABLE


def is_stream(head: Head) -> float:
    """By the lines after `init`, which is like that of a Claude stream with few fields."""
    return max(map(_stream_line, head), default=0.0)


def _stream_line(line: Mapping[str, Any]) -> float:
    kind, timed = line.get("type"), isinstance(line.get("timestamp"), int)
    if kind == "message":
        return float(isinstance(line.get("text"), str) and "role" in line and timed and "message" not in line)
    if kind == "tool_call":
        return float("messageId" in line and ("toolName" in line or "toolId" in line))
    if kind == "tool_result":
        return float("messageId" in line and "toolId" in line and "isError" in line)
    return float(kind == "completion" and "finalText" in line)


def is_session(head: Head) -> float:
    return max(map(_session_line, head), default=0.0)


def _session_line(line: Mapping[str, Any]) -> float:
    if line.get("type") == "session_start" and isinstance(line.get("id"), str) and "message" not in line:
        return float(any(key in line for key in ("cwd", "owner", "title", "version")))
    usage = line.get("tokenUsage")
    settings = "model" in line and isinstance(usage, dict) and "cacheCreationTokens" in usage and "type" not in line
    return 0.9 if settings else 0.0


PROVIDER = Provider(
    name="droid",
    title="Factory Droid",
    dialects=(
        Dialect(
            "droid-stream",
            is_stream,
            StreamDecoder,
            live=True,
            has_end=False,
            losses=STREAM_LOSSES,
            about=About(
                "droid exec -o stream-json PROMPT",
                "of October 2025 and January 2026; 0.215.0",
                "`completion`; in the builds of October 2025 none, complete when the last answer has no open call",
            ),
        ),
        Dialect(
            "droid-session",
            is_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=SESSION_LOSSES,
            about=About(
                "every session",
                "0.81.0, 0.215.0 and others; sub-agents and forks by parsers (unverified)",
                "the last turn's outcome; without it complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("droid", "exec", "-o", "stream-json", PROMPT), ("-m", MODEL), kinds=("droid", "factory-droid")),
    aliases=("factory-droid", "factory"),
    roots=(LogRoot("~/.factory/sessions", "FACTORY_HOME_OVERRIDE", ".factory/sessions", ("*/*.jsonl", "*.jsonl")),),
    companions=companions,
    history=history,
)

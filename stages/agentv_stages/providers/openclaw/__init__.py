"""OpenClaw: transcripts in Pi's session format. Pi's decoder, plus results, nested tools and a folder of its own."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import About, Dialect, Head, LogRoot, Provider
from agentv_stages.providers.openclaw.session import SessionDecoder
from agentv_stages.providers.openclaw.tools import TABLE
from agentv_stages.providers.pi.detect import detect_session as is_session
from agentv_stages.providers.pi.detect import is_header, kind_of

# Distinguishes OpenClaw's transcripts from Pi's, whose shape they have, by its marks on messages and its own entries.
#
# Source: OpenClaw 2026.9.6 (`version` 4); pi up to 1.5.2 is at version 3 and has none of it.
_SNAPSHOT = "model-snapshot"


def detect_session(head: Head) -> float:
    return is_session(head) if any(map(_own, head)) else 0.0


def _own(record: Mapping[str, Any]) -> bool:
    kind = kind_of(record)
    if kind == "session":
        return record.get("version") == 4 and is_header(record)
    if kind in ("custom", "custom_message"):
        name = record.get("customType")
        return isinstance(name, str) and (name == _SNAPSHOT or name.startswith("openclaw"))
    message = record.get("message")
    return kind == "message" and isinstance(message, dict) and "__openclaw" in message


PROVIDER = Provider(
    name="openclaw",
    title="OpenClaw",
    dialects=(
        Dialect(
            "openclaw-session",
            detect_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=(
                "the arguments of a call of a tool that does not exist (the log has only its result)",
                "work of sub-agents (each has a session of its own)",
                "tokens of answers that were cut off and of compactions",
                "the agent's version",
            ),
            about=About(
                made_by="files of earlier versions; now rows of `openclaw-agent.sqlite`, one a line",
                versions="2026.6.11, 2026.9.6",
                end="as `pi-session`",
            ),
        ),
    ),
    tools=TABLE,
    aliases=("claw", "clawdbot"),
    roots=(LogRoot("~/.openclaw/agents", "OPENCLAW_STATE_DIR", "agents", ("*/sessions/*.jsonl",)),),
)

"""Continue: what its command line `cn` prints, and the sessions that it and Continue's editor extension keep.

The package's name has an underscore because `continue` is a keyword of Python. Source: Continue CLI 1.5.47.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.continue_.output import LOSSES as OUTPUT_LOSSES
from agentv_stages.providers.continue_.output import NOTICES, WRAPPED, OutputDecoder
from agentv_stages.providers.continue_.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.continue_.session import SessionDecoder
from agentv_stages.providers.continue_.tools import TABLE

# Distinguishes Continue's sessions and the output of `cn` from others.


def detect_output(head: Head) -> float:
    return max(map(_output, head), default=0.0)


def _output(line: Mapping[str, Any]) -> float:
    if isinstance(line.get("response"), str) and line.get("status") == "success":
        return 1.0 if line.get("note") == WRAPPED else 0.0
    if not isinstance(line.get("status"), str):
        return 0.0
    return 0.9 if isinstance(message := line.get("message"), str) and message in NOTICES else 0.0


def detect_session(head: Head) -> float:
    return max(map(_session, head), default=0.0)


def _session(record: Mapping[str, Any]) -> float:
    inner = record.get("session")
    if "exportedAt" in record and isinstance(inner, dict):
        record = cast("Mapping[str, Any]", inner)
    history = record.get("history")
    if not isinstance(history, list) or not isinstance(record.get("sessionId"), str):
        return 0.0
    if "workspaceDirectory" not in record:
        return 0.0
    known = any(isinstance(item, dict) and "message" in item for item in cast("list[object]", history)[:8])
    return 1.0 if known else 0.5


PROVIDER = Provider(
    name="continue",
    title="Continue",
    dialects=(
        Dialect(
            "continue-output",
            detect_output,
            OutputDecoder,
            True,
            True,
            OUTPUT_LOSSES,
            False,
            answer_only=True,
            about=About(
                made_by="cn -p --format json PROMPT",
                versions="1.5.47",
                end="the only printed answer; an error",
            ),
        ),
        Dialect(
            "continue-session",
            detect_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session; of `cn -p` those that ended well; `/export`",
                versions="1.5.47",
                end="none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("cn", "-p", PROMPT, "--format", "json")),
    aliases=("continue-cli", "cn"),
    roots=(LogRoot("~/.continue/sessions", "CONTINUE_GLOBAL_DIR", "sessions", ("*.json",)),),
)

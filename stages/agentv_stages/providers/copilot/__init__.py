"""GitHub Copilot: the events of `copilot -p … --output-format json` and of the SDK, and `events.jsonl`."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.provider import Dialect, Head, LogRoot, Provider
from agentv_stages.providers.copilot.catalogue import KNOWN
from agentv_stages.providers.copilot.events import EventsDecoder
from agentv_stages.providers.copilot.tools import TABLE

_DISK_ONLY = frozenset(
    ("session.start", "session.resume", "session.shutdown", "session.usage_record", "system.message")
)

_COMMON_LOSSES = (
    "what a rewind took back is only told, not removed",
    "costs are premium requests, no money",
)
STREAM_LOSSES = (
    "standard output has no token counts of prompts, and with own models none at all",
    "the session id comes with the last line only, the working directory never",
    *_COMMON_LOSSES,
)
SESSION_LOSSES = ("an answer that was broken off is not in the log", *_COMMON_LOSSES)


def _is_event(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if not isinstance(kind, str) or not isinstance(line.get("data"), dict) or "sessionID" in line:
        return False
    return isinstance(line.get("id"), str) and kind in KNOWN


def _is_result(line: Mapping[str, Any]) -> bool:
    usage = line.get("usage")
    return line.get("type") == "result" and "exitCode" in line and isinstance(usage, dict) and "sessionId" in line


def _detect_stream(head: Head) -> float:
    events = [line for line in head if _is_event(line)]
    if any(_is_result(line) for line in head):
        return 1.0
    if not events:
        return 0.0
    if any(line.get("ephemeral") is True for line in events):
        return 1.0
    return 0.7 if not any(line.get("type") in _DISK_ONLY for line in events) else 0.3


def _detect_session(head: Head) -> float:
    events = [line for line in head if _is_event(line)]
    if not events or any(line.get("ephemeral") is True for line in events) or any(map(_is_result, head)):
        return 0.0
    return 1.0 if any(line.get("type") in _DISK_ONLY for line in events) else 0.6


PROVIDER = Provider(
    name="copilot",
    title="GitHub Copilot",
    dialects=(
        Dialect("copilot-stream", _detect_stream, EventsDecoder, live=True, has_end=True, losses=STREAM_LOSSES),
        Dialect("copilot-session", _detect_session, EventsDecoder, live=False, has_end=True, losses=SESSION_LOSSES),
    ),
    tools=TABLE,
    aliases=("copilot-cli", "copilot-sdk", "copilot-events", "copilot-log"),
    roots=(LogRoot("~/.copilot", "COPILOT_HOME", "session-state", ("*/events.jsonl", "*.jsonl")),),
)

"""GitHub Copilot: events of `copilot -p … --output-format json` and the SDK, `copilot --acp`, and `events.jsonl`."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.deltas import ACP_DELTA, DELTA_TEXT
from agentv_stages.model.provider import PROMPT, About, DecodeContext, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.acp import detect, speaker
from agentv_stages.providers.acp.session import AcpDecoder
from agentv_stages.providers.copilot.acp import HABITS
from agentv_stages.providers.copilot.catalogue import KNOWN
from agentv_stages.providers.copilot.events import EventsDecoder
from agentv_stages.providers.copilot.tools import TABLE

_DISK_ONLY = frozenset(
    ("session.start", "session.resume", "session.shutdown", "session.usage_record", "system.message")
)

_COMMON_LOSSES = (
    "figures without the part that a rewind took back (it still counts)",
    "cost in money (the log counts premium requests)",
)
STREAM_LOSSES = (
    "tokens of prompts; with models of your own all tokens",
    "the session's id before the last line; the working directory",
    *_COMMON_LOSSES,
)
ACP_LOSSES = (
    "times, unless the recorder added them",
    "native tool names (titles, kinds and arguments decide)",
    "whether a text is repeated",
    "the prompt, unless the client's messages were recorded",
    "tokens of a prompt that was not answered to its end",
    "which text is a sub-agent's (the calls around it decide)",
)
SESSION_LOSSES = (
    "an answer that was cut off, and its tokens",
    "records that a rewind in the terminal removed from the log, with their tokens",
    *_COMMON_LOSSES,
)


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
    return 0.7 if not any(str(line.get("type")) in _DISK_ONLY for line in events) else 0.3


def _detect_session(head: Head) -> float:
    events = [line for line in head if _is_event(line)]
    if not events or any(line.get("ephemeral") is True for line in events) or any(map(_is_result, head)):
        return 0.0
    return 1.0 if any(str(line.get("type")) in _DISK_ONLY for line in events) else 0.6


def _acp_decoder(context: DecodeContext) -> AcpDecoder:
    decoder = AcpDecoder(context)
    decoder.state.agent = "copilot"
    return decoder


def _detect_acp(head: Head) -> float:
    """Copilot's own ACP output; without the answer to `initialize` it counts only if Copilot was asked for."""
    found = detect(head)
    agent = speaker(head) if found else ""
    return found if agent == "copilot" else 0.0 if agent else found / 2


PROVIDER = Provider(
    name="copilot",
    title="GitHub Copilot",
    dialects=(
        Dialect(
            "copilot-stream",
            _detect_stream,
            EventsDecoder,
            live=True,
            has_end=True,
            losses=STREAM_LOSSES,
            deltas=(rb'"assistant\.(?:message|reasoning)_delta".{0,300}?"deltaContent":' + DELTA_TEXT,),
            about=About(
                made_by="copilot -p PROMPT --output-format json",
                versions="1.0.34 to 1.0.102",
                end="`result`, the last line",
            ),
        ),
        Dialect(
            "copilot-acp",
            _detect_acp,
            _acp_decoder,
            live=True,
            has_end=True,
            losses=ACP_LOSSES,
            has_prompt=False,
            deltas=(ACP_DELTA,),
            about=About(made_by="copilot --acp", versions="1.0.102", end="the answer to `session/prompt`"),
        ),
        Dialect(
            "copilot-session",
            _detect_session,
            EventsDecoder,
            live=False,
            has_end=True,
            losses=SESSION_LOSSES,
            about=About(made_by="every session", versions="0.0.420 to 1.0.102", end="`session.shutdown`"),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(("copilot", "-p", PROMPT, "--output-format", "json"), kinds=("copilot", "copilot-cli", "copilot-sdk")),
    aliases=("copilot-cli", "copilot-sdk", "copilot-events", "copilot-log"),
    roots=(LogRoot("~/.copilot/session-state", "COPILOT_HOME", "session-state", ("*/events.jsonl", "*.jsonl")),),
)

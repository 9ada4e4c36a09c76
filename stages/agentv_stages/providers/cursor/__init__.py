"""Cursor: the stream of `cursor-agent -p … --output-format stream-json` and the transcripts of the IDE."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.deltas import DELTA_TEXT
from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.cursor.stream import StreamDecoder
from agentv_stages.providers.cursor.tools import TABLE
from agentv_stages.providers.cursor.transcript import TranscriptDecoder

STREAM_LOSSES = (
    "the model's real name (it is the one shown to people)",
    "tokens of single answers; the end of a run that failed, in some cases",
    "message ids: answers are distinguished by their model calls",
    "whether a text is repeated",
)
TRANSCRIPT_LOSSES = (
    "results of most calls",
    "times, tokens, mostly the model",
    "the end of a run, before Cursor wrote `turn_ended`",
    "the session's id",
    "whether a line is repeated",
)

_KEYS = ("env", "flag", "login")
_OTHERS = ("role", "message", "id", "sessionId", "session_id", "sessionID", "data", "payload", "event")


def _stream_line(line: Mapping[str, Any]) -> float:
    kind, subtype = line.get("type"), line.get("subtype")
    if kind == "system" and subtype == "init":
        return (
            1.0 if str(line.get("apiKeySource")) in _KEYS and "tools" not in line and "permissionMode" in line else 0.0
        )
    if kind == "tool_call" and subtype in ("started", "completed"):
        return 1.0 if "call_id" in line and isinstance(line.get("tool_call"), dict) else 0.0
    if "session_id" not in line or "uuid" in line or "parent_tool_use_id" in line:
        return 0.0
    if kind == "thinking" and subtype in ("delta", "completed") and "timestamp_ms" in line:
        return 1.0
    if kind == "assistant" and ("timestamp_ms" in line or "model_call_id" in line):
        return 0.9
    if kind == "result" and "request_id" in line and "total_cost_usd" not in line:
        return 0.9
    return 0.0


def _detect_stream(head: Head) -> float:
    return max(map(_stream_line, head), default=0.0)


def _detect_transcript(head: Head) -> float:
    """Lines with only a role and a message, and ends of turns; lines that only a later version has may occur among
    them."""
    good = 0
    for line in head:
        if "uuid" in line or "timestamp" in line or "content" in line:
            return 0.0
        if _is_turn_end(line):
            good += 1
        elif "type" in line:
            if any(name in line for name in _OTHERS):
                return 0.0
        elif line.get("role") in ("user", "assistant", "system", "tool") and isinstance(line.get("message"), dict):
            good += "content" in line["message"]
        elif "role" not in line:
            return 0.0
    spoken = any("role" in line for line in head)
    return 1.0 if good and good == len(head) and spoken else 0.9 if good else 0.0


def _is_turn_end(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "turn_ended" and isinstance(line.get("status"), str) and "role" not in line


PROVIDER = Provider(
    name="cursor",
    title="Cursor",
    dialects=(
        Dialect(
            "cursor-stream",
            _detect_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=STREAM_LOSSES,
            displayed_models=True,
            deltas=(
                rb'"subtype":\s*"delta".{0,200}?"text":' + DELTA_TEXT,
                rb'"type":\s*"assistant".{0,120}?"text":' + DELTA_TEXT + rb'.*?"timestamp_ms":(?!.*"model_call_id")',
            ),
            about=About("cursor-agent -p PROMPT --output-format stream-json", end="`result`"),
        ),
        Dialect(
            "cursor-transcript",
            _detect_transcript,
            TranscriptDecoder,
            live=False,
            has_end=False,
            losses=TRANSCRIPT_LOSSES,
            displayed_models=True,
            about=About(
                "the IDE",
                end="`turn_ended`; else complete when the last answer asks for no tool, all calls have results",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("cursor-agent", "-p", PROMPT, "--output-format", "stream-json")),
    aliases=("cursor-agent", "cursor-cli"),
    roots=(
        LogRoot(
            "~/.cursor/projects", None, "projects", ("*/agent-transcripts/*/*.jsonl", "*/agent-transcripts/*.jsonl")
        ),
    ),
)

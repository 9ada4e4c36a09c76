"""Goose: the stream of `goose run`, exported sessions, and its database. No real log was seen (unverified).

Source: Goose, published source of 2026.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.goose.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.goose.session import ROWS_LOSSES, RowsDecoder, SessionDecoder
from agentv_stages.providers.goose.store import STORE
from agentv_stages.providers.goose.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.goose.stream import StreamDecoder
from agentv_stages.providers.goose.tools import TABLE

_UNVERIFIED = "of 2026 by its source (unverified)"
_REQUESTS = ("toolRequest", "toolResponse")


def _member(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = line.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _is_message(message: Mapping[str, Any]) -> bool:
    """A message of Goose: epoch seconds, and content of its own types or its own metadata."""
    content = message.get("content")
    if not isinstance(content, list) or not isinstance(message.get("created"), (int, float)):
        return False
    kinds = [_member({"block": block}, "block").get("type") for block in content]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return "userVisible" in _member(message, "metadata") or any(kind in _REQUESTS for kind in kinds)


def is_stream(head: Head) -> float:
    return max(map(_stream_line, head), default=0.0)


def _stream_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if kind == "message":
        return float(_is_message(_member(line, "message")))
    if kind == "complete":
        return 0.9 if "total_tokens" in line else 0.0
    return 0.8 if kind == "notification" and "extension_id" in line else 0.0


def is_session(head: Head) -> float:
    return max(map(_session_line, head), default=0.0)


def _session_line(line: Mapping[str, Any]) -> float:
    if isinstance(line.get("messages"), list):
        return float("total_tokens" in _member(line, "metadata"))
    if "working_dir" in line:
        return float(isinstance(line.get("conversation"), list) or "message_count" in line)
    return 0.9 if "role" in line and "type" not in line and _is_message(line) else 0.0


def is_rows(head: Head) -> float:
    best = 0.0
    for line in head:
        if "content_json" in _member(line, "message"):
            return 1.0
        if "working_dir" in _member(line, "session"):
            best = 0.9
    return best


PROVIDER = Provider(
    name="goose",
    title="Goose",
    dialects=(
        Dialect(
            "goose-stream",
            is_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=STREAM_LOSSES,
            has_prompt=False,
            about=About(
                "goose run -t PROMPT --quiet --output-format stream-json", _UNVERIFIED, "`complete`, or `error`"
            ),
        ),
        Dialect(
            "goose-session",
            is_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=SESSION_LOSSES,
            about=About(
                "goose session export --format json; goose run --output-format json; sessions before 1.10",
                _UNVERIFIED,
                "none; complete when the last answer asks for no tool",
                places=("*.jsonl",),
            ),
        ),
        Dialect(
            "goose-rows",
            is_rows,
            RowsDecoder,
            live=False,
            has_end=False,
            losses=ROWS_LOSSES,
            stored=True,
            about=About(
                "agentv-stream consume sessions.db --session SESSION",
                _UNVERIFIED,
                "none; complete when the last answer asks for no tool",
                places=("sessions.db",),
            ),
        ),
    ),
    tools=TABLE,
    start=Start(
        ("goose", "run", "-t", PROMPT, "--quiet", "--output-format", "stream-json"),
        ("--model", MODEL),
        kinds=("goose",),
        prompt_options=frozenset(("-t", "--text")),
    ),
    roots=(
        LogRoot("~/.local/share/goose/sessions", "XDG_DATA_HOME", "goose/sessions", ("sessions.db",), database=True),
        LogRoot("~/.local/share/goose/sessions", "GOOSE_PATH_ROOT", "data/sessions", ("sessions.db",), database=True),
        LogRoot("~/.local/share/goose/sessions", "XDG_DATA_HOME", "goose/sessions", ("*.jsonl",)),
    ),
    store=STORE,
)

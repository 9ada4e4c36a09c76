"""Recognises logs of unsupported agents, and another session in the middle of a log.

`foreign_agent`: first records in, "a Poolside session" out, for the error message.

Source: the agents' documentation and logs in public repositories; each test is for something that no dialect here has.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from agentv_stages.model.batch import Batch, Begun, Record

Line: TypeAlias = Mapping[str, Any]

COPIED = "copied from the parent session"
"""The name under which a decoder ignores records that a fork copied: they are in the log of its parent."""

COPIED_BESIDE = "copied from a log beside it"
"""As `COPIED`, where only another log in the folder shows it."""

OURS = "an output of agentv-stream, not a log of an agent; give the log, or the transcript"

CLAUDE_ENVELOPE = b'"parentUuid":'
"""At the beginning of Claude's and Qwen's records on disk, but in no stream."""


def foreign_agent(head: Iterable[Line]) -> str | None:
    """The kind of a foreign log, such as "a Poolside session"; None if unknown. The first fit in `AGENTS` wins."""
    lines = list(head)
    if lines and _starts(lines[0].get("schema_version"), "agentv_stream."):
        return OURS
    for name, is_theirs in AGENTS:
        if any(map(is_theirs, lines)):
            return name
    return None


def other_session(
    record: Record, session_id: str | None, known: str | None, batch: Batch, *, header: bool = True
) -> bool:
    """Whether a record begins another session than the `known` one, so that the input contains two logs.

    Decoders call it for the header record of their dialect, or, without `header`, for each record if there is none; the
    record is used. Faults: `foreign-record`.
    """
    if not session_id or not known or session_id == known:
        return False
    batch.fault("foreign-record", record, f"session {session_id} begins in the log of session {known}")
    batch.begun.append(Begun(record.row, known, session_id, header))
    return True


def _droid_rpc(line: Line) -> bool:
    return "factoryApiVersion" in line or "factoryProtocolVersion" in line or _starts(line.get("method"), "droid.")


def _cline_context(line: Line) -> bool:
    return "conversation_id" in line and "source_prefix_hash" in line


def _cursor_composer(line: Line) -> bool:
    return "composerData" in line or ("composerId" in line and "fullConversationHeadersOnly" in line)


def _poolside(line: Line) -> bool:
    kind = line.get("type")
    return kind == "session.start" and "session_start" in line and "client_metadata" in line


def _kimi(line: Line) -> bool:
    return line.get("type") == "metadata" and "protocol_version" in line and "created_at" not in line


def _grok_chat(line: Line) -> bool:
    kind = line.get("type")
    if kind == "assistant":
        return "model_fingerprint" in line or ("model_id" in line and "content" in line)
    return kind in ("user", "system", "tool_result") and "content" in line and line.keys() <= _GROK_CHAT


_GROK_CHAT = {"type", "content", "prompt_index", "synthetic_reason", "tool_call_id"}


def _grok_events(line: Line) -> bool:
    return line.get("type") == "turn_started" and "session_relationship" in line


def _grok_summary(line: Line) -> bool:
    return "stopReason" in line and "requestId" in line and "text" in line


def _openhands(line: Line) -> bool:
    return line.get("source") in ("agent", "user", "environment") and ("action" in line or "observation" in line)


def _messages(line: Line) -> bool:
    return line.get("role") in ("system", "user", "assistant") and "content" in line and "type" not in line


def _otlp(line: Line) -> bool:
    return "resourceSpans" in line


AGENTS: tuple[tuple[str, Callable[[Line], bool]], ...] = (
    ("a Droid JSON-RPC stream", _droid_rpc),
    ("a compacted context of Cline", _cline_context),
    ("a dump of Cursor's composer", _cursor_composer),
    ("a Poolside session", _poolside),
    ("a session of the older Kimi CLI", _kimi),
    ("a chat history of Grok Build", _grok_chat),
    ("a list of events of Grok Build", _grok_events),
    ("a summary of Grok Build", _grok_summary),
    ("a log of OpenHands 0.x", _openhands),
    ("an OpenTelemetry export", _otlp),
    ("a plain list of messages", _messages),
)
"""The name of a log, and the test whether a record belongs to one."""


def _starts(value: Any, prefix: str) -> bool:
    return isinstance(value, str) and value.startswith(prefix)

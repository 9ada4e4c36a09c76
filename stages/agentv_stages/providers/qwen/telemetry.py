"""Telemetry in Qwen Code's sessions: how calls ended, and all that is known of sub-agents.

Source: Qwen Code 0.14 to 0.24.4, system lines `ui_telemetry`.
"""

from typing import TypeAlias

from msgspec import Struct

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, AssistantText, Outcome, Source, ToolCall, ToolResult
from agentv_stages.model.payload import EMPTY_STRING, to_raw
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.gemini.outcome import DENIED_TYPES, SHELL_TOOLS, shell_outcome
from agentv_stages.providers.qwen.parts import EMPTY, model_call
from agentv_stages.providers.qwen.wire import UiEvent

Tokens: TypeAlias = tuple[int | None, int | None, int | None, int | None, int | None]
"""Input, cached, output, thoughts, total, as in the record of a response."""
REJECTED = frozenset(("reject", "rejected", "cancel", "cancelled"))


class Ended(Struct):
    """Telemetry of a call whose result line has not come yet."""

    duration_ms: int | None = None
    rejected: bool = False

    @classmethod
    def of(cls, event: UiEvent) -> "Ended":
        return cls(whole_ms(event.duration_ms), event.decision in REJECTED)


def agent_of(event: UiEvent) -> str | None:
    """The stream of a sub-agent, whose prompt ids are `<session>#<agent>#<n>`; the main thread's have more parts.

    A main-thread answer to a sub-agent's notice (0.24) also has that sub-agent's name.
    """
    pieces = (event.prompt_id or "").split("#")
    if len(pieces) == 3 and pieces[1]:
        return f"subagent:{pieces[1]}"
    if len(pieces) > 3:
        return None
    return f"subagent:{event.subagent_name}" if event.subagent_name else None


def in_stream(source: Source, stream: str, time_ms: int | None = None) -> Source:
    """The same source on another stream, at another time if one is given."""
    when = source.time_ms if time_ms is None else time_ms
    return Source(source.file, source.row, source.offset, source.length, when, stream, source.base_id)


def answer_id(event: UiEvent, source: Source) -> str:
    """The id of the answer that a record belongs to. Some model servers give one response id to several responses
    (Ollama draws it from 999), so the prompt's id, which counts a sub-agent's requests, is put before it.
    """
    if event.response_id and event.prompt_id:
        return f"{event.prompt_id}:{event.response_id}"
    return event.response_id or source.base_id


def agent_call(event: UiEvent, name: str, source: Source, batch: Batch) -> None:
    """Appends a sub-agent's call: telemetry has its input and its end; its output is in the sub-agent's own file."""
    message_id = answer_id(event, source)
    duration = whole_ms(event.duration_ms)
    began = _began(source, duration)
    arguments = event.function_args or EMPTY_OBJECT
    call_id = event.call_id or f"{source.base_id}-call"
    batch.events.append(ToolCall(began, "", message_id, call_id, name, arguments, None, event.model))
    outcome: Outcome = "ok" if event.success or event.status == "success" else "error"
    if event.decision in REJECTED or event.error_type in DENIED_TYPES:
        outcome = "denied"
    elif event.status == "cancelled":
        outcome = "cancelled"
    more = event.call_id is not None
    batch.events.append(ToolResult(source, "", call_id, None, outcome, None, duration, partial=more))


def script_call(event: UiEvent, name: str, message_id: str, source: Source, batch: Batch) -> None:
    """Appends a call that an `exec` script made; an output is known only if it failed."""
    duration = whole_ms(event.duration_ms)
    began = _began(source, duration)
    arguments = event.function_args or EMPTY_OBJECT
    call_id = event.call_id or f"{source.base_id}-call"
    parent = event.parent_call_id
    batch.events.append(ToolCall(began, "", message_id, call_id, name, arguments, parent, event.model))
    output = None if event.error is None else to_raw(event.error)
    outcome: Outcome = "ok" if event.success else "error"
    if event.decision in REJECTED:
        outcome = "denied"
    elif event.status == "cancelled":
        outcome = "cancelled"
    exit_code = shell_outcome(bytes(output))[1] if output is not None and name in SHELL_TOOLS else None
    batch.events.append(ToolResult(source, "", call_id, output, outcome, exit_code, duration))


def tokens_of(event: UiEvent) -> Tokens:
    return (
        event.input_token_count,
        event.cached_content_token_count,
        event.output_token_count,
        event.thoughts_token_count,
        event.total_token_count,
    )


def agent_answer(event: UiEvent, source: Source, batch: Batch) -> None:
    """Appends a sub-agent's answer: its text and its tokens."""
    message_id = answer_id(event, source)
    if bytes(event.response_text) not in EMPTY:
        text = event.response_text or EMPTY_STRING
        batch.events.append(AssistantText(source, "", message_id, text, False, False, event.model))
    batch.events.append(model_call(source, message_id, event.model, *tokens_of(event)))


def _began(source: Source, duration_ms: int | None) -> Source:
    """The source moved to when a call that ended there began; unchanged if the duration is missing or too long."""
    if duration_ms is None or source.time_ms is None or duration_ms > source.time_ms:
        return source
    return in_stream(source, source.stream, source.time_ms - duration_ms)

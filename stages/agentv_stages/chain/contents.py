"""Checksums of what events say, to recognise it when it comes again."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Events,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)

_BITS = 0xFFFFFFFF


def summed(event: AnyEvent) -> int:
    """A checksum of 32 bits of an event's content; 0 for an event that is not compared: a piece of a text, other kinds.

    Outputs are long, so only their lengths are compared.
    """
    sums = _SUMS.get(type(event))
    return 0 if sums is None else sums(event)


def contents_of(events: Events, at: int) -> int:
    """A checksum of the record whose first event is `events[at]`, without its tokens, which not every copy has."""
    source, contents = events[at].source, 1
    for i in range(at, len(events)):
        event = events[i]
        if event.source is not source:
            break
        if type(event) is not TokenUsage and (check := summed(event)):
            contents = (contents * 31 + check) & _BITS
    return contents


def piece_summed(event: AnyEvent) -> int:
    """A checksum of 32 bits of a piece of a text; 0 for another event."""
    if isinstance(event, AssistantText | Reasoning) and event.delta:
        return crc32(event.text_json, _part(event))
    return 0


def id_summed(event: AnyEvent) -> int:
    """A checksum of 32 bits of the id of an event's message; 0 for an event without one."""
    return _of(getattr(event, "message_id", "") or getattr(event, "key", ""))


def _of_text(event: AssistantText | Reasoning) -> int:
    return 0 if event.delta else crc32(event.text_json, _part(event))


def _of_prompt(event: UserText) -> int:
    return 0 if event.delta else crc32(event.body, _part(event))


def _of_call(event: ToolCall) -> int:
    return crc32(event.input_json, crc32(event.call_id.encode("utf-8", "surrogatepass")))


def _of_result(event: ToolResult) -> int:
    output = event.output_json
    return _of(f"{event.call_id} {-1 if output is None else len(output)} {event.partial} {event.outcome}")


def _of_usage(event: TokenUsage) -> int:
    return _of(f"{event.input} {event.cached} {event.cache_write} {event.output} {event.reasoning}")


def _of_fact(event: SessionInfo) -> int:
    return 1 if event.begins or event.another else 0


def _of_command(event: SlashCommand) -> int:
    return _of(f"{event.name} {event.args}")


def _of_end(event: SessionEnd) -> int:
    return _of(event.status)


def _of_retract(event: Retract) -> int:
    return _of(event.reason)


def _part(event: AnyEvent) -> int:
    return crc32(event.part.encode("utf-8", "surrogatepass"), ord(type(event).__name__[0]))


def _of(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


_SUMS: dict[type[AnyEvent], Callable[[Any], int]] = {
    UserText: _of_prompt,
    AssistantText: _of_text,
    Reasoning: _of_text,
    ToolCall: _of_call,
    ToolResult: _of_result,
    TokenUsage: _of_usage,
    SlashCommand: _of_command,
    SessionInfo: _of_fact,
    SessionEnd: _of_end,
    Retract: _of_retract,
}
BLOCKS = frozenset((AssistantText, Reasoning, ToolCall))
REPEATED: dict[type[AnyEvent], str] = {
    **dict.fromkeys(_SUMS, "repeated-record"),
    ToolCall: "repeated-call",
    ToolResult: "repeated-result",
}
"""Kinds of events that would count, or appear in the transcript, twice; under which name repetitions are counted."""

"""Caps the depth of payloads: an event in, out comes the event without a payload that is nested too deeply.

Fault: `too-deep`; the rest of the record is used.
"""

from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    PAYLOADS,
    AnyEvent,
    AssistantText,
    Event,
    Reasoning,
    SessionEnd,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, MAX_DEPTH, too_deep

LONGEST_SHALLOW = 2 * MAX_DEPTH
"""No payload of at most this many bytes can be too deep."""
PAYLOAD_OF: dict[type[Event], str] = {
    ToolCall: "input_json",
    ToolResult: "output_json",
    UserText: "body",
    AssistantText: "text_json",
    Reasoning: "text_json",
    SessionEnd: "result_json",
}
"""Events whose payload may be a list or an object -> its field."""
_EMPTY: dict[str, Raw | None] = {"input_json": EMPTY_OBJECT, "body": EMPTY_STRING, "text_json": EMPTY_STRING}
_QUOTE = ord('"')


def capped(event: AnyEvent, payload: Raw, batch: Batch) -> AnyEvent:
    """The event, without its payload if that is too deep."""
    if memoryview(payload)[0] == _QUOTE:
        return event
    data = bytes(payload)
    if not too_deep(data):
        return event
    source, name = event.source, PAYLOAD_OF[type(event)]
    record = next((r for r in batch.records if r.offset == source.offset), None)
    record = record or Record(data, source.offset, source.row)
    batch.fault("too-deep", record, f"the {PAYLOADS[name]} is nested deeper than {MAX_DEPTH} levels")
    batch.faults.sort(key=lambda fault: fault.offset)
    return replace(event, **{name: _EMPTY.get(name)})

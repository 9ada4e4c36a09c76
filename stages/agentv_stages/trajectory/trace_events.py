"""The generic trace events of AgentV 0.25, with additions: events in, JSON lines or plain values out.

`{type, timestamp?, id?, name?, input?, output?, text?, metadata?}` with the types `model_step`, `tool_call`,
`tool_result`, `message` and `error`. Inputs and outputs are kept as in the log. An event without a time in the log has
the time at which it arrived; its `metadata` then says `"timestamp_source": "arrival"`.
"""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType, json, to_builtins

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import decode_json
from agentv_stages.model.times import ARRIVAL, iso

_encode = json.Encoder().encode


class TraceEvent(Struct, frozen=True, omit_defaults=True):
    """One trace event; `id` is the call id of calls and results, or the message id of other events."""

    type: str
    timestamp: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    output: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


def trace_event(event: AnyEvent, arrived_ms: int | None = None) -> TraceEvent | None:
    """The trace event of an event; None for events that a trace does not contain. `arrived_ms`: when it arrived."""
    source = event.source
    time_ms = source.time_ms if source.time_ms is not None else arrived_ms
    when = iso(time_ms) if time_ms is not None else UNSET
    extra: dict[str, Any] = {} if source.stream == MAIN else {"stream": source.stream}
    if source.time_ms is None and time_ms is not None:
        extra["timestamp_source"] = ARRIVAL
    if isinstance(event, ToolCall):
        extra |= {"kind": event.kind} | ({"native": event.name} if event.name != event.tool else {})
        name = event.tool or event.name
        return TraceEvent("tool_call", when, event.call_id, name, event.input_json, metadata=extra)
    if isinstance(event, ToolResult):
        extra |= {"status": event.outcome or "ok"}
        if event.duration_ms is not None:
            extra["duration_ms"] = event.duration_ms
        tool = UNSET if event.call is None else event.call.tool or event.call.name
        output = UNSET if event.output_json is None else event.output_json
        return TraceEvent("tool_result", when, event.call_id, tool, output=output, metadata=extra)
    if isinstance(event, UserText | AssistantText):
        role = "user" if isinstance(event, UserText) else "assistant"
        return TraceEvent("message", when, event.message_id or UNSET, text=event.text, metadata={"role": role, **extra})
    if isinstance(event, Reasoning):
        return TraceEvent("model_step", when, event.message_id, text=event.text, metadata=extra or UNSET)
    if isinstance(event, Notification) and event.level == "error":
        return TraceEvent("error", when, name=event.name, text=event.message, metadata=extra or UNSET)
    return None


def render(batch: Batch) -> bytes:
    """The trace events of a batch as JSON lines."""
    lines = (trace_event(event, batch.arrived_ms) for event in batch.events)
    return b"".join(_encode(line) + b"\n" for line in lines if line is not None)


class TraceList:
    """Collects trace events as plain values, at most `most`; an observer of batches."""

    def __init__(self, most: int = 10_000) -> None:
        self.events: list[Any] = []
        self.truncated = False
        self._most = most

    def observe(self, batch: Batch) -> None:
        for event in batch.events:
            traced = trace_event(event, batch.arrived_ms)
            if traced is None:
                continue
            if len(self.events) >= self._most:
                self.truncated = True
                return
            self.events.append(_plain(traced))

    def put_into(self, result: Result) -> None:
        """Sets the traces of a result."""
        result.traces = self.events
        if self.truncated:
            result.traces_truncated = True


def _plain(event: TraceEvent) -> Any:
    value: dict[str, Any] = {}
    for name in event.__struct_fields__:
        member: Any = getattr(event, name)
        if member is UNSET:
            continue
        value[name] = decode_json(member) if isinstance(member, Raw) else to_builtins(member)
    return value

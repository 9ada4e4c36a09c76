"""Events as JSON lines in agtrace's form: id, session, parent, time, stream, type, content.

Ids are deterministic (docs/architecture.md, identity): `uuid5(session, base id + ":" + suffix)`; the parent is the
previous event of the same stream. Reading a log again gives the same ids, so delivering an event twice does no harm.
"""

from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import msgspec
from msgspec import Struct, convert, to_builtins

from agentv_stages.chain.pair import MOST_OPEN
from agentv_stages.model.event import (
    FAILED_OUTCOMES,
    MAIN,
    PAYLOADS,
    SUFFIXES,
    AnyEvent,
    ToolCall,
    ToolResult,
    call_key,
)
from agentv_stages.model.recent import remember
from agentv_stages.model.times import iso

SCHEMA = "agentv_stream.event.v1"
_encode = msgspec.json.Encoder().encode


class Tips(Struct):
    """The last event id of each stream, and the ids of the calls that wait for a result, as many as `Pair` keeps."""

    parents: dict[str, str] = {}
    calls: dict[str, str] = {}


def session_uuid(session_id: str) -> UUID:
    """The UUID of a session, from its native id."""
    return uuid5(NAMESPACE_OID, session_id)


def event_id(session: UUID, session_id: str, event: AnyEvent) -> UUID:
    """The id of an event; the same for every reading of the log."""
    source = event.source
    base = source.base_id
    if not base:
        base = f"{session_id}:row_{source.row}"
        if source.stream != MAIN:  # its log may be another one, with rows of its own
            base = f"{source.stream}:{base}"
    return uuid5(session, f"{base}{event.part}:{SUFFIXES[type(event)]}")


class EventLines:
    """Renders the events of one session, in order."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.session = session_uuid(session_id)
        self.tips = Tips()

    def snapshot(self) -> Tips:
        return Tips(dict(self.tips.parents), dict(self.tips.calls))

    def restore(self, snapshot: object, /) -> None:
        self.tips = convert(snapshot, Tips, from_attributes=True)

    def value(self, event: AnyEvent) -> dict[str, Any]:
        """One event as a plain value; payloads in it are `Raw`."""
        source = event.source
        own = str(event_id(self.session, self.session_id, event))
        stream = source.stream
        parent = self.tips.parents.get(stream)
        self.tips.parents[stream] = own
        content = content_of(event)
        if isinstance(event, ToolCall):
            remember(self.tips.calls, call_key(event), own, MOST_OPEN)
        elif isinstance(event, ToolResult):
            call = call_key(event.call or event)
            content["tool_call_id"] = self.tips.calls.get(call)
            if not event.partial:
                self.tips.calls.pop(call, None)
        return {
            "schema_version": SCHEMA,
            "id": own,
            "session_id": str(self.session),
            "parent_id": parent,
            "timestamp": iso(source.time_ms) if source.time_ms is not None else None,
            "stream_id": stream_json(stream),
            "type": event.__struct_config__.tag,
            "content": content,
            "source": {"file": source.file, "row": source.row, "offset": source.offset, "length": source.length},
        }

    def line(self, event: AnyEvent) -> bytes:
        """One event as a JSON line."""
        data = _encode(self.value(event))
        if not data.isascii():
            data = data.decode("utf-8", "replace").encode()
        return data + b"\n"


def stream_json(stream: str) -> dict[str, Any]:
    """agtrace's form of a stream: a tag, and what distinguishes streams with that tag."""
    if stream == MAIN:
        return {"stream_type": MAIN}
    kind, _, name = stream.partition(":")
    return {"stream_type": kind, "stream_data": {"agent_id" if kind == "sidechain" else "name": name}}


_NAMES = {**PAYLOADS, "input_json": "arguments"}  # as in agtrace
_LEFT_OUT = frozenset(("source", "part", "type", "call", "delta", "partial"))


def content_of(event: AnyEvent) -> dict[str, Any]:
    """An event's content, without its place and time; payloads are `Raw`."""
    content: dict[str, Any] = {}
    for name in event.__struct_fields__:
        if name in _LEFT_OUT:
            continue
        value = getattr(event, name)
        if value is None or value == "" or value is False or value == ():
            continue
        content[_NAMES.get(name, name)] = value if isinstance(value, msgspec.Raw) else to_builtins(value)
    if isinstance(event, ToolResult):
        content["provider_call_id"] = content.pop("call_id", "")
        content["is_error"] = event.outcome in FAILED_OUTCOMES
        content.setdefault("output", None)
    elif isinstance(event, ToolCall):
        content["provider_call_id"] = content.pop("call_id", "")
    return content

"""What redaction must not change: a log in, its ids, places, pairing, figures and verdicts as JSON out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from agentv_stages.redaction.redactor import Redactor
from agentv_stages.session.parts import Parts
from agentv_stages.sinks.event_lines import EventLines
from agentv_stream.checks.check import Checker
from agentv_stream.checks.spec import SpecCase
from agentv_stream.summary import SessionReader, read_file


def facts_of(log: Path, redactor: Redactor | None = None, cases: Sequence[SpecCase] = ()) -> bytes:
    """Everything about a session but its texts and their sizes: ids, places and kinds of events, pairing, figures, and
    the verdicts of `cases`.

    Raises: as `SessionReader`.
    """
    parts = Parts(redactor=redactor)
    checker = Checker(cases)
    checker.parts = parts
    reader = SessionReader(read_file(str(log)), str(log), messages=True, parts=parts)
    events: list[object] = []
    messages: list[object] = []
    faults: list[object] = []
    lines = EventLines("session")
    for batch in reader.batches():
        checker.observe(batch)
        events += [(type(event).__name__, event.source, json.loads(lines.line(event))["id"]) for event in batch.events]
        for message in batch.messages:
            calls = [(paired.call.call_id, paired.call.tool, paired.result is None) for paired in message.calls]
            messages.append((message.index, message.turn, message.role, message.source, message.usage, calls))
        faults += [(fault.reason, fault.row, fault.offset, fault.length) for fault in batch.faults]
    result = msgspec.to_builtins(reader.result())
    result.pop("redaction_level", None)
    _drop_sizes(result)
    return msgspec.json.encode([*events, *messages, *faults, result, checker.finish()])


def _drop_sizes(value: Any) -> None:
    """Takes out what counts the bytes of texts."""
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        for name in [name for name in members if "bytes" in name or "chars" in name]:
            del members[name]
        for item in members.values():
            _drop_sizes(item)

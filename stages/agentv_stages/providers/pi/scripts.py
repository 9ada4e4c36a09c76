"""Pi's code mode on disk: a script's result lists its calls (`nestedCalls`), without their results.

The stream shows each inner call as it runs (`parentToolCallId`).
Source: pi 0.99 to 1.5.2, session files.
"""

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Outcome, Source, ToolCall, ToolResult
from agentv_stages.model.payload import has_value, to_raw
from agentv_stages.model.scripts import Script
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.pi.wire import Nested

TOOL = "codemode"
_OUTCOMES: dict[str, Outcome] = {"ok": "ok", "error": "error", "unfinished": "cancelled"}


def listed(script: Script, call_id: str, nested: list[Nested], source: Source, batch: Batch) -> None:
    """Appends the calls that a script's result lists, each with its outcome; a failed one has its error as output."""
    script.made_calls = True
    for i, call in enumerate(nested):
        inner = call.id or f"{call_id}/{i + 1}"
        arguments = call.arguments if has_value(call.arguments) else EMPTY_OBJECT
        part = f"-n{i}"
        batch.events.append(
            ToolCall(source, part, script.message_id, inner, call.name or "unknown", arguments, call_id, script.model)
        )
        outcome = _OUTCOMES.get(call.status or "")
        output = None if call.error is None else to_raw(call.error)
        duration = whole_ms(call.duration_ms)
        batch.events.append(ToolResult(source, part, inner, output, outcome, None, duration))

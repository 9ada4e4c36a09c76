"""The summary stream log, for people: one line an event, with elapsed time, tool and target, outcome and duration.

Text is consolidated: a message is told when it is complete. Control characters are made visible; lines are cut.
"""

from agentv_stages.batch import Batch
from agentv_stages.event import (
    MAIN,
    AnyEvent,
    Notification,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.message import Message
from agentv_stages.payload import text_of
from agentv_stages.visible import visible

WIDTH = 200


class SummaryLog:
    """Renders batches after `Consolidate`. Elapsed time is of the log, else of arrival."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width
        self._first: int | None = None

    def render(self, batch: Batch) -> bytes:
        lines: list[str] = []
        for event in batch.events:
            said = _event(event)
            if said:
                lines.append(self._line(event.source.time_ms, batch.arrived_ms, event.source.stream, said))
        for message in batch.messages:
            said = _message(message)
            if said:
                lines.append(self._line(message.end_ms, batch.arrived_ms, message.source.stream, said))
        return "".join(lines).encode("utf-8", "replace")

    def _line(self, time_ms: int | None, arrived_ms: int | None, stream: str, said: str) -> str:
        when = time_ms if time_ms is not None else arrived_ms
        if self._first is None:
            self._first = when
        elapsed = "       " if when is None or self._first is None else f"{max(0, when - self._first) / 1000:7.1f}"
        where = "" if stream == MAIN else f"[{visible(stream, 32)}] "
        return f"{elapsed} {visible(where + said, self.width)}\n"


def target_of(call: ToolCall) -> str:
    """What a call is about, in one phrase: its command, its file, or its arguments."""
    if call.command is not None:
        return call.command
    if call.files:
        return call.files[0] if len(call.files) == 1 else f"{call.files[0]} and {len(call.files) - 1} more"
    shown = bytes(call.input_json)[:400].decode("utf-8", "replace")
    return "" if shown == "{}" else shown


def _event(event: AnyEvent) -> str:
    if isinstance(event, ToolCall):
        return f"→ {event.tool or event.name} {target_of(event)}"
    if isinstance(event, ToolResult):
        if event.outcome == "unpaired":
            return f"? {_tool(event)} no result"
        sign = "✓" if event.outcome in ("ok", None) else "✗"
        code = f" exit {event.exit_code}" if event.exit_code else ""
        took = f" {event.duration_ms / 1000:.1f}s" if event.duration_ms is not None else ""
        outcome = "" if event.outcome in ("ok", None) else f" {event.outcome}"
        return f"{sign} {_tool(event)}{outcome}{code}{took}"
    if isinstance(event, SessionInfo):
        facts = [event.session_id, event.model, event.version, event.cwd]
        return "session " + " ".join(f for f in facts if f) if any(facts) else ""
    if isinstance(event, SessionEnd):
        return f"end {event.status}" + (f": {event.reason}" if event.reason else "")
    if isinstance(event, Notification):
        return f"{event.level} {event.name}: {event.message}" if event.level != "debug" else ""
    if isinstance(event, SlashCommand):
        return f"command {event.name} {event.args or ''}"
    if isinstance(event, TokenUsage) and event.scope != "call":
        return f"tokens in {event.input if event.input is not None else '?'} out {event.output if event.output is not None else '?'}"
    return ""


def _tool(result: ToolResult) -> str:
    call = result.call
    return (call.tool or call.name) if call is not None else result.call_id


def _message(message: Message) -> str:
    text = " ".join(text_of(block) for block in message.content if bytes(block)[:1] in (b'"', b"["))
    if not text.strip():
        return ""
    return f"{message.role}: {text.strip()}"

"""The summary stream log, for people: one line per event, with elapsed time, tool and target, outcome and duration.

Text is consolidated: a message is written when it is complete. Control characters are made visible; lines are cut.
"""

from msgspec import Struct

from agentv_stages.model.batch import Batch
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.visible import visible

WIDTH = 200


class SummaryState(Struct):
    """The state between two events: the first and the last time (UTC ms), by stream a text in pieces, and the totals
    written last."""

    first_ms: int | None = None
    last_ms: int | None = None
    pieces: dict[str, tuple[Source, str]] = {}
    totals: str = ""


class SummaryLog:
    """Renders the events of batches after `Pair`. Elapsed time is that of the log, or of arrival if it has no times."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width
        self.first_ms: int | None = None
        self._last: int | None = None
        self._pieces: dict[str, tuple[Source, str]] = {}  # by stream: a text that comes in pieces
        self._totals = ""  # written last; some agents log them several times when they quit

    def render(self, batch: Batch) -> bytes:
        """One line for each event that is of interest."""
        lines: list[str] = []
        for event in batch.events:
            stream = event.source.stream
            if isinstance(event, AssistantText) and event.delta:
                source, text = self._pieces.get(stream, (event.source, ""))
                self._pieces[stream] = (source, text + event.text if len(text) < self.width else text)
                continue
            if stream in self._pieces:
                source, text = self._pieces.pop(stream)
                lines.append(self._line(source, batch.arrived_ms, _spoken("assistant", text)))
            phrase = _event(event)
            if isinstance(event, TokenUsage) and phrase:
                phrase, self._totals = "" if phrase == self._totals else phrase, phrase
            if phrase:
                lines.append(self._line(event.source, batch.arrived_ms, phrase))
        return "".join(lines).encode("utf-8", "replace")

    def snapshot(self) -> SummaryState:
        """A copy of the state, which later events do not change."""
        return SummaryState(self.first_ms, self._last, dict(self._pieces), self._totals)

    def restore(self, state: SummaryState) -> None:
        self.first_ms, self._last, self._pieces = state.first_ms, state.last_ms, dict(state.pieces)
        self._totals = state.totals

    def flush(self) -> bytes:
        """The texts that were still incomplete, at the end of the input."""
        lines = [self._line(source, None, _spoken("assistant", text)) for source, text in self._pieces.values()]
        self._pieces.clear()
        return "".join(lines).encode("utf-8", "replace")

    def _line(self, source: Source, arrived_ms: int | None, text: str) -> str:
        when = source.time_ms if source.time_ms is not None else arrived_ms if self._last is None else self._last
        if source.time_ms is not None:
            self._last = source.time_ms
        if self.first_ms is None:
            self.first_ms = when
        elapsed = "       " if when is None or self.first_ms is None else f"{max(0, when - self.first_ms) / 1000:7.1f}"
        where = "" if source.stream == MAIN else f"[{visible(source.stream, 32)}] "
        return f"{elapsed} {visible(where + text, self.width)}\n"


def _spoken(role: str, text: str) -> str:
    return f"{role}: {text.strip()}" if text.strip() else ""


def _event(event: AnyEvent) -> str:
    if isinstance(event, AssistantText):
        return _spoken("assistant", event.text)
    if isinstance(event, UserText):
        return _spoken("user (injected)" if event.injected else "user", event.text)
    if isinstance(event, ToolCall):
        return f"→ {event.tool or event.name} {target_of(event)}".rstrip()
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
    if isinstance(event, Retract):
        return f"taken back: {len(event.message_ids)} messages ({event.reason})"
    if isinstance(event, TokenUsage) and event.scope not in ("call", "share"):
        prompt = "?" if event.input is None else f"{event.input:,}"
        return f"tokens in {prompt} out {'?' if event.output is None else f'{event.output:,}'}"
    return ""


def _tool(result: ToolResult) -> str:
    call = result.call
    return (call.tool or call.name) if call is not None else result.call_id

"""The latest of a session: its last tool call, and what its main stream said last. In: events. Out: a `Latest`.

It contains no texts: a tool's name, times and numbers, as far as a list of sessions needs them.
"""

from collections.abc import Sequence

from msgspec import Struct

from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    SessionEnd,
    ToolCall,
    ToolResult,
    UserText,
)

WAITING_NAMES = frozenset(("permission_request", "elicitation", "user_input_request"))
"""Notifications after which an agent waits for its user."""


class Latest(Struct, array_like=True):
    """The latest of a session; times are UTC ms, None where no event has one.

    `tool` is that of the last call by time, "" without a call. `answered`: the last thing on the main stream is an
    answer. `waiting`: the agent asked its user, and nothing followed. The rest is known at the end of the log: whether
    its last run has `ended`, how many calls are open, the model's context window and the tokens in it (None where the
    log does not say), and the turn of the first edit.
    """

    tool: str = ""
    tool_ms: int | None = None
    event_ms: int | None = None
    answered: bool = False
    waiting: bool = False
    ended: bool = False
    open_calls: int = 0
    context_window: int | None = None
    context_tokens: int | None = None
    first_edit_turn: int | None = None

    def called(self, call: ToolCall, at_ms: int | None) -> None:
        """Takes a call, whose time is `at_ms`, or that of the latest event before it."""
        if at_ms is None or self.tool_ms is None or at_ms >= self.tool_ms:
            self.tool, self.tool_ms = call.tool or call.name, at_ms

    def passed(self, events: Sequence[AnyEvent], event_ms: int | None) -> None:
        """Takes the events of a batch, after `Pair`. `event_ms` is the latest time of all events so far."""
        self.event_ms = event_ms
        self.waiting = is_waiting(events, self.waiting)
        self.answered = is_answered(events, self.answered)


def is_answered(events: Sequence[AnyEvent], before: bool) -> bool:
    """Whether the last thing on the main stream is an answer after these events; `before` says it of those before."""
    return next(
        (
            isinstance(event, AssistantText)
            for event in reversed(events)
            if event.source.stream == MAIN and isinstance(event, AssistantText | ToolCall | ToolResult | UserText)
        ),
        before,
    )


def is_waiting(events: Sequence[AnyEvent], before: bool) -> bool:
    """Whether the agent waits for its user after these events; `before` says it of the events before them."""
    for event in reversed(events):
        if isinstance(event, Notification):
            if event.name in WAITING_NAMES:
                return True
        elif not isinstance(event, SessionEnd) or event.source.stream == MAIN:
            return False
    return before

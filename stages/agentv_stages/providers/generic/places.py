"""The order of the calls and results of our own transcript, where its rows do not show it.

In: the events of a row, and its `order`: the place of each call, and of its result, among those of the session (0:
none). Out: these events in the order of their places, as soon as all before them have come. A row without `order` holds
places that follow one another.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult

MOST_WAITING = 1_000
"""Calls and results that wait for those before them; in a transcript that lacks rows, these never come."""
MOST_PLACES = 1 << 53
Placed: TypeAlias = ToolCall | ToolResult


class Places(Struct):
    """`next` is the next place; `waiting` are calls and results of later places."""

    next: int = 1
    waiting: dict[int, Placed] = {}

    def row(self, events: list[AnyEvent], first: int, order: Sequence[int]) -> None:
        """Puts the calls and results among `events[first:]`, which are those of a row, into their places."""
        own = [event for event in events[first:] if isinstance(event, ToolCall | ToolResult)]
        if not order:
            self.next += len(own)
        elif len(order) == 2 * sum(isinstance(event, ToolCall) for event in own):
            events[first:] = [event for event in events[first:] if not isinstance(event, ToolCall | ToolResult)]
            call = -2
            for event in own:
                call += 2 * isinstance(event, ToolCall)
                place = order[call + isinstance(event, ToolResult)]
                if not self.next <= place < MOST_PLACES or place in self.waiting:
                    events.append(event)
                else:
                    self.waiting[place] = event
        while self.next in self.waiting:
            events.append(self.waiting.pop(self.next))
            self.next += 1
        if len(self.waiting) > MOST_WAITING:
            self.release(events)

    def release(self, events: list[AnyEvent]) -> None:
        """Appends all that waits."""
        for place in sorted(self.waiting):
            events.append(self.waiting[place])
            self.next = place + 1
        self.waiting.clear()

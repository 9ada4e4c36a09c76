"""Which parts of a session to show: failed calls, calls of one tool, a range of turns, what holds a text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from agentv_stages.model.event import FAILED_OUTCOMES
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import text_of
from agentv_stages.model.text_matches import matches_in_call
from agentv_stages.model.text_query import TextQuery
from agentv_stream.errors import UsageError
from agentv_stream.names import suggestion

_TURNS = re.compile(r"(\d{0,9})(\.\.|-|:)?(\d{0,9})")


@dataclass(frozen=True)
class Selection:
    """The parts of a session to show. A part is shown if all of `failed`, `tool`, `turns` (first and last, None: no
    bound) and `query`
    hold for it."""

    failed: bool = False
    tool: str | None = None
    turns: tuple[int | None, int | None] | None = None
    query: TextQuery | None = None

    @property
    def everything(self) -> bool:
        return self == Selection()

    @property
    def whole_messages(self) -> bool:
        """Whether messages are left out or shown whole, as by their turns."""
        return not self.failed and self.tool is None and self.query is None

    def has_turn(self, turn: int) -> bool:
        first, last = self.turns or (None, None)
        return (first is None or turn >= first) and (last is None or turn <= last)

    def check(self, messages: Iterable[Message]) -> None:
        """Raises: UsageError if no call of the session is of the tool, with the nearest name."""
        if self.tool is None:
            return
        known = {name for m in messages for p in m.calls for name in (p.call.tool or p.call.name, p.call.name)}
        if self.tool.lower() not in {name.lower() for name in known}:
            near = suggestion(self.tool, known) if known else "; it has no calls at all"
            raise UsageError(f"--tool: no call of {self.tool!r} in this session{near}")

    def chosen(self, message: Message, turn: int) -> Message | None:
        """The message with the parts to show; None if there are none. `turn` is the one at its place."""
        if not self.has_turn(turn):
            return None
        if self.whole_messages:
            return message
        calls = [paired for paired in message.calls if self._has_call(paired)]
        if self.query is None or self.failed or self.tool is not None:
            return replace(message, content=[], thinking=[], calls=calls) if calls else None
        query = self.query
        content = [block for block in message.content if query.find(text_of(block)) is not None]
        thinking = [block for block in message.thinking if query.find(text_of(block)) is not None]
        return (
            replace(message, content=content, thinking=thinking, calls=calls) if content or thinking or calls else None
        )

    def _has_call(self, paired: PairedCall) -> bool:
        call, result = paired.call, paired.result
        if self.failed and (result is None or result.outcome not in FAILED_OUTCOMES):
            return False
        if self.tool is not None and self.tool.lower() not in (call.tool.lower(), call.name.lower()):
            return False
        return self.query is None or next(matches_in_call(paired, self.query), None) is not None


def turns_of(text: str) -> tuple[int | None, int | None]:
    """`7`, `3..5`, `3..`, `..5` as first and last turn. Raises: UsageError."""
    match = _TURNS.fullmatch(text.strip())
    first, last = (int(match[n]) if match is not None and match[n] else None for n in (1, 3))
    if match is None or (first is None and last is None) or (first is not None and last is not None and first > last):
        raise UsageError(f"--turn: {text!r} is not a range of turns; use 7, 3..5, 3.. or ..5")
    return (first, last) if match[2] else (first, first)

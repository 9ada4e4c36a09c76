"""The state of the decoder of Gemini's chat recordings between lines."""

from msgspec import Struct

from agentv_stages.model.event import SessionEnd
from agentv_stages.model.times import Time

KEEP = 4096


class Emitted(Struct):
    """The emitted parts of a message of this `time`: size and checksum of its text, number of thoughts, its tokens."""

    time: Time = None
    size: int = 0
    crc: int = 0
    thoughts: int = 0
    tokens: tuple[int | None, ...] = ()

    def is_empty(self) -> bool:
        """Whether nothing was emitted of the message's text, thoughts and tokens."""
        return not (self.size or self.thoughts or self.tokens)


class ChatState(Struct):
    """The state between lines. `calls`: id -> whether its result was emitted.

    `started`: a message was recorded on a line of its own; from then on `$set` only repeats messages. `copying`:
    records repeat the history for a new context. `asking`: the last answer, if it has no calls of its own. `cancelled`:
    the end by "Request cancelled.", held back until the next record, which may be that of a running call.
    """

    session_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    started: bool = False
    copying: bool = False
    asking: str = ""
    asking_ms: int | None = None
    cancelled: SessionEnd | None = None
    messages: dict[str, Emitted] = {}
    calls: dict[str, bool] = {}

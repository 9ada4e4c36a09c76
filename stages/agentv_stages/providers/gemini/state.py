"""What the decoder of Gemini's chat recordings remembers between lines."""

from msgspec import Struct

from agentv_stages.event import SessionEnd

KEEP = 4096


class Told(Struct):
    """What was told of a message: bytes and checksum of its text, number of thoughts, its tokens."""

    size: int = 0
    crc: int = 0
    thoughts: int = 0
    tokens: tuple[int | None, ...] = ()

    def says_nothing(self) -> bool:
        """Whether no text, thought or tokens of the message were told."""
        return not (self.size or self.thoughts or self.tokens)


class ChatState(Struct):
    """What is remembered between lines. `calls`: id -> whether its result was told.

    `started`: a message was recorded on a line of its own; from then on `$set` only repeats messages.
    `copying`: records repeat the history for a new context. `asking`: the last answer if it has no calls of its own.
    `cancelled`: the end by "Request cancelled.", held back until the next record, which may be that of a running call.
    """

    session_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    started: bool = False
    copying: bool = False
    asking: str = ""
    asking_ms: int | None = None
    cancelled: SessionEnd | None = None
    messages: dict[str, Told] = {}
    calls: dict[str, bool] = {}

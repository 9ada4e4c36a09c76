"""Completed messages: one model answer or one user input, its calls answered. What `Consolidate` makes."""

from typing import Literal, TypeAlias

from msgspec import Raw, Struct, field

from agentv_stages.event import Source, TokenUsage, ToolCall, ToolResult
from agentv_stages.payload import join_strings

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]


class PairedCall(Struct):
    """A tool call and its result; `result` is None while it is open, and for good where none ever comes."""

    call: ToolCall
    result: ToolResult | None = None


class Message(Struct):
    """One message of one stream.

    `index` is the position by first record, from 0 over all streams; messages may come in another order.
    `content` holds the blocks: JSON strings (text) or objects (an image, say). `turn` counts the assistant messages
    of the main stream from 1; None elsewhere. `injected`: written by the agent's program, not by a person or a model.
    `late` marks a row that only carries what came after its message had left.
    """

    index: int
    role: Role
    source: Source
    message_id: str
    content: list[Raw] = field(default_factory=list[Raw])
    thinking: list[Raw] = field(default_factory=list[Raw])
    calls: list[PairedCall] = field(default_factory=list[PairedCall])
    usage: TokenUsage | None = None
    model: str | None = None
    turn: int | None = None
    end_ms: int | None = None
    injected: bool = False
    synthetic: bool = False
    retracted: bool = False
    late: bool = False
    pieces: list[Raw] = field(default_factory=list[Raw])
    pieces_of: Literal["", "content", "thinking"] = ""

    def append(self, place: Literal["content", "thinking"], body: Raw, delta: bool) -> None:
        """Adds a block, or with `delta` a piece that continues the last one; pieces are joined once, by `seal`."""
        blocks = self.content if place == "content" else self.thinking
        if not delta:
            if self.pieces:
                self.seal()
            blocks.append(body)
            return
        if self.pieces_of != place:
            self.seal()
            self.pieces_of = place
            if blocks and bytes(blocks[-1])[:1] == b'"':
                self.pieces.append(blocks.pop())
        self.pieces.append(body)

    def seal(self) -> None:
        """Joins the pieces of the running block."""
        if self.pieces:
            blocks = self.content if self.pieces_of == "content" else self.thinking
            blocks.append(join_strings(self.pieces))
            self.pieces = []
        self.pieces_of = ""

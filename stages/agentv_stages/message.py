"""Completed messages: one model answer or one user input, its calls answered. What `Consolidate` makes."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Raw, Struct

from agentv_stages.event import Source, TokenUsage, ToolCall, ToolResult
from agentv_stages.payload import join_strings, text_of

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]


class PairedCall(Struct):
    """A tool call and its result; `result` is None while it is open, and for good where none ever comes."""

    call: ToolCall
    result: ToolResult | None = None


class Message(Struct):
    """One message of one stream.

    `index` is the position by first record, from 0 over all streams; messages may come in another order.
    `source` is its first record, with stream and time; `end_ms` (UTC milliseconds) when its last part came or its last
    call was answered, None where the log has no times. `message_id` is the agent's own, or made where it gives none.
    `content` and `thinking` hold the blocks: JSON strings (text) or objects (an image, say). `calls` are in the order
    requested. `usage` is that of this model call, `model` who gave it; None where the log does not say. `turn` counts
    the assistant messages of the main stream from 1; None elsewhere.

    `injected`: written by the agent's program in a person's name; `synthetic`: in the model's ("API Error: …").
    `retracted`: the log took it back. `late` marks a message that only carries what came after its message had left.
    `open` counts the calls without a result. `foretold`: `usage` was told before all else of the message, so it may be
    that of an answer that never came. The pieces are of a message that still runs.
    """

    index: int
    role: Role
    source: Source
    message_id: str
    content: list[Raw] = []
    thinking: list[Raw] = []
    calls: list[PairedCall] = []
    usage: TokenUsage | None = None
    model: str | None = None
    turn: int | None = None
    end_ms: int | None = None
    injected: bool = False
    synthetic: bool = False
    retracted: bool = False
    late: bool = False
    open: int = 0
    foretold: bool = False
    content_pieces: list[Raw] = []
    thinking_pieces: list[Raw] = []

    @property
    def text(self) -> str:
        """The text of the message, its blocks joined; "" where there is none. Images and their like are left out."""
        return "".join(text_of(block) for block in self.content)

    def append(self, place: Literal["content", "thinking"], body: Raw, delta: bool) -> None:
        """Adds a block, or with `delta` a piece that continues the last one; pieces are joined once, by `seal`.

        Pieces of text and of thought may alternate: each continue what is theirs.
        """
        content = place == "content"
        blocks, pieces = (self.content, self.content_pieces) if content else (self.thinking, self.thinking_pieces)
        if not delta:
            if pieces:
                blocks.append(join_strings(pieces))
                pieces.clear()
            blocks.append(body)
            return
        if not pieces and blocks and bytes(blocks[-1])[:1] == b'"':
            pieces.append(blocks.pop())
        pieces.append(body)

    def seal(self) -> None:
        """Joins the pieces of the running blocks."""
        if self.content_pieces:
            self.content.append(join_strings(self.content_pieces))
            self.content_pieces = []
        if self.thinking_pieces:
            self.thinking.append(join_strings(self.thinking_pieces))
            self.thinking_pieces = []


def call_names(ids: Sequence[str]) -> Sequence[str]:
    """The names under which a row tells its calls apart: their ids, and of a repeated one `id#2`, `id#3`…"""
    if len(ids) == len(set(ids)):
        return ids
    seen: dict[str, int] = {}
    names: list[str] = []
    for own in ids:
        seen[own] = seen.get(own, 0) + 1
        names.append(own if seen[own] == 1 else f"{own}#{seen[own]}")
    return names

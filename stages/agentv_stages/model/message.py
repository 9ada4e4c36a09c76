"""Completed messages, as `Consolidate` makes them: one model answer or one user input, with its calls answered."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Raw, Struct

from agentv_stages.model.event import Source, TokenUsage, ToolCall, ToolResult
from agentv_stages.model.payload import join_strings, text_of

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]


class PairedCall(Struct):
    """A tool call and its result; `result` is None while the call is open, and stays None if none ever comes.

    `call_place` and `result_place` count the calls and results of the session, of all streams, up to this one.
    """

    call: ToolCall
    result: ToolResult | None = None
    call_place: int = 0
    result_place: int = 0

    def __repr__(self) -> str:
        ended = "open" if self.result is None else self.result.outcome or "ok"
        return f"<PairedCall {self.call.tool or self.call.name!r} {self.call.call_id!r}: {ended}>"


class Message(Struct):
    """One message of one stream.

    `index` is the position by first record, from 0 over all streams; messages may come in another order.
    `source` is its first record, with stream and time; `end_ms` (UTC milliseconds) when its last part came or its last
    call was answered, None where the log has no times. `message_id` is the agent's own, or generated if it gives none.
    `content` and `thinking` hold the blocks: JSON strings (text) or objects (such as images). `calls` are in the order
    requested. `usage` and `model` are those of this model call; None where the log does not say. `turn` counts the
    assistant messages of the main stream from 1; None elsewhere.

    `injected`: written by the agent's program in the user's name; `synthetic`: in the model's ("API Error: …").
    `retracted`: the log took it back. `late`: holds only parts that came after its message was emitted. `open` counts
    the calls without a result. `foretold`: `usage` came before the rest of the message, so it may belong to an answer
    that never came. `before` counts the calls and results of the session before the message. `content_pieces` and
    `thinking_pieces` belong to a message that is not complete yet.
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
    before: int = 0
    content_pieces: list[Raw] = []
    thinking_pieces: list[Raw] = []

    def __repr__(self) -> str:
        turn = "" if self.turn is None else f", turn {self.turn}"
        return f"<Message {self.index}, {self.role}{turn}: {self.text[:60]!r}, {len(self.calls)} calls>"

    @property
    def text(self) -> str:
        """The text of the message, its blocks joined; "" where there is none. Images and the like are left out."""
        return "".join(text_of(block) for block in self.content)

    @property
    def order(self) -> list[int]:
        """The places of its calls and results among those of the session: of each call, then of its result, 0 where
        there is none. Empty where the row says it: they come one after the other, and nothing else between them."""
        if len(self.calls) == 1:  # most messages
            only, first = self.calls[0], self.before + 1
            if only.call_place == first and only.result_place in (0, first + 1):
                return []
        places = [place for paired in self.calls for place in (paired.call_place, paired.result_place)]
        known = [place for place in places if place]
        follow = list(range(self.before + 1, self.before + 1 + len(known)))
        calls_first = [place for place in (*places[::2], *places[1::2]) if place]
        return [] if follow in (known, calls_first) else places

    def append(self, place: Literal["content", "thinking"], body: Raw, delta: bool) -> None:
        """Adds a block, or with `delta` a piece that continues the last one; pieces are joined once, by `seal`.

        Pieces of text and of thinking may alternate: each continues the last block of its own place.
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
        """Joins the pieces of the unfinished blocks."""
        if self.content_pieces:
            self.content.append(join_strings(self.content_pieces))
            self.content_pieces = []
        if self.thinking_pieces:
            self.thinking.append(join_strings(self.thinking_pieces))
            self.thinking_pieces = []


def call_names(ids: Sequence[str]) -> Sequence[str]:
    """Unique names for the calls of a row: their ids, and `id#2`, `id#3`… for repeated ones."""
    if len(ids) == len(set(ids)):
        return ids
    seen: dict[str, int] = {}
    names: list[str] = []
    for own in ids:
        seen[own] = seen.get(own, 0) + 1
        names.append(own if seen[own] == 1 else f"{own}#{seen[own]}")
    return names

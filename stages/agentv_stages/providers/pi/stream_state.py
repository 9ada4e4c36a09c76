"""The state of the decoder of Pi's standard output between lines, and the answer that it is writing."""

from msgspec import Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Reasoning, Source
from agentv_stages.model.payload import to_raw
from agentv_stages.model.repeats import Repeats
from agentv_stages.model.scripts import Script
from agentv_stages.providers.pi.messages import part
from agentv_stages.providers.pi.wire import DeltaEvent

# The answer that Pi is writing, assembled from the deltas of its `message_update` lines.
#
# Used only if the answer was never completed: `message_end` has the whole of a completed one. Source: pi 0.84 to
# 1.5.2, whose updates no longer carry snapshots.

_KINDS = ("text", "thinking")


class GrownBlock(Struct):
    """A block of text or thought, in pieces as they came."""

    kind: str
    pieces: list[str] = []


def grow(blocks: dict[int, GrownBlock], event: DeltaEvent) -> None:
    """Adds the content of one update. Calls are left out: one whose arguments are incomplete is not a call."""
    kind, _, phase = event.type.partition("_")
    index = event.content_index or 0
    if phase == "start" and index == 0:
        blocks.clear()
    if kind not in _KINDS:
        return
    block = blocks.get(index)
    if block is None or phase == "start":
        block = blocks[index] = GrownBlock(kind)
    if phase == "delta" and event.delta:
        block.pieces.append(event.delta)
    elif phase == "end" and event.content is not None:
        block.pieces = [event.content]


def unfinished(blocks: dict[int, GrownBlock], message_id: str, model: str | None, source: Source, batch: Batch) -> None:
    """Appends the texts and thoughts so far, in the order of the blocks."""
    for index, block in sorted(blocks.items()):
        text = to_raw("".join(block.pieces))
        if block.kind == "text":
            batch.events.append(AssistantText(source, part(index), message_id, text, False, False, model))
        else:
            batch.events.append(Reasoning(source, part(index), message_id, text, False, model))


class StreamState(Struct):
    """`open`: calls without a result, by id. `repeats`: answers and prompts emitted, by time.
    `partial`: the newest update of the answer being written.
    `growing`: its blocks so far, if updates carry pieces. `scripts`: those that have not ended.
    `held_end`: a run ended with an error, at `held_row`, that Pi may still retry.
    """

    session_id: str | None = None
    model: str | None = None
    stop: str | None = None
    error: str | None = None
    open: dict[str, bool] = {}
    repeats: Repeats = field(default_factory=Repeats, name="told")
    message_id: str = ""
    partial: Record | None = None
    growing: dict[int, GrownBlock] = {}
    scripts: dict[str, Script] = {}
    held_end: bool = False
    held_row: int = 0
    held_offset: int = 0

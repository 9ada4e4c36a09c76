"""The answer that Pi is writing, assembled from the deltas of its `message_update` lines.

Used only if the answer was never completed: `message_end` has the whole of a completed one.
Source: pi 0.84 to 1.5.2, whose updates no longer carry snapshots.
"""

from msgspec import Struct

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AssistantText, Reasoning, Source
from agentv_stages.model.payload import to_raw
from agentv_stages.providers.pi.messages import part
from agentv_stages.providers.pi.wire import DeltaEvent

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

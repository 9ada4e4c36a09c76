"""The log of a compaction: a copy of the session, then the model call that wrote the summary. Only tokens are emitted.

Source: Claude Code up to at least 2.1.9x, which logged a compaction like a sub-agent. The session holds the summary.
"""

from msgspec import Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Source
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.claude.blocks import SYNTHETIC_MODEL
from agentv_stages.providers.claude.session import answer_usage
from agentv_stages.providers.claude.wire import decode_session

STREAM = "sidechain:acompact-"


class CompactionState(Struct):
    """Empty: an answer that is repeated has the same key."""


class CompactionDecoder:
    """Decodes a compaction's file. Copied answers have keys that the session's log has emitted already."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = CompactionState()

    def decode(self, record: Record, batch: Batch) -> None:
        line, context = decode_session(record.data), self.context
        message = line.message
        if line.type != "assistant" or message is None or not message.usage or message.model == SYNTHETIC_MODEL:
            batch.ignore("compaction")
            return
        time_ms = parse_iso(line.timestamp)
        source = Source(
            context.file, record.row, record.offset, record.length, time_ms, context.stream, line.uuid or ""
        )
        key = message.id or line.uuid or f"m{record.row}"
        batch.events.append(answer_usage(line, message, key, source))

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

"""Amp's stream to events: lines of `amp -x … --stream-json`, which are like Claude's with few fields.

Messages have no id and, in newer builds, no model; a line is a whole answer. The prompt is printed.
End rule: `result`.
Source: one run of April 2026; documentation.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionEnd, SessionInfo, Source, Status, TokenUsage
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.amp.blocks import add_answer, add_input, blocks_of
from agentv_stages.providers.amp.wire import Message, decode_line

LOSSES = (
    "times, in newer builds the model",
    "the exit code of a command",
    "cost, the version of the program",
)


class State(Struct):
    session_id: str | None = None


class StreamDecoder:
    """Decoder of `amp-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        kind, message = line.type, line.message or Message()
        context, parent = self.context, line.parent_tool_use_id
        source = context.source(record)
        if parent is not None:
            source = Source(context.file, record.row, record.offset, record.length, None, f"subagent:{parent}", "")
        if kind == "system" and line.subtype == "init":
            another = other_session(record, line.session_id, self.state.session_id, batch)
            self.state.session_id = line.session_id
            batch.events.append(SessionInfo(source, "", line.session_id, cwd=line.cwd, another=another, begins=True))
        elif kind == "user":
            add_input(blocks_of(message.content), "", f"user-{record.row}", source, batch)
        elif kind == "assistant":
            message_id = message.id or f"answer-{record.row}"
            add_answer(blocks_of(message.content), "", message_id, source, batch, message.model, parent)
            used = message.usage
            if used is not None and any((used.input_tokens, used.cache_read_input_tokens, used.output_tokens)):
                parts = (used.input_tokens, used.cache_creation_input_tokens, used.cache_read_input_tokens)
                total = None if used.input_tokens is None else sum(count or 0 for count in parts)
                batch.events.append(
                    TokenUsage(
                        source, "", message_id, "call", message.model, total, used.cache_read_input_tokens,
                        used.cache_creation_input_tokens, None, used.output_tokens,
                    )
                )  # fmt: skip
        elif kind == "result":
            failed = line.is_error or line.subtype != "success"
            duration = None if line.duration_ms is None else whole_ms(line.duration_ms)
            reason = line.error or (line.subtype if failed else None)
            status: Status = "error" if failed else "complete"
            end = SessionEnd(source, "", status, reason, None, duration, line.num_turns, Raw(record.data))
            batch.events.append(end)
        else:
            batch.unknown_type(f"{kind}/{line.subtype}" if line.subtype else kind, record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

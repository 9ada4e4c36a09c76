"""Goose's stream to events: lines of `goose run --output-format stream-json`.

Lines with one id are pieces of one answer. Without `--quiet` a banner stands before the first line.
End rule: `complete`; an `error`, whatever follows, is a failed run, and so is a `complete` whose counts are all 0.
Source: Goose, published source of 2026; no real stream was seen.
"""

from msgspec import Raw, Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source, TokenUsage
from agentv_stages.model.payload import text_json, text_of
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.goose.messages import Speech, add_message
from agentv_stages.providers.goose.wire import Line, decode_line

LOSSES = (
    "the prompt, the session's id, its folder, the version of the program",
    "tokens of single answers; in versions before June 2026 all tokens",
    "how long calls took",
    "what sub-agents say and do",
)


class State(Struct):
    """`failed`: an error ended the run."""

    speech: Speech = field(default_factory=Speech)
    failed: bool = False


class StreamDecoder:
    """Decoder of `goose-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        state, kind = self.state, line.type
        created = line.message.created if line.message is not None else None
        source = self.context.source(record, from_epoch(created))
        if kind == "message" and line.message is not None:
            add_message(line.message, "", source, state.speech, batch, self.context.parent_call)
        elif kind == "notification":
            batch.ignore(kind)
        elif kind == "model_change":
            state.speech.model = line.model
            batch.events.append(SessionInfo(source, "", model=line.model))
        elif kind == "error":
            state.failed = True
            text = text_of(text_json(line.error))
            batch.events.append(Notification(source, "", kind, text, "error"))
            batch.events.append(SessionEnd(source, "", "error", text))
        elif kind == "complete":
            self._complete(line, record, source, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _complete(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        counts = (line.total_tokens, line.input_tokens, line.output_tokens)
        nothing = 0 in counts and not any(counts)
        if not nothing and line.input_tokens is not None:
            batch.events.append(
                TokenUsage(
                    source, "", "complete", "session", state.speech.model, line.input_tokens,
                    line.cache_read_input_tokens, line.cache_write_input_tokens, None, line.output_tokens,
                    covers_streams=True, cost_usd=line.cost_usd or None,
                )
            )  # fmt: skip
        if state.failed:
            batch.ignore("complete/failed")
        elif nothing:
            batch.events.append(SessionEnd(source, "", "error", "no tokens were used", result_json=Raw(record.data)))
        elif state.speech.limit:
            batch.events.append(SessionEnd(source, "", "incomplete", "limit of actions", result_json=Raw(record.data)))
        else:
            batch.events.append(SessionEnd(source, "", "complete", result_json=Raw(record.data)))
        state.speech.answer, state.failed = "", False

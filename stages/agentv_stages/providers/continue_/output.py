"""The output of `cn -p --format json` to events: the final answer, and before it notices of compactions.

The answer is wrapped in an object only if it is not JSON itself. An answer that is JSON is printed as it is, so that
nothing marks it as Continue's. An error goes to standard error, as an object of the same kind.
End rule: the answer, an error, or that the prompt `/compact` has been carried out.
Source: Continue CLI 1.5.47, `commands/chat.ts` and recorded runs.
"""

from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Level, Notification, SessionEnd
from agentv_stages.model.payload import has_value, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.continue_.wire import decode_line

LOSSES = (
    "everything but the final answer: other answers, tool calls, results, edits (the session on disk has them)",
    "an answer that is JSON itself: it is printed without anything that shows whose it is",
    "the prompt, the model, tokens, cost, times, the session's id and folder, the version",
    "errors (they go to standard error)",
)
WRAPPED = "Response was not valid JSON, so it was wrapped in a JSON object"
"""The `note` beside an answer that is not JSON itself."""
COMPACTED = "Chat history compacted"
"""All that the prompt `/compact` prints."""
NOTICES = frozenset(
    (
        *("Auto-compacting triggered", "Auto-compacted successfully", COMPACTED),
        "Auto-compaction failed, continuing without compaction",
    )
)
_LEVELS: dict[str, Level] = {"warning": "warning"}


class State(Struct):
    """Empty: lines are independent of each other."""


class OutputDecoder:
    """Decoder of `continue-output`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        source, add = self.context.source(record), batch.events.append
        if has_value(line.response):
            add(AssistantText(source, "", f"m{record.row}", text_json(line.response)))
            add(SessionEnd(source, "", "complete", result_json=Raw(record.data)))
        elif line.status == "error":
            add(SessionEnd(source, "", "error", line.message, result_json=Raw(record.data)))
        elif line.status is not None:
            add(Notification(source, "", line.status, line.message or "", _LEVELS.get(line.status, "info")))
            if line.message == COMPACTED:
                add(SessionEnd(source, "", "complete", result_json=Raw(record.data)))
        else:
            batch.unknown_type("(no answer)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

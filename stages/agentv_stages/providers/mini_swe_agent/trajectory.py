"""Trajectories of mini-swe-agent to events: one document is one session.

End rule: the message with role `exit`, or, in a complete document, the status in `info`.
Source: mini-swe-agent 1.1.0 to 2.4.6, `*.traj.json`.
"""

from msgspec import Struct

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.mini_swe_agent.run import Run
from agentv_stages.providers.mini_swe_agent.wire import decode_document, decode_message

LOSSES = (
    "the session's id",
    "how long each of several commands of one answer took",
    "outputs of commands next to the command that submits, in a run without a terminal",
    "before 2.3.1, answers that were refused for their format: texts, calls, tokens, costs",
    "before 1.12, tokens and times; in 1.x, output apart from the words around it",
    "in 1.x, commands that your own action_regex cut out of the answer",
)


class State(Struct):
    """Empty: documents are independent of each other."""


class TrajectoryDecoder:
    """Decoder of `mini-swe-agent`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_document(one_line(record.data))
        if document.messages is None:
            batch.unknown_type("document", record)
            return
        messages = read_each(document.messages, decode_message, "messages", record, batch)
        run = Run(self.context, document, messages, record, batch)
        run.header()
        for place, message in messages:
            run.take(place, message)
        run.end()

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

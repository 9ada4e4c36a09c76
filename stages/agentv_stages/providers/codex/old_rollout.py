"""The oldest rollouts of Codex, bare response items without an envelope, to events.

In: lines of `rollout-*.jsonl` of the first versions: a header, items, markers (`record_type`). Only the header has a
time; there are no tokens and no end record.
"""

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionInfo, Source
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.codex.conversation import Conversation
from agentv_stages.providers.codex.rollout import end_of_log
from agentv_stages.providers.codex.wire import decode_old_line, member


class OldRolloutDecoder(Conversation):
    """Decoder of `codex-rollout-old`."""

    def __init__(self, context: DecodeContext) -> None:
        super().__init__(context)
        self.state.outputs_end = False

    def decode(self, record: Record, batch: Batch) -> None:
        p = decode_old_line(record.data)
        if p.record_type is not None and not p.type:  # two lines in five
            self.state.answer = ""
            batch.ignore(f"record_type:{p.record_type}")
            return
        context = self.context
        time_ms = parse_iso(p.timestamp)
        source = Source(context.file, record.row, record.offset, record.length, time_ms, context.stream)
        if p.type:
            self.response_item(p, source, record, batch)
        elif p.id is not None and p.timestamp is not None:
            if self.state.session_id is None:
                self.state.session_id = p.id
                branch = member(p.git, "branch")
                branch = branch if isinstance(branch, str) else None
                batch.events.append(SessionInfo(source, "", p.id, p.model, None, p.cwd, branch))
            else:
                other_session(record, p.id, self.state.session_id, batch)
                batch.ignore("session header")
        else:
            batch.unknown_type("", record)

    def flush(self, batch: Batch) -> None:
        self.close(None, batch)
        if self.state.session_id is not None or self.state.final or self.state.open:
            end_of_log(self, batch)

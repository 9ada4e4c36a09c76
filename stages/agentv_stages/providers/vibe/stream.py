"""The output of Mistral Vibe since 2.23 (`vibe -p … --output streaming`, `json`) to events: an entry of its history a
line.

An entry is printed when it is settled: calls in the order of their ends. Texts and thoughts have the id of their
answer, calls do not: they belong to the answer before them, or, if they began after all its calls had ended, to one
without text.
End rule: there is none. A run is interrupted if its last entry is, or if it says goodbye (after Ctrl-C); nothing shows
whether an answer was the last one.
Source: Mistral Vibe 2.23.0, 2.25.8, 2.26.1 and 3.0.3, stdout.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionEnd, SessionInfo
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.times import epoch_ms
from agentv_stages.providers.vibe.answers import Answer
from agentv_stages.providers.vibe.entries import called, ended, is_refusal, named, noticed, spoken, where_of
from agentv_stages.providers.vibe.outcomes import GOODBYE
from agentv_stages.providers.vibe.wire import Entry, decode_entry

LOSSES = (
    "tokens, costs; the model, the version, the working directory",
    "calls that never began (an unknown tool, arguments that do not fit), and programs of run_typescript",
    "which answer a call belongs to, if answers have no text; the model's own ids of its calls",
    "exit codes (2.23 to 2.25 have those of failed commands); work of sub-agents",
    "whether a run came to its end, and why not (a limit, an error): that is printed as text on standard error",
)
INTERRUPT = "interrupt"
NOTICES = frozenset(("notice", "checkpoint", "callback"))


class State(Struct):
    """`answer` is the answer that calls belong to, `refused` the newest call that was not allowed to run."""

    session_id: str | None = None
    refused: str | None = None
    answer: Answer = field(default_factory=Answer)
    repeats: Repeats = field(default_factory=Repeats, name="told")


class StreamDecoder:
    """Decoder of `vibe-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        if record.data == GOODBYE:
            batch.events.append(SessionEnd(self.context.source(record), "-end", "interrupted", GOODBYE.decode()))
            return
        entry = named(decode_entry(one_line(record.data)), record, "")
        kind, state = entry.type, self.state
        if entry.id and state.repeats.again(f"{entry.id} {entry.updatedAt}", checksum(record.data)):
            batch.ignore(f"{kind}/again")
            return
        if entry.sessionId and entry.sessionId != state.session_id:
            other_session(record, entry.sessionId, state.session_id, batch)
            state.session_id = entry.sessionId
            source = self.context.source(record, epoch_ms(entry.createdAt))
            batch.events.append(SessionInfo(source, "-session", entry.sessionId))
        if kind == "effect":
            self._effect(entry, record, batch)
        elif kind == "message" or kind == "reasoning":
            batch.events.append(spoken(entry, state.answer.message_of(entry), where_of(self.context, record), ""))
        elif kind in NOTICES:
            batch.events.append(noticed(entry, where_of(self.context, record), ""))
            if kind == "callback" and is_refusal(entry):
                state.refused = entry.relatedEntryId
        else:
            batch.unknown_type(kind, record)
        broken = _broken_off(entry)
        if broken is not None:
            source = self.context.source(record, epoch_ms(entry.updatedAt))
            batch.events.append(SessionEnd(source, "-end", "interrupted", broken))

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _effect(self, entry: Entry, record: Record, batch: Batch) -> None:
        where = where_of(self.context, record)
        result = ended(entry, where, "")
        answer = self.state.answer.of_call(entry, result is not None)
        batch.events.append(called(entry, answer, self.context.parent_call, where, ""))
        if result is not None:
            batch.events.append(replace(result, outcome="denied") if entry.id == self.state.refused else result)


def _broken_off(entry: Entry) -> str | None:
    """Why the run was interrupted here, if it was."""
    state, outcome = entry.state, entry.outcome
    if state is not None and state.status == "cancelled":
        return state.reason or "a call was cancelled"
    if outcome is not None and outcome.type == "discarded" and outcome.cause == INTERRUPT:
        return "an answer was discarded"
    return None

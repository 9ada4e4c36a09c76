"""A conversation of OpenHands on disk to events: a file for each event, and `base_state.json`, which is read last.

The state has what no event has: the model, the folder, the tokens and costs. The conversation's id is also the name of
its folder.
End rule: as in the stream; the state also shows whether a run was paused or stuck in a loop.
Source: OpenHands CLI 1.16.0, openhands-sdk 1.21.0 and 1.58.2.
"""

import re

from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, SessionEnd, SessionInfo, Status
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.openhands.events import emit, source_of
from agentv_stages.providers.openhands.usage import spent
from agentv_stages.providers.openhands.wire import Conversation, decode_conversation, decode_event

LOSSES = (
    "the agent's version; of each answer the model; tokens of a run that was killed",
    "the zone of its times, which are taken as UTC; when its state was written",
    "that the user went back in a conversation: the abandoned part still counts",
)
_ENDS: dict[str, Status] = {"paused": "interrupted", "stuck": "error"}
_FOLDER = re.compile(r"(?:\A|/)(\w{8})-?(\w{4})-?(\w{4})-?(\w{4})-?(\w{12})/events/event-[^/]*\Z")


class State(Struct):
    """`begun`: an event was read, so the session was emitted."""

    begun: bool = False


class SessionDecoder:
    """Decoder of `openhands-session`: of events, or of a conversation's state."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        context = self.context
        event = decode_event(record.data)
        if event.kind is None:
            self._conversation(decode_conversation(record.data), record, batch)
            return
        source = source_of(event, record, context.file, context.stream)
        if not self.state.begun:
            self.state.begun = True
            place = _FOLDER.search((context.place or context.file).replace("\\", "/"))
            if place is not None and context.stream == MAIN:
                batch.events.append(SessionInfo(source, "-place", "-".join(place.groups())))
        emit(event, source, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _conversation(self, state: Conversation, record: Record, batch: Batch) -> None:
        if state.execution_status is None:
            batch.unknown_type("document", record)
            return
        source, add = self.context.source(record), batch.events.append
        model = state.agent.llm.model if state.agent is not None and state.agent.llm is not None else None
        cwd = state.workspace.working_dir if state.workspace is not None else None
        add(SessionInfo(source, "-state", state.id, model, None, cwd))
        if state.stats is not None:
            batch.events.extend(spent(source, state.stats))
        status = _ENDS.get(state.execution_status)
        if status is not None:
            add(SessionEnd(source, "-state", status, state.execution_status, result_json=Raw(b"null")))

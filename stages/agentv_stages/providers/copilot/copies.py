"""History that a fork copied from its parent's log: it is reported there, and not again here.

Source: sessions that Copilot 1.0.102 forked in its terminal. A fork's log begins with a `session.start` of its own,
followed by the parent's records with their ids and times, which are earlier than that start. A `session.info` then
names the parent.
"""

import re

import msgspec

from agentv_stages.chain.foreign import COPIED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionInfo, Source
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.copilot import notices, wire
from agentv_stages.providers.copilot.deltas import Events
from agentv_stages.providers.copilot.state import EventsState

_PARENT = re.compile(r"Forked from .* \(([0-9a-f-]{36})\) as ", re.DOTALL)


def is_copy(state: EventsState, record: Record, batch: Batch) -> bool:
    """Whether a record between a session's start and its first own record was copied from the parent."""
    assert state.begun_ms is not None
    try:
        head = wire.decode_piece(record.data)
    except msgspec.ValidationError:
        return False
    time_ms = parse_iso(head.timestamp)
    if time_ms is None or time_ms >= state.begun_ms:
        state.begun_ms = None
        return False
    state.forked = True
    batch.ignore(COPIED)
    return True


def info(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """Handles a `session.info`, which may report a rewind or, in a fork, name the parent."""
    data, state = wire.decode_notice(line.data), at.state
    notices.notice(at, line, source, batch)
    if data.infoType == "rewind":
        state.rewound = True
    elif data.infoType == "fork" and state.forked:
        parent = _PARENT.match(data.message or "")
        if parent:
            batch.events.append(SessionInfo(source, "-parent", parent_session_id=parent[1]))

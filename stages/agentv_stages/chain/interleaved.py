"""Notices that two runs wrote into one input at the same time, so that nothing shows to which the totals belong.

A record shows it that names an earlier session, or whose parent is the last record before another session's header.
Runs that were appended one after the other are no fault: each begins after the other's last record.
"""

import msgspec
from msgspec import Struct

from agentv_stages.model.batch import Batch, Record

MOST_SESSIONS = 16


class _Params(Struct, gc=False):
    sessionId: str | None = None


class _Named(Struct, gc=False):
    """The members in which the records of any agent name their session."""

    session_id: str | None = None
    sessionId: str | None = None
    sessionID: str | None = None
    thread_id: str | None = None
    params: _Params | None = None
    id: str | None = None
    parentId: str | None = None


_decode = msgspec.json.Decoder(_Named).decode


class Interleaved:
    """Looks at records once a second session has begun. `ids` are the sessions so far, the current one last; `last_ids`
    the ids of the last record before each header, unless the next session has a copy of it.

    Faults: `interleaved`, for the first record of an earlier session that comes after another one began.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.last_ids: list[str] = []

    def look(self, batch: Batch, before: str | None) -> None:
        """Takes a decoded batch in which a session begins, or any later one; `before` is the id of the record before
        it.
        """
        last: Record | None = None
        begun = iter([*batch.begun, None])
        following = next(begun)
        for record in batch.records:
            own, line = None, None
            while following is not None and following.row <= record.row:
                own = following.session if not following.header and following.session in self.ids[:-1] else own
                if own is None:
                    self._begin(following.before, following.session)
                    if following.header:
                        self._ends_with(before if last is None else id_of(last))
                following = next(begun)
            last = record
            if own is None and (len(self.ids) > 1 or self.last_ids):
                line = _named(record)
                own = _session_of(line)
            if line is not None and self.last_ids and self._goes_on(line):
                detail = f"the parent of this record is the last one before session {self.ids[-1]} began"
                batch.fault("interleaved", record, f"{detail}: no total is known")
                self.last_ids = []
            elif own is not None and own in self.ids[:-1]:
                detail = f"session {own} continues after session {self.ids[-1]} began: no total is known"
                batch.fault("interleaved", record, detail)
                self.ids.remove(own)  # once is enough
        while following is not None:
            self._begin(following.before, following.session)
            following = next(begun)

    def _begin(self, before: str, session: str) -> None:
        known = self.ids or [before]
        self.ids = [*(known_id for known_id in known if known_id != session), session][-MOST_SESSIONS:]

    def _ends_with(self, last_id: str | None) -> None:
        if last_id:
            self.last_ids = [*self.last_ids, last_id][-MOST_SESSIONS:]

    def _goes_on(self, line: _Named) -> bool:
        """Whether a record continues what stands before a header; not if that was copied after the header."""
        if line.id in self.last_ids:
            self.last_ids.remove(line.id)
        return line.parentId in self.last_ids


def id_of(record: Record) -> str | None:
    """The record's id, if it has one."""
    line = _named(record)
    return None if line is None else line.id


def _named(record: Record) -> _Named | None:
    try:
        return _decode(record.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _session_of(line: _Named | None) -> str | None:
    if line is None:
        return None
    inner = line.params.sessionId if line.params is not None else None
    return line.session_id or line.sessionId or line.sessionID or line.thread_id or inner

"""Notices that two runs wrote into one input at the same time, so that nothing shows to which the totals belong.

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


_decode = msgspec.json.Decoder(_Named).decode


class Interleaved:
    """Looks at records once a second session has begun. `ids` are the sessions so far, the current one last.

    Faults: `interleaved`, for the first record of an earlier session that comes after another one began.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []

    def look(self, batch: Batch) -> None:
        """Takes a decoded batch in which a session begins, or any later one."""
        begun = iter([*batch.begun, None])
        following = next(begun)
        for record in batch.records:
            own = None
            while following is not None and following.row <= record.row:
                own = following.session if not following.header and following.session in self.ids[:-1] else own
                if own is None:
                    self._begin(following.before, following.session)
                following = next(begun)
            if own is None and len(self.ids) > 1:
                own = _session_of(record)
            if own is not None and own in self.ids[:-1]:
                detail = f"session {own} continues after session {self.ids[-1]} began: no total is known"
                batch.fault("interleaved", record, detail)
                self.ids.remove(own)  # once is enough
        while following is not None:
            self._begin(following.before, following.session)
            following = next(begun)

    def _begin(self, before: str, session: str) -> None:
        known = self.ids or [before]
        self.ids = [*(known_id for known_id in known if known_id != session), session][-MOST_SESSIONS:]


def _session_of(record: Record) -> str | None:
    try:
        line = _decode(record.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    inner = line.params.sessionId if line.params is not None else None
    return line.session_id or line.sessionId or line.sessionID or line.thread_id or inner

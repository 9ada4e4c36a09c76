"""Antigravity's conversations: a database for each, with a row for each step, whose payload is a protobuf message.

Older conversations are `.pb` files, which are encrypted and are no databases.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from agentv_stages.model.store import Stage
from agentv_stages.providers.antigravity.protobuf import ERROR, GENERATION, STEP, Values, read_message
from agentv_stream.stores.database import Database, Tables, text
from agentv_stream.stores.store import RowTable, Store, StoredMessage, StoredSession

PROVIDER = "antigravity"
_TABLES = {
    "trajectory_meta": {"cascade_id"},
    "steps": {"idx", "status", "step_payload"},
    "gen_metadata": {"data"},
}
_SESSION = "SELECT coalesce((SELECT cascade_id FROM trajectory_meta LIMIT 1), 'conversation')"
_SIZE = "coalesce(length(step_payload), 0) * 8 + status"  # a step grows and ends after it was added
_ENDED = (3, 6, 7)  # done, cancelled, error
_encode = msgspec.json.Encoder().encode


def open_antigravity(connection: Database, tables: Tables) -> Store | None:
    """The store; None for any other database."""
    fits = all(columns <= tables.get(name, frozenset()) for name, columns in _TABLES.items())
    return AntigravityStore(connection, tables) if fits else None


@dataclass
class AntigravityStore:
    """See the module. A conversation is one session."""

    connection: Database
    tables: Tables
    unread: tuple[str, ...] = ()
    row_tables: tuple[RowTable, ...] = (RowTable("steps", f"({_SESSION})", size=_SIZE),)

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        first, last = (self._created(order) for order in ("", "DESC"))
        return [StoredSession(self._id(), PROVIDER, None, None, None, None, first, last, self._model())]

    def opening(self, session: StoredSession) -> bytes:
        return b'{"session":' + _encode({"model": session.model, "id": session.id}) + b"}"

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        for number, status in self.connection.execute("SELECT idx, status FROM steps ORDER BY idx"):
            if status not in _ENDED:
                yield f"step-{number}", "open"

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        error = "error_details" if "error_details" in self.tables["steps"] else "NULL"
        query = f"SELECT idx, status, step_payload, {error} FROM steps ORDER BY idx"
        models = {response: model for response, model in self._generations() if response is not None}
        for number, status, payload, details in self.connection.execute(query):
            step: Values = read_message(payload, STEP) if isinstance(payload, bytes) else {}
            step |= {"idx": number, "status": status}
            response = _member(step, "metadata", "usage", "response_id")
            if response in models:
                step["model"] = models[response]
            failed = read_message(details, ERROR) if isinstance(details, bytes) else {}
            if failed:
                step["error"] = next(iter(failed.values()))
            yield StoredMessage(f"step-{number}", b'{"step":' + _encode(step) + b"}", settled=status in _ENDED)

    def holds(self, rowid: int, message_id: str) -> bool:
        return False  # steps may be added before others: their numbers do not show which were read

    def _id(self) -> str:
        found = self.connection.execute("SELECT cascade_id FROM trajectory_meta LIMIT 1").fetchone()
        return (text(found[0]) if found else None) or "conversation"

    def _model(self) -> str | None:
        return next((model for _, model in self._generations("DESC LIMIT 1")), None)

    def _generations(self, order: str = "") -> Iterator[tuple[str | None, str]]:
        """The id of each response and its model, where one is named."""
        for (data,) in self.connection.execute(f"SELECT data FROM gen_metadata ORDER BY rowid {order}"):
            found = read_message(data, GENERATION) if isinstance(data, bytes) else {}
            model = _member(found, "call", "model")
            if model is not None:
                yield _member(found, "call", "usage", "response_id"), model

    def _created(self, order: str) -> int | None:
        query = f"SELECT step_payload FROM steps ORDER BY idx {order} LIMIT 1"
        for (payload,) in self.connection.execute(query):
            metadata = read_message(payload, STEP).get("metadata") if isinstance(payload, bytes) else None
            created = metadata.get("created") if isinstance(metadata, dict) else None
            seconds = created.get("seconds") if isinstance(created, dict) else None
            return seconds * 1000 if isinstance(seconds, int) and seconds < 1 << 40 else None
        return None


def _member(values: Values, *names: str) -> str | None:
    """The text at the end of a path of members."""
    value: object = values
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None

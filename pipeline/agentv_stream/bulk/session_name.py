"""What the outputs of one session of a bulk run are called, and what its rows say of it.

The name ends in the session's key, so that two logs of one session, or of one moment, never take each other's place,
whoever works on them and when.
"""

from functools import cached_property
from typing import Any

from agentv_stages.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import FINISHED_PATIENCE, safe_part, stem


class SessionName:
    """Settled by what is known when it is first asked for, so that all outputs of a session are called alike.

    `key` names the session, `source` its log; `changed_ms` (UTC) stands in for a start that the log does not tell.
    """

    def __init__(self, observer: Observer, key: str, source: str, changed_ms: int, target: str | None) -> None:
        self.key = key
        self._observer = observer
        self._source = source
        self._changed_ms = changed_ms
        self._target = target

    @property
    def told(self) -> bool:
        """Whether the log has told whose it is, or has had its time to."""
        facts = self._observer.facts
        return bool(facts.session_id and facts.model) or facts.records >= FINISHED_PATIENCE

    @cached_property
    def identity(self) -> Identity:
        """What every row of the session's transcript says of it."""
        facts = self._observer.facts
        session_id = facts.session_id or f"unknown-{self.key}"
        return Identity.of(
            self._observer,
            test_id=session_id,
            target=self._target or self._observer.provider.name,
            session_id=session_id,
            path=self._source,
            started_ms=facts.started_ms if facts.started_ms is not None else self._changed_ms,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Once it is settled it travels alone."""
        return {**self.__dict__, "_observer": None} if "identity" in self.__dict__ else self.__dict__

    @property
    def stem(self) -> str:
        """What the names of the outputs begin with: start, target, id, key."""
        identity = self.identity
        assert identity.started_ms is not None
        return f"{stem(identity.started_ms, identity.target, identity.session_id)}_{safe_part(self.key)}"


def key_in(stem: str) -> str:
    """The key of the session whose outputs are called so."""
    return stem.rpartition("_")[2]

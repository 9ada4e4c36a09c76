"""How the outputs of one session of a bulk run are named, and how its rows identify it.

The name ends in the session's key, so that two logs of one session, or of one moment, never overwrite each other,
whichever worker reads them and when.
"""

from functools import cached_property
from typing import Any

from agentv_stages.figures.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import FINISHED_PATIENCE, safe_part, stand_in_id, stem


class SessionName:
    """Fixed by what is known at its first use, so that all outputs of a session have the same name.

    `key` identifies the session, `source` its log; `place` is where that is read (a path or URL). `changed_ms` (UTC) is
    used as start if the log has none.
    """

    def __init__(
        self, observer: Observer, key: str, source: str, place: str, changed_ms: int, target: str | None
    ) -> None:
        self.key = key
        self._observer = observer
        self._source = source
        self._place = place
        self._changed_ms = changed_ms
        self._target = target

    @property
    def told(self) -> bool:
        """Whether the log has identified the session, or enough records were read without that."""
        facts = self._observer.facts
        return bool(facts.session_id and facts.model) or facts.records >= FINISHED_PATIENCE

    @cached_property
    def identity(self) -> Identity:
        """What every row of the transcript says about the session."""
        facts = self._observer.facts
        session_id = facts.session_id or stand_in_id(self._place)
        return Identity.of(
            self._observer,
            test_id=session_id,
            target=self._target or self._observer.provider.name,
            session_id=session_id,
            path=self._source,
            started_ms=facts.started_ms if facts.started_ms is not None else self._changed_ms,
        )

    def __getstate__(self) -> dict[str, Any]:
        """It is pickled without the observer: `attach` gives it another one."""
        return {**self.__dict__, "_observer": None}

    def attach(self, observer: Observer) -> None:
        """From now on this observer says what is known of the session."""
        self._observer = observer

    @property
    def stem(self) -> str:
        """The common beginning of the outputs' names: start, target, id, key."""
        identity = self.identity
        assert identity.started_ms is not None
        return f"{stem(identity.started_ms, identity.target, identity.session_id)}_{safe_part(self.key)}"


def key_in(stem: str) -> str:
    """The session key in the name of its outputs."""
    return stem.rpartition("_")[2]

"""The identity of a session and the names of its outputs: decided here, for every driver.

In: the facts in the log so far, and the place of the log. Out: the identity that every row of the outputs has, and the
common beginning of their names.
"""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from agentv_stages.figures.facts import Facts
from agentv_stages.figures.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import safe_part, stem

FINISHED_PATIENCE = 4096
"""Records of a finished log after which its outputs no longer wait for the session's id and model: Copilot's stream
has the id in its last record."""
LIVE_PATIENCE = 64
"""The same for a live stream."""


class Log(NamedTuple):
    """The place that a session is read from: `place` is a path or a URL, None for a pipe; `path` is its name in rows.

    `arrived_ms` (UTC) is when its first record came, or when the log was last changed.
    """

    place: str | None
    path: str | None
    arrived_ms: int


def identity_of(
    observer: Observer,
    log: Log,
    target: str | None = None,
    test_id: str | None = None,
    start: Callable[[str, str], int] | None = None,
) -> Identity:
    """The session as far as it is known. `target` and `test_id` are those requested, or its provider and its id.

    For a log without times `start(target, test_id)` gives the beginning of the session (UTC ms), or `log.arrived_ms`.
    """
    facts = observer.facts
    target = target or observer.provider.name
    session_id = facts.session_id or (f"unknown-{log.arrived_ms}" if log.place is None else stand_in_id(log.place))
    test_id = test_id or session_id
    started = facts.started_ms
    if started is None:
        started = log.arrived_ms if start is None else start(target, test_id)
    return Identity.of(
        observer, test_id=test_id, target=target, session_id=session_id, path=log.path, started_ms=started
    )


class FixedIdentity:
    """The identity of a session that is being read, fixed by its first use: all its outputs have one name.

    `observer` may be replaced by an observer that continues with its state.
    """

    def __init__(self, observer: Observer, log: Log, target: str | None = None) -> None:
        self.observer = observer
        self._log = log
        self._target = target
        self._identity: Identity | None = None

    def known(self) -> Identity | None:
        """None while the log has not said which session it is, and may still do so."""
        return self.certain() if self._identity is not None or is_known(self.observer.facts) else None

    def certain(self) -> Identity:
        """The facts known so far are all that will be known."""
        if self._identity is None:
            self._identity = identity_of(self.observer, self._log, self._target)
        return self._identity

    def name(self, key: str) -> str:
        """The beginning of the names of the outputs, as `name_of`."""
        return name_of(self.certain(), key=key)


def name_of(identity: Identity, attempt: int | None = None, key: str | None = None) -> str:
    """The beginning of the names of a session's outputs. A `key` makes it unique: two logs of one session, or of one
    moment, never overwrite each other."""
    assert identity.started_ms is not None
    name = stem(identity.started_ms, identity.target, identity.test_id, attempt)
    return name if key is None else f"{name}_{safe_part(key)}"


def key_in(name: str) -> str:
    """The key in a name that has one."""
    return name.rpartition("_")[2]


def is_known(facts: Facts, patience: int = FINISHED_PATIENCE) -> bool:
    """Whether the log has identified the session, or more than `patience` records were read without that."""
    return facts.named or facts.records >= patience


def stand_in_id(log: str) -> str:
    """The session id for a log that has none: its file's name, and a suffix to distinguish files of the same name.

    `log` is a path, or a URL, which means the same wherever it is read.
    """
    place = log if "://" in log else str(Path(log).absolute())
    name = PurePosixPath(place).stem
    return f"unknown-{name}-{blake2b(place.encode(errors='surrogateescape'), digest_size=4).hexdigest()}"


def changed_ms(path: str, else_ms: int = 0) -> int:
    """The start (UTC ms) for a log without times: its file's modification time; `else_ms` if it no longer exists."""
    try:
        return Path(path).stat().st_mtime_ns // 1_000_000
    except OSError:
        return else_ms

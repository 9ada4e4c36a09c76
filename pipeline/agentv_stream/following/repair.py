"""Notices that outputs of sessions at rest were shortened, replaced or removed, and has them written again.

An output is known by its length and a hash of its last bytes. All are examined at the start; later those whose size,
inode or time of change is another one than before. One whose kept part is whole is cut back to that and continued, as
after a crash; otherwise the session is read again. If one of its logs is gone, nothing more is written to its outputs
until the log is there again: rows behind a hole, or without those of the missing log, would be wrong.
"""

import os
from pathlib import Path
from typing import Literal, TypeAlias

from agentv_stream.following.followed import Followed
from agentv_stream.following.growing_output import Mark, OutputState, kept_tail_of, tail_of
from agentv_stream.following.register import Register
from agentv_stream.outputs.naming import RESULT, TRANSCRIPT
from agentv_stream.sources.files import is_there
from agentv_stream.stores.store import split_stored

LOOK_SECONDS = 2.0  # between two checks, by the follower's clock; longer if one takes long
_SHARE = 50
Condition: TypeAlias = Literal["whole", "cut", "lost"]
"""An output is as it was; its kept part is; neither."""


class Repair:
    """`note` the state of a session's outputs at rest; `begin` and `look` have those written again that changed."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._known: dict[int, dict[Path, Mark]] = {}
        self._seen: dict[Path, tuple[int, int, int]] = {}  # size, inode and time of change of a whole output
        self._look_at = register.clock()
        self._lost: set[int] = set()  # sessions whose outputs are lost, and whose logs are not all there

    def note(self, number: int, state: OutputState | None) -> None:
        """The session is at rest, with these outputs."""
        for path in self._known.pop(number, ()):
            self._seen.pop(path, None)
        if state is not None and state.marks:
            self._known[number] = {state.path(suffix): mark for suffix, mark in state.marks.items()}

    def removed(self, path: Path) -> None:
        """An output was removed to free its space: it is not made again."""
        for number, marks in list(self._known.items()):
            if path in marks:
                self.note(number, None)

    def begin(self, number: int, state: OutputState) -> None:
        """Examines the outputs of a session in the cursors."""
        transcript, store = state.path(TRANSCRIPT), self._register.store
        if not os.path.lexists(transcript) and store is not None and not store.claims.is_ours(transcript):
            return  # `--keep` removed it
        self.note(number, state)
        if not state.marks:  # of an earlier version
            self._make_again(number, "whole" if _size(transcript) == state.settled else "cut")
            return
        self._make_again(number, self._worst(number))

    def look(self) -> None:
        """Examines the outputs of all sessions at rest, if it is time to."""
        register = self._register
        begun = register.clock()
        if begun < self._look_at:
            return
        for number in list(self._known):
            session = register.hot.get(number)
            busy = number in register.due or number in register.troubles
            if not busy and (session is None or not session.unsettled):
                self._make_again(number, self._worst(number))
        self._look_at = begun + max(LOOK_SECONDS, (register.clock() - begun) * _SHARE)

    def lost(self, number: int, quietly: bool = True) -> None:
        """The kept part of an output turned out to be damaged. `quietly` False: records read since the last
        commit may not have been delivered, and is delivered again.
        """
        self._make_again(number, "lost", quietly)

    def may_write(self, session: Followed) -> bool:
        """Whether the outputs of a session may be continued; those that are lost are made again once that is possible.

        Raises: SinkError.
        """
        if session.number not in self._lost:
            return True
        if _missing(session) is not None:
            return False
        self._lost.discard(session.number)
        self._begin_again(session, True)
        return True

    def _worst(self, number: int) -> Condition:
        found = {self._condition(path, mark) for path, mark in self._known[number].items()}
        return "lost" if "lost" in found else "cut" if "cut" in found else "whole"

    def _make_again(self, number: int, condition: Condition, quietly: bool = True) -> None:
        """Raises: nothing."""
        if condition == "whole":
            return
        register = self._register
        self.note(number, None)
        session = register.wake(number)
        if session is None:
            return
        try:
            if condition == "cut":
                session.unsettled = True
                if session.outputs is not None:
                    session.outputs.settled = True  # the part after the kept part is cut off
            else:
                missing = _missing(session)
                if missing is not None:
                    self._lost.add(number)
                    register.say("an output was changed and cannot be made again: its log is gone", path=missing)
                    return
                self._begin_again(session, quietly)
                return
            register.say("an output was changed or removed; it is written again", path=session.main)
            register.due.add(number)
        except Exception as error:
            register.trouble(number, error)

    def _begin_again(self, session: Followed, quietly: bool) -> None:
        session.begin_again(quietly=quietly)
        self._register.say("an output was changed or removed; it is written again", path=session.main)
        self._register.due.add(session.number)

    def _condition(self, path: Path, mark: Mark) -> Condition:
        try:
            stat = os.stat(path)  # noqa: PTH116 - for thousands at a start
            seen = stat.st_size, stat.st_ino, stat.st_ctime_ns
            if self._seen.get(path) == seen:
                return "whole"
            if stat.st_size == mark.length and tail_of(path, mark.length) == mark.tail:
                self._seen[path] = seen
                return "whole"
            if path.name.endswith(RESULT):
                return "cut"  # settling writes it
            return "cut" if stat.st_size >= mark.kept and kept_tail_of(path, mark.kept) == mark.kept_tail else "lost"
        except OSError:
            return "cut" if path.name.endswith(RESULT) or not mark.kept else "lost"


def _missing(session: Followed) -> str | None:
    """A log of the session that is gone."""
    logs = (one.path for one in session.files.inputs)
    return next((path for path in logs if not is_there(split_stored(path)[0])), None)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None

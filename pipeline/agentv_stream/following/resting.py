"""Sessions that do not grow: outputs as of finished ones, cursors written, dropped from memory.

How often a session is settled and committed depends on the cost.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agentv_stream.errors import SinkError
from agentv_stream.following.companions import Companions, forked_since, parents_since
from agentv_stream.following.followed import Followed
from agentv_stream.following.growing_output import ShortOutput
from agentv_stream.following.known_files import KnownFile
from agentv_stream.following.register import SHARE, Register
from agentv_stream.following.repair import Repair
from agentv_stream.following.settling import settle
from agentv_stream.outputs.durable import Publications, together
from agentv_stream.outputs.naming import RESULT
from agentv_stream.sources.folder import LocalFolder

if TYPE_CHECKING:
    from agentv_stream.following.actions import Actions
    from agentv_stream.following.standings import Standings

MOST_HOT = 128
LAST_SECONDS = 0.8  # for settling, once the follower is to stop


class Resting:
    """Puts sessions to rest. What it returns are sessions to be read on, at once, before the next is taken."""

    def __init__(
        self, register: Register, companions: Companions, repair: Repair, actions: "Actions | None" = None,
        standings: "Standings | None" = None, stopping: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._actions = actions
        self._standings = standings
        self._repair = repair
        self._stopping = stopping
        self._register = register
        self._companions = companions

    def rest(self) -> Iterator[int]:
        """Settles and commits due sessions, and drops resting ones from memory."""
        register = self._register
        now = register.clock()
        with together() as batch:
            for number, session in list(register.hot.items()):
                if self._stopping():
                    break
                quiet = now - register.times[number].grown_at >= register.plan.settle_seconds
                due = now >= register.times[number].settle_at and number not in register.due
                here = number in register.hot  # settling another session may have taken it over
                if here and session.unsettled and not register.blocked(number) and quiet and due:
                    yield from self.settle(session)
        self._unwritten(batch)
        self._look()
        register.commit(list(register.hot.values()))
        while len(register.hot) > MOST_HOT:
            number, session = next(iter(register.hot.items()))
            if session.unsettled:
                yield from self.settle(session)
            register.commit([session], force=True)
            if session.dirty and register.store is not None and not session.recognition.strange and session.committable:
                break  # the cursors cannot be written: keep it in memory
            register.hot.move_to_end(number)
            if register.store is None:
                break
            if not session.saved:  # nothing is stored: when it changes it is examined as a new one
                for log in session.files.inputs:
                    register.known.entries[log.path] = KnownFile(log.file.signature, 0, "ignored")
            register.drop(session)
        self._act()

    def _look(self) -> None:
        """Notes the events of sessions that grow, and of sessions that no longer do."""
        register, actions = self._register, self._actions
        for number, stall in self._standings.look(register.hot) if self._standings is not None else ():
            session = register.wake(number) if actions is not None and actions.on_stalled else None
            if session is not None and actions is not None and not register.blocked(number):
                actions.stalled(session, stall)
        if actions is not None:
            for session in register.hot.values():
                actions.look(session)

    def _act(self) -> None:
        """Starts the commands of the noted events. After the commit: a session that failed there reports them again."""
        if self._actions is not None:
            self._actions.start(set(self._register.troubles))

    def settle(self, session: Followed) -> Iterator[int]:
        """Brings its outputs into the form of a finished session."""
        register = self._register
        begun = register.clock()
        undecided = session.chain is None
        try:
            if not self._repair.may_write(session):
                return
            if forked_since(session, LocalFolder()) or parents_since(session):
                yield session.number
                if register.hot.get(session.number) is not session:
                    return
            settle(session)
            if undecided and session.chain is not None and self._companions.add(session):
                yield session.number  # only now a document's sub-agents are known
                if register.hot.get(session.number) is not session:
                    return
                settle(session)
            if undecided and session.chain is not None:
                register.native(session)
            if session.delivery.merged is not None and session.chain is not None:
                session.delivery.merged.release(at_end=True)
        except BrokenPipeError:
            raise
        except ShortOutput:
            self._repair.lost(session.number)
            return
        except Exception as error:
            register.trouble(session.number, error, at_rest=True)
            return
        register.recovered(session)
        self._repair.note(session.number, session.outputs.snapshot() if session.outputs is not None else None)
        if session.recognition.strange:
            for log in session.files.inputs:
                register.known.entries[log.path] = KnownFile(log.file.signature, session.number, "ignored")
        took = register.clock() - begun
        register.times[session.number].settle_at = begun + took * SHARE

    def settle_all(self) -> Iterator[int]:
        """At the end: settles everything as if finished. If the follower is to stop, what takes longer than a moment is
        left to the next start, as after a crash."""
        register = self._register
        begun = register.clock()
        with together() as batch:
            for session in list(register.hot.values()):
                if self._stopping() and register.clock() - begun > LAST_SECONDS:
                    break
                if session.number in register.hot and session.unsettled and not register.blocked(session.number):
                    yield from self.settle(session)
        self._unwritten(batch)
        self._look()
        register.commit(list(register.hot.values()), force=True)
        self._act()

    def _unwritten(self, batch: Publications) -> None:
        """Handles results that could not be written after their sessions were settled."""
        for path, error in batch.failed.items():
            for number, session in list(self._register.hot.items()):
                state = session.outputs.state if session.outputs is not None else None
                if state is not None and state.path(RESULT) == path:
                    self._register.trouble(number, SinkError(str(path), error), at_rest=True)

"""What becomes of sessions that do not grow: outputs as of finished ones, cursors, out of memory.

How often a session is settled and committed depends on what that costs.
"""

from typing import TYPE_CHECKING

from agentv_stream.errors import AgentvStreamError
from agentv_stream.following.cursors import CursorError
from agentv_stream.following.follow_outputs import TRANSCRIPT
from agentv_stream.following.follow_plan import Entry
from agentv_stream.following.followed import Followed

if TYPE_CHECKING:
    from agentv_stream.following.follow import Follower

SHARE = 50  # a commit or a settle that took a second is not repeated for so many
MOST_HOT = 128


class Resting:
    """Puts the follower's sessions to rest."""

    def __init__(self, follower: "Follower") -> None:
        self._follower = follower
        self._commit_at: dict[int, float] = {}
        self._settle_at: dict[int, float] = {}

    def rest(self) -> None:
        """Settles and commits what is due, and lets go of what is at rest."""
        now = self._follower.clock()
        for number, session in list(self._follower.hot.items()):
            quiet = now - self._follower.grown_at.get(number, 0.0) >= self._follower.plan.settle_seconds
            due = now >= self._settle_at.get(number, 0.0) and number not in self._follower.due
            here = number in self._follower.hot  # settling another one may have taken it over
            if here and session.unsettled and number not in self._follower.troubles and quiet and due:
                self.settle(session)
        self.commit(list(self._follower.hot.values()))
        while len(self._follower.hot) > MOST_HOT:
            number, session = next(iter(self._follower.hot.items()))
            if session.unsettled:
                self.settle(session)
            self.commit([session], force=True)
            if session.dirty and self._follower.store is not None and not session.strange and session.committable:
                break  # the cursors cannot be written: it must not be lost from memory
            self._follower.hot.move_to_end(number)
            if self._follower.store is None:
                break
            if not session.saved:  # nothing is known of it: it is looked at as a new one when it changes
                for one in session.inputs:
                    self._follower.entries[one.path] = Entry(one.file.signature, 0, "ignored")
            self.drop(session)

    def drop(self, session: Followed) -> None:
        session.close()
        for table in (self._follower.grown_at, self._follower.companions_at, self._commit_at, self._settle_at):
            table.pop(session.number, None)
        self._follower.hot.pop(session.number, None)

    def settle(self, session: Followed) -> None:
        """Outputs as of a finished session."""
        begun = self._follower.clock()
        undecided = session.chain is None
        try:
            session.settle()
            if (
                undecided
                and session.chain is not None
                and self._follower.finding.companions(session, self._follower.folder)
            ):
                self._follower.advance(session.number)  # a document's sub-agents are known only now
                if self._follower.hot.get(session.number) is not session:
                    return
                session.settle()
            if session.merged is not None and session.chain is not None:
                session.merged.release(at_end=True)
        except BrokenPipeError:
            raise
        except (OSError, AgentvStreamError) as error:
            self._follower.trouble(session.number, error)
            return
        if session.strange:
            for one in session.inputs:
                self._follower.entries[one.path] = Entry(one.file.signature, session.number, "ignored")
        took = self._follower.clock() - begun
        self._settle_at[session.number] = begun + took * SHARE

    def settle_all(self) -> None:
        """At the end: everything as if finished."""
        for session in list(self._follower.hot.values()):
            if (
                session.number in self._follower.hot
                and session.unsettled
                and session.number not in self._follower.troubles
            ):
                self.settle(session)
        self.commit(list(self._follower.hot.values()), force=True)

    def commit(self, sessions: list[Followed], force: bool = False) -> None:
        """Writes the cursors of sessions whose outputs are written; how often, depends on what it costs."""
        if self._follower.store is None:
            return
        begun = self._follower.clock()
        due = [
            s for s in sessions if s.dirty and s.committable and (force or begun >= self._commit_at.get(s.number, 0))
        ]
        if not due:
            return
        done: list[Followed] = []
        try:
            with self._follower.store.transaction():
                for session in due:
                    at = self._follower.clock()
                    row, hashes = session.row()
                    self._follower.store.put(row, hashes, session.hashes_anew)
                    done.append(session)
                    self._commit_at[session.number] = at + max(0.25, (self._follower.clock() - at) * SHARE)
        except CursorError as error:
            if self._follower.store_trouble != str(error):
                self._follower.say("cursors cannot be written", error=str(error))
            self._follower.store_trouble = str(error)
            for session in due:
                self._commit_at[session.number] = begun + 2.0
            return
        if self._follower.store_trouble is not None:
            self._follower.say("cursors can be written again")
            self._follower.store_trouble = None
        for session in done:
            session.committed()
            if session.outputs is not None and session.outputs.state is not None:
                self._follower.taken[str(session.outputs.state.path(TRANSCRIPT))] = session.number
        self._follower.counts.commits += len(done)
        self._follower.counts.commit_seconds += self._follower.clock() - begun

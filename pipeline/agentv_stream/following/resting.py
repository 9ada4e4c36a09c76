"""What happens to sessions that do not grow: outputs as of finished ones, cursors written, dropped from memory.

How often a session is settled and committed depends on what that costs.
"""

from collections.abc import Callable

from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.follow_plan import Entry
from agentv_stream.following.followed import Followed
from agentv_stream.following.register import Register
from agentv_stream.following.saving import committable, save, saved
from agentv_stream.outputs.naming import TRANSCRIPT
from agentv_stream.sources.folder import LocalFolder

SHARE = 50  # a commit or a settle that took 1 s is not repeated for this many seconds
MOST_HOT = 128


class Resting:
    """Puts sessions to rest. `store_trouble` is why the cursors cannot be written; None if they can.

    `companions` looks for new files of a session, `advance` reads on in it.
    """

    def __init__(
        self, register: Register, companions: Callable[[Followed], bool], advance: Callable[[int], None]
    ) -> None:
        self._register = register
        self._hot, self._times, self._store = register.hot, register.times, register.store
        self._say, self._clock, self._entries = register.say, register.clock, register.entries
        self._plan, self._due = register.plan, register.due
        self._taken, self._counts = register.taken, register.counts
        self._companions = companions
        self._advance = advance
        self.store_trouble: str | None = None

    def rest(self) -> None:
        """Settles and commits what is due, and drops from memory what is at rest."""
        now = self._clock()
        for number, session in list(self._hot.items()):
            quiet = now - self._times[number].grown_at >= self._plan.settle_seconds
            due = now >= self._times[number].settle_at and number not in self._due
            here = number in self._hot  # settling another session may have taken it over
            if here and session.unsettled and not self._register.blocked(number) and quiet and due:
                self.settle(session)
        self.commit(list(self._hot.values()))
        while len(self._hot) > MOST_HOT:
            number, session = next(iter(self._hot.items()))
            if session.unsettled:
                self.settle(session)
            self.commit([session], force=True)
            if session.dirty and self._store is not None and not session.strange and committable(session):
                break  # the cursors cannot be written: keep it in memory
            self._hot.move_to_end(number)
            if self._store is None:
                break
            if not session.saved:  # nothing is stored: when it changes it is examined as a new one
                for one in session.inputs:
                    self._entries[one.path] = Entry(one.file.signature, 0, "ignored")
            self._register.drop(session)

    def settle(self, session: Followed) -> None:
        """Brings its outputs into the form of a finished session."""
        begun = self._clock()
        undecided = session.chain is None
        try:
            if session.forked_since(LocalFolder()) or session.parents_since():
                self._advance(session.number)
                if self._hot.get(session.number) is not session:
                    return
            session.settle()
            if undecided and session.chain is not None and self._companions(session):
                self._advance(session.number)  # only now a document's sub-agents are known
                if self._hot.get(session.number) is not session:
                    return
                session.settle()
            if undecided and session.chain is not None:
                self._register.native(session)
            if session.merged is not None and session.chain is not None:
                session.merged.release(at_end=True)
        except BrokenPipeError:
            raise
        except Exception as error:
            self._register.trouble(session.number, error, at_rest=True)
            return
        self._register.recovered(session)
        if session.strange:
            for one in session.inputs:
                self._entries[one.path] = Entry(one.file.signature, session.number, "ignored")
        took = self._clock() - begun
        self._times[session.number].settle_at = begun + took * SHARE

    def settle_all(self) -> None:
        """At the end: settles everything as if finished."""
        for session in list(self._hot.values()):
            if session.number in self._hot and session.unsettled and not self._register.blocked(session.number):
                self.settle(session)
        self.commit(list(self._hot.values()), force=True)

    def commit(self, sessions: list[Followed], force: bool = False) -> None:
        """Writes the cursors of sessions whose outputs are written; how often depends on what it costs."""
        if self._store is None:
            return
        begun = self._clock()
        due = [
            s for s in sessions if s.dirty and committable(s) and (force or begun >= self._times[s.number].commit_at)
        ]
        if not due:
            return
        done: list[Followed] = []
        broken: list[tuple[Followed, Exception]] = []
        try:
            with self._store.database.transaction():
                for session in due:
                    at = self._clock()
                    try:
                        save(session, self._store)
                    except CursorError:
                        raise
                    except Exception as error:
                        broken.append((session, error))
                        continue
                    done.append(session)
                    self._times[session.number].commit_at = at + max(0.25, (self._clock() - at) * SHARE)
        except CursorError as error:
            if self.store_trouble != str(error):
                self._say("cursors cannot be written", error=str(error))
            self.store_trouble = str(error)
            for session in due:
                self._times[session.number].commit_at = begun + 2.0
            return
        if self.store_trouble is not None:
            self._say("cursors can be written again")
            self.store_trouble = None
        for session, bug in broken:
            self._register.trouble(session.number, bug)
        for session in done:
            saved(session)
            if session.outputs is not None and session.outputs.state is not None:
                self._taken[str(session.outputs.state.path(TRANSCRIPT))] = session.number
        self._counts.commits += len(done)
        self._counts.commit_seconds += self._clock() - begun

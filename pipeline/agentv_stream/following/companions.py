"""The files of sub-agents, and further parts of a log, that lie beside a session: they are added to it.

A file that was taken for a session of its own is handed over.
"""

from agentv_stages.model.provider import Folder
from agentv_stream.discovery.discover import RememberingFolder
from agentv_stream.following.followed import Followed
from agentv_stream.following.known_files import KnownFile
from agentv_stream.following.register import Register
from agentv_stream.following.session_files import Input
from agentv_stream.outputs.naming import TRANSCRIPT


def add_companions(session: Followed, folder: Folder) -> list[Input]:
    """Adds the new files beside a session, and returns them."""
    found = session.files.beside(session.provider, folder) if session.provider is not None else []
    if found:
        session.recognition.confirm()  # an agent that has such files is the right one
    return [session.add(c.path, c.context, c.context.further) for c in found]


def forked_since(session: Followed, folder: Folder) -> bool:
    """Whether the log is now known to begin with records of another session; then it is read again.

    Raises: SinkError.
    """
    provider, inputs = session.provider, session.files.inputs
    if provider is None or not inputs:
        return False
    if provider.context(session.main, folder).begun_ms == inputs[0].context.begun_ms:
        return False
    session.begin_again()
    return True


def parents_since(session: Followed) -> bool:
    """Whether it is known by now which call started a sub-agent; then the outputs are made again.

    Raises: SinkError.
    """
    if session.provider is None or session.outputs is None:
        return False
    if any(log.gone or log.generation or log.state != "live" for log in session.files.inputs):
        return False  # not all could be read again
    if not session.files.find_parents(session.provider):
        return False
    session.begin_again(quietly=True)
    return True


class Companions:
    """Looks beside sessions. `folder` remembers its listings until the round ends."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self.folder = RememberingFolder()

    def begin_round(self) -> None:
        """Discards the folder listings of the previous round."""
        self.folder = RememberingFolder()

    def add(self, session: Followed) -> bool:
        """Adds new sub-agents' files to a session; returns whether there were any."""
        added = False
        try:
            if forked_since(session, self.folder):
                self._register.due.add(session.number)
            for log in add_companions(session, self.folder):
                entry = self._register.known.entries.get(log.path)
                if entry is not None and entry.kind == "end" and entry.signature is not None:
                    log.mute_until = entry.signature.size
                elif entry is not None and entry.number:
                    self._hand_over(entry.number, log.path)
                self._register.known.entries[log.path] = KnownFile(None, session.number)
                self._register.due.add(session.number)
                added = True
        except Exception as error:
            self._register.trouble(session.number, error)
        return added

    def _hand_over(self, number: int, path: str) -> None:
        """A file that was taken for a session of its own is a sub-agent's: removes that session's outputs.

        Raises: CursorError, SinkError.
        """
        other = self._register.wake(number)
        if other is None:
            return
        if other.main != path:  # it was a copy or part in another session
            other.files.leave(path)
            other.dirty = True
            return
        if other.chain is not None:  # else nothing of it was reported
            self._register.say("belongs to another session from now on", path=path)
        if other.outputs is not None and other.outputs.state is not None:
            self._register.places.taken.pop(str(other.outputs.state.path(TRANSCRIPT)), None)
            other.outputs.remove()
        self._register.drop(other)
        self._register.ids.forget(number)
        self._register.due.discard(number)
        self._register.troubles.pop(number, None)
        for log in other.files.inputs:
            self._register.known.entries.pop(log.path, None)
        if self._register.store is not None and other.saved:
            self._register.store.forget([number])

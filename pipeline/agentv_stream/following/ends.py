"""The beginning of reading with `--from end`: the size that logs had when a follower of this consumer first saw them.

A later start uses the same offsets: records written, or logs begun, while no follower ran are emitted.
"""

from collections.abc import Iterable

from agentv_stream.discovery.places import Found
from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.register import Register

_LOOKED_AT = -1


class Ends:
    """The offsets for one start. Without cursors every start counts as the first."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._known: dict[str, int] | None = None
        self._places = (*(root.path for root in register.plan.roots), *register.plan.paths)
        self._looked_at: list[str] = []  # the places searched by earlier starts

    def of(self, listed: Found) -> int:
        """The number of bytes to skip in a log; 0 for a log that began after a follower first searched its place."""
        size = self._before().get(listed.path, _LOOKED_AT)
        if size == _LOOKED_AT:  # not seen before; a log given by its path is a place, too
            return 0 if any(_below(listed.path, place) for place in self._looked_at) else listed.signature.size
        return size if size <= listed.signature.size else 0

    def note(self, found: Iterable[Found]) -> None:
        """After the first listing: records the ends of all logs without a cursor, and the places searched."""
        register = self._register
        if register.plan.begin != "end" or register.store is None:
            return
        apart = register.known.apart
        sizes = {listed.path: self.of(listed) for listed in found if listed.main and listed.path not in apart}
        elsewhere = {
            path: size
            for path, size in self._before().items()
            if size == _LOOKED_AT or not any(_below(path, place) for place in self._places)
        }
        try:
            register.store.pass_over(elsewhere | dict.fromkeys(self._places, _LOOKED_AT) | sizes)
        except CursorError as error:
            register.say("cannot note where the logs end", error=str(error))

    def _before(self) -> dict[str, int]:
        if self._known is None:
            self._known = {}
            if self._register.store is not None:
                try:
                    self._known = self._register.store.passed()
                except CursorError as error:
                    self._register.say("cannot read where the logs ended", error=str(error))
            self._looked_at = [place for place, mark in self._known.items() if mark == _LOOKED_AT]
        return self._known


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")

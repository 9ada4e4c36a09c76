"""One session's dead letters, written by a bulk worker beside its transcript: rows appear at once, blobs before them.

Blobs go to a folder named after the session's key, since more may not be known at the first one. Blobs of an earlier
reading are removed when this one is complete, and stay if it is abandoned.
"""

from collections.abc import Iterable

from agentv_stages.model.fault import Fault
from agentv_stages.sinks import dead_letters
from agentv_stream.bulk import object_store
from agentv_stream.bulk.gathered import Gathered
from agentv_stream.bulk.session_name import SessionName, key_in
from agentv_stream.outputs.naming import LETTERS


class Letters:
    """Takes the faults of a session. `folder` is a folder or a URL; `run` identifies the writer."""

    def __init__(self, folder: str, name: SessionName, run: str) -> None:
        self._folder = folder
        self._name = name
        self._run = run
        self._rows = Gathered(folder, run)
        self._blobs = _blobs(folder, name.key)
        self._before: set[str] | None = None
        self._written: set[str] = set()
        self._giant: Fault | None = None
        self._giant_bytes: Gathered | None = None

    def write(self, faults: Iterable[Fault]) -> None:
        """Raises: SinkError."""
        for fault in faults:
            if fault.part == "whole":
                blob = None if dead_letters.stands_in_line(fault) else self._blob(fault)
                self._rows.write(dead_letters.render(fault, blob))
                continue
            self._piece(fault)

    def _piece(self, fault: Fault) -> None:
        """Copies a record over the cap piece by piece; its line comes with its end."""
        if fault.part == "begin":
            self._giant, self._giant_bytes = fault, Gathered(self._folder, self._run)
        giant, copied = self._giant, self._giant_bytes
        if giant is None or copied is None:
            return
        copied.write(fault.data)
        if fault.part == "end":
            name = dead_letters.blob_name(giant)
            copied.publish(object_store.join(self._blobs, name))
            self._written.add(name)
            self._rows.write(dead_letters.render(giant, self._shown(name), fault.offset - giant.offset))
            self._giant = self._giant_bytes = None

    def close(self) -> str | None:
        """Publishes the letters; returns their place, None if there are none. Raises: SinkError."""
        place = object_store.join(self._folder, self._name.stem + LETTERS)
        if not self._rows.empty:
            self._rows.publish(place)
            if self._written or not object_store.is_url(self._folder):
                self._keep(self._written)
            return place
        if not object_store.is_url(self._folder):  # left by an earlier reading that had faults
            object_store.remove(place)
            object_store.remove_tree(self._blobs)
        return None

    def abandon(self) -> None:
        """Discards the letters. Raises: SinkError."""
        self._rows.abandon()
        if self._giant_bytes is not None:
            self._giant_bytes.abandon()
        if self._written:
            self._keep(self._found_before())

    def _blob(self, fault: Fault) -> str:
        name = dead_letters.blob_name(fault)
        if name not in self._written and name not in self._found_before():
            object_store.put(object_store.join(self._blobs, name), fault.data, self._run)
        self._written.add(name)
        return self._shown(name)

    def _shown(self, name: str) -> str:
        """How a line names a blob."""
        return object_store.join(f"{self._name.key}.dead", name)

    def _found_before(self) -> set[str]:
        if self._before is None:
            self._before = {place.rpartition("/")[2] for place in object_store.names_below(self._blobs)}
        return self._before

    def _keep(self, names: set[str]) -> None:
        """Removes all blobs but these."""
        others = (self._found_before() | self._written) - names
        if others and not names:
            object_store.remove_tree(self._blobs)
            return
        for name in others:
            object_store.remove(object_store.join(self._blobs, name))


def remove_blobs(letters: str) -> None:
    """Removes the blobs of the dead letters at a place. Raises: SinkError."""
    folder, _, name = letters.rpartition("/")
    object_store.remove_tree(_blobs(folder, key_in(name.removesuffix(LETTERS))))


def _blobs(folder: str, key: str) -> str:
    return object_store.join(folder, f"{key}.dead")

"""The blobs of one session's dead letters, in a folder named after the session's key.

Blobs of an earlier reading are removed when this one is complete, and stay if it is abandoned.
"""

from agentv_stages.sinks.output import Put
from agentv_stages.sinks.suffixes import LETTERS
from agentv_stream.bulk import object_store
from agentv_stream.bulk.gathered import Gathered
from agentv_stream.outputs.session_name import key_in


class Blobs:
    """`folder` is a folder or a URL; `run` identifies the writer. `name` is how lines name the folder of the blobs."""

    def __init__(self, folder: str, key: str, run: str) -> None:
        self.name = f"{key}.dead"
        self.written: set[str] = set()
        self._outputs = folder
        self._place = object_store.join(folder, self.name)
        self._run = run
        self._before: set[str] | None = None
        self._parts: Gathered | None = None  # of a record over the cap

    def put(self, blob: Put) -> None:
        """Raises: SinkError."""
        place = object_store.join(self._place, blob.name)
        if blob.part == "whole":
            if blob.name not in self.written and blob.name not in self._found_before():
                object_store.put(place, blob.data, self._run)
            self.written.add(blob.name)
            return
        if blob.part == "begin" or self._parts is None:
            self._parts = Gathered(self._outputs, self._run)
        self._parts.write(blob.data)
        if blob.part == "end":
            self._parts.publish(place)
            self._parts = None
            self.written.add(blob.name)

    def keep(self) -> None:
        """This reading is complete: removes all blobs that it did not write. Raises: SinkError."""
        if self.written or not object_store.is_url(self._outputs):
            self._keep(self.written)

    def abandon(self) -> None:
        """Removes what this reading wrote. Raises: SinkError."""
        if self._parts is not None:
            self._parts.abandon()
        if self.written:
            self._keep(self._found_before())

    def _found_before(self) -> set[str]:
        if self._before is None:
            found = (place.rpartition("/")[2] for place in object_store.names_below(self._place))
            self._before = {name for name in found if not name.startswith(".")}  # of ours, which appear later
        return self._before

    def _keep(self, names: set[str]) -> None:
        """Removes all blobs but these."""
        others = (self._found_before() | self.written) - names
        if others and not names:
            object_store.remove_tree(self._place)
            return
        for name in others:
            object_store.remove(object_store.join(self._place, name))


def remove_blobs(letters: str) -> None:
    """Removes the blobs of the dead letters at a place. Raises: SinkError."""
    folder, _, name = letters.rpartition("/")
    object_store.remove_tree(object_store.join(folder, f"{key_in(name.removesuffix(LETTERS))}.dead"))

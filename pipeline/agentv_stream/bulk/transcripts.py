"""One session's transcript and dead letters, written by a bulk worker: they appear whole, under a name of their own.

The rows are those of `consume`. The name ends in the session's key, so that two logs of one session, or of one
moment, never take each other's place, whoever works on them and when.
"""

import os
from pathlib import Path
from typing import Any

from agentv_stages.batch import Batch
from agentv_stages.fault import Fault
from agentv_stages.message import Message
from agentv_stages.result import Observer
from agentv_stages.sinks import dead_letters
from agentv_stages.sinks.transcript import Identity, TranscriptRows, patch, totals_members
from agentv_stream.bulk import leaving, object_store
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import TRANSCRIPT, prepare_folder, safe_part, stem

PATIENCE = 64  # records after which the first row no longer waits for the model's name
WRITE_BYTES = 1024 * 1024
_DEAD = ".dead-letters.jsonl"


class Transcript:
    """Takes batches after `Consolidate`. `folder` is a folder or a URL; `key` names the session, `run` what writes."""

    def __init__(
        self, folder: str, key: str, observer: Observer, name: str, changed_ms: int, target: str | None, run: str
    ) -> None:
        self._run = run or "run"
        self._folder = folder
        self._key = key
        self._observer = observer
        self._source = name
        self._changed_ms = changed_ms
        self._target = target
        self._held: list[Message] = []
        self._rows: TranscriptRows | None = None
        self._stem = ""
        self._parts: list[bytes] = []
        self._size = 0
        self._file: int | None = None
        self._local: Path | None = None  # where it grows, once it does not fit into memory
        self._faults: list[bytes] = []
        self._giant: tuple[Fault, list[bytes]] | None = None
        self.outputs: list[str] = []
        self.path: str | None = None
        self.dead_letters: str | None = None

    def write(self, batch: Batch) -> None:
        """Raises: SinkError."""
        if batch.messages:
            self._held += batch.messages
        for fault in batch.faults:
            self._fault(fault)
        if self._rows is None:
            facts = self._observer.facts
            if not self._held or not ((facts.session_id and facts.model) or facts.records >= PATIENCE):
                return
        if self._held:
            self._render()

    def close(self) -> None:
        """Writes what waits, puts the totals into the first row, and publishes. Raises: SinkError."""
        if self._held or self._rows is None:
            self._render()
        assert self._rows is not None
        totals = self._observer.totals
        patched = None
        if self._rows.rows:
            patched = patch(totals_members(totals.tokens(), totals.cost_usd, totals.duration_ms))
        place = object_store.join(self._folder, f"{self._stem}{TRANSCRIPT}")
        if self._local is None:
            data = b"".join(self._parts)
            if patched is not None:
                at, members = patched
                data = data[:at] + members + data[at + len(members) :]
            object_store.put(place, data, self._run)
        else:
            try:
                file = self._spill()
                if patched is not None:
                    os.pwrite(file, patched[1], patched[0])
                self._leave()
            except OSError as error:
                raise SinkError(str(self._local), error) from error
            object_store.put_file(self._local, place)
            leaving.settled(self._local)
        self.path = place
        self.outputs.append(place)
        if self._faults:
            self.dead_letters = object_store.join(self._folder, self._stem + _DEAD)
            object_store.put(self.dead_letters, b"".join(self._faults), self._run)
            self.outputs.append(self.dead_letters)
        elif not object_store.is_url(self._folder):
            object_store.remove(object_store.join(self._folder, self._stem + _DEAD))  # of an earlier, worse state

    def abandon(self) -> None:
        """The session could not be read to its end: nothing of it stays."""
        self._leave()
        if self._local is not None:
            self._local.unlink(missing_ok=True)
            leaving.settled(self._local)

    def __getstate__(self) -> dict[str, Any]:
        """Another process goes on writing: it opens the file itself."""
        return {**self.__dict__, "_file": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._local is not None:
            leaving.known(self._local)

    def _leave(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _render(self) -> None:
        if self._rows is None:
            self._open()
        assert self._rows is not None
        data = self._rows.render(self._held)
        self._held = []
        if data:
            self._parts.append(data)
            self._size += len(data)
            if self._size >= WRITE_BYTES:
                try:
                    self._spill()
                except OSError as error:
                    raise SinkError(str(self._local), error) from error

    def _open(self) -> None:
        observer = self._observer
        facts = observer.facts
        session_id = facts.session_id or f"unknown-{self._key}"
        target = self._target or observer.provider.name
        started = facts.started_ms if facts.started_ms is not None else self._changed_ms
        self._stem = stem_of(observer, self._key, self._changed_ms, self._target)
        identity = Identity.of(
            observer, test_id=session_id, target=target, session_id=session_id, path=self._source, started_ms=started
        )
        self._rows = TranscriptRows(identity)

    def _spill(self) -> int:
        """A long transcript does not stay in memory: it grows in a hidden file beside its place. Gives the file."""
        if self._local is None:
            folder = None
            if not object_store.is_url(self._folder):
                folder = self._folder
                prepare_folder(Path(folder))
            self._local, self._file = leaving.make_temporary(Path(folder) if folder else None, self._run)
        elif self._file is None:
            self._file = os.open(self._local, os.O_WRONLY)
            os.lseek(self._file, 0, os.SEEK_END)
        assert self._file is not None
        view = memoryview(b"".join(self._parts))
        while view:
            view = view[os.write(self._file, view) :]
        self._parts, self._size = [], 0
        return self._file

    def _fault(self, fault: Fault) -> None:
        if fault.part == "whole":
            blob = None
            if not dead_letters.stands_in_line(fault):
                blob = self._blob(fault, fault.data)
            self._faults.append(dead_letters.render(fault, blob))
            return
        # A record over the cap is not written a second time: its place in the source is told.
        if fault.part == "begin":
            self._giant = (fault, [])
        length = fault.offset - self._giant[0].offset if self._giant is not None else 0
        if fault.part == "end" and self._giant is not None:
            self._faults.append(dead_letters.render(self._giant[0], None, length))
            self._giant = None

    def _blob(self, fault: Fault, data: bytes) -> str:
        if not self._stem:
            return self._blob_at(self._key, fault, data)
        return self._blob_at(self._stem, fault, data)

    def _blob_at(self, name: str, fault: Fault, data: bytes) -> str:
        place = object_store.join(self._folder, f"{name}.dead", f"{fault.offset}.bin")
        object_store.put(place, data, self._run)
        self.outputs.append(place)
        return f"{name}.dead/{fault.offset}.bin"


def stem_of(observer: Observer, key: str, changed_ms: int, target: str | None) -> str:
    """What the names of a session's outputs begin with: its start, its target, its id, its key."""
    facts = observer.facts
    started = facts.started_ms if facts.started_ms is not None else changed_ms
    name = stem(started, target or observer.provider.name, facts.session_id or f"unknown-{key}")
    return f"{name}_{safe_part(key)}"


def remove_outputs(transcript: str) -> None:
    """Removes a transcript and the dead letters beside it. Raises: SinkError."""
    stem = transcript.removesuffix(TRANSCRIPT)
    object_store.remove(transcript)
    object_store.remove(stem + _DEAD)
    object_store.remove_tree(f"{stem}.dead")

"""The outputs of a followed session: transcript, dead letters, stream log, result; the same as `consume` writes.

Committed bytes are never changed again. After them comes what would follow if the input ended now (`settle`); when the
session continues that is cut off first. So at rest the files are those of a finished session, and after a crash they
are cut back to the length recorded in the cursor.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from agentv_stages.figures.result import Observer, Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Fault
from agentv_stages.model.message import Message
from agentv_stages.model.payload import told_path
from agentv_stages.sinks import dead_letters, raw_log
from agentv_stages.sinks.summary_log import SummaryLog, SummaryState
from agentv_stages.sinks.transcript import Identity, TranscriptRows, closing_members, patch
from agentv_stages.trajectory import CaseResult
from agentv_stream.discovery.places import logical_name
from agentv_stream.errors import SinkError
from agentv_stream.following.growing_output import GrowingOutput
from agentv_stream.outputs.naming import FINISHED_PATIENCE, LETTERS, RAW_LOG, RESULT, SUMMARY_LOG, TRANSCRIPT
from agentv_stream.outputs.publish import publish_now
from agentv_stream.outputs.transcript_file import log_of
from agentv_stream.settings import StreamLog

SUFFIXES = (TRANSCRIPT, LETTERS, RESULT, SUMMARY_LOG, RAW_LOG)
Place = Callable[[Observer, int | None], tuple[Path, str, Identity]]


class OutputState(Struct):
    """Where a session's outputs are and their lengths, in bytes of whole lines. `settled` includes the provisional end.

    `provisional` outputs are rewritten, perhaps elsewhere, when the session continues.
    """

    folder: str
    stem: str
    identity: Identity
    rows: int = 0
    transcript: int = 0
    letters: int = 0
    log: int = 0
    summary: SummaryState = field(default_factory=SummaryState)  # of the stream log
    settled: int = 0
    provisional: bool = False

    def path(self, suffix: str) -> Path:
        return Path(self.folder) / f"{self.stem}{suffix}"


class FollowOutputs:
    """The files of one session.

    `place` returns where they go once the session is known; it is given the start (UTC ms) that their name had before.
    `taken` says whether a transcript is another session's; `claim` whether it was already ours, and can also claim it.
    `made` is called for a transcript that is ours from now on (True), or was removed (False).
    `hold` locks a folder against others; raises FolderInUse if another follower uses it.
    """

    def __init__(
        self,
        place: Place,
        stream_log: StreamLog,
        taken: Callable[[Path], bool],
        claim: Callable[[Path, bool], bool],
        made: Callable[[Path, bool], None],
        hold: Callable[[Path], None] = lambda folder: None,
        result: bool = True,
    ) -> None:
        self._made = made
        self._hold = hold
        self._place = place
        self._claim = claim
        self._stream_log = stream_log
        self._taken = taken
        self._result = result
        self._held: list[Message] = []
        self._faults: list[Fault] = []
        self._logged: list[Batch] = []  # batches for the log, until its place is known
        self.state: OutputState | None = None
        self._summary = SummaryLog()
        self.provisional = False  # the place was chosen too early; given up when the session continues
        self.settled = False
        self.settled_length = 0
        self._named_ms: int | None = None

    @property
    def ready(self) -> bool:
        """Whether everything received has been written to files, so that a cursor may be committed."""
        return self.state is not None and not self.provisional

    def restore(self, state: OutputState) -> None:
        self._use(state)
        self.provisional = state.provisional
        self.settled = True  # there may be something to cut
        self.settled_length = state.settled  # unchanged as long as the session is committed without settling again

    def restart(self) -> None:
        """Empties the files, because the session is read again from its beginning. Raises: SinkError."""
        state = self.state
        if state is None:
            return
        if self.provisional:
            self.remove()
            self._held, self._faults, self._logged, self.settled = [], [], [], False
            return
        state.rows = state.transcript = state.letters = state.log = 0
        state.summary = SummaryState()
        self._use(state)
        for file in (self._transcript, self._letters, self._log):
            file.cut()
        self._held, self._faults, self._logged = [], [], []
        self.settled = False

    def write(self, batch: Batch, observer: Observer) -> None:
        """Takes a batch that has passed all stages. Raises: SinkError."""
        self.go_on()
        self._held += batch.messages
        self._faults += batch.faults
        if self._stream_log != "false":
            self._logged.append(batch)
        if self.state is None:
            facts = observer.facts
            if not self._held or not (facts.named or facts.records >= FINISHED_PATIENCE):
                return
            self._open(observer)
        self._write()

    def go_on(self) -> None:
        """The session continues: undoes what the last `settle` added. Raises: SinkError."""
        if not self.settled:
            return
        state = self.state
        if state is not None:
            for file in (self._transcript, self._letters, self._log):
                file.cut()
            if self.provisional:
                self.remove()
        self.settled = False

    def remove(self) -> None:
        """Removes all of the session's outputs. Raises: SinkError."""
        state = self.state
        if state is None:
            return
        try:
            for suffix in (TRANSCRIPT, LETTERS, RESULT, self._log_suffix):
                state.path(suffix).unlink(missing_ok=True)
            if state.path(".dead").is_dir():
                for blob in state.path(".dead").glob("*.bin"):
                    blob.unlink(missing_ok=True)
                state.path(".dead").rmdir()
        except OSError as error:
            raise SinkError(str(state.path(TRANSCRIPT)), error) from error
        self._made(state.path(TRANSCRIPT), False)
        self._named_ms = state.identity.started_ms
        self.state, self.provisional = None, False

    def settle(
        self,
        batches: list[Batch],
        observer: Observer,
        left: list[str],
        verdicts: Sequence[CaseResult] = (),
        provisional: bool = False,
    ) -> Outputs | None:
        """Writes what would follow if the input ended now, the totals and the result. `provisional`: if the session
        continues, its place may be another one.

        Raises: SinkError.
        """
        self.go_on()
        if self.state is None:
            self.provisional = True
            self._open(observer)
        self.provisional = self.provisional or provisional
        state = self.state
        assert state is not None
        rows_before, summary = self._rows.rows, self._summary
        self._summary = SummaryLog()
        self._summary.restore(summary.snapshot())  # what it says about the provisional end is undone with it
        held, faults, logged = self._held, self._faults, self._logged
        try:
            for batch in batches:
                self._held = self._held + batch.messages
                self._faults = self._faults + batch.faults
                if self._stream_log != "false":
                    self._logged = [*self._logged, batch]
            self.settled = True
            self._write(keep=False)
            patched = patch(closing_members(observer))
            if patched is not None and self._rows.rows:
                self._transcript.write_at(*patched)
            outputs = Outputs(transcript=told_path(str(self._transcript.path)))
            if self._stream_log != "false":
                outputs.stream_log = told_path(str(self._log.path))
            if self._letters.path.exists():
                outputs.dead_letters = told_path(str(self._letters.path))
            if self._result:
                result = observer.result(left, outputs)
                if verdicts:
                    from agentv_stream.checks.check import verdicts_json

                    result.verdicts = verdicts_json(verdicts)
                publish_now(state.path(RESULT), result.to_json())
            self.settled_length = self._transcript.path.stat().st_size if self._transcript.path.exists() else 0
        except OSError as error:
            raise SinkError(str(self._transcript.path), error) from error
        finally:
            self._rows.rows, self._summary = rows_before, summary
            self._held, self._faults, self._logged = (held, faults, logged) if self.provisional else ([], [], [])
        return outputs

    def snapshot(self) -> OutputState | None:
        """The state of the outputs; None while their place is not known."""
        state = self.state
        if state is None:
            return None
        if self.provisional:
            return OutputState(state.folder, state.stem, state.identity, settled=self.settled_length, provisional=True)
        return OutputState(
            state.folder, state.stem, state.identity, self._rows.rows, self._transcript.length, self._letters.length,
            self._log.length, self._summary.snapshot(), self.settled_length if self.settled else -1,
        )  # fmt: skip

    @property
    def _log_suffix(self) -> str:
        return RAW_LOG if self._stream_log == "raw" else SUMMARY_LOG

    def _open(self, observer: Observer) -> None:
        folder, stem, identity = self._place(observer, self._named_ms)
        path = folder / f"{stem}{TRANSCRIPT}"
        n = 2
        try:
            while self._taken(path) or self._foreign(path, identity):
                path = folder / f"{stem}-{n}{TRANSCRIPT}"
                n += 1
            self._use(OutputState(str(folder), path.name.removesuffix(TRANSCRIPT), identity))
            for file in (self._transcript, self._letters, self._log):
                file.cut()
            if path.exists():
                self._made(path, True)
        except OSError as error:
            raise SinkError(str(path), error) from error

    def _foreign(self, path: Path, identity: Identity) -> bool:
        """Whether the file is somebody else's; claims the path if not. Raises: OSError when that cannot be determined.

        A file that `consume` made from the same log is overwritten; one it made from the agent's stream is not: that
        contains more.
        """
        log = logical_name(Path(log_of(path, identity.session_id)).name)
        if not path.exists() or log == logical_name(Path(identity.path or "").name):
            self._claim(path, True)
            return False
        return not self._claim(path, False)

    def _use(self, state: OutputState) -> None:
        self._hold(Path(state.folder))
        self.state = state
        self._transcript = GrowingOutput(state.path(TRANSCRIPT), state.transcript, lambda path: self._made(path, True))
        self._letters = GrowingOutput(state.path(LETTERS), state.letters, at_need=True)
        self._log = GrowingOutput(state.path(self._log_suffix), state.log)
        self._rows = TranscriptRows(state.identity)
        self._rows.rows = state.rows
        self._summary = SummaryLog()
        self._summary.restore(state.summary)

    def _write(self, keep: bool = True) -> None:
        """Renders and writes what is held; all of it or nothing counts as written."""
        if self._held:
            self._transcript.append(self._rows.render(self._held), keep=keep)
            self._held = []
        for fault in self._faults:
            self._letters.append(self._letter(fault), keep=keep)
        self._faults = []
        if self._logged:
            render = raw_log.render if self._stream_log == "raw" else self._summary.render
            self._log.append(b"".join([render(batch) for batch in self._logged]), keep=keep)
            self._logged = []
        if not keep and self._stream_log == "summary":
            self._log.append(self._summary.flush(), keep=False)

    def _letter(self, fault: Fault) -> bytes:
        """The line of a fault; bytes that cannot be stored in it go to a separate file."""
        assert self.state is not None
        folder = self.state.path(".dead")
        blob: str | None = None
        if fault.part == "whole":
            if not dead_letters.stands_in_line(fault):
                name = dead_letters.blob_name(fault)
                publish_now(folder / name, fault.data)
                blob = f"{folder.name}/{name}"
            return dead_letters.render(fault, blob)
        return self._piece(fault, folder)

    def _piece(self, fault: Fault, folder: Path) -> bytes:
        """Handles a record over the cap piece by piece; its line comes with its end."""
        if fault.part == "begin":
            self._giant = fault
            self._blob = GrowingOutput(folder / dead_letters.blob_name(fault))
            self._blob.cut()
        self._blob.append(fault.data)
        if fault.part != "end":
            return b""
        return dead_letters.render(self._giant, f"{folder.name}/{self._blob.path.name}", self._blob.length)

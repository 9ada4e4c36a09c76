"""The outputs of a followed session: transcript, dead letters, stream log, result; the same as `consume` writes.

Committed bytes are never changed again. After them comes what would follow if the input ended now (`settle`); when the
session continues that is cut off first. So at rest the files are those of a finished session, and after a crash they
are cut back to the length recorded in the cursor.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Raw

from agentv_stages.figures.result import Observer, Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.payload import printable_path
from agentv_stages.model.stage import Stateful
from agentv_stages.sinks.output import Append, Operation, Patch, Put, Writer
from agentv_stages.sinks.outputs import Letters, Log, Transcript, Wanted, make_outputs, suffixes
from agentv_stages.sinks.suffixes import SPANS
from agentv_stages.sinks.summary_log import SummaryState
from agentv_stages.sinks.transcript import Identity
from agentv_stream.discovery.places import logical_name
from agentv_stream.errors import SinkError
from agentv_stream.following.growing_output import GrowingOutput, Mark, OutputState, hash_of, mark_of
from agentv_stream.live.stall import Standing
from agentv_stream.otel.follow import SessionSpans, SpanFeed
from agentv_stream.outputs.durable import withdraw
from agentv_stream.outputs.naming import LETTERS, RAW_LOG, RESULT, SUMMARY_LOG, TRANSCRIPT
from agentv_stream.outputs.publish import publish_now
from agentv_stream.outputs.session_name import is_known
from agentv_stream.outputs.transcript_file import log_of
from agentv_stream.settings import StreamLog

if TYPE_CHECKING:  # the evaluators take 80 ms
    from agentv_stages.trajectory import CaseResult

SUFFIXES = (*suffixes(), RESULT)


class OutputPlace(Protocol):
    """The place of a session's outputs."""

    def find(self, observer: Observer, named_ms: int | None) -> tuple[Path, str, Identity]:
        """Folder, name and identity, once the session is known; `named_ms` is the start that their name had before."""
        ...

    def taken(self, path: Path) -> bool:
        """Whether a transcript is another session's."""
        ...

    def claim(self, path: Path, take: bool) -> bool:
        """Whether a transcript was already ours; with `take` it is claimed."""
        ...

    def record_made(self, path: Path, there: bool) -> None:
        """A transcript is ours from now on, or was removed."""
        ...

    def hold(self, folder: Path) -> None:
        """Locks a folder against others. Raises: FolderInUse."""
        ...


class FollowOutputs:
    """The files of one session at a place."""

    def __init__(
        self,
        place: OutputPlace,
        stream_log: StreamLog,
        result: bool = True,
        feed: SpanFeed | None = None,
        machine: str | None = None,
    ) -> None:
        self._place = place
        self._wanted = Wanted(stream_log=stream_log)
        self._machine = machine
        self._spans: SessionSpans | None = None
        if feed is not None:
            self._wanted, self._spans = feed.wanted(self._wanted), SessionSpans(feed)
        self._result = result
        self._writer = Writer(make_outputs(self._wanted))
        self._files: dict[str, GrowingOutput] = {}
        self._blob: GrowingOutput | None = None  # of a record over the cap
        self.state: OutputState | None = None
        self.provisional = False  # the place was chosen too early; given up when the session continues
        self.settled = False
        self.settled_length = 0
        self._marks: dict[str, Mark] = {}
        self._named_ms: int | None = None
        self.reported: dict[str, list[str]] = {}  # survives a restart of the outputs
        self.standing = Standing()

    @property
    def ready(self) -> bool:
        """Whether everything received has been written to files, so that a cursor may be committed."""
        return self.state is not None and not self.provisional

    @property
    def unsynced(self) -> set[Path]:
        """Files and folders that must be on the disk before a cursor is committed."""
        return {path for file in self._files.values() for path in file.unsynced}

    def synced(self) -> None:
        """All of `unsynced` are on the disk."""
        for file in self._files.values():
            file.unsynced.clear()

    def restore(self, state: OutputState) -> None:
        self._use(state)
        self.provisional = state.provisional
        if not self.provisional:
            self._begin(state)
        self.settled = True  # there may be something to cut
        self._marks, self.reported, self.standing = state.marks, state.reported, state.standing
        self.settled_length = state.settled  # unchanged as long as the session is committed without settling again

    def restart(self) -> None:
        """Empties the files, because the session is read again from its beginning. Raises: SinkError."""
        state = self.state
        if state is None:
            return
        if self.provisional:
            self.remove()
            self._writer, self.settled = Writer(make_outputs(self._wanted)), False
            return
        state.rows = state.transcript = state.letters = state.log = 0
        state.summary, state.others, state.states = SummaryState(), {}, {}
        self._use(state)
        self._cut()
        self._begin(state)
        self.settled = False

    def write(self, batch: Batch, observer: Observer) -> None:
        """Takes a batch that has passed all stages. Raises: SinkError."""
        self.go_on()
        writer = self._writer
        writer.take(batch)
        if self.state is None:
            if not _has_messages(writer) or not is_known(observer.facts):
                return
            self._begin(self._open(observer))
        self._apply(writer.operations(), keep=True)

    def go_on(self) -> None:
        """The session continues: undoes the additions of the last `settle`. Raises: SinkError."""
        if not self.settled:
            return
        state = self.state
        if state is not None:
            self._cut()
            if self.provisional:
                self.remove()
        self.settled = False

    def remove(self) -> None:
        """Removes all of the session's outputs. Raises: SinkError."""
        state = self.state
        if state is None:
            return
        try:
            withdraw(state.path(RESULT))
            for suffix in (RESULT, *self._files):
                state.path(suffix).unlink(missing_ok=True)
            if state.path(".dead").is_dir():
                for blob in state.path(".dead").glob("*.bin"):
                    blob.unlink(missing_ok=True)
                state.path(".dead").rmdir()
        except OSError as error:
            raise SinkError(str(state.path(TRANSCRIPT)), error) from error
        self._place.record_made(state.path(TRANSCRIPT), False)
        self._named_ms = state.identity.started_ms
        self.state, self.provisional = None, False
        if self._writer.begun:
            self._writer = Writer(make_outputs(self._wanted))

    def settle(
        self,
        batches: list[Batch],
        observer: Observer,
        left: list[str],
        verdicts: "Sequence[CaseResult]" = (),
        provisional: bool = False,
    ) -> Outputs | None:
        """Writes what would follow if the input ended now, the totals and the result. `provisional`: if the session
        continues, its place may be another one.

        Raises: SinkError.
        """
        self.go_on()
        after = self._writer.fork()
        state = self.state
        if state is None:
            self.provisional = True
            state = self._open(observer)
            after.begin(state.identity, state.path(".dead").name)
        self.provisional = self.provisional or provisional
        self.standing.status, self.standing.ended = observer.status(len(left)), observer.over
        transcript, letters = state.path(TRANSCRIPT), state.path(LETTERS)
        marks: dict[str, Mark] = {}
        try:
            for batch in batches:
                after.take(batch)
            self.settled = True
            self._apply(after.close(observer), keep=False, ended=observer.status(len(left)) == "complete")
            if self._spans is not None and observer.status(len(left)) == "complete":
                self._spans.append_verdicts(after.outputs, verdicts)
            outputs = Outputs(transcript=printable_path(str(transcript)))
            if self._wanted.stream_log != "false":
                outputs.stream_log = printable_path(str(state.path(self._log_suffix)))
            if letters.exists():
                outputs.dead_letters = printable_path(str(letters))
            if self._result:
                result = observer.result(left, outputs)
                if self._machine is not None:
                    result.machine = self._machine
                if verdicts:
                    from agentv_stream.checks.check import verdicts_json

                    result.verdicts = verdicts_json(verdicts)
                data = result.to_json()
                publish_now(state.path(RESULT), data)
                marks[RESULT] = Mark(len(data), hash_of(data))
            marks |= {suffix: mark_of(file) for suffix, file in self._files.items() if file.path.exists()}
            self._marks = marks
            self.settled_length = transcript.stat().st_size if transcript.exists() else 0
        except OSError as error:
            raise SinkError(str(transcript), error) from error
        return outputs

    def snapshot(self) -> OutputState | None:
        """The state of the outputs; None while their place is not known."""
        state = self.state
        if state is None:
            return None
        if self.provisional:
            length = self.settled_length
            return OutputState(
                state.folder, state.stem, state.identity, settled=length, provisional=True, marks=self._marks,
                reported=self.reported, standing=self.standing.saved(),
            )  # fmt: skip
        saved = OutputState(
            state.folder,
            state.stem,
            state.identity,
            settled=self.settled_length if self.settled else -1,
            marks=self._marks if self.settled else {},
            reported=self.reported,
            standing=self.standing.saved(),
        )
        for output in self._writer.outputs:
            length = self._files[output.suffix].length if output.suffix in self._files else 0
            if isinstance(output, Transcript):
                saved.rows, saved.transcript = output.snapshot().rows, length
            elif isinstance(output, Letters):
                saved.letters = length
            elif isinstance(output, Log):
                saved.log, saved.summary = length, output.snapshot()
            else:
                saved.others[output.suffix] = length
                if isinstance(output, Stateful):
                    saved.states[output.suffix] = Raw(msgspec.json.encode(output.snapshot()))
        return saved

    @property
    def _log_suffix(self) -> str:
        return RAW_LOG if self._wanted.stream_log == "raw" else SUMMARY_LOG

    def _open(self, observer: Observer) -> OutputState:
        folder, stem, identity = self._place.find(observer, self._named_ms)
        path = folder / f"{stem}{TRANSCRIPT}"
        n = 2
        try:
            while self._place.taken(path) or self._foreign(path, identity):
                path = folder / f"{stem}-{n}{TRANSCRIPT}"
                n += 1
            state = OutputState(str(folder), path.name.removesuffix(TRANSCRIPT), identity)
            self._use(state)
            self._cut()
            if path.exists():
                self._place.record_made(path, True)
            return state
        except OSError as error:
            raise SinkError(str(path), error) from error

    def _foreign(self, path: Path, identity: Identity) -> bool:
        """Whether the file is another program's; claims the path if not. Raises: OSError when that cannot be
        determined.

        A file that `consume` made from the same log is overwritten; one it made from the agent's stream is not: that
        contains more.
        """
        log = logical_name(Path(log_of(path, identity.session_id)).name)
        if not path.exists() or log == logical_name(Path(identity.path or "").name):
            self._place.claim(path, True)
            return False
        return not self._place.claim(path, False)

    def _use(self, state: OutputState) -> None:
        """The files at a place, to go on at the lengths that are known."""
        place = self._place
        place.hold(Path(state.folder))
        self.state = state
        lengths = {TRANSCRIPT: state.transcript, LETTERS: state.letters, self._log_suffix: state.log, **state.others}
        self._files = {
            output.suffix: GrowingOutput(
                state.path(output.suffix),
                lengths.get(output.suffix, 0),
                (lambda path: place.record_made(path, True)) if output.suffix == TRANSCRIPT else None,
                at_need=output.suffix not in (TRANSCRIPT, self._log_suffix),
            )
            for output in self._writer.outputs
            if output.suffix != SPANS or self._spans is None
        }

    def _begin(self, state: OutputState) -> None:
        """The place is final: outputs go on from the state that is known."""
        if self._writer.begun:
            self._writer = Writer(make_outputs(self._wanted))
        self._writer.begin(state.identity, state.path(".dead").name)
        for output in self._writer.outputs:
            if isinstance(output, Transcript):
                output.go_on_at(state.rows)
            elif isinstance(output, Log):
                output.restore(state.summary)
            elif isinstance(output, Stateful) and output.suffix in state.states:
                output.restore(msgspec.json.decode(state.states[output.suffix], type=type(output.snapshot())))

    def _cut(self) -> None:
        """Cuts the files back to their final part. Raises: SinkError."""
        for file in self._files.values():
            file.cut()

    def _apply(self, operations: list[Operation], keep: bool, ended: bool = False) -> None:
        """Carries out the operations of the outputs; without `keep` it is cut off again when the session continues.
        Spans are not: those of the end wait until the session has `ended`, as far as its log says.

        Raises: SinkError.
        """
        for operation in operations:
            if isinstance(operation, Append) and operation.suffix == SPANS and self._spans is not None:
                if keep:
                    self._spans.append(operation.data)
                elif ended:
                    self._spans.append_end(operation.data)
            elif isinstance(operation, Append):
                self._files[operation.suffix].append(operation.data, keep=keep)
            elif isinstance(operation, Put):
                self._put(operation)
            else:
                self._patch(operation)

    def _patch(self, patch: Patch) -> None:
        self._files[patch.suffix].write_at(patch.offset, patch.data)

    def _put(self, put: Put) -> None:
        assert self.state is not None
        path = self.state.path(".dead") / put.name
        if put.part == "whole":
            publish_now(path, put.data)
            return
        if put.part == "begin" or self._blob is None:
            self._blob = GrowingOutput(path)
            self._blob.cut()
        self._blob.append(put.data)


def _has_messages(writer: Writer) -> bool:
    """Whether rows wait for the session's name: without a row a session has no outputs until it rests."""
    return any(output.waiting for output in writer.outputs if isinstance(output, Transcript))

"""Does one task: reads each unit through the chain, writes the outputs, and reports. Runs in any process, anywhere.

A unit that fails is a row of the report. A worker's outputs appear at the end of its task, when they are on the disk;
the record that the task is done comes last of all: a worker that dies before that has done nothing.
"""

import errno
import gc
import hashlib
from collections.abc import Generator
from functools import lru_cache, partial
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED_BESIDE
from agentv_stages.figures.merge import Summary, day_of, summary_of
from agentv_stages.figures.result import Observer, Result
from agentv_stages.figures.session_figures import session_figures
from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import NULL, printable_path
from agentv_stages.sinks.suffixes import SPANS
from agentv_stream.bulk import object_store
from agentv_stream.bulk.leaving import give_up
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.object_store import is_url
from agentv_stream.bulk.own_stages import stages_of
from agentv_stream.bulk.unit import Done, ReadFile, Report, Separate, Task, Unit, Work, printable
from agentv_stream.errors import AgentvStreamError, DamagedArchive, EmptyInput, NotALog, SinkError
from agentv_stream.outputs.durable import SYNC, together
from agentv_stream.outputs.naming import LETTERS, TRANSCRIPT, safe_part
from agentv_stream.outputs.session_name import FixedIdentity, Log
from agentv_stream.sources.folder import may_be_companions, parts_of
from agentv_stream.summary import SessionReader, without_collector

if TYPE_CHECKING:
    from agentv_stages.findings import Findings
    from agentv_stages.session.parts import Parts
    from agentv_stages.trajectory.trace_events import TraceList
    from agentv_stream.bulk.document_file import DocumentFile
    from agentv_stream.bulk.judging import SessionCheck
    from agentv_stream.bulk.session_outputs import SessionOutputs
    from agentv_stream.bulk.staging import Staging
    from agentv_stream.pages.making import PageMaker

TAIL_BYTES = 4096
HEAD_BYTES = 1024
KEPT_BYTES = 4 * 1024 * 1024
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS))
_encode = msgspec.json.Encoder().encode


def do_task(work: Work, task: Task) -> bytes:
    """The report of a task, as JSON of `unit.Report`."""
    bytes(KEPT_BYTES)  # freed at once: glibc then keeps that much instead of returning memory after each session
    with without_collector():
        report = _encode(Worker(work, task).run())
    if not gc.isenabled():  # a prepared worker: collects the few cycles that sessions leave
        gc.collect()
    return report


@lru_cache(maxsize=4)
def _folder_of(run: str, thread: int) -> ListedFolder:
    """The listing that all tasks of an import share in one thread: a folder may hold the sessions of many tasks."""
    return ListedFolder()


def key_of(name: str) -> str:
    """The key of a unit in data sets and file names: 16 hexadecimal digits."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def tail_of(place: str, size: int) -> str:
    """A hash of the last bytes of a file of that size, as stored. Raises: SourceError, OSError."""
    with object_store.open_input(place) as file:
        file.seek(max(0, size - TAIL_BYTES))
        return _hash(file.read(min(size, TAIL_BYTES)))


def unpacked_tail(place: str, size: int) -> str | None:
    """As `tail_of` for the first `size` bytes of the contents of a packed file; None if it contains fewer.

    Raises: SourceError, OSError.
    """
    last = b""
    for piece in object_store.pieces(place):
        part = piece[:size]
        last = (last + part)[-TAIL_BYTES:]
        size -= len(part)
        if not size:
            return _hash(last)
    return None


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _trace_list() -> "TraceList":
    from agentv_stages.trajectory.trace_events import TraceList  # with the evaluators: 80 ms

    return TraceList()


def _findings() -> "Findings":
    from agentv_stages.findings import Findings  # with the evaluators

    return Findings()


def _check(work: Work, unit: Unit, parts: "Parts") -> "SessionCheck | None":
    """Raises: UsageError."""
    if work.checks is None:
        return None
    from agentv_stream.bulk.judging import SessionCheck  # with the evaluators

    return SessionCheck(work.checks, unit, parts)


class Worker:
    """Does one task in this process."""

    def __init__(self, work: Work, task: Task) -> None:
        self.work = work
        self.task = task
        self.report = Report(task=task.number)
        self.folder = _folder_of(work.run, get_ident()) if work.run else ListedFolder()
        self.staging: Staging | None = None
        SYNC.set(work.sync)

    def run(self) -> Report:
        """Reads every unit; a unit's failure is put into the report."""
        work, report, name = self.work, self.report, self.name
        if work.dataset is not None and work.state is not None:
            from agentv_stream.bulk.staging import Staging

            self.staging = Staging(work.state, name)
        try:
            with together() as batch:
                for unit in self.task.units:
                    report.done.append(self._unit(unit))
                if self.staging is not None:
                    self.staging.publish()
            for path, error in batch.failed.items():
                raise SinkError(str(path), error) from error
        finally:
            if self.staging is not None:
                self.staging.close()
        self.publish(name)
        return report

    def publish(self, name: str) -> None:
        """Records that the units are done."""
        work, report = self.work, self.report
        if work.state is not None:
            for done in report.done:
                done.sizes = {place: object_store.stat(place)[0] for place in done.outputs if not is_url(place)}
            lines = b"".join(_encode(done) + b"\n" for done in report.done)
            object_store.put(object_store.join(work.state, "done", f"{name}.jsonl"), lines)
            if not work.results:
                for done in report.done:
                    done.result = NULL

    @property
    def name(self) -> str:
        """The name for the worker's own files."""
        return f"{self.work.run}-{self.task.number:06d}-{key_of(self.task.units[0].name)}"

    def _unit(self, unit: Unit) -> Done:
        done = Done(unit=unit)
        session = Session(self, unit, done)
        try:
            session.read()
        except AgentvStreamError as error:
            session.abandon()
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_ROOM:
                raise  # the next session would fail as well
            return Done(unit=unit, error=printable(str(error))[0], kind=type(error).__name__)
        except Exception as error:  # one log that we fail on must not end the run; it is reported as a bug of ours
            session.abandon()
            return Done(unit=unit, error=printable(f"bug: {type(error).__name__}: {error}")[0], kind="Bug")
        except BaseException:  # the run is over, if all is done in one process
            session.abandon()
            raise
        return done


class Session:
    """One unit on its way through the chain and into its outputs."""

    def __init__(self, worker: Worker, unit: Unit, done: Done) -> None:
        self.worker = worker
        self.unit = unit
        self.done = done
        self.key = key_of(unit.name)
        self.identity: FixedIdentity | None = None
        self.outputs: SessionOutputs | None = None
        self.trajectory: DocumentFile | None = None
        self.page: DocumentFile | None = None
        self.traces = _trace_list() if worker.work.include_trace else None
        self.findings = _findings() if worker.staging is not None else None
        self.check: SessionCheck | None = None
        self.page_maker: PageMaker | None = None
        self.spans: SessionOutputs | None = None
        self._damage: list[DamagedArchive] = []
        self._pieces: Generator[bytes] | None = None  # of the main file
        self._begin = b""  # of the main file, unpacked
        self._giant: Fault | None = None  # the beginning of a record over the cap, until its end

    def open(self) -> SessionReader:
        """Begins to read. Raises: AgentvStreamError."""
        worker, unit, work = self.worker, self.unit, self.worker.work
        if worker.staging is not None:
            worker.staging.begin()  # before anything can fail: else `abandon` would drop the rows of the previous unit
        if unit.session is None:
            pieces = self._begun(self._readable(unit.place))
        else:
            pieces = _stored(unit.place, unit.session, work.subagents)
        self._pieces = pieces
        parts = stages_of(work.records, work.stages, work.redaction)
        self.check = _check(work, unit, parts)
        try:
            reader = SessionReader(
                pieces, unit.place, work.provider, work.watch,
                folder=worker.folder, read=self._readable, messages=self.takes_messages,
                parts=parts, dated=work.apart and work.dated,
            )  # fmt: skip
        except (NotALog, EmptyInput):
            if self._damage:  # too little precedes the damage to detect the dialect
                raise self._damage[0] from None
            raise
        provider, log = safe_part(reader.provider.name), Log(unit.place, unit.name, unit.mtime_ns // 1_000_000)
        # It knows the observer alone: a reference to the session would leave it to the garbage collector, which rests.
        self.identity = FixedIdentity(reader.observer, log, work.target)
        if self.takes_messages:
            self._open_outputs(provider, self.identity)
        return reader

    def _open_outputs(self, provider: str, identity: FixedIdentity) -> None:
        from agentv_stages.sinks.outputs import Wanted  # 15 ms that figures alone do not need
        from agentv_stream.bulk.document_file import DocumentFile
        from agentv_stream.bulk.session_outputs import SessionOutputs
        from agentv_stream.outputs.documents import AtifDocument

        work = self.worker.work
        if work.transcripts is not None:
            folder = work.transcripts.replace("{provider}", provider)
            wanted = Wanted(traces=work.dump_traces)
            self.outputs = SessionOutputs(folder, self.key, work.run, identity, wanted)
        if work.trajectories is not None:
            folder = work.trajectories.replace("{provider}", provider)
            self.trajectory = DocumentFile(AtifDocument(), folder, partial(identity.name, self.key), work.run)
        if work.pages is not None:
            folder, self.page_maker = work.pages.replace("{provider}", provider), _page_maker(work)
            self.page = DocumentFile(self.page_maker, folder, partial(identity.name, self.key), work.run)
        if work.export is not None and work.state is not None:
            wanted = Wanted(transcript=False, spans=work.export.options, redactor=work.export.redactor)
            self.spans = SessionOutputs(object_store.join(work.state, "spans"), self.key, work.run, identity, wanted)

    def read(self) -> None:
        """Reads the whole unit. Raises: AgentvStreamError."""
        reader = self.open()
        for batch in reader.batches(self.takes_companions):
            self.take(batch)
        if self._damage and self.unit.read_before:
            raise self._damage[0]
        if self.unit.in_folder and not self._damage and not reader.observer.ran:
            raise EmptyInput(f"{self.unit.name}: a header without a session")
        self.finish(reader)

    def _readable(self, place: str) -> Generator[bytes]:
        """The pieces of a file, up to where a damaged one is truncated. Raises: SourceError."""
        try:
            yield from object_store.pieces(place)
        except DamagedArchive as error:
            self._damage.append(error)

    def _begun(self, pieces: Generator[bytes]) -> Generator[bytes]:
        """The same pieces; notes the beginning of the first line."""
        for piece in pieces:
            if len(self._begin) < HEAD_BYTES and b"\n" not in self._begin:
                self._begin += piece[: HEAD_BYTES - len(self._begin)]
            yield piece

    @property
    def takes_companions(self) -> bool:
        return self.worker.work.subagents and self.unit.session is None

    @property
    def takes_messages(self) -> bool:
        """Whether an output needs messages."""
        work = self.worker.work
        wanted = (work.transcripts, work.trajectories, work.pages, work.export, self.worker.staging)
        return any(output is not None for output in wanted)

    def take(self, batch: Batch) -> None:
        """Takes an observed batch: its messages go to the outputs. Raises: SinkError; as `give_up`."""
        give_up()
        self.write(batch)

    def write(self, batch: Batch) -> None:
        """As `take`, without asking whether to give up. Raises: SinkError."""
        if self.traces is not None:
            self.traces.observe(batch)
        if self.findings is not None:
            self.findings.observe(batch)
        if self.check is not None:
            self.check.checker.observe(batch)
        if self.outputs is not None:
            self.outputs.write(batch)
        if self.trajectory is not None:
            self.trajectory.write(batch)
        if self.page is not None:
            self.page.write(batch)
        if self.spans is not None:
            self.spans.write(batch)
        if self.worker.staging is not None:
            self._stage(self.worker.staging, batch, self.key)
        batch.messages = []  # dropped as soon as they are written

    def finish(self, reader: SessionReader) -> None:
        """All batches were taken: closes the outputs and completes the unit's report."""
        worker, unit, done = self.worker, self.unit, self.done
        work, observer = worker.work, reader.observer
        if self._damage:
            done.damage = printable("; ".join(str(error) for error in self._damage))[0]
        left = reader.pair.left
        facts = observer.facts
        done.provider = reader.provider.name
        done.alone = COPIED_BESIDE not in observer.counters.ignored
        done.day = day_of(facts.started_ms)
        done.faults = dict(observer.counters.faults)
        done.companions = [_seen(companion.path, work.state is not None) for companion in reader.companions]
        if not work.subagents and unit.session is None:
            _, left_out = parts_of(reader.provider, unit.place, False, worker.folder)
            done.left_out = [printable(path)[0] for path in left_out]
        estimate = None
        if work.results or work.state is not None or worker.staging is not None or work.prices:
            result = observer.result(left)
            if self.traces is not None:
                self.traces.put_into(result)
            if self.check is not None:
                result.verdicts = self.check.verdicts
            if work.state is not None:
                result.source = printable_path(unit.name)
            if work.target is not None:
                result.target = work.target
            if work.machine is not None:
                result.machine = work.machine
            if work.prices:
                from agentv_stream.costs.prices import estimate_cost

                estimate_cost(result)
                if isinstance(result.estimated_cost_usd, float):
                    estimate = result.estimated_cost_usd
            self._close(result, observer)
        certain = not may_be_companions(reader.provider)
        if work.apart:
            summary = Summary()
            if work.sequences:
                summary = summary_of(observer, len(left), unit.name, unit.position, sequences=True)
                summary.groups = {}
            session = session_figures(observer, len(left))
            worker.report.separate.append(Separate(unit.name, summary, certain, session))
        elif work.by is not None:
            summary = summary_of(observer, len(left), unit.name, unit.position, work.by, estimated_usd=estimate)
            if not certain:
                worker.report.separate.append(Separate(unit.name, summary, certain))
            elif worker.report.summary is None:
                worker.report.summary = summary
            else:
                worker.report.summary.merge(summary)
        if work.state is not None and unit.session is None:
            done.tail = tail_of(unit.place, unit.size)
            done.head = _hash(self._begin.partition(b"\n")[0])

    def _stage(self, staging: "Staging", batch: Batch, key: str) -> None:
        from agentv_stream.bulk import rows  # with the evaluators

        most = self.worker.work.text_chars
        for message in batch.messages:
            staging.add("messages", rows.message_row(key, message, most), most)
            for row in rows.call_rows(key, message, most):
                staging.add("tool_calls", row, most)
        for fault in batch.faults:
            if fault.part == "begin":
                self._giant = fault
            elif fault.part == "end" and self._giant is not None:  # only now its length is known
                giant = replace(self._giant, length=fault.offset - self._giant.offset)
                staging.add("faults", rows.fault_row(key, self.unit.name, giant))
            elif fault.part == "whole":
                staging.add("faults", rows.fault_row(key, self.unit.name, fault))

    def _close(self, result: Result, observer: Observer) -> None:
        if self.outputs is not None:
            self.outputs.close(observer)
            done, places = self.done, dict(self.outputs.places)
            done.transcript, done.letters = places.pop(TRANSCRIPT, None), places.pop(LETTERS, None)
            done.others = sorted(places.values())
            result.outputs.transcript = done.transcript
            if done.letters is not None:
                result.outputs.dead_letters = done.letters
        if self.trajectory is not None:
            place = self.done.trajectory = self.trajectory.close(result)
            result.outputs.trajectory = place if place is not None else UNSET
        if self.page is not None and (place := self.page.close(result)) is not None:
            result.outputs.page = place
            self.done.page_title = self.page_maker.title(result) if self.page_maker is not None else None
            self.done.others = sorted([*self.done.others, place])
        if self.spans is not None:
            self.spans.close(observer)
            self.done.spans = self.spans.places.get(SPANS)
        staging = self.worker.staging
        if staging is not None:
            from agentv_stream.bulk import rows

            staging.add("sessions", rows.session_row(self.key, self.unit.name, result, observer.facts.started_ms))
            for row in rows.finding_rows(self.key, self.findings.finish() if self.findings is not None else ()):
                staging.add("findings", row)
            for row in self.check.rows(self.key) if self.check is not None else ():
                staging.add("verdicts", row)
            self.done.rows = staging.end()
        self.done.result = Raw(_encode(result))

    def abandon(self) -> None:
        """Closes the log and removes its outputs. An error that is kept holds the reader, and with it the file."""
        if self._pieces is not None:
            self._pieces.close()
        if self.outputs is not None:
            self.outputs.abandon()
        if self.trajectory is not None:
            self.trajectory.abandon()
        if self.page is not None:
            self.page.abandon()
        if self.spans is not None:
            self.spans.abandon()
        if self.worker.staging is not None:
            self.worker.staging.abandon()


def _page_maker(work: Work) -> "PageMaker":
    from agentv_stream.pages.making import PageMaker  # with Markdown
    from agentv_stream.redaction.redaction import redactor_of

    redaction = work.page_redaction
    return PageMaker(None if redaction is None else redactor_of(redaction))


def _stored(source: str, session: str, subagents: bool) -> Generator[bytes]:
    from agentv_stream.stores.rows import read_session

    for line in read_session(Path(source), session, subagents):
        yield line + b"\n"


def _seen(path: str, with_tail: bool) -> ReadFile:
    shown, raw = printable(path)
    try:
        size, mtime_ns = object_store.stat(path)
        return ReadFile(shown, size, mtime_ns, raw, tail_of(path, size) if with_tail else "")
    except (AgentvStreamError, OSError):
        return ReadFile(shown, 0, 0, raw)


def read_report(data: bytes) -> Report:
    """Decodes what `do_task` returned."""
    return _decode(data)


_decode = msgspec.json.Decoder(Report).decode

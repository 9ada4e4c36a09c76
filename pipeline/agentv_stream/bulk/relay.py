"""One large log on several cores, with the outcome of one: ranges of it are decoded side by side, the rest in turn.

Cutting lines, decoding and normalising are half of the work and need to know little of what came before; pairing,
counting and joining messages need to know all of it, and rows where the file ends. So of n processes each takes every
n-th range. Its decoder first reads the head of the log and a stretch before the range, decodes the range ahead of its
turn, and then waits for the state of the process before it. If that one's decoder ended where this one began, what was
decoded holds; else the range is decoded again from there. What is known of the session goes on before the rows of the
range are rendered, the transcript behind them. The last process finishes the session and reports.
"""

import io
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from agentv_stages.batch import Batch, Chunk
from agentv_stages.decode import Decode
from agentv_stages.lines import LinePosition, LineReader
from agentv_stages.provider import DecodeContext, Dialect, Provider
from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.leaving import obey_parent, remove_temporary, undisturbed
from agentv_stream.bulk.unit import Done, Report, Task, Unit, Work
from agentv_stream.bulk.worker import Session, Worker, read_report
from agentv_stream.errors import AgentvStreamError, SourceError
from agentv_stream.files import CHUNK_BYTES, compression, unpacked
from agentv_stream.summary import SessionReader, without_collector

RANGE_BYTES = 16 * 1024 * 1024
LEAST_BYTES = 4 * RANGE_BYTES  # of a log that is worth it
WARM_BYTES = 256 * 1024  # read before a range, for what a decoder remembers from record to record
LONGEST_SEARCH = 64 * 1024 * 1024  # for a line end behind a range


class NotInRanges(Exception):
    """The log is one that a single process reads better: lines too long, a dialect whose decoder knows too much."""


def fits(work: Work, unit: Unit) -> bool:
    """Whether a unit can be read so, as far as its name and size tell."""
    if unit.session is not None or object_store.is_url(unit.place):
        return False
    if work.dataset is not None or work.trajectories is not None:
        return False  # rows and steps wait in files that processes do not share
    return unit.size >= LEAST_BYTES


def relay(
    work: Work, task: Task, context: BaseContext, processes: int, range_bytes: int = RANGE_BYTES
) -> Report | None:
    """The report of a task of one unit; None where one process has to do it, because of the log or of a failure."""
    unit = task.units[0]
    try:
        with object_store.open_input(unit.place) as file:
            reader = SessionReader(unpacked(file, unit.place), unit.place, work.provider)
            if not reader.dialect.ranges or reader.held[0].document or compression(Path(unit.place)):
                return None
            starts = _starts(file, unit.size, range_bytes)
    except (AgentvStreamError, OSError, NotInRanges):
        return None  # whatever it is, the ordinary way tells of it
    links = [context.Pipe(duplex=False) for _ in range(processes)]
    reports, report_to = context.Pipe(duplex=False)
    runners: list[BaseProcess] = []
    between = tempfile.TemporaryDirectory()
    try:
        for i in range(processes):
            link = (links[i][0], links[(i + 1) % processes][1])
            ranges = range(i, len(starts) - 1, processes)
            last = len(starts) - 2 in ranges
            others = [end for ends in links for end in ends if end not in link] + ([] if last else [report_to])
            arguments = (
                *(work, task, starts, ranges, link, Path(between.name)),
                *(report_to if last else None, [reports, *others]),
            )
            made: Any = context
            runner: BaseProcess = made.Process(target=_run, args=arguments, daemon=True)
            with undisturbed():
                runner.start()
                runners.append(runner)
        for end in (report_to, *(end for ends in links for end in ends)):
            end.close()  # who holds them alone now is missed when it ends
        return _report_of(reports, runners)
    finally:
        for runner in runners:
            runner.terminate()
            runner.join()
        for connection in (reports, report_to, *(end for link in links for end in link)):
            connection.close()
        between.cleanup()


def _report_of(reports: Connection, runners: Sequence[BaseProcess]) -> Report | None:
    """What the last process says; None when one of them ended without having done its part."""
    waiting = list(runners)
    while True:
        wait([reports, *(runner.sentinel for runner in waiting)])
        codes = [runner.exitcode for runner in waiting]  # asked once, and before the pipe: one may end in between
        if reports.poll():
            try:
                return read_report(reports.recv_bytes())
            except (EOFError, OSError):
                return None  # killed while it told
        if any(codes):
            return None
        waiting = [runner for runner, code in zip(waiting, codes, strict=True) if code is None]
        if not waiting:
            return None


def _starts(file: BinaryIO, size: int, step: int) -> list[int]:
    """Where the ranges begin, each behind a line end, and the size as the last one's end.

    Raises: NotInRanges.
    """
    starts = [0]
    for wanted in range(step, size, step):
        if wanted <= starts[-1]:
            continue
        start = _line_start(file, wanted, size)
        if start < size:
            starts.append(start)
    return [*starts, size]


def _line_start(file: BinaryIO, wanted: int, size: int) -> int:
    """The first offset from `wanted` on at which a line begins; the size where none does."""
    at = wanted - 1
    file.seek(at)
    while at < size:
        data = file.read(CHUNK_BYTES)
        if not data:
            break
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
        if at - wanted > LONGEST_SEARCH:
            raise NotInRanges
    return size


def _run(
    work: Work,
    task: Task,
    starts: list[int],
    ranges: range,
    link: tuple[Connection, Connection],
    between: Path,
    report_to: Connection | None,
    others: Sequence[Connection],
) -> None:
    """One process: every n-th range. Its exit code says whether it did its part. `others`: ends that are not its own.

    Who dies in the middle of a message is waited for by its reader until nobody holds the other end any more.
    """
    obey_parent()
    for end in others:
        end.close()
    with without_collector():
        runner = _Runner(work, task, starts, link, between)
        try:
            report = runner.run(ranges)
        except Exception:  # or another one has failed: the log is read again in the ordinary way, which tells of it
            runner.session.abandon()
            remove_temporary()  # the transcript, too, that was handed on
            raise SystemExit(1) from None
        if report is not None and report_to is not None:
            report_to.send_bytes(report)


class _Runner:
    def __init__(
        self, work: Work, task: Task, starts: list[int], link: tuple[Connection, Connection], between: Path
    ) -> None:
        self.before, self.behind = link
        self.between = between
        self.starts = starts
        self.worker = Worker(work, task)
        self.unit = task.units[0]
        self.done = Done(unit=self.unit)
        self.session = Session(self.worker, self.unit, self.done)

    def run(self, ranges: range) -> bytes | None:
        """Gives the report, where the last range was among those of this process."""
        reader = self.session.open()
        last = len(self.starts) - 2
        with object_store.open_input(self.unit.place) as file:
            for i in ranges:
                self._range(reader, file, i, i == last)
        if ranges and ranges[-1] == last:
            for batch in reader.ending(self.session.takes_companions):
                self.session.take(batch)
            self.session.finish(reader)
            self.worker.report.done.append(self.done)
            self.worker.publish(self.worker.name)
            return msgspec.json.encode(self.worker.report)
        return None

    def _range(self, reader: SessionReader, file: BinaryIO, i: int, last: bool) -> None:
        position = msgspec.json.decode(self.before.recv_bytes(), type=LinePosition) if i else LinePosition()
        batches, behind = self._lines(file, i, position, last)
        if not last:
            self.behind.send_bytes(msgspec.json.encode(behind))
        decode = self._warmed(reader, file, self.starts[i]) if i else Decode(reader.dialect, self._context())
        begun = decode.save()
        self._decode(reader, decode, batches)
        if i:
            carried = self._take_over(reader)
            if carried != begun:
                batches, _ = self._lines(file, i, position, last)
                decode = Decode(reader.dialect, self._context())
                decode.load(carried)
                self._decode(reader, decode, batches)
        for batch in decode.flush() if last else ():
            reader.normalize.push(batch)
            batches.append(batch)
        self._join(reader, batches)
        session = self.session
        if not last:
            self._hand_on(f"{i}-known", _dumps(decode.save(), reader, session))
        if session.transcript is None and session.consolidate is not None:
            session.transcript = self._handed()
            batches.reverse()
            while batches:
                session.write(batches.pop())
        if not last and session.transcript is not None:
            if session.transcript.begun:
                session.transcript.hand_over()
                self._hand_on(f"{i}-transcript", pickle.dumps(session.transcript, pickle.HIGHEST_PROTOCOL))
            session.transcript = None

    def _join(self, reader: SessionReader, batches: list[Batch]) -> None:
        """What needs to know all that came before. Rows are written at once as long as they do not know whose they are:
        then nothing of the transcript stands in the file, and it came with the rest."""
        session = self.session
        for batch in batches:
            reader.join(batch)
            if session.transcript is not None:
                session.take(batch)
            elif session.consolidate is not None:
                session.consolidate.push(batch)

    def _context(self) -> DecodeContext:
        return DecodeContext(self.unit.place)

    def _lines(self, file: BinaryIO, i: int, position: LinePosition, last: bool) -> tuple[list[Batch], LinePosition]:
        """The records of a range."""
        lines = LineReader(self.unit.place)
        lines.restore(position)
        batches: list[Batch] = []
        for data in _read(file, self.starts[i], self.starts[i + 1]):
            batches += lines.push(Chunk(data))
        if last:
            batches += lines.flush()
        return batches, lines.snapshot()

    def _warmed(self, reader: SessionReader, file: BinaryIO, start: int) -> Decode:
        """A decoder that has read the head of the log and what stands before `start`."""
        decode = Decode(reader.dialect, self._context())
        for held in reader.held:
            decode.push(Batch(held.file, records=list(held.records)))
        lines = LineReader(self.unit.place)
        lines.restore(LinePosition(1, 1))  # not the beginning of the input
        begin = max(0, start - WARM_BYTES)
        data = b"".join(_read(file, begin, start))
        for batch in lines.push(Chunk(data[data.find(b"\n") + 1 :] if begin else data)):
            decode.push(batch)
        return decode

    @staticmethod
    def _decode(reader: SessionReader, decode: Decode, batches: list[Batch]) -> None:
        for batch in batches:
            decode.push(batch)
            reader.normalize.push(batch)

    def _hand_on(self, name: str, data: bytes) -> None:
        """Into a file, of which the next process is told: it may still be decoding, and a pipe holds little."""
        (self.between / name).write_bytes(data)
        self.behind.send_bytes(name.encode())

    def _handed(self) -> Any:
        """What the process before handed on."""
        place = self.between / self.before.recv_bytes().decode()
        known = pickle.loads(place.read_bytes())  # from a process of this relay, in a folder of its own
        place.unlink()
        return known

    def _take_over(self, reader: SessionReader) -> bytes:
        """Goes on with what is known of the session; gives the state of the decoder before the range."""
        carried: bytes
        carried, reader.observer, reader.pair, self.session.consolidate, self.session.transcript = self._handed()
        return carried


def _read(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end:
        data = file.read(min(CHUNK_BYTES, end - start))
        if not data:
            raise SourceError("the file became shorter while it was read")
        start += len(data)
        yield data


def _dumps(carried: bytes, reader: SessionReader, session: Session) -> bytes:
    """What is known of the session, for the next process: `carried` by the decoder, and by all behind it. The provider
    and the dialect go by their names.

    A transcript that has not begun goes along: its name will be settled by what the observer it bears gets to know.
    """
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=pickle.HIGHEST_PROTOCOL)
    name = reader.provider.name
    pickler.dispatch_table = {
        Provider: lambda _: (get_provider, (name,)),
        Dialect: lambda dialect: (_dialect, (name, dialect.name)),
    }
    transcript = session.transcript
    unbegun = transcript if transcript is not None and not transcript.begun else None
    pickler.dump((carried, reader.observer, reader.pair, session.consolidate, unbegun))
    return out.getvalue()


def _dialect(provider: str, name: str) -> Dialect:
    return next(dialect for dialect in get_provider(provider).dialects if dialect.name == name)

"""One process of a relay (`relay`): every n-th range of a large log, and the session's state from the process before.

Its decoder first reads the head of the log and a stretch before the range, decodes the range ahead of its turn, and
then waits for the previous process's state. If that process's decoder ended in the state in which this one began, the
result is valid; else the range is decoded again from there. The state of the session is handed on before the rows of
the range are rendered, the transcript afterwards. The last process completes the session and reports.
"""

import io
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LinePosition, LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.leaving import obey_parent, remove_temporary
from agentv_stream.bulk.unit import Done, Task, Work
from agentv_stream.bulk.worker import Session, Worker
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.summary import SessionReader, without_collector

WARM_BYTES = 256 * 1024  # read before a range, for a decoder's state between records


@dataclass(frozen=True)
class Legs:
    """The assignment of one process. Range `i` is from `starts[i]` to `starts[i + 1]`, in bytes; `ranges` are its own.

    `before` and `behind` are pipes from and to the neighbouring processes, `between` is a folder for handing over data;
    `report_to` takes the report, and only the process that does the last range has it.
    """

    work: Work
    task: Task
    starts: list[int]
    ranges: range
    before: Connection
    behind: Connection
    between: Path
    report_to: Connection | None


def run(legs: Legs, others: Sequence[Connection]) -> None:
    """The process's main function. Its exit code says whether it did its part. `others`: other processes' pipe ends.

    If a process dies in the middle of a message, its reader waits until nobody holds the other end any more.
    """
    obey_parent()
    for end in others:
        end.close()
    with without_collector():
        runner = Runner(legs)
        try:
            report = runner.run()
        except Exception:  # or another one has failed: the log is read again in the ordinary way, which reports it
            runner.session.abandon()
            remove_temporary()  # including the transcript that was handed over
            raise SystemExit(1) from None
        if report is not None and legs.report_to is not None:
            legs.report_to.send_bytes(report)


class Runner:
    """Does its ranges in turn with the others."""

    def __init__(self, legs: Legs) -> None:
        self.legs = legs
        self.worker = Worker(legs.work, legs.task)
        unit = legs.task.units[0]
        self.place = unit.place
        self.done = Done(unit=unit)
        self.session = Session(self.worker, unit, self.done)

    def run(self) -> bytes | None:
        """Returns the report, if the last range was one of this process's."""
        reader = self.session.open()
        last = len(self.legs.starts) - 2
        with object_store.open_input(self.place) as file:
            for i in self.legs.ranges:
                self._range(reader, file, i, i == last)
        if last not in self.legs.ranges:
            return None
        for batch in reader.ending(self.session.takes_companions):
            self.session.take(batch)
        self.session.finish(reader)
        self.worker.report.done.append(self.done)
        self.worker.publish(self.worker.name)
        return msgspec.json.encode(self.worker.report)

    def _range(self, reader: SessionReader, file: BinaryIO, i: int, last: bool) -> None:
        decode, batches = self._decoded(reader, file, i, last)
        self._join(reader, batches)
        session = self.session
        if not last:
            self._hand_on(f"{i}-known", _dumps(decode.save(), reader, session))
        if session.transcript is None and session.consolidate is not None:
            session.transcript = self._handed()
            batches.reverse()
            while batches:  # written batches are freed at once, so that the next reuses warm memory
                session.write(batches.pop())
        if not last and session.transcript is not None:
            if session.transcript.begun:
                self._hand_on(f"{i}-transcript", pickle.dumps(session.transcript, pickle.HIGHEST_PROTOCOL))
            session.transcript = None

    def _decoded(self, reader: SessionReader, file: BinaryIO, i: int, last: bool) -> tuple[Decode, list[Batch]]:
        """The normalised range, and the decoder after it; the state of the session has been taken over."""
        legs = self.legs
        position = msgspec.json.decode(legs.before.recv_bytes(), type=LinePosition) if i else LinePosition()
        batches, behind = self._lines(file, i, position, last)
        if not last:
            legs.behind.send_bytes(msgspec.json.encode(behind))
        decode = self._warmed(reader, file, legs.starts[i]) if i else Decode(reader.dialect, self._context())
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
        return decode, batches

    def _join(self, reader: SessionReader, batches: list[Batch]) -> None:
        """The steps that depend on all that came before. Rows are written here only while the transcript does not know
        its session yet: then nothing of it is in the file, and it came with the rest of the state."""
        session = self.session
        for batch in batches:
            reader.join(batch)
            if session.transcript is not None:
                session.take(batch)
            elif session.consolidate is not None:
                session.consolidate.push(batch)

    def _context(self) -> DecodeContext:
        return DecodeContext(self.place)

    def _lines(self, file: BinaryIO, i: int, position: LinePosition, last: bool) -> tuple[list[Batch], LinePosition]:
        """The records of a range."""
        lines = LineReader(self.place)
        lines.restore(position)
        batches: list[Batch] = []
        for data in _read(file, self.legs.starts[i], self.legs.starts[i + 1]):
            batches += lines.push(Chunk(data))
        if last:
            batches += lines.flush()
        return batches, lines.snapshot()

    def _warmed(self, reader: SessionReader, file: BinaryIO, start: int) -> Decode:
        """A decoder that has read the head of the log and the bytes before `start`."""
        decode = Decode(reader.dialect, self._context())
        for held in reader.held:
            decode.push(Batch(held.file, records=list(held.records)))
        lines = LineReader(self.place)
        lines.restore(LinePosition(1, 1))  # not at the beginning of the input
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
        """Writes data to a file and sends its name to the next process: it may be decoding, and a pipe holds little."""
        (self.legs.between / name).write_bytes(data)
        self.legs.behind.send_bytes(name.encode())

    def _handed(self) -> Any:
        """What the previous process handed over."""
        place = self.legs.between / self.legs.before.recv_bytes().decode()
        known = pickle.loads(place.read_bytes())  # from a process of this relay, in its private folder
        place.unlink()
        return known

    def _take_over(self, reader: SessionReader) -> bytes:
        """Takes over the state of the session; returns the decoder's state before the range."""
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
    """The state of the session for the next process: that of the decoder (`carried`) and of all stages after it. The
    provider and the dialect are pickled by name.

    A transcript that has not begun is included: its name will be determined by what its observer learns.
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

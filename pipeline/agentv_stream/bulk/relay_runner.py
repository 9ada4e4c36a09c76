"""One process of a relay (`relay`): every n-th range of a large log, and the session's state from the process before.

Its decoder first reads the head of the log and a stretch before the range, decodes the range ahead of its turn, and
then waits for the previous process's state. If that process's decoder ended in the state in which this one began, the
result is valid; otherwise the range is decoded again from there. The state of the session is handed on before the rows
of the range are rendered, the transcript afterwards. The last process completes the session and reports.
"""

from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from agentv_stages.chain.lines import LinePosition, LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.session.chain import SessionChain
from agentv_stream.bulk import object_store
from agentv_stream.bulk.leaving import obey_parent, remove_temporary
from agentv_stream.bulk.session_outputs import HandedOutputs
from agentv_stream.bulk.unit import Done, Task, Work
from agentv_stream.bulk.worker import Session, Worker
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.summary import SessionReader, without_collector

WARM_BYTES = 256 * 1024  # read before a range, for a decoder's state between records


class Legs(Struct, frozen=True):
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

    If a process dies in the middle of a message, its reader waits until no process holds the other end any more.
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
        self._awaits_outputs = False  # they are with a process before this one, which still writes

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
        batches = self._decoded(reader, file, i, last)
        self._join(reader, batches)
        session = self.session
        if not last:
            self._hand_on(f"{i}-known", self._known(reader))
        if self._awaits_outputs:
            self._take_over_outputs(self._handed())
            batches.reverse()
            while batches:  # written batches are freed at once, so that the next reuses warm memory
                session.write(batches.pop())
        if not last and session.outputs is not None:
            if session.outputs.begun:
                self._hand_on(f"{i}-outputs", _encode(session.outputs.hand_on()))
            self._awaits_outputs = True

    def _decoded(self, reader: SessionReader, file: BinaryIO, i: int, last: bool) -> list[Batch]:
        """The normalised range; the chain has the state of the session before it, and the decoder the one after."""
        legs = self.legs
        position = msgspec.json.decode(legs.before.recv_bytes(), type=LinePosition) if i else LinePosition()
        batches, behind = self._lines(file, i, position, last)
        if not last:
            legs.behind.send_bytes(msgspec.json.encode(behind))
        else:
            reader.read_elsewhere(behind)
        chain = reader.new_chain() if i else reader.chain
        if i:
            self._warm(reader, chain, file, legs.starts[i])
        begun = chain.decode.save(self.place)
        batches = self._decode(chain, batches)
        if i and self._take_over(reader) == begun:
            reader.chain.decode.decoders = chain.decode.decoders
        elif i:
            batches = self._decode(reader.chain, self._lines(file, i, position, last)[0])
        return batches

    def _join(self, reader: SessionReader, batches: list[Batch]) -> None:
        """The steps that depend on all that came before. Rows are written here only while the transcript does not know
        its session yet: then nothing of it is in the file, and it came with the rest of the state."""
        for batch in batches:
            reader.chain.back(batch)
            if not self._awaits_outputs:
                self.session.take(batch)

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

    def _warm(self, reader: SessionReader, chain: SessionChain, file: BinaryIO, start: int) -> None:
        """Has the decoder read the head of the log and the bytes before `start`."""
        for held in reader.held:
            chain.decode.push(Batch(held.file, records=list(held.records)))
        lines = LineReader(self.place)
        lines.restore(LinePosition(1, 1))  # not at the beginning of the input
        begin = max(0, start - WARM_BYTES)
        data = b"".join(_read(file, begin, start))
        for batch in lines.push(Chunk(data[data.find(b"\n") + 1 :] if begin else data)):
            chain.decode.push(batch)

    @staticmethod
    def _decode(chain: SessionChain, batches: list[Batch]) -> list[Batch]:
        return [decoded for batch in batches for decoded in chain.front(batch)]

    def _hand_on(self, name: str, data: bytes) -> None:
        """Writes data to a file and sends its name to the next process: it may be decoding, and a pipe holds little."""
        (self.legs.between / name).write_bytes(data)
        self.legs.behind.send_bytes(name.encode())

    def _handed(self) -> bytes:
        """The state that the previous process handed over."""
        place = self.legs.between / self.legs.before.recv_bytes().decode()
        known = place.read_bytes()
        place.unlink()
        return known

    def _known(self, reader: SessionReader) -> bytes:
        """The state of the session for the next process.

        Outputs that have not begun are included: their name depends on records that are still to be read.
        """
        outputs = self.session.outputs
        unbegun = outputs is not None and not self._awaits_outputs and not outputs.begun
        handed = outputs.hand_on() if outputs is not None and unbegun else None
        return msgspec.msgpack.encode((reader.chain.snapshot(), b"" if handed is None else _encode(handed)))

    def _take_over(self, reader: SessionReader) -> bytes:
        """Takes over the state of the session; returns that of the decoder before the range."""
        state, unbegun = msgspec.msgpack.decode(self._handed(), type=tuple[bytes, bytes])
        reader.chain = reader.new_chain()
        reader.chain.restore(state)
        assert self.session.identity is not None
        self.session.identity.observer = reader.observer
        self._awaits_outputs = self.session.outputs is not None
        if unbegun:
            self._take_over_outputs(unbegun)
        return reader.chain.decode.save(self.place)

    def _take_over_outputs(self, handed: bytes) -> None:
        assert self.session.outputs is not None
        self.session.outputs.take_over(_decode(handed))
        self._awaits_outputs = False


def _read(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end:
        data = file.read(min(CHUNK_BYTES, end - start))
        if not data:
            raise SourceError("the file became shorter while it was read")
        start += len(data)
        yield data


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(HandedOutputs).decode

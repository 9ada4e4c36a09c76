"""Cuts chunks of bytes into records, at b"\\n" only; any cut of the input gives the same records.

In: `Chunk`s in file order. Out: one `Batch` per chunk that ended at least one record. A byte order mark at offset 0, a
carriage return before the line end and blank lines are dropped. The last line comes at `flush`, marked `unterminated`.
An input whose first line is a lone bracket is a pretty-printed document: the whole input is one record.
Faults: `too-large` for a record over the cap; its bytes go on in pieces and never stand in memory whole.
"""

from msgspec import Struct, convert

from agentv_stages.batch import Batch, Chunk, Record
from agentv_stages.fault import Fault
from agentv_stages.stage import Flushed

DEFAULT_CAP = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
_OPENERS = frozenset((b"{", b"[", b"[{"))


class LinePosition(Struct, frozen=True):
    """Where the next record begins, in bytes, and its row: all that has to be kept of a line reader between records."""

    offset: int = 0
    row: int = 0


class LineReader:
    """A stage from `Chunk` to `Batch`. `cap` is the size in bytes from which a record is too large."""

    def __init__(self, file: str = "", cap: int = DEFAULT_CAP) -> None:
        self.file = file
        self.cap = cap
        self.row = 0
        self.offset = 0  # of the first byte of the unfinished record
        self._pieces: list[bytes] = []
        self._held = 0  # bytes in _pieces
        self._giant = 0  # bytes of the running over-size record that have gone on already
        self._document = False
        self._flushed = Flushed()

    def push(self, chunk: Chunk, /) -> tuple[Batch, ...]:
        data = chunk.data
        if not data:
            return ()
        if self._document or b"\n" not in data:
            return self._hold(data, chunk.arrived_ms)
        batch = Batch(self.file, chunk.arrived_ms)
        lines = data.split(b"\n")
        tail = lines.pop()
        if self._giant or self._held + len(lines[0]) > self.cap:
            self._spill(lines.pop(0), batch, last=True)
        elif self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces, self._held = [], 0
        if self.row == 0 and lines:
            lines = self._first(lines)
            if self._document:
                held = self._hold(b"\n".join((*lines, tail)), chunk.arrived_ms)
                return (batch, *held) if batch.faults else held
        offset, row, cap = self.offset, self.row, self.cap
        records = batch.records
        windows = b"\r" in data or row == 0
        for line in lines:
            length = len(line)
            if length > cap:
                self.offset = offset
                self._spill(line, batch, last=True)
            elif length:
                if windows:
                    text = line[:-1] if line[-1] == 13 else line
                    if text.isspace() or not text:
                        offset += length + 1
                        continue
                    records.append(Record(text, offset, row))
                else:
                    records.append(Record(line, offset, row))
                row += 1
            offset += length + 1
        self.offset, self.row = offset, max(row, self.row)
        batch.end = offset
        if tail:
            return (batch, *self._hold(tail, chunk.arrived_ms))
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        """Gives the last line, if the input did not end in a line end."""
        self._flushed.once()
        batch = Batch(self.file, end=self.offset, unterminated=True)
        if self._giant:
            self._spill(b"", batch, last=True)
            return (batch,)
        data = b"".join(self._pieces)
        if self.row == 0 and data.startswith(BOM):
            data = data[len(BOM) :]
            self.offset += len(BOM)
        if not data.strip():
            return ()
        self._pieces, self._held = [], 0
        batch.records.append(Record(data, self.offset, self.row))
        batch.unterminated = not self._document
        self.row += 1
        return (batch,)

    def snapshot(self) -> LinePosition:
        """The position behind the last whole line; what came after it has to be read again."""
        return LinePosition(self.offset, self.row)

    def restore(self, snapshot: object, /) -> None:
        position = convert(snapshot, LinePosition, from_attributes=True)
        self.offset, self.row = position.offset, position.row

    def peek(self) -> Record | None:
        """The unfinished last line as a record, without taking it; None where there is none."""
        data = b"".join(self._pieces)
        if self.row == 0 and data.startswith(BOM):
            data = data[len(BOM) :]
        return Record(data, self.offset, self.row) if data.strip() else None

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished line is in memory."""
        return self._held

    def _first(self, lines: list[bytes]) -> list[bytes]:
        """Looks at the beginning of the input: byte order mark, and whether it is a pretty-printed document."""
        if self.offset == 0 and lines[0].startswith(BOM):
            lines[0] = lines[0][len(BOM) :]
            self.offset = len(BOM)
        while lines and not lines[0].strip():
            self.offset += len(lines.pop(0)) + 1
        self._document = bool(lines) and lines[0].strip() in _OPENERS
        return lines

    def _hold(self, data: bytes, arrived_ms: int | None) -> tuple[Batch, ...]:
        """Keeps the beginning of a record; past the cap it goes on at once."""
        if self._giant or self._held + len(data) > self.cap:
            batch = Batch(self.file, arrived_ms, self.offset)
            self._spill(data, batch, last=False)
            return (batch,)
        self._pieces.append(data)
        self._held += len(data)
        return ()

    def _spill(self, data: bytes, batch: Batch, last: bool) -> None:
        for piece in (*self._pieces, data):
            part = "middle" if self._giant else "begin"
            at = self.offset + self._giant
            detail = f"record over {self.cap} bytes"
            batch.faults.append(Fault("too-large", self.file, self.row, at, len(piece), detail, piece, part))
            self._giant += len(piece) or 1
        self._pieces, self._held = [], 0
        if last:
            batch.faults.append(
                Fault("too-large", self.file, self.row, self.offset + self._giant, 0, "end of record", b"", "end")
            )
            self.offset += self._giant + 1
            self._giant = 0
            self.row += 1
            batch.end = self.offset

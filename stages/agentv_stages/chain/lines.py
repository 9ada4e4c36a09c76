"""Splits chunks of bytes into records, at b"\\n" only; however the input is chunked, the records are the same.

In: `Chunk`s in file order. Out: one `Batch` per chunk that ended at least one record. A byte order mark at offset 0, a
carriage return before the line end and blank lines are dropped. A last line without a line end comes at `flush`, marked
`unterminated`. An input whose first line is a lone bracket is a pretty-printed document: the whole input is one record.
Faults: `too-large` for a record over the cap; its bytes are passed on in pieces and are never in memory as a whole.
"""

from msgspec import Struct, convert

from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.model.fault import Fault, Part
from agentv_stages.model.stage import Flushed

DEFAULT_CAP = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
_OPENERS = frozenset((b"{", b"[", b"[{"))
_SHORT = 8  # only lines of at most this many bytes are checked for being blank


class LinePosition(Struct, frozen=True):
    """The place of the next record, in bytes, and its row: the whole state of a line reader between records."""

    offset: int = 0
    row: int = 0


class LineReader:
    """A stage from `Chunk` to `Batch`. A record of more than `cap` bytes is too large."""

    def __init__(self, file: str = "", cap: int = DEFAULT_CAP) -> None:
        self.file = file
        self.cap = cap
        self.row: int = 0
        self.offset: int = 0  # of the first byte of the unfinished record
        self._pieces: list[bytes] = []
        self._held = 0  # bytes in _pieces
        self._giant = 0  # bytes of the current oversize record that were already passed on
        self._document = False
        self._fresh = True  # nothing was read yet, except perhaps part of a byte order mark (in _start)
        self._start = b""
        self._flushed = Flushed()

    def push(self, chunk: Chunk, /) -> tuple[Batch, ...]:
        data = self._without_mark(chunk.data) if self._fresh else chunk.data
        if not data:
            return ()
        if self._document or b"\n" not in data:
            return self._hold(data, chunk.arrived_ms)
        batch = Batch(self.file, chunk.arrived_ms)
        start = 0
        if self._giant or self._pieces:
            start = data.index(b"\n") + 1
            self._finish(data[: start - 1], batch)
        if self.row == 0 and not self._giant:
            start = self._begin(data, start)
            if self._document:
                return self._hold(data[start:], chunk.arrived_ms)
        self._cut(data, start, batch)
        batch.end = self.offset
        tail = data[data.rindex(b"\n") + 1 :]
        if tail:
            return (batch, *self._hold(tail, chunk.arrived_ms))
        return (batch,)

    def _without_mark(self, data: bytes) -> bytes:
        """The first bytes of the input without a byte order mark; held back while they may be part of one."""
        data = self._start + data
        if len(data) < len(BOM) and BOM.startswith(data):
            self._start = data
            return b""
        self._start, self._fresh = b"", False
        if data.startswith(BOM):
            self.offset = len(BOM)
            return data[len(BOM) :]
        return data

    def _cut(self, data: bytes, start: int, batch: Batch) -> None:
        """Adds the whole lines of `data` from `start`. Finding each line end is twice as fast as `bytes.split`."""
        append, find, cap = batch.records.append, data.find, self.cap
        base, row = self.offset - start, self.row
        while (end := find(b"\n", start)) >= 0:
            stop = end - 1 if end > start and data[end - 1] == 13 else end
            if stop - start > cap:
                self.offset, self.row = base + start, row
                self._spill(data[start:end], batch, last=True)
                row = self.row
            elif stop - start > _SHORT or data[start:stop].strip():
                append(Record(data[start:stop], base + start, row))
                row += 1
            start = end + 1
        self.offset, self.row = base + start, row

    def _finish(self, data: bytes, batch: Batch) -> None:
        """Ends a record that began in an earlier chunk; `data` is the rest of it."""
        if self._giant or self._too_large(data):
            self._spill(data, batch, last=True)
            return
        line = b"".join((*self._pieces, data))
        start, length = self.offset, len(line)
        self._pieces, self._held = [], 0
        text = line[:-1] if line.endswith(b"\r") else line
        if self.row == 0 and text.strip() in _OPENERS:
            self._hold(line + b"\n", None)
            self._document = True
            self.offset = start
            return
        if text.strip():
            batch.records.append(Record(text, start, self.row))
            self.row += 1
        self.offset += length + 1

    def flush(self) -> tuple[Batch, ...]:
        """Returns the last line, if it has no line end."""
        self._flushed.once()
        batch = Batch(self.file, end=self.offset, unterminated=True)
        if self._giant:
            self._spill(b"", batch, last=True)
            return (batch,)
        data = b"".join((*self._pieces, self._start))
        if not data.strip():
            return ()
        self._pieces, self._held = [], 0
        batch.records.append(Record(data, self.offset, self.row))
        batch.unterminated = not self._document
        batch.document = self._document
        self.row += 1
        return (batch,)

    def snapshot(self) -> LinePosition:
        """The position after the last whole line; whatever follows has to be read again."""
        return LinePosition(self.offset, self.row)

    def restore(self, snapshot: object, /) -> None:
        position = convert(snapshot, LinePosition, from_attributes=True)
        self.offset, self.row = position.offset, position.row
        self._fresh = position.offset == 0

    def peek(self) -> Record | None:
        """The unfinished last line as a record, which stays in the reader; None where there is none."""
        data = b"".join((*self._pieces, self._start))
        return Record(data, self.offset, self.row) if data.strip() else None

    def rest(self) -> Batch | None:
        """The batch that `flush` would return, without changing the reader; None where there is nothing."""
        if self._giant:
            return Batch(self.file, end=self.offset, unterminated=True, faults=[self._giants_end()])
        record = self.peek()
        if record is None:
            return None
        document = self._document
        return Batch(self.file, end=self.offset, unterminated=not document, document=document, records=[record])

    @property
    def spilling(self) -> bool:
        """Whether the beginning of a record over the cap was passed on, but not yet its end."""
        return self._giant > 0

    @property
    def held_bytes(self) -> int:
        """Bytes of an unfinished line in memory."""
        return self._held

    def _begin(self, data: bytes, start: int) -> int:
        """Skips leading blank lines and checks whether the input is one pretty-printed document.

        Returns where the first record begins.
        """
        if self._document:
            return start
        end = data.find(b"\n", start)
        while end >= 0 and not data[start:end].strip():
            self.offset += end + 1 - start
            start = end + 1
            end = data.find(b"\n", start)
        self._document = end >= 0 and data[start:end].strip() in _OPENERS
        return start

    def _hold(self, data: bytes, arrived_ms: int | None) -> tuple[Batch, ...]:
        """Keeps the beginning of a record; past the cap it is passed on at once."""
        if self._giant or self._too_large(data):
            batch = Batch(self.file, arrived_ms, self.offset)
            self._spill(data, batch, last=False)
            return (batch,)
        self._pieces.append(data)
        self._held += len(data)
        return ()

    def _too_large(self, data: bytes) -> bool:
        """Whether `data` takes the current record over the cap; a carriage return at its end is not counted."""
        size = self._held + len(data)
        if size != self.cap + 1:
            return size > self.cap
        return not (data or self._pieces[-1]).endswith(b"\r")

    def _spill(self, data: bytes, batch: Batch, last: bool) -> None:
        """Passes on the held pieces and `data` as parts of a record that is too large."""
        for piece in (*self._pieces, data):
            if not piece:
                continue
            part: Part = "middle" if self._giant else "begin"
            at = self.offset + self._giant
            detail = f"record over {self.cap} bytes"
            batch.faults.append(Fault("too-large", self.file, self.row, at, len(piece), detail, piece, part))
            self._giant += len(piece)
        self._pieces, self._held = [], 0
        if last:
            batch.faults.append(self._giants_end())
            self.offset += self._giant + 1
            self._giant = 0
            self.row += 1
            batch.end = self.offset

    def _giants_end(self) -> Fault:
        at = self.offset + self._giant
        return Fault("too-large", self.file, self.row, at, 0, "end of record", b"", "end")

"""One log file that is read while it grows: detects what happened to it, reads it, remembers how far it was read.

The part already read is recognised by content, not by name or time: the first and the last 4 KiB before the position
are compared at every change. Only a rewrite that keeps the inode, the size and those 8 KiB goes unnoticed.
"""

import os
import resource
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from msgspec import Struct

from agentv_stages.chain.lines import BOM, DEFAULT_CAP, LinePosition, LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import DecodeContext
from agentv_stream.discovery.header import damages, first_bytes
from agentv_stream.discovery.places import Signature, signature_of
from agentv_stream.sources.files import CHUNK_BYTES, compression, open_plain

WINDOW = 4096
Change: TypeAlias = Literal[
    "same",  # nothing
    "grown",  # there is more to read
    "touched",  # its times or its inode changed, its content did not
    "partial-changed",  # only the unfinished last line was rewritten
    "truncated",  # it is shorter than the part that was read
    "rewritten",  # bytes that were read have been replaced
    "replaced",  # another file is at the path
    "gone",  # no file is at the path
]


class Mark(Struct, frozen=True):
    """How far a file was read, to the byte after a line end, and how to recognise it: hashes of head and tail."""

    offset: int = 0
    row: int = 0
    head: bytes = b""
    head_length: int = 0
    tail: bytes = b""
    tail_length: int = 0


class InputRow(Struct):
    """One file of a session. `skipped` counts records that repeated earlier ones; `repeating`: the last one did.

    `state`: `live`; `gone` (deleted; its transcript stays); `done` (nothing more will come from it); `copy` (another
    file is read instead); `document` (a whole file that is rewritten); `other` (no log).
    """

    path: str
    state: str
    generation: int
    signature: Signature | None
    mark: Mark
    skipped: int
    context: DecodeContext
    repeating: bool = False


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


class OpenFiles:
    """Descriptors of the files read most recently, at most `limit`; an open file outlives its deletion.

    The default `limit` is 64, or a quarter of the process's limit of open files if that is less.
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is None:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            limit = 64 if most == resource.RLIM_INFINITY else max(2, min(64, most // 4))
        self.limit = limit
        self._open: OrderedDict[int, tuple[GrowingFile, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, file: "GrowingFile") -> int:
        """A descriptor of the file at its path. Raises: OSError."""
        known = self._open.get(id(file))
        if known is not None:
            self._open.move_to_end(id(file))
            return known[1]
        descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        while len(self._open) >= self.limit:
            _, (_, oldest) = self._open.popitem(last=False)
            os.close(oldest)
        self._open[id(file)] = (file, descriptor)
        return descriptor

    def has(self, file: "GrowingFile") -> bool:
        return id(file) in self._open

    def close(self, file: "GrowingFile") -> None:
        known = self._open.pop(id(file), None)
        if known is not None:
            os.close(known[1])
        file.close_stream()

    def close_all(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1][1])


class GrowingFile:
    """A file and the read position in it. `packed` marks a compressed one: its positions count decompressed bytes."""

    stored = False  # whether it is not a file, but a session in a store

    def __init__(self, path: str, files: OpenFiles, mark: Mark | None = None, cap: int = DEFAULT_CAP) -> None:
        self.path = path
        self.files = files
        self.reader = LineReader(printable_path(path), cap)
        self.signature: Signature | None = None
        self.identity: tuple[int, int] | None = None  # device and inode, from the cursor until the file is examined
        self.position = 0  # of the next byte to read
        self.packed = False
        self._stream: BinaryIO | None = None
        self._expected: Mark | None = None
        self._past: Mark | None = None
        self._head = b""
        self._window = b""  # the bytes before the unfinished line
        self._partial = b""  # the end of the unfinished line
        if mark is not None:
            self._expected = mark
            self.position = mark.offset
            self.reader.restore(LinePosition(mark.offset, mark.row))

    def same_file(self) -> tuple[int, int] | None:
        """Device and inode of the file that was read."""
        return self.identity if self.signature is None else (self.signature.device, self.signature.inode)

    @property
    def backlog(self) -> int:
        """Bytes in the file that have not been read; for a compressed one its size until it was read to its end."""
        if self.signature is None:
            return 0
        if self.packed:
            return self.signature.size if self._stream is not None or not self.position else 0
        return max(0, self.signature.size - self.position)

    def signature_read(self) -> Signature | None:
        """The signature for the cursors. If not all was read it matches no file, so that the next look reads on."""
        signature = self.signature
        return signature._replace(size=0) if signature is not None and self.backlog else signature

    def read_before(self, signature: Signature, mark: Mark) -> Signature:
        """Prepares a file to be read again that was once read up to `mark`, so that its rotation is still recognised.

        Returns the signature with its current inode: a copy may have replaced it.
        """
        with suppress(OSError):
            now = os.stat(self.path)  # noqa: PTH116 - as in `look`
            signature = signature._replace(device=now.st_dev, inode=now.st_ino)
        self.identity, self._past = signature[:2], mark
        return signature

    def taken_over_by(self, path: str) -> "GrowingFile":
        """The file that continues in place of this one: it holds all that was read of it."""
        other = GrowingFile(path, self.files, None if self._past is not None else self.mark(), self.reader.cap)
        other._past = self._past
        return other

    def mark(self) -> Mark:
        """The position after the last whole line, as for a cursor; the old one if reading has not restarted yet."""
        if self._past is not None:
            return self._past
        if self._expected is not None:
            return self._expected
        head, tail = self._head[: self.reader.offset], self._window
        return Mark(self.reader.offset, self.reader.row, digest(head), len(head), digest(tail), len(tail))

    def look(self) -> Change:
        """Compares the file with the follower's memory of it.

        Raises: OSError when it cannot be examined.
        """
        try:
            signature = signature_of(os.stat(self.path))  # noqa: PTH116 - called for every file at every look
        except FileNotFoundError:
            return "gone"
        before = self.signature
        if signature == before and self._expected is None:
            return "grown" if self.backlog else "same"
        if before is None and self._expected is None:
            self.packed = compression(Path(self.path)) is not None
            if self._past is not None and self.identity not in (None, signature[:2]) and not self._recognise(self.path):
                return "replaced"
            self.signature = signature
            return "grown" if signature.size else "same"
        if (self.same_file() or signature[:2]) != signature[:2]:
            self.packed = compression(Path(self.path)) is not None
            if not self._recognise(self.path):
                return "replaced"
            self.files.close(self)  # a copy with the same content replaced it
        elif before is None:
            self.packed = compression(Path(self.path)) is not None
        held = "whole"
        if not self.packed and signature.size < self.reader.offset:
            return "truncated"
        held = self._compare()
        if held == "none":
            return "rewritten"
        self.signature = signature
        if held == "partial":
            return "partial-changed"
        if self.packed:
            return "grown" if before != signature else "touched"
        return "grown" if signature.size > self.position else "touched"

    def _recognise(self, path: str) -> bool:
        """Whether another file at the path contains the part read of this one."""
        other = GrowingFile(path, self.files, self.mark(), self.reader.cap)
        other.packed = self.packed
        try:
            return other._compare() == "whole"
        finally:
            self.files.close(other)

    def continues(self, mark: Mark) -> bool:
        """Whether this file contains, at the same offsets, what `mark` says was read. Raises: OSError."""
        self._expected = mark
        self.packed = compression(Path(self.path)) is not None
        return self._compare() == "whole"

    def begins(self, path: str) -> bool:
        """Whether another file begins with the part read of this one, which has no whole line yet."""
        head = self._head[: self.position]
        return bool(head) and first_bytes(path, len(head)) == head

    def _compare(self) -> Literal["whole", "partial", "none"]:
        """Whether the part already read is unchanged: all of it, all but the unfinished line, or not."""
        expected = self._expected
        if expected is not None:
            head = self._stretch(0, expected.head_length)
            tail = self._stretch(expected.offset - expected.tail_length, expected.tail_length)
            if digest(head) != expected.head and expected.head_length:
                return "none"
            if digest(tail) != expected.tail and expected.tail_length:
                return "none"
            self._expected = None
            self._head, self._window, self._partial = head, tail, b""
            return "whole"
        head = self._head[: self.reader.offset]
        if self._stretch(0, len(head)) != head:
            return "none"
        if self._stretch(self.reader.offset - len(self._window), len(self._window)) != self._window:
            return "none"
        if self._stretch(self.position - len(self._partial), len(self._partial)) != self._partial:
            return "partial"
        # Before the first line end only the whole can be compared: such a file may be one document.
        if self.reader.row == 0 and self.position and self.reader.offset <= len(BOM):
            return "partial"
        return "whole"

    def _stretch(self, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        if not self.packed:
            return os.pread(self.files.get(self), length, max(offset, 0))
        with open_plain(Path(self.path)) as file:
            try:
                file.seek(max(offset, 0))
                return file.read(length)
            except damages() as error:
                raise OSError(f"damaged compression: {error}") from error

    def read(self, limit: int = CHUNK_BYTES) -> bytes:
        """The next bytes; empty at the end of what there is, or if another file took the path since `look`.

        Raises: OSError.
        """
        if self.packed:
            return self._unpacked(limit)
        known = self.files.has(self)
        descriptor = self.files.get(self)
        if not known and not self._is_as_seen(descriptor):
            self.files.close(self)
            return b""  # the next look reports it
        return os.pread(descriptor, limit, self.position)

    def _is_as_seen(self, descriptor: int) -> bool:
        """Whether an open file is the file that `look` examined."""
        if self.signature is None:
            return True
        stat = os.fstat(descriptor)
        return (stat.st_dev, stat.st_ino) == self.signature[:2]

    def _unpacked(self, limit: int) -> bytes:
        """The next bytes of a compressed file, which stays open until its end: restarting is expensive."""
        if self._stream is None:
            self._stream = open_plain(Path(self.path))
            self._stream.seek(self.position)
        try:
            data = self._stream.read(limit)
        except damages() as error:
            self.close_stream()
            raise OSError(f"damaged compression: {error}") from error
        if not data:
            self.close_stream()
        return data

    def close_stream(self) -> None:
        """Closes the decompression stream; the next read opens it again at the position."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def feed(self, data: bytes, arrived_ms: int | None) -> tuple[Batch, ...]:
        """Takes bytes that `read` returned; returns the records completed by them."""
        start, self._past = self.position, None
        if len(self._head) < WINDOW and start <= WINDOW:
            self._head = (self._head[:start] + data)[:WINDOW]
        batches = self.reader.push(Chunk(data, arrived_ms, self.path))
        self.position = start + len(data)
        done = self.reader.offset - start  # number of data bytes that belong to whole lines
        if done > 0:
            before = self._partial if len(self._partial) >= WINDOW else self._window + self._partial
            self._window = (before + data[:done])[-WINDOW:]
            self._partial = data[done:][-WINDOW:]
        else:
            self._partial = (self._partial + data)[-WINDOW:]
        return batches

    def unfinished(self, taken: Callable[[str], bool]) -> Batch | None:
        """The part that may still change, which is the last line without its end. `taken` is for stores.

        Raises: SourceError.
        """
        return self.reader.rest()

    def drop_partial(self) -> int:
        """Forgets the unfinished line, so that it is read again; returns its length in bytes."""
        dropped = self.position - self.reader.offset
        position = self.reader.snapshot()
        self.reader = LineReader(printable_path(self.path), self.reader.cap)
        self.reader.restore(position)
        self.position, self._partial = position.offset, b""
        if position.row == 0:
            self.reader.restore(LinePosition())
            self.position, self._head, self._window = 0, b"", b""
        return dropped

    def next_generation(self) -> "GrowingFile":
        """The file now at the path, to be read from its beginning; row numbers continue, because ids depend on them."""
        self.files.close(self)
        fresh = GrowingFile(self.path, self.files, cap=self.reader.cap)
        fresh.reader.restore(LinePosition(0, self.reader.row))
        return fresh


def holds(files: OpenFiles, path: str, mark: Mark) -> bool:
    """Whether a file contains, at the same offsets, the part read of another one."""
    other = GrowingFile(path, files)
    try:
        return other.continues(mark)
    except OSError:
        return False
    finally:
        files.close(other)

"""An output file that grows by whole lines and can be cut back: kept bytes first, then bytes that may be undone."""

import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from msgspec import Raw, Struct, field

from agentv_stages.sinks.summary_log import SummaryState
from agentv_stages.sinks.transcript import GAP_END, Identity
from agentv_stream.errors import SinkError
from agentv_stream.live.stall import Standing
from agentv_stream.outputs.naming import TRANSCRIPT, prepare_folder
from agentv_stream.outputs.publish import PRIVATE

_TAIL_BYTES = 4096


class ShortOutput(SinkError):
    """An output lost committed bytes: another program changed or removed it. The session has to be read again."""


class GrowingOutput:
    """A private file that grows by whole lines and can be cut back to `length`. It is not kept open.

    With `at_need` it is removed when it becomes empty.
    """

    def __init__(
        self, path: Path, length: int = 0, on_create: Callable[[Path], None] | None = None, at_need: bool = False
    ) -> None:
        self.path = path
        self.length = length
        self._at_need = at_need
        self._on_create = on_create  # called with a new file before anything is written to it
        self._end: int | None = None  # where the file ends; None before that was checked
        self._file: tuple[int, int] | None = None  # device and inode of the file written to
        self.unsynced: set[Path] = set()  # the file, and its folder if it is new, while they may not be on the disk

    def append(self, data: bytes, *, keep: bool = True) -> None:
        """Writes after the kept bytes; with `keep` False the next append overwrites it.

        Raises: SinkError.
        """
        if not data:
            return
        try:
            descriptor = self._open()
            try:
                at = self._end
                self._look_at(descriptor, self.length if at is None else at)
                if at is None or (keep and at != self.length):
                    os.ftruncate(descriptor, self.length)
                    at = self.length
                self._end = None
                view = memoryview(data)
                while view:
                    written = os.pwrite(descriptor, view, at)
                    at += written
                    view = view[written:]
                if keep:
                    self.length = at
                self._end = at
            finally:
                self.unsynced.add(self.path)
                os.close(descriptor)
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    def cut(self) -> None:
        """Removes everything after `length`. Raises: SinkError; also when the file is shorter than it must be."""
        if self._end == self.length:
            return
        try:
            try:
                size = self.path.stat().st_size
            except FileNotFoundError:
                if self.length:
                    raise
                return
            if size < self.length:
                raise ShortOutput(str(self.path), OSError(f"{size} of {self.length} bytes are left"))
            if self._at_need and not self.length:
                self.path.unlink()
                self._file = self._end = None
                return
            if size > self.length:
                os.truncate(self.path, self.length)
            self._end = self.length
        except FileNotFoundError as error:
            raise ShortOutput(str(self.path), error) from error
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    def write_at(self, offset: int, data: bytes) -> None:
        """Overwrites existing bytes. Raises: SinkError."""
        try:
            descriptor = self._open()
            try:
                self._look_at(descriptor, self.length)
                os.pwrite(descriptor, data, offset)
                self.unsynced.add(self.path)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    def _look_at(self, descriptor: int, length: int) -> None:
        """Checks that the file is long enough; otherwise writing would leave a hole in it. Raises: ShortOutput."""
        now = os.fstat(descriptor)
        if now.st_size < length:
            raise ShortOutput(str(self.path), OSError(f"{now.st_size} of {length} bytes are left"))
        if self._file not in (None, (now.st_dev, now.st_ino)):
            raise ShortOutput(str(self.path), OSError("it was replaced by another file"))
        self._file = now.st_dev, now.st_ino

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(self.path, flags)
        except FileNotFoundError:
            if self.length:
                raise ShortOutput(str(self.path), OSError("it was removed")) from None
            prepare_folder(self.path.parent)
            descriptor = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, PRIVATE)
            self.unsynced.add(self.path.parent)
            if self._on_create is not None:
                try:
                    self._on_create(self.path)
                except BaseException:
                    os.close(descriptor)
                    raise
            return descriptor


class Mark(Struct, frozen=True):
    """By which a whole output is recognised: its length and a hash of its last bytes; `kept` is the part that does not
    change when the session continues, with a hash of the last bytes of that."""

    length: int
    tail: str
    kept: int = 0
    kept_tail: str = ""


def tail_of(path: Path, length: int) -> str:
    """A hash of the bytes before a length. Raises: OSError."""
    return _hash_between(path, 0, length)


def kept_tail_of(path: Path, length: int) -> str:
    """As `tail_of`, without the totals in a transcript's first row, which each settling writes. Raises: OSError."""
    return _hash_between(path, GAP_END if path.name.endswith(TRANSCRIPT) else 0, length)


def _hash_between(path: Path, first: int, length: int) -> str:
    begin = max(first, length - _TAIL_BYTES)
    with path.open("rb") as file:
        file.seek(begin)
        return hash_of(file.read(max(0, length - begin)))


def hash_of(data: bytes) -> str:
    return blake2b(data[-_TAIL_BYTES:], digest_size=8).hexdigest()


def mark_of(file: GrowingOutput) -> Mark:
    length = file.path.stat().st_size
    return Mark(length, tail_of(file.path, length), file.length, kept_tail_of(file.path, file.length))


class OutputState(Struct):
    """The places and lengths of a session's outputs, in bytes of whole lines. `settled` includes the provisional end.

    `provisional` outputs are rewritten, perhaps elsewhere, when the session continues. `marks`: at rest, by suffix.
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
    others: dict[str, int] = {}  # lengths of further outputs by suffix, and their states
    states: dict[str, Raw] = {}
    marks: dict[str, Mark] = {}
    reported: dict[str, list[str]] = {}  # events for which commands ran, and the states that were reported
    standing: Standing = field(default_factory=Standing)

    def path(self, suffix: str) -> Path:
        return Path(self.folder) / f"{self.stem}{suffix}"

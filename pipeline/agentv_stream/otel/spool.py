"""Spans that wait on disk until an endpoint takes them: lines in, the oldest lines out, over restarts.

A folder of numbered files; the oldest is read first and removed when it was sent. What is more than the cap is dropped,
the oldest first, and counted. A line is on the disk when `append` returns (`durable.py`): it may be sent twice, and is
never lost, if this process is killed.
"""

import os
import threading
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stream.errors import SinkError
from agentv_stream.outputs.durable import SYNC
from agentv_stream.outputs.naming import prepare_folder
from agentv_stream.outputs.publish import PRIVATE, publish_now

CAP_BYTES = 256 * 1024 * 1024
FILE_BYTES = 4 * 1024 * 1024
_SUFFIX = ".otlp.jsonl"
_POSITION = "position.json"


class Position(Struct, frozen=True):
    """Everything before this place was sent."""

    number: int
    offset: int


class Spool:
    """`append` may be called from another thread than the rest. Raises: SinkError."""

    def __init__(self, folder: Path, cap: int = CAP_BYTES, file_bytes: int = FILE_BYTES) -> None:
        self.folder = folder
        self.dropped = 0  # bytes of lines
        self._cap, self._file_bytes = cap, file_bytes
        self._lock = threading.Lock()
        try:
            prepare_folder(folder)
            self._sizes = {number: self._whole(number) for number in self._numbers()}
            self._position = self._read_position()
        except OSError as error:
            raise SinkError(str(folder), error) from error

    def _numbers(self) -> list[int]:
        names = (path.name.removesuffix(_SUFFIX) for path in self.folder.glob(f"*{_SUFFIX}"))
        return sorted(int(name) for name in names if name.isdecimal())

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:010d}{_SUFFIX}"

    def _whole(self, number: int) -> int:
        """The bytes of whole lines: a killed process may have left half of one, which is cut off."""
        path = self._path(number)
        data = path.read_bytes()
        size = data.rfind(b"\n") + 1
        if size < len(data):
            os.truncate(path, size)
        return size

    def _read_position(self) -> Position:
        first = next(iter(self._sizes), 0)
        try:
            position = msgspec.json.decode((self.folder / _POSITION).read_bytes(), type=Position)
        except (FileNotFoundError, msgspec.MsgspecError):
            return Position(first, 0)
        return position if position.number in self._sizes else Position(first, 0)

    @property
    def waiting(self) -> int:
        """The bytes of lines that were not sent."""
        with self._lock:
            return sum(self._sizes.values()) - self._position.offset

    def append(self, data: bytes) -> None:
        """Adds whole lines. Raises: SinkError."""
        with self._lock:
            last = max(self._sizes, default=self._position.number)
            if self._sizes.get(last, 0) >= self._file_bytes:
                last += 1
            append(self._path(last), data)
            self._sizes[last] = self._sizes.get(last, 0) + len(data)
            self._drop()

    def _drop(self) -> None:
        """Drops the oldest file as long as there is more than the cap."""
        while sum(self._sizes.values()) > self._cap and len(self._sizes) > 1:
            number = min(self._sizes)
            sent = self._position.offset if self._position.number == number else 0
            self.dropped += self._sizes[number] - sent
            self._remove(number)

    def _remove(self, number: int) -> None:
        del self._sizes[number]
        self._path(number).unlink(missing_ok=True)
        if self._position.number <= number:
            self._position = Position(min(self._sizes, default=number + 1), 0)

    def read(self, most: int) -> tuple[list[bytes], Position]:
        """The oldest lines, about `most` bytes of them, and the place after them; nothing if all was sent.

        Raises: SinkError.
        """
        with self._lock:
            position = self._position
            size = self._sizes.get(position.number, 0)
        if position.offset >= size:
            return [], position
        lines: list[bytes] = []
        offset = position.offset
        try:
            with self._path(position.number).open("rb") as file:
                file.seek(offset)
                while offset < size and (not lines or offset - position.offset < most):
                    line = file.readline()
                    lines.append(line)
                    offset += len(line)
        except FileNotFoundError:  # dropped meanwhile
            return [], position
        except OSError as error:
            raise SinkError(str(self.folder), error) from error
        return lines, Position(position.number, offset)

    def sent(self, position: Position) -> None:
        """Everything before this place was sent. Raises: SinkError."""
        with self._lock:
            if position.number != self._position.number:
                return  # dropped meanwhile
            self._position = position
            if position.offset >= self._sizes[position.number]:
                if position.number == max(self._sizes):
                    if position.offset < self._file_bytes:
                        publish_now(self.folder / _POSITION, msgspec.json.encode(position), sync=False)
                        return
                self._remove(position.number)
            publish_now(self.folder / _POSITION, msgspec.json.encode(self._position), sync=False)


def append(path: Path | str, data: bytes) -> None:
    """Adds whole lines to a private file. Raises: SinkError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
        with os.fdopen(descriptor, "ab") as file:
            file.write(data)
            file.flush()
            if SYNC.get():
                os.fsync(descriptor)
    except OSError as error:
        raise SinkError(str(path), error) from error


class SpanFile:
    """A file to which spans are appended. Raises: SinkError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            prepare_folder(path.parent)
        except OSError as error:
            raise SinkError(str(path), error) from error

    def append(self, data: bytes) -> None:
        """Adds whole lines. Raises: SinkError."""
        append(self.path, data)

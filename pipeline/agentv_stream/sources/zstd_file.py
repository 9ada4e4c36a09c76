"""The decompressed bytes of a `.zst` file: all its frames, and an error if it is truncated.

zstandard's own readers treat a file truncated within a frame as complete.
"""

import io
from typing import BinaryIO

import zstandard

STEP = 2048  # compressed bytes at a time: their contents are held in memory and can be 32,768 times as large
AHEAD = 256 * 1024


class ZstdFile(io.RawIOBase):
    """Decompresses `file` from its current position. Seeking forward reads, seeking back starts over.

    Raises: EOFError when a frame has no end, zstandard.ZstdError for damaged data.
    """

    def __init__(self, file: BinaryIO, *, closefd: bool = True) -> None:
        self._file = file
        self._closefd = closefd
        self._begin = file.tell()
        self._restart()

    def _restart(self) -> None:
        self._position = 0
        self._packed = memoryview(b"")
        self._plain = memoryview(b"")
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Only relative to the beginning or to the current position."""
        target = offset + (self._position if whence == io.SEEK_CUR else 0)
        if whence == io.SEEK_END or target < 0:
            raise io.UnsupportedOperation("seek from the end")
        if target < self._position:
            self._file.seek(self._begin)
            self._restart()
        while self._position < target and self._fill():
            self._take(target - self._position)
        return self._position

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]  # any writable buffer
        if not self._fill():
            return 0
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._closefd:
            self._file.close()
        super().close()

    def _take(self, most: int) -> memoryview:
        data, self._plain = self._plain[:most], self._plain[most:]
        self._position += len(data)
        return data

    def _fill(self) -> bool:
        """Decompresses more if nothing is left in the buffer; False at the end."""
        while not self._plain:
            if not self._packed:
                self._packed = memoryview(self._file.read(AHEAD))
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("compressed file ended before the end of its frame")
                return False
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            step, rest = self._packed[:STEP], self._packed[STEP:]
            self._plain = memoryview(self._frame.decompress(step))
            self._packed = rest
            if self._frame.eof:
                unused = len(self._frame.unused_data)
                self._packed = memoryview(bytes(step[len(step) - unused :]) + bytes(rest)) if unused else rest
                self._frame = None
        return True


def open_zstd(file: BinaryIO, *, closefd: bool = True) -> io.BufferedReader:
    """The decompressed bytes of an open `.zst` file, buffered: `read` returns as many as requested, if there are
    any."""
    return io.BufferedReader(ZstdFile(file, closefd=closefd), AHEAD)

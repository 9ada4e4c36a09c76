"""Holds messages until the end of a session: in memory while they are few, then in an unnamed temporary file.

For outputs that need messages in order, which is not the order in which they are completed.
"""

from array import array
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile, gettempdir

from agentv_stages.model.message import Message
from agentv_stream.errors import SinkError

MEMORY_BYTES = 1024 * 1024
_NOWHERE = -1


class StepSpool:
    """Stores one line per message, in any order, to be read back in the order of the messages.

    16 bytes per message stay in memory, 24 while they are read. The file is in the system's temporary folder and leaves
    nothing behind, however the process ends.
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=MEMORY_BYTES)
        self._size = 0
        self._at = _NOWHERE  # where the file is read next; streams may be read in turns
        self._offsets = array("q")  # by the message's index
        self._streams = array("q")
        self._numbers: dict[str, int] = {}
        self._first: list[int] = []  # the first message of each stream, once they are read
        self._next = array("q")  # message -> the next one in its stream

    def add(self, message: Message, line: bytes) -> None:
        """Adds a message's line, before the first call of `lines`. Raises: SinkError."""
        missing = message.index + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.extend([_NOWHERE] * missing)
            self._streams.extend([_NOWHERE] * missing)
        self._offsets[message.index] = self._size
        self._streams[message.index] = self._numbers.setdefault(message.source.stream, len(self._numbers))
        try:
            self._file.write(line)
        except OSError as error:
            raise SinkError(gettempdir(), error) from error
        self._size += len(line)

    def lines(self, stream: str) -> Iterator[bytes]:
        """The lines of a stream in the order of its messages. Raises: OSError."""
        if not self._next:
            self._chain()
        return self._read(self._of(stream))

    def all_lines(self) -> Iterator[bytes]:
        """The lines of all streams in the order of the messages. Raises: OSError."""
        return self._read(index for index, offset in enumerate(self._offsets) if offset != _NOWHERE)

    def _of(self, stream: str) -> Iterator[int]:
        index = self._first[self._numbers[stream]]
        while index != _NOWHERE:
            yield index
            index = self._next[index]

    def _read(self, messages: Iterable[int]) -> Iterator[bytes]:
        file = self._file
        for index in messages:
            offset = self._offsets[index]
            if offset != self._at:
                file.seek(offset)
            line = file.readline()
            self._at = offset + len(line)
            yield line

    def _chain(self) -> None:
        """Links the messages of each stream: searching all of them for each stream would take far too long."""
        self._first = [_NOWHERE] * len(self._numbers)
        self._next = array("q", [_NOWHERE]) * len(self._streams)
        for index in range(len(self._streams) - 1, -1, -1):
            number = self._streams[index]
            if number != _NOWHERE:
                self._next[index], self._first[number] = self._first[number], index

    def close(self) -> None:
        """Discards the stored steps."""
        self._file.close()

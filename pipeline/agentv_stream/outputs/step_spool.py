"""Where the steps of a trajectory wait for its end: in memory while they are few, then in a file without a name."""

from array import array
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile, gettempdir

from agentv_stages.message import Message
from agentv_stream.errors import SinkError

MEMORY_BYTES = 1024 * 1024
_NOWHERE = -1


class StepSpool:
    """Lines of messages, which may come in another order than they are read in; 16 bytes a message stay in memory.

    The file is where the system keeps such. Nothing of it is left, however the process ends.
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=MEMORY_BYTES)
        self._size = 0
        self._offsets = array("q")  # by the message's index
        self._streams = array("q")  # the number of its stream; when they are read, the next message of that
        self._numbers: dict[str, int] = {}
        self._first: list[int] | None = None  # of each stream, once they are read

    def add(self, message: Message, line: bytes) -> None:
        """For before the first of `lines`. Raises: SinkError."""
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
        if self._first is None:
            self._first = self._chain()
        index, at, file = self._first[self._numbers[stream]], _NOWHERE, self._file
        while index != _NOWHERE:
            offset, index = self._offsets[index], self._streams[index]
            if offset != at:
                file.seek(offset)
            line = file.readline()
            at = offset + len(line)
            yield line

    def _chain(self) -> list[int]:
        """Gives the first message of each stream, and puts the next one of its stream in the place of a message's.

        There may be as many streams as messages: to look through all of these for each would take for ever.
        """
        first = [_NOWHERE] * len(self._numbers)
        for index in range(len(self._streams) - 1, -1, -1):
            number = self._streams[index]
            if number != _NOWHERE:
                self._streams[index], first[number] = first[number], index
        return first

    def close(self) -> None:
        """What waits is gone."""
        self._file.close()

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
        self._streams = array("q")
        self._numbers: dict[str, int] = {}

    def add(self, message: Message, line: bytes) -> None:
        """Raises: SinkError."""
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
        number, at, file = self._numbers[stream], _NOWHERE, self._file
        for offset, of_stream in zip(self._offsets, self._streams, strict=True):
            if of_stream != number:
                continue
            if offset != at:
                file.seek(offset)
            line = file.readline()
            at = offset + len(line)
            yield line

    def close(self) -> None:
        """What waits is gone."""
        self._file.close()

"""Redacts the copy of a stream: pieces of bytes in, redacted pieces out; as `RedactStream`, and over deltas as well."""

from collections.abc import Iterable

from agentv_stages.model.batch import Record
from agentv_stages.redaction.deltas import RedactDeltas
from agentv_stages.redaction.redact_stream import LONGEST_HELD, RedactStream
from agentv_stages.redaction.redactor import Redactor


class RedactCopy:
    """A stage over bytes. `patterns` are the deltas of all dialects that the stream may have."""

    def __init__(self, redactor: Redactor, patterns: Iterable[bytes]) -> None:
        self._stream = RedactStream(redactor)
        self._deltas = RedactDeltas(redactor, patterns)
        self._line = b""  # without an end
        self._inside = False  # a line that is longer than the held bytes leaves in parts

    def push(self, data: bytes) -> bytes:
        """The decided bytes, whole lines as a rule."""
        return self._cut(self._stream.push(data))

    def flush(self) -> bytes:
        """The rest."""
        out = self._cut(self._stream.flush()) + self._lines(self._deltas.flush())
        last, self._line = self._line, b""
        return out + last

    def _cut(self, data: bytes) -> bytes:
        out: list[bytes] = []
        if self._inside:
            end = data.find(b"\n") + 1
            if not end:
                return data
            out.append(data[:end])
            data, self._inside = data[end:], False
        *lines, self._line = (self._line + data).split(b"\n")
        out.append(self._lines(self._deltas.push([Record(line, 0, 0) for line in lines])))
        if len(self._line) > LONGEST_HELD:
            out += (self._lines(self._deltas.flush()), self._line)
            self._line, self._inside = b"", True
        return b"".join(out)

    @staticmethod
    def _lines(records: Iterable[Record]) -> bytes:
        return b"".join([record.data + b"\n" for record in records])

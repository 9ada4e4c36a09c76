"""The standard error of an agent on its way into its file: bytes from a pipe in, redacted bytes in the file.

A thread reads the pipe, so that the agent never waits for us, and a program that the agent left behind, and that still
holds the pipe, is not waited for.
"""

import os
import select
from contextlib import suppress
from threading import Thread

from agentv_stages.redaction.redact_stream import RedactStream
from agentv_stages.redaction.redactor import Redactor
from agentv_stream.sources.files import CHUNK_BYTES

PATIENCE_SECONDS = 2.0  # for the end of the pipe, after the agent's own end


class RedactedErrors:
    """`write_end` is for the agent; the caller closes it once the agent has it. `file` is a descriptor, which is closed
    at the end."""

    def __init__(self, file: int, redactor: Redactor) -> None:
        self._file = file
        self._stream = RedactStream(redactor)
        self._read_end, self.write_end = os.pipe()
        self._stop, self._stop_now = os.pipe()
        self._thread = Thread(target=self._copy, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Waits until all is written; may be called more than once."""
        if self._stop_now < 0:
            return
        self._thread.join(PATIENCE_SECONDS)
        os.close(self._stop_now)
        self._stop_now = -1
        self._thread.join(PATIENCE_SECONDS)

    def _copy(self) -> None:
        try:
            while self._read_end in select.select([self._read_end, self._stop], [], [])[0]:
                data = os.read(self._read_end, CHUNK_BYTES)
                if not data:
                    break
                self._write(self._stream.push(data))
            self._write(self._stream.flush())
        finally:
            for descriptor in (self._read_end, self._stop, self._file):
                os.close(descriptor)

    def _write(self, data: bytes) -> None:
        """On a full disk the rest is dropped: whatever goes wrong here must not reach the agent."""
        with suppress(OSError):
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]

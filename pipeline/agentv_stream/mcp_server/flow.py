"""Back-pressure of the MCP server: requests wait while too many have no answer, or while the client reads no answers.

The SDK reads all there is and keeps each request, and each answer that cannot be written, in memory.
"""

import io
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct, UnsetType

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MOST_IN_FLIGHT = 64  # requests without an answer
SAY_SECONDS = 5.0  # that the client takes no answer, before a message
FORGET_SECONDS = 60.0  # without any answer: those that are missing will not come


class _Head(Struct):
    """The members by which a message is a request."""

    id: str | int | float | UnsetType | None = UNSET
    method: str | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Head).decode


class Flow:
    """Counts requests that were let in and are not answered. `say` gets a message if the client reads no answers."""

    def __init__(
        self, say: Callable[[str], None], say_seconds: float = SAY_SECONDS, forget_seconds: float = FORGET_SECONDS
    ) -> None:
        self._say, self._say_seconds, self._forget_seconds = say, say_seconds, forget_seconds
        self._changed = threading.Condition()
        self._in_flight = 0
        self._writing = False

    def let_in(self, line: bytes | bytearray) -> None:
        """Waits until there is room for this line, if it is a request."""
        if not _is_request(line):
            return
        with self._changed:
            reported = False
            while self._in_flight >= MOST_IN_FLIGHT:
                blocked = self._writing
                if self._changed.wait(self._say_seconds if blocked else self._forget_seconds):
                    continue
                if not self._writing:
                    self._in_flight = 0
                elif blocked and not reported:
                    self._say("the client does not read its answers; its requests wait")
                    reported = True
            self._in_flight += 1

    def write(self, descriptor: int, data: "ReadableBuffer") -> int:
        """Writes a part of the answers, which may take as long as the client likes."""
        with self._changed:
            self._writing = True
            self._changed.notify_all()
        count = 0
        try:
            count = os.write(descriptor, data)
        finally:
            with self._changed:
                self._writing = False
                answers = bytes(memoryview(data)[:count]).count(b"\n")
                self._in_flight = max(0, self._in_flight - answers)
                self._changed.notify_all()
        return count


class _Answers(io.RawIOBase):
    def __init__(self, descriptor: int, flow: Flow) -> None:
        self._descriptor, self._flow = descriptor, flow

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: "ReadableBuffer", /) -> int:
        return self._flow.write(self._descriptor, data)


def bound_output(flow: Flow) -> None:
    """From now on `sys.stdout` counts the answers that it writes; descriptor 1 is standard error, so that no other
    text gets among them."""
    sys.stdout.flush()
    target = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Answers(target, flow)), encoding="utf-8")


def _is_request(line: bytes | bytearray) -> bool:
    try:
        head = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return head.id is not UNSET and head.method is not UNSET

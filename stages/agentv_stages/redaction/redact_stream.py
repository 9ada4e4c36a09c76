"""Redacts bytes that come in pieces: pieces in, redacted pieces out, whatever the cuts.

Lines leave when they are whole. A line that is longer than `LONGEST_HELD`, and a private key over several lines, leave
in parts; what may be the beginning of a secret waits for what follows it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from agentv_stages.redaction.checks import KEY_BEGIN, KEY_END, LONGEST_KEY
from agentv_stages.redaction.redactor import Redactor

LONGEST_HELD = 1024 * 1024  # bytes that wait for the end of their line
_HELD_BACK = LONGEST_KEY + 8 * 1024  # bytes at the end of a part that wait: the longest secret, with what precedes it
_CONTEXT = 128  # bytes before a secret that decide whether it is one
_SHOWN = 4  # last characters of a secret that a list shows, if it is much longer
_BEGIN = re.compile(KEY_BEGIN)


class Place(NamedTuple):
    """The place of a secret: the line, from 1; the offset and the length in bytes; its kind; its last characters."""

    line: int
    offset: int
    length: int
    kind: str
    ending: bytes


class RedactStream:
    """A stage over bytes. The output is that of `Redactor.redact` on the whole input, in bounded memory.

    `on_secret` gets the place of each secret, in order.
    """

    def __init__(self, redactor: Redactor, on_secret: Callable[[Place], None] | None = None) -> None:
        self._redactor = redactor
        self._on_secret = on_secret
        self._pieces: list[bytes] = []  # of a line without an end
        self._size = 0
        self._context = b""  # the end of the bytes that have left
        self._offset = 0  # bytes that have left, and their lines
        self._lines = 0

    def push(self, data: bytes) -> bytes:
        """The part that is decided: up to the last line end, or all but the tail of a very long line."""
        self._pieces.append(data)
        self._size += len(data)
        if b"\n" not in data and self._size <= LONGEST_HELD:
            return b""
        held = self._held()
        cut = self._before_open_key(held, held.rfind(b"\n") + 1)
        if cut == 0 and len(held) > LONGEST_HELD:
            cut = len(held) - _HELD_BACK
        return self._leave(held, cut)

    def flush(self) -> bytes:
        """The rest."""
        held = self._held()
        return self._leave(held, len(held))

    def _held(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _before_open_key(self, held: bytes, cut: int) -> int:
        """`cut`, or the line of a private key before it that has not ended yet."""
        for match in _BEGIN.finditer(held, max(0, cut - LONGEST_KEY), cut):
            if KEY_END.search(held, match.end(), cut) is None:
                return held.rfind(b"\n", 0, match.start()) + 1
        return cut

    def _leave(self, held: bytes, cut: int) -> bytes:
        if cut == 0:
            self._keep(held)
            return b""
        text = self._context + held if self._context else held
        begin = len(self._context)
        end = begin + cut
        pieces: list[bytes] = []
        for finding in self._redactor.findings(text):
            if finding.start < begin:
                continue
            if finding.start >= end:
                break
            end = max(end, finding.end)
            pieces += (text[begin : finding.start], self._redactor.replacement(text, finding))
            if self._on_secret is not None:
                self._on_secret(self._place(text, finding.start, finding.end, finding.kind))
            begin = finding.end
        pieces.append(text[begin:end])
        left = end - len(self._context)
        if self._on_secret is not None:
            self._lines += held.count(b"\n", 0, left)
        self._offset += left
        self._context = text[max(0, end - _CONTEXT) : end]
        self._keep(held[left:])
        return b"".join(pieces)

    def _keep(self, held: bytes) -> None:
        self._pieces = [held] if held else []
        self._size = len(held)

    def _place(self, text: bytes, start: int, end: int, kind: str) -> Place:
        before = len(self._context)
        line = self._lines + text.count(b"\n", before, start) + 1
        ending = text[end - _SHOWN : end] if end - start >= 4 * _SHOWN else b""
        return Place(line, self._offset + start - before, end - start, kind, ending)

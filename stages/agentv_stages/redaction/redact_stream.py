"""Redacts bytes that come in pieces: pieces in, redacted pieces out, whatever the cuts.

Lines leave when they are whole. A line that is longer than `LONGEST_HELD`, and a private key over several lines, leave
in parts; what may be the beginning of a secret waits for what follows it.
"""

import re

from agentv_stages.redaction.checks import LONGEST_KEY
from agentv_stages.redaction.redactor import Redactor

LONGEST_HELD = 1024 * 1024  # bytes that wait for the end of their line
_HELD_BACK = LONGEST_KEY + 8 * 1024  # bytes at the end of a part that wait: the longest secret, with what precedes it
_CONTEXT = 128  # bytes before a secret that decide whether it is one
_BEGIN = re.compile(rb"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(rb"-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----")


class RedactStream:
    """A stage over bytes. The output is that of `Redactor.redact` on the whole input, in bounded memory."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._context = b""  # the end of what has left

    def push(self, data: bytes) -> bytes:
        """The part that is decided: up to the last line end, or all but the tail of a very long line."""
        self._held += data
        cut = self._held.rfind(b"\n") + 1
        cut = self._before_open_key(cut)
        if cut == 0 and len(self._held) > LONGEST_HELD:
            cut = len(self._held) - _HELD_BACK
        return self._leave(cut) if cut > 0 else b""

    def flush(self) -> bytes:
        """The rest."""
        return self._leave(len(self._held))

    def _before_open_key(self, cut: int) -> int:
        """`cut`, or the line of a private key before it that has not ended yet."""
        begin = 0
        for match in _BEGIN.finditer(self._held, max(0, cut - LONGEST_KEY), cut):
            begin = match.start()
            if _END.search(self._held, match.end(), cut) is None:
                return self._held.rfind(b"\n", 0, begin) + 1 if cut - begin < LONGEST_KEY else cut
        return cut

    def _leave(self, cut: int) -> bytes:
        before = len(self._context)
        text = self._context + self._held
        pieces: list[bytes] = []
        begin, end = before, before + cut
        for finding in self._redactor.findings(text):
            if finding.start < begin:
                continue
            if finding.start >= end:
                break
            end = max(end, finding.end)
            pieces += (text[begin : finding.start], self._redactor.replacement(text, finding))
            begin = finding.end
        pieces.append(text[begin:end])
        self._held = text[end:]
        self._context = text[max(0, end - _CONTEXT) : end]
        return b"".join(pieces)

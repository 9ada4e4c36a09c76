"""Secrets that an agent prints in pieces, over several deltas: records in, the same records out, later if need be.

A delta waits while the text so far ends with what may be the beginning of a secret. The record in which a secret begins
gets the marker; its other pieces are taken out of the records that follow. Which records are deltas is a fact of each
dialect (`Dialect.deltas`).
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence

import msgspec

from agentv_stages.model.batch import Record
from agentv_stages.redaction.checks import KEY_BEGIN, KEY_END
from agentv_stages.redaction.redactor import Redactor

MOST_RECORDS = 512  # that wait; then the oldest leave as they are decided by then
MOST_BYTES = 256 * 1024
_LONGEST_WORD = 8 * 1024
_NAMED = 96  # bytes before a word that may mark it as a secret
_BETWEEN = re.compile(rb"[\s\"'`<>{},;|]|\\[nrt\"]")
_BEFORE = re.compile(
    rb"(?:uthorization|earer|[Tt]oken|[Bb]asic|-[Kk]ey)(?:\\\\*[\"'])?(?:\s|\\[nrt]|[:=,\"'])*(?:[A-Za-z-]{1,20}\s+)?\Z"
)
_BEGIN = re.compile(KEY_BEGIN)
_HALF_BEGIN = re.compile(rb"-----?(?:B|BE|BEG|BEGI|BEGIN[ A-Z0-9_-]{0,110})?\Z")
_IDS = re.compile(
    rb'"(?:index|contentIndex|session_?[iI][dD]|parent_tool_use_id|item_?[iI]d|message_?[iI]d|reasoningId|agentId|threadId)"'
    rb'\s*:\s*("[^"]*"|\d+)'
)


class _Delta(msgspec.Struct):
    """A record that waits. `text` is where its piece of text is; `ids` say which text it continues, None for a record
    that is no delta."""

    record: Record
    text: tuple[int, int] = (0, 0)
    ids: tuple[int, frozenset[bytes]] | None = None

    @property
    def piece(self) -> bytes:
        return self.record.data[self.text[0] : self.text[1]]

    def put(self, start: int, end: int, marker: bytes) -> None:
        """Replaces a part of the piece."""
        data, begin = self.record.data, self.text[0]
        self.record = self.record.replaced(data[: begin + start] + marker + data[begin + end :])
        self.text = begin, self.text[1] + len(marker) - (end - start)


class RedactDeltas:
    """For one file. `patterns` find a delta's text, as group 1: the inside of a JSON string."""

    def __init__(self, redactor: Redactor, patterns: Iterable[bytes]) -> None:
        self._redactor = redactor
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._waiting: list[_Delta] = []

    def push(self, records: Sequence[Record]) -> list[Record]:
        """The records that are decided, in their order."""
        new = [self._delta(record) for record in records]
        if not self._waiting and not any(delta.ids for delta in new):
            return list(records)
        self._waiting += new
        size = sum(len(delta.record.data) for delta in self._waiting)
        return self._leave(len(self._waiting) > MOST_RECORDS or size > MOST_BYTES)

    def flush(self) -> list[Record]:
        """All that waits: the texts have ended."""
        return self._leave(final=True)

    def _delta(self, record: Record) -> _Delta:
        for number, pattern in enumerate(self._patterns):
            match = pattern.search(record.data)
            if match is not None:
                around = record.data[: match.start(1)] + record.data[match.end(1) :]
                return _Delta(record, match.span(1), (number, frozenset(_IDS.findall(around))))
        return _Delta(record)

    def _leave(self, final: bool) -> list[Record]:
        waiting = self._waiting
        first = len(waiting)  # the first record that is not decided
        texts: dict[tuple[int, frozenset[bytes]], list[int]] = {}
        for i, delta in enumerate(waiting):
            if delta.ids is not None:
                texts.setdefault(delta.ids, []).append(i)
        for ids, places in texts.items():
            ended = final or self._has_ended(ids[1], places[-1])
            undecided = self._redact([waiting[i] for i in places], ended)
            if undecided is not None:
                first = min(first, places[undecided])
        out, self._waiting = [delta.record for delta in waiting[:first]], waiting[first:]
        return out

    def _has_ended(self, ids: frozenset[bytes], last: int) -> bool:
        """Whether another record of the same agent follows: the text is whole."""
        return any(
            delta.ids is None and ids.issuperset(_IDS.findall(delta.record.data)) for delta in self._waiting[last + 1 :]
        )

    def _redact(self, deltas: list[_Delta], ended: bool) -> int | None:
        """Puts markers into the deltas of one text; returns the number of the first undecided delta."""
        text = b"".join(delta.piece for delta in deltas)
        decided = len(text) if ended else doubtful_from(text)
        for finding in reversed(self._redactor.findings(text)):
            if finding.end <= decided:
                self._put(deltas, finding.start, finding.end, self._redactor.replacement(text, finding))
            else:
                decided = min(decided, finding.start)
        at = 0
        for i, delta in enumerate(deltas):
            at += len(delta.piece)
            if at > decided and not ended:
                return i
        return None

    @staticmethod
    def _put(deltas: list[_Delta], start: int, end: int, marker: bytes) -> None:
        at = 0
        for delta in deltas:
            length = len(delta.piece)
            if at < end and start < at + length:
                delta.put(max(start - at, 0), min(end - at, length), marker)
                marker = b""
            at += length

    def snapshot(self) -> bytes:
        """The waiting deltas, sealed with this installation's key: a cursor must not show the beginning of a secret."""
        if not self._waiting:
            return b""
        return self._sealed(msgspec.json.encode([delta.record.without_raw() for delta in self._waiting]))

    def restore(self, sealed: bytes) -> None:
        """Raises: msgspec.DecodeError for a state that was sealed with another key."""
        records = msgspec.json.decode(self._sealed(sealed[16:], sealed[:16])[16:], type=list[Record]) if sealed else []
        self._waiting = [self._delta(record) for record in records]

    def _sealed(self, data: bytes, nonce: bytes = b"") -> bytes:
        nonce = nonce or hmac.digest(self._redactor.key, data, "sha256")[:16]
        stream = hashlib.shake_256(self._redactor.key + nonce).digest(len(data))
        return nonce + bytes(a ^ b for a, b in zip(data, stream, strict=True))


def doubtful_from(text: bytes) -> int:
    """The place of a possible beginning of a secret at the end of a text; its length if there is none."""
    for begun in _BEGIN.finditer(text):
        if KEY_END.search(text, begun.end()) is None:
            return begun.start()
    half = _HALF_BEGIN.search(text, max(0, len(text) - 128))
    if half is not None:
        return half.start()
    start = max(0, len(text) - _LONGEST_WORD)
    for between in _BETWEEN.finditer(text, start):
        start = between.end()
    named = _BEFORE.search(text[max(0, start - _NAMED) : start])
    return start if named is None else max(0, start - _NAMED) + named.start()

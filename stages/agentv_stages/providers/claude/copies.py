"""History that a fork or a resumed session has copied from its parent's log: told there, and not a second time here.

Source: sessions that Claude Code 1.0.60 to 2.1.332 forked, branched and resumed, headless and in its terminal.
A copy is marked by

- `forkedFrom` on each record (`/branch`);
- `requestSessionId` on each answer: the session that asked for it (2.1.332);
- a time before that of the record that opens the log: the queue operation of a headless run, or the last file snapshot
  of an interactive one, which names the first prompt of the session's own (2.0.30 on);
- one millisecond for all: before 2.0.30 copies got the time of their writing, so an answer stands beside its prompt.

Hooks and commands may stand before the prompt in a session that copied nothing. So times alone prove nothing before the
first answer; until then records wait.

A clock may be set back behind the queue operation, which names the prompt. So where the log's first prompt is that one,
its time proves nothing: records wait for a time that is not before the opening (nothing was copied) or for the same
prompt once more (all before it was, from a session that began with the same words); where neither comes soon, the log
is its own.
"""

import re
from typing import Literal
from zlib import crc32

from msgspec import Struct

from agentv_stages.batch import Record
from agentv_stages.payload import given, text_of
from agentv_stages.providers.claude.blocks import SYNTHETIC_MODEL
from agentv_stages.providers.claude.wire import SessionHead, SessionLine, decode_head, decode_meta, decode_snapshot
from agentv_stages.times import parse_iso

_MESSAGES = frozenset(("user", "assistant", "attachment", "system", "progress"))
_STAMPED_ANEW = re.compile(r"1\.|2\.0\.")
_MOST_WAITING = 64
Found = Literal["own", "copied", "waits", "besides", "begins"]


class Copies(Struct):
    """What is known of a log that has not come to a record of its own.

    `opened_ms` and `first_own` are of the record that opened it. `found`: there are copies. `last_ms` is the time of
    the last message, `parent` the session that the copies name, `waiting` the records that are neither yet. `queued` is
    the prompt of the queue operation as a checksum; `alike` says that the log's first prompt is the same. `asked` is
    the session that asked for the last copied answer: the parent, where the fork of a fork holds answers of both.
    """

    opened_ms: int | None = None
    first_own: str | None = None
    found: bool = False
    last_ms: int | None = None
    parent: str | None = None
    waiting: list[Record] = []
    queued: int | None = None
    alike: bool | None = None
    asked: str | None = None

    def look(self, line: SessionLine, record: Record) -> Found:
        """What the next record is; `besides`: no part of the history, copied or not; `begins`: the session's own, and
        what waited was copied."""
        kind = line.type
        if kind not in _MESSAGES or line.uuid is None:
            if not self.found and not self.waiting:
                self._opening(kind, line, record)
            return "besides"
        head = decode_head(record.data)
        time_ms = parse_iso(line.timestamp)
        before, self.last_ms = self.last_ms, time_ms
        if head.forkedFrom is not None:
            self.parent = self.parent or head.forkedFrom.sessionId
            self.found = True
            return "copied"
        if head.requestSessionId is not None:
            self.asked, self.found = head.requestSessionId, True
            return "copied"
        if line.uuid == self.first_own or time_ms is None:
            return "own"
        early = self.opened_ms is not None and time_ms < self.opened_ms
        at_once = before is not None and time_ms - before <= 1 and self._stamped_anew(line, time_ms)
        if self.found:
            return "copied" if early or at_once else "own"
        if self.queued is not None and kind == "user" and not line.isMeta:
            if self.alike and self._is_queued(line):
                return "begins"
            if self.alike is None:
                self.alike = early and self._is_queued(line)
        if self.alike:
            self.parent = self.parent or head.sessionId
            return "waits" if early and len(self.waiting) < _MOST_WAITING else "own"
        if kind == "assistant" and not _synthetic(line):
            self.found = early or at_once
            return "copied" if self.found else "own"
        self.parent = self.parent or head.sessionId
        if not (early or self._stamped_anew(line, time_ms)):
            return "own" if kind == "user" or self.waiting else "besides"
        return "waits" if len(self.waiting) < _MOST_WAITING else "own"

    def _opening(self, kind: str, line: SessionLine, record: Record) -> None:
        if kind == "queue-operation":
            self.opened_ms = parse_iso(line.timestamp)
            prompt = decode_meta(record.data).content
            if given(prompt) and self.queued is None:
                self.queued = _checksum(text_of(prompt))
        elif kind == "file-history-snapshot":
            snapshot = decode_snapshot(record.data)
            self.first_own = snapshot.messageId
            self.opened_ms = parse_iso(snapshot.snapshot.timestamp)

    def _is_queued(self, line: SessionLine) -> bool:
        content = line.message.content if line.message is not None else None
        return isinstance(content, str) and _checksum(content) == self.queued

    def _stamped_anew(self, line: SessionLine, time_ms: int) -> bool:
        """Whether copies may bear the time of their writing. Times of whole seconds are nobody's clock."""
        return self.opened_ms is None and time_ms % 1000 != 0 and _STAMPED_ANEW.match(line.version or "") is not None

    def begun_ms(self, line: SessionLine, head: SessionHead) -> int | None:
        """When the fork was made, as far as its first copy tells."""
        if self.opened_ms is not None or head.forkedFrom is not None:
            return self.opened_ms
        return parse_iso(line.timestamp)

    def parent_of(self, head: SessionHead) -> str | None:
        """The session that the copies are of, where they name another one than `head`, the session's own."""
        return self.parent if self.parent != head.sessionId else None


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _synthetic(line: SessionLine) -> bool:
    return bool(line.isApiErrorMessage) or line.message is None or line.message.model == SYNTHETIC_MODEL

"""History that a fork or a resumed session copied from its parent's log: it is reported there, and not again here.

Source: sessions that Claude Code 1.0.60 to 2.1.332 forked, branched and resumed, headless and in its terminal.
A record is known as a copy by

- `forkedFrom` on each record (`/branch`);
- another log in the folder that has the record, in a fork that begins with nothing of its own (`forks`, 2.1.226);
- `requestSessionId` on each answer: the session that asked for it (2.1.332);
- a time before that of the log's opening record: the queue operation of a headless run, or the last file snapshot of an
  interactive one, which names the session's own first prompt (2.0.30 on);
- the same millisecond as its neighbours: before 2.0.30 copies were stamped when they were written, so that an answer
  has the time of its prompt.

A session that copied nothing may have hooks and commands before its prompt, so times alone prove nothing before the
first answer; until then records are held.

The clock may be set back after the queue operation, which contains the prompt. So if the log's first prompt is that
one, an early time proves nothing: records are held until one is not earlier than the opening (nothing was copied) or
the same prompt comes again (everything before was copied, from a session that began with the same words). If neither
comes soon, the records are taken as the log's own.
"""

import re
from typing import Literal
from zlib import crc32

from msgspec import Struct, field

from agentv_stages.model.batch import Record
from agentv_stages.model.payload import has_value, text_of
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.claude.blocks import SYNTHETIC_MODEL
from agentv_stages.providers.claude.forks import BACKGROUND, HEADERS
from agentv_stages.providers.claude.wire import SessionHead, SessionLine, decode_head, decode_meta, decode_snapshot

_MESSAGES = frozenset(("user", "assistant", "attachment", "system", "progress"))
_STAMPED_ANEW = re.compile(r"1\.|2\.0\.")
_MOST_WAITING = 64
Found = Literal["own", "copied", "waits", "besides", "begins"]


class Copies(Struct):
    """The state of the search for copies; dropped at the first record of the session's own.

    `opened_ms` and `first_own` come from the opening record. `found`: there are copies. `last_ms` is the time of the
    last message, `parent` the session that the copies name, `waiting` the records not yet classified. `queued` is the
    checksum of the prompt in the queue operation; `alike` says that the log's first prompt is the same. `asked` is the
    session that asked for the last copied answer: the parent, if a fork of a fork holds answers of both. `beside`: the
    records are compared with other logs that begin with the record `first`; `headed`: the log begins as such forks do.
    """

    opened_ms: int | None = None
    first_own: str | None = None
    found: bool = False
    last_ms: int | None = None
    parent: str | None = None
    waiting: list[Record] = []
    queued: int | None = None
    alike: bool | None = None
    requesting_session: str | None = field(default=None, name="asked")
    beside: bool = False
    first: str = ""
    headed: bool = False

    def may_be_beside(self, line: SessionLine, record: Record) -> bool:
        """Whether the log's first message may be one of another log, and nothing in this one would show it."""
        if line.type not in _MESSAGES or not line.uuid or self.last_ms is not None or self.opened_ms is not None:
            return False
        return self.headed or decode_head(record.data).sessionKind == BACKGROUND

    def look(self, line: SessionLine, record: Record) -> Found:
        """Classifies the next record. `besides`: not part of the history, copied or not; `begins`: the session's own,
        and all that was waiting is a copy.
        """
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
            self.requesting_session, self.found = head.requestSessionId, True
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
        if kind in HEADERS:
            self.headed = True
        elif kind == "queue-operation":
            self.opened_ms = parse_iso(line.timestamp)
            prompt = decode_meta(record.data).content
            if has_value(prompt) and self.queued is None:
                self.queued = _checksum(text_of(prompt))
        elif kind == "file-history-snapshot":
            snapshot = decode_snapshot(record.data)
            self.first_own = snapshot.messageId
            self.opened_ms = parse_iso(snapshot.snapshot.timestamp)

    def _is_queued(self, line: SessionLine) -> bool:
        content = line.message.content if line.message is not None else None
        return isinstance(content, str) and _checksum(content) == self.queued

    def _stamped_anew(self, line: SessionLine, time_ms: int) -> bool:
        """Whether copies may bear the time when they were written. Times in whole seconds are no clock's readings."""
        return self.opened_ms is None and time_ms % 1000 != 0 and _STAMPED_ANEW.match(line.version or "") is not None

    def begun_ms(self, line: SessionLine, head: SessionHead) -> int | None:
        """When the fork was made, as far as its first copy shows."""
        if self.opened_ms is not None or head.forkedFrom is not None:
            return self.opened_ms
        return parse_iso(line.timestamp)

    def parent_of(self, head: SessionHead) -> str | None:
        """The session that the copies come from, if it is another than that of `head`."""
        return self.parent if self.parent != head.sessionId else None


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _synthetic(line: SessionLine) -> bool:
    return bool(line.isApiErrorMessage) or line.message is None or line.message.model == SYNTHETIC_MODEL

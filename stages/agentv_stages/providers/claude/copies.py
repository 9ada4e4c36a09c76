"""History that a fork or a resumed session has copied from its parent's log: told there, and not a second time here.

Source: sessions that Claude Code 1.0.60 to 2.1.330 forked, branched and resumed, headless and in its terminal.
A copy is marked by

- `forkedFrom` on each record (`/branch`);
- a time before that of the record that opens the log: the queue operation of a headless run, or the last file snapshot
  of an interactive one, which names the first prompt of the session's own (2.0.30 on);
- one millisecond for all: before 2.0.30 copies got the time of their writing, so an answer stands beside its prompt.

Hooks and commands may stand before the prompt in a session that copied nothing. So times alone prove nothing before the
first answer; until then records wait.
"""

import re
from typing import Literal

from msgspec import Struct, field

from agentv_stages.batch import Record
from agentv_stages.providers.claude.blocks import SYNTHETIC_MODEL
from agentv_stages.providers.claude.wire import SessionHead, SessionLine, decode_head, decode_snapshot
from agentv_stages.times import parse_iso

COPIED = "copied from the parent session"
_MESSAGES = frozenset(("user", "assistant", "attachment", "system", "progress"))
_STAMPED_ANEW = re.compile(r"1\.|2\.0\.")
_MOST_WAITING = 64
Found = Literal["own", "copied", "waits", "besides"]


class Copies(Struct):
    """What is known of a log that has not come to a record of its own.

    `opened_ms` and `first_own` are of the record that opened it. `found`: there are copies. `last_ms` is the time of
    the last message, `parent` the session that the copies name, `waiting` the records that are neither yet.
    """

    opened_ms: int | None = None
    first_own: str | None = None
    found: bool = False
    last_ms: int | None = None
    parent: str | None = None
    waiting: list[Record] = field(default_factory=list[Record])

    def look(self, line: SessionLine, record: Record) -> Found:
        """What the next record is; `besides`: no part of the history, copied or not."""
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
        if line.uuid == self.first_own or time_ms is None:
            return "own"
        early = self.opened_ms is not None and time_ms < self.opened_ms
        at_once = before is not None and time_ms - before <= 1 and self._stamped_anew(line, time_ms)
        if self.found:
            return "copied" if early or at_once else "own"
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
        elif kind == "file-history-snapshot":
            snapshot = decode_snapshot(record.data)
            self.first_own = snapshot.messageId
            self.opened_ms = parse_iso(snapshot.snapshot.timestamp)

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


def _synthetic(line: SessionLine) -> bool:
    return bool(line.isApiErrorMessage) or line.message is None or line.message.model == SYNTHETIC_MODEL

"""Notices that a second thread writes into the same rollout.

In: the records that follow the header of another thread. Out: the fault `interleaved`, once, for a record of a thread
that is not the current one. It shows by its thread id, by a turn that is not the last one, or by a cumulative total
that continues from another total than the last one. Records of threads that were written one after the other, and of a
parent's history that was copied, show none of this, and neither does a word in the place of all ids.
Source: rollouts of Codex 0.46 to 0.171, put together by hand.
"""

import re

from msgspec import Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.providers.codex.wire import TOTAL, Payload, counters, token_info

_MOST = 64
_ID = re.compile(r"(?=.*\d)[\w-]{8,}")
_ENDS = frozenset(("turn_aborted", "thread_rolled_back"))  # an interrupted turn may end after the next one began


class Others(Struct):
    """The threads and turns before the current ones, the total at the header, and the first total after it."""

    threads: list[str] = []
    turns: list[str] = []
    turn: str | None = None
    total: list[int] | None = None
    first: list[int] | None = None

    def begins(self, thread: str | None, turn: str | None, total: list[int] | None) -> None:
        """The header of another thread: the `thread` before it, with its last turn and total."""
        if thread is not None:
            self.threads = [*self.threads, thread][-_MOST:]
        if turn is not None:
            self.turns = [*self.turns, turn][-_MOST:]
        self.turn, self.total, self.first = None, total, None


def look(others: Others, current: str | None, p: Payload, record: Record, batch: Batch, replay: bool) -> bool:
    """Whether a record belongs to a thread before the `current` one; what is copied (`replay`) belongs to none."""
    turn = p.turn_id if p.turn_id and _ID.fullmatch(p.turn_id) else None
    sign = None
    if p.thread_id != current and p.thread_id in others.threads and _ID.fullmatch(p.thread_id or ""):
        sign = f"thread {p.thread_id}"
    elif turn is not None and turn != others.turn and p.type not in _ENDS:
        if turn in others.turns:
            sign = f"turn {turn}"
        elif others.turn is not None:
            others.turns = [*others.turns, others.turn][-_MOST:]
        others.turn = turn
    elif p.type == "token_count" and _continues(others, p):
        sign = "the total of an earlier thread"
    if sign is None or replay:
        return False
    batch.fault("interleaved", record, f"{sign} continues after another thread began: no total is known")
    return True


def _continues(others: Others, p: Payload) -> bool:
    info = token_info(p.info)
    if info is None or info.total_token_usage is None or info.last_token_usage is None:
        return False
    total, last = counters(info.total_token_usage), counters(info.last_token_usage)
    before = [n - used for n, used in zip(total, last, strict=True)]
    if not any(last[:TOTAL]):
        return False
    if others.total is not None:
        return before == others.total
    if any(before):
        return False
    if others.first is None:
        others.first = total
    return total != others.first  # two totals that began at 0, of which the header can explain one

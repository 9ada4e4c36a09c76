"""Histories that a fork or a spawned thread copies from its parent, written with any delays."""

import fnmatch
import json
from collections.abc import Callable
from functools import partial

from hypothesis import given as generated
from hypothesis import strategies as st

from agentv_stages.model.batch import Record
from agentv_stages.model.event import UserText
from agentv_stages.model.provider import DecodeContext, Kept
from agentv_stages.model.times import iso_bytes
from agentv_stages.providers.codex import PROVIDER
from agentv_stages.providers.codex.copied_history import history_of
from support.codex_threads import BEGUN, FORK, PARENT, Row, forked, history, timed
from support.decoding import calls, decoded, dialect, lines, texts, usages

ROLLOUT = dialect(PROVIDER, "codex-rollout")
DAY = "/h/.codex/sessions/2026/03"


class Memory:
    """A folder in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def glob(self, pattern: str) -> list[str]:
        return sorted(path for path in self.files if fnmatch.fnmatchcase(path, pattern))

    def read(self, path: str, limit: int) -> bytes:
        return self.files.get(path, b"")[:limit]

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        return make()


def check_own(given: list[Record], context: DecodeContext) -> None:
    """Only the fork's own turn counts."""
    events = decoded(ROLLOUT, given, context).events
    assert [e.text for e in events if isinstance(e, UserText)] == ["do new"]
    assert texts(events) == ["did new"]
    assert [c.call_id for c in calls(events)] == ["c-new"]
    assert [u.input for u in usages(events)] == [100, 100]


def beside(parent: list[Row]) -> DecodeContext:
    """The context of a fork whose parent is in another day's folder."""
    data = b"".join(json.dumps(one).encode() + b"\n" for one in parent)
    folder = Memory({f"{DAY}/01/rollout-2026-03-01T10-00-00-{PARENT}.jsonl": data})
    path = f"{DAY}/02/rollout-2026-03-02T10-00-00-{FORK}.jsonl"
    return DecodeContext(path, history=partial(history_of, path, folder))


DELAYS = st.lists(st.integers(min_value=0, max_value=90_000), min_size=1, max_size=7)


@generated(DELAYS, st.integers(min_value=1, max_value=6), st.booleans())
def test_ids_mark_the_end_of_a_copy_however_long_it_took_to_write(delays: list[int], turns: int, spawned: bool) -> None:
    given = forked(history(turns, ids=True), delays, ids=True, spawned=spawned)
    check_own(lines(*given), DecodeContext("log"))


@generated(DELAYS, st.integers(min_value=1, max_value=6), st.booleans(), st.integers(min_value=0, max_value=2))
def test_the_parents_file_marks_it_where_there_are_no_ids(
    delays: list[int], turns: int, spawned: bool, later: int
) -> None:
    """Also if the parent went on after the copy."""
    parent = history(turns + later, ids=False)
    given = forked(history(turns, ids=False), delays, ids=False, spawned=spawned)
    check_own(lines(*given), beside(timed(parent, [1234])))


def test_a_part_of_the_history_is_known_as_a_copy() -> None:
    """Spawned threads may get their parent's texts only."""
    parent = history(4, ids=False)
    part = [one for one in parent if one["payload"].get("role") or one["type"] == "session_meta"]
    check_own(lines(*forked(part, [5000], ids=False, spawned=True)), beside(parent))


def test_without_ids_and_without_the_parent_a_copy_ends_after_a_second() -> None:
    copied = history(2, ids=False)
    given = forked(copied, [0], ids=False, spawned=False)
    own = len(copied) + 1
    late = [{**one, "timestamp": iso_bytes(BEGUN + 5000).decode()} for one in given[own:]]
    check_own(lines(*given[:own], *late), beside([]))


def test_a_spawned_thread_without_a_copy_begins_at_once() -> None:
    given = forked([], [0], ids=False, spawned=True)
    check_own(lines(*given), DecodeContext("log"))
    check_own(lines(*given), beside(history(2, ids=False)))

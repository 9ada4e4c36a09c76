"""Forks of Kimi Code, whose logs begin with a copy of their parent's: that counts in the parent alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream import summarize, summarize_groups
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.following.companions import add_companions
from agentv_stream.sources.folder import LocalFolder
from agentv_stream.sources.source import FileSource
from support import kimi_forks as kimi
from support.consumed_and_followed import both, consume_into, difference, session_of, transcripts
from support.consuming import rows_of
from support.following import Desk, catch_up
from support.kimi_forks import BEGUN, MINUTE

THIRD, FOURTH, FIFTH, SIXTH = (BEGUN + n * MINUTE for n in range(3, 7))
OWN = {"session_p": ["One", "Two", "Look", "Six"], "session_f": ["Four"]}
"""The prompts of each session; of `Look` its sub-agent's."""


def _store(root: Path) -> Path:
    """A session, a fork of it, a fork of the fork; then both older ones go on. The youngest is never used."""
    log = kimi.begin(root)
    child = kimi.fork(root, "session_p", "session_f", THIRD)
    kimi.append(child, kimi.turn("Four", FOURTH))
    kimi.fork(root, "session_f", "session_g", FIFTH)
    kimi.append(log, kimi.turn("Six", SIXTH))
    return child


def test_a_folder_counts_each_turn_once(tmp_path: Path) -> None:
    _store(tmp_path)
    group = summarize_groups([tmp_path], engine="serial").summary.groups["all"]
    assert (group.sessions, group.turns, group.tool_calls, group.tokens.sums["input"]) == (2, 4, 5, 50)


def test_a_fork_begins_when_it_was_made_and_names_its_parent(tmp_path: Path) -> None:
    result = summarize(_store(tmp_path))
    session = result.session
    assert (session.id, session.parent, session.model) == ("session_f", "session_p", "bead-2")
    assert (session.cwd, session.started_at) == ("/home/ada/slug", "2026-03-02T09:33:00.045Z")
    assert (result.status, result.tool_use_summary["turns"]) == ("complete", 1)
    assert result.tool_use_summary["by_stream"].keys() == {"main"}


def test_whatever_the_clock_does_the_mark_ends_the_copy(tmp_path: Path) -> None:
    kimi.begin(tmp_path)
    child = kimi.fork(tmp_path, "session_p", "session_f", THIRD)
    kimi.append(child, kimi.turn("Back", THIRD - MINUTE))
    assert summarize(child).tool_use_summary["turns"] == 1
    state = child.parents[2] / "state.json"
    state.unlink()
    assert summarize(child).tool_use_summary["turns"] == 3  # nothing tells it then
    state.write_text('{"forkedFrom": 7, "createdAt": "x"}')
    assert summarize(child).tool_use_summary["turns"] == 3


def test_a_list_of_sessions_names_the_parent(tmp_path: Path) -> None:
    _store(tmp_path)
    found = {one.id: one.header for one in find_sessions(find_roots([f"kimi={tmp_path}"]))}
    assert {name: (one.parent, one.prompt) for name, one in found.items()} == {
        "session_p": (None, "One?"),
        "session_f": ("session_p", "Four?"),
    }


def test_a_fork_is_followed_as_it_is_consumed(tmp_path: Path) -> None:
    told = both(str(_store(tmp_path / "logs")), tmp_path)
    assert [difference(told.consumed[name], told.followed[name]) for name in told.consumed] == [""]
    assert list(told.consumed) == list(told.followed)


@pytest.mark.parametrize("restarts", ["never", "often"])
def test_live_each_step_of_a_fork_may_be_seen_alone(restarts: str, tmp_path: Path) -> None:
    """A follower may look when the copy stands there, and neither the mark nor `state.json` yet."""
    desk = Desk(tmp_path)
    root = desk.logs
    log = kimi.begin(root)
    child = kimi.wire(root, "session_f")
    steps: list[Callable[[], object]] = [
        lambda: kimi.copy(root, "session_p", "session_f"),
        lambda: kimi.mark(root, "session_f", THIRD),
        lambda: kimi.put_state(root, "session_f", THIRD + 45, "session_p"),
        lambda: kimi.append(child, kimi.turn("Four", FOURTH)),
        lambda: kimi.append(log, kimi.turn("Six", SIXTH)),
    ]
    follower = desk.follower()
    catch_up(follower)
    for step in steps:
        step()
        if restarts == "often":
            follower.settle_all()
            follower.close()
            follower = desk.follower()
        for _ in range(3):
            follower.round()
    follower.settle_all()
    follower.close()
    desk.close()
    told = {
        name: [row["content"][0]["text"] for row in rows if row["role"] == "user"]
        for name, rows in desk.transcripts().items()
    }
    assert told == {name: [f"{one}?" for one in prompts] for name, prompts in OWN.items()}
    for path in (log, child):
        assert consume_into(FileSource(path), tmp_path / "consumed") == "kimi-session"
    consumed = {session_of(path): len(rows_of(path)) for path in transcripts(tmp_path / "consumed").values()}
    assert {name: len(rows) for name, rows in desk.transcripts().items()} == consumed


class Reads(LocalFolder):
    """Notes what is read."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def read(self, path: str, limit: int) -> bytes:
        self.names.append(Path(path).name)
        return super().read(path, limit)


def test_who_began_a_sub_agent_is_found_out_once(tmp_path: Path) -> None:
    """What `companions` reads of the logs (8 MiB of each) is read when a sub-agent's log is new, not at each look."""
    desk = Desk(tmp_path)
    log = kimi.begin(desk.logs)
    follower = desk.follower()
    follower.round()
    [session] = [one for one in follower.hot.values() if one.main == str(log)]
    assert [one.context.parent_call for one in session.files.inputs] == [None, f"call-One-{BEGUN + MINUTE}"]
    folder = Reads()
    assert add_companions(session, folder) == []
    assert folder.names == []
    kimi.append(log.parents[1] / "agent-1" / "wire.jsonl", kimi.opening(THIRD))
    assert [one.context.stream for one in add_companions(session, folder)] == ["subagent:agent-1"]
    assert folder.names.count("wire.jsonl") == 3
    follower.close()
    desk.close()

"""A Codex thread that was rewound: each time it goes on in a further file, and is one session all the same."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from agentv_stream import import_sessions, summarize, summarize_groups
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.sources.source import FileSource
from support.consumed_and_followed import both, consume_into, difference, transcripts
from support.consuming import rows_of
from support.following import Desk
from support.rewound_threads import CHILD, FORK, SECOND, THIRD, THREAD, child, first, fork, put_all, second, third

TURNS = 14  # two answers for each of six prompts of the thread, and of one of its fork


@pytest.mark.parametrize("subagents", [True, False])
def test_a_folder_counts_one_session_and_all_work_once(subagents: bool, tmp_path: Path) -> None:
    put_all(tmp_path)
    outcome = summarize_groups([tmp_path], engine="serial", subagents=subagents)
    group = outcome.summary.groups["all"]
    assert (group.sessions, group.tool_calls) == (2, 8 if subagents else 7)  # one call is the sub-agent's
    assert (group.turns, group.tokens.sums["input"]) == (TURNS, 160 if subagents else 140)


def test_the_first_file_takes_the_others_along(tmp_path: Path) -> None:
    files = put_all(tmp_path)
    whole = summarize(files[0])
    assert (whole.session.id, whole.tool_use_summary["turns"], whole.tokens["input"]) == (THREAD, 12, 140)
    assert whole.tool_use_summary["by_stream"]["subagent:Kepler"]["turns"] == 2
    later = summarize(files[2])
    assert (later.session.id, later.tool_use_summary["turns"]) == (THREAD, 2)
    forked = summarize(files[4])
    assert (forked.session.id, forked.session.parent, forked.tool_use_summary["turns"]) == (FORK, THREAD, 2)


def test_where_the_first_file_has_gone_the_next_one_takes_the_rest_along(tmp_path: Path) -> None:
    files = put_all(tmp_path)
    files[0].unlink()
    group = summarize_groups([tmp_path], engine="serial").summary.groups["all"]
    assert (group.sessions, group.turns, group.tool_calls) == (2, TURNS - 6, 5)


def test_an_import_has_one_row_and_one_transcript(tmp_path: Path) -> None:
    files = put_all(tmp_path / "logs")
    out = tmp_path / "out"
    outcome = import_sessions([tmp_path / "logs"], transcripts=out, jsonl=tmp_path / "all.jsonl", engine="serial")
    assert outcome.parts == sorted(map(str, files[1:4]))
    assert outcome.done == 2
    results = [msgspec.json.decode(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    assert {one["session"]["id"]: one["tool_use_summary"]["turns"] for one in results} == {THREAD: 12, FORK: 2}
    assert len(transcripts(out)) == 2


def test_a_list_of_sessions_has_the_thread_once(tmp_path: Path) -> None:
    files = [str(path) for path in put_all(tmp_path)]
    found = {session.id: session for session in find_sessions(find_roots([f"codex={tmp_path}"]))}
    assert sorted(found) == [THREAD, FORK]
    assert (found[THREAD].path, found[THREAD].further, found[THREAD].subagents) == (files[0], files[1:3], files[3:4])


def test_followed_as_consumed(tmp_path: Path) -> None:
    log = put_all(tmp_path / "logs")[0]
    told = both(str(log), tmp_path)
    assert list(told.consumed) == list(told.followed)
    assert [difference(told.consumed[name], told.followed[name]) for name in told.consumed] == [""]


@pytest.mark.parametrize("restarts", [True, False])
def test_live_it_comes_to_the_same(restarts: bool, tmp_path: Path) -> None:
    """One file after the other, on another day too, with and without a restart between them."""
    desk = Desk(tmp_path)
    put: list[Callable[[], Path]] = [
        lambda: first().put(desk.logs),
        lambda: second().put(desk.logs, own=SECOND),
        lambda: child().put(desk.logs, thread=CHILD),
        lambda: third().put(desk.logs, "2026/03/02", THIRD),
        lambda: fork().put(desk.logs, "2026/03/02", thread=FORK),
    ]
    paths: list[Path] = []
    follower = desk.follower()
    for write in put:
        paths.append(write())
        if restarts:
            desk.catch_up()
        else:
            follower.round()
    if not restarts:
        follower.settle_all()
        follower.close()
    told = desk.transcripts()
    assert sorted(told) == sorted((THREAD, FORK))
    assert consume_into(FileSource(paths[0]), tmp_path / "consumed") == "codex-rollout"
    [consumed] = transcripts(tmp_path / "consumed").values()
    texts = [sorted(repr(row["content"]) for row in rows) for rows in (told[THREAD], rows_of(consumed))]
    assert texts[0] == texts[1]

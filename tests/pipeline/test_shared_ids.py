"""Answers that share an id, and history that is appended again: every driver counts each model call once."""

import json
import multiprocessing
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agentv_stages.model.times import iso
from agentv_stream import summarize, summarize_groups
from agentv_stream.bulk.relay import relay
from agentv_stream.bulk.unit import Task, Unit, Work
from agentv_stream.following.follow_plan import Plan
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from support.claude_sessions import ClaudeSession, Lines, encoded
from support.consumed_and_followed import consume_into, follow_into, transcripts
from support.redacted_ids import ANSWERS, SESSIONS

Figures = tuple[int, int, int | None, int | None, int]


def figures(data: bytes | Path, provider: str | None = None) -> Figures:
    """Turns, model calls, input, output, calls."""
    result = summarize(data, provider=provider)
    tokens, summary = result.tokens, result.tool_use_summary
    return summary["turns"], result.model_calls, tokens["input"], tokens["output"], summary["total_tool_calls"]


def relayed() -> Lines:
    """Four answers under one id, with different usage."""
    session = ClaudeSession()
    session.prompt()
    for n in range(3):
        session.call("msg_local", f"t{n}", (10 + n, 20 + n))
        session.result(f"t{n}")
    session.text("msg_local", "Done.", (50, 30))
    return session.lines


def rows(path: Path) -> Counter[str]:
    """The rows of a transcript, by role."""
    return Counter(json.loads(line)["role"] for line in path.read_text().splitlines())


def test_a_relay_that_gives_every_answer_one_id_merges_none() -> None:
    assert figures(encoded(relayed())) == (4, 4, 83, 93, 3)


@pytest.mark.parametrize("request_id", ["req", "number"])
def test_request_ids_change_nothing(request_id: str) -> None:
    lines = [{**line, "requestId": f"req_{n if request_id == 'number' else ''}"} for n, line in enumerate(relayed())]
    assert figures(encoded(lines)) == (4, 4, 83, 93, 3)


@pytest.mark.parametrize("usage", [None, {"input_tokens": 0, "output_tokens": 0}])
def test_a_relay_that_says_no_tokens_merges_no_turns(usage: Any) -> None:
    lines = relayed()
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["usage"] = usage
    assert figures(encoded(lines))[0] == 4


def test_an_answer_that_goes_on_after_one_of_its_results_is_one() -> None:
    session = ClaudeSession()
    session.prompt()
    session.text("m1", "I look.", (10, 1))
    session.call("m1", "a", (10, 1))
    session.result("a")
    session.call("m1", "b", (10, 25))
    session.result("b")
    session.text("m2", "Done.", (60, 5))
    assert figures(encoded(session.lines)) == (2, 2, 70, 30, 2)


def test_an_answer_that_goes_on_after_a_copy_of_its_record_is_one() -> None:
    """The decoder says the tokens of an answer once, here with the copy."""
    session = ClaudeSession()
    session.prompt()
    session.call("m1", "a", (10, 25))
    copy = session.lines[-1]
    session.result("a")
    session.lines.append(copy)
    session.call("m1", "b", (10, 25))
    session.result("b")
    session.text("m2", "Done.", (60, 5))
    assert figures(encoded(session.lines)) == (2, 2, 70, 30, 2)


def test_a_stream_without_an_end_merges_none() -> None:
    def message(line: dict[str, Any]) -> dict[str, Any]:
        return {"type": line["type"], "message": line["message"], "session_id": "s", "uuid": line["uuid"]}

    first: dict[str, Any] = {
        "type": "system",
        "subtype": "init",
        "session_id": "s",
        "model": "m",
        "tools": [],
        "cwd": "/w",
    }
    assert figures(encoded([first, *map(message, relayed())])) == (4, 4, 83, 93, 3)


@pytest.mark.parametrize("name", SESSIONS)
def test_one_word_in_the_place_of_all_message_ids_merges_none(name: str, tmp_path: Path) -> None:
    """Their prompts have equal usage; what tells them apart is that each is a whole answer."""
    make, provider, prompts = SESSIONS[name]
    assert figures(encoded(make()), provider) == (ANSWERS, ANSWERS, prompts, 80, ANSWERS)
    log = tmp_path / "log.jsonl"
    log.write_bytes(encoded(make()))
    consume_into(FileSource(log), tmp_path / "out", provider=provider)
    (transcript,) = transcripts(tmp_path / "out").values()
    assert rows(transcript)["assistant"] == ANSWERS


def appended(times: int = 3, rounds: int = 30) -> Lines:
    """A session whose whole history is written again and again, each time with other ambient facts, and a new answer
    after each copy."""
    session = ClaudeSession()
    for n in range(rounds):
        session.round(n)
    lines = list(session.lines)
    for n in range(times):
        copy = [{**line, "version": f"2.1.{201 + n}", "gitBranch": f"b{n}", "slug": "s" * n} for line in lines]
        before = len(session.lines)
        session.round(rounds + n)
        lines += copy + session.lines[before:]
    return lines


def test_history_that_is_appended_again_counts_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rounds = 700  # beyond every window
    log = tmp_path / "log.jsonl"
    log.write_bytes(encoded(appended(3, rounds)))
    answers = 2 * (rounds + 3)
    assert figures(log) == (answers, answers, 10 * answers, 25 * answers, rounds + 3)
    consume_into(FileSource(log), tmp_path / "out")
    (transcript,) = transcripts(tmp_path / "out").values()
    assert rows(transcript) == {"user": rounds + 3, "assistant": answers}


def test_any_stretch_appended_anywhere_counts_once() -> None:
    chance = Random(11)
    session = ClaudeSession()
    for n in range(25):
        session.round(n)
    once = figures(encoded(session.lines))
    for _ in range(30):
        lines = list(session.lines)
        for _ in range(chance.randint(1, 4)):
            begin = chance.randrange(len(session.lines))
            stretch = session.lines[begin : begin + chance.randint(1, len(session.lines))]
            last = session.lines[max(session.lines.index(line) for line in stretch)]
            at = chance.randint(lines.index(last) + 1, len(lines))
            lines[at:at] = stretch
        assert figures(encoded(lines)) == once


@pytest.mark.parametrize("make", [relayed, appended])
def test_following_counts_as_reading_the_whole(make: Callable[[], Lines], tmp_path: Path) -> None:
    """The log grows by a few records between one run of the follower and the next."""
    lines = make()
    log, out = tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl", tmp_path / "out"
    step = max(1, len(lines) // 7)
    for at in range(0, len(lines), step):
        with log.open("ab") as file:
            file.write(encoded(lines[at : at + step]))
        follow_into(Plan([], Settings(out=out), paths=[str(log)]), tmp_path / "state")
    consume_into(FileSource(log), tmp_path / "whole")
    (followed,), (whole,) = transcripts(out).values(), transcripts(tmp_path / "whole").values()
    assert rows(followed) == rows(whole)
    assert rows(whole)["assistant"] == figures(log)[0]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.parametrize("step", [900, 7_000])
@pytest.mark.parametrize("make", [relayed, appended])
def test_ranges_of_one_log_count_as_the_whole(make: Callable[[], Lines], step: int, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(encoded(make()))
    work, task = Work(by="all", sequences=True), Task(0, (Unit(str(log), 0, log.stat().st_size, 7),))
    report = relay(work, task, multiprocessing.get_context("fork"), 3, step)
    assert report is not None
    assert report.summary is not None
    total = report.summary.total()
    turns, _, tokens_in, tokens_out, calls = figures(log)
    assert (total.turns, total.tokens.sums["input"], total.tokens.sums["output"], total.tool_calls) == (
        turns,
        tokens_in,
        tokens_out,
        calls,
    )


def test_two_sessions_behind_one_relay_do_not_merge(tmp_path: Path) -> None:
    for n in range(2):
        lines = [{**line, "sessionId": f"5e550000-0000-4000-8000-00000000000{n}"} for line in relayed()]
        (tmp_path / f"5e550000-0000-4000-8000-00000000000{n}.jsonl").write_bytes(encoded(lines))
    total = summarize_groups([tmp_path]).summary.total()
    assert (total.sessions, total.turns, total.tokens.sums["input"], total.tokens.sums["output"]) == (2, 8, 166, 186)


def test_a_sub_agent_behind_the_same_relay_counts_for_itself(tmp_path: Path) -> None:
    log = tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl"
    log.write_bytes(encoded(relayed()))
    agent = ClaudeSession(first=900, isSidechain=True, agentId="a1")
    agent.prompt()
    agent.call("msg_local", "s0", (10, 20))  # as much as an answer of the main thread
    agent.result("s0")
    agent.text("msg_local", "Found.", (15, 7))
    folder = log.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(encoded(agent.lines))
    assert figures(log) == (4, 6, 108, 120, 4)


def background_fork(parent: ClaudeSession, session: str, first: int, *, marked: bool = True) -> Lines:
    """A fork in the background, with an answer of its own."""
    kind = {"sessionKind": "bg"} if marked else {}
    fork = ClaudeSession(session, first=first, **kind)
    fork.round(first)
    copies = [{**line, "sessionId": session, **kind} for line in parent.lines]
    return [{"type": "mode", "mode": "normal", "sessionId": session}, *copies, *fork.lines]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("name", ["0", "f"])
def test_a_background_fork_does_not_count_its_copy(name: str, marked: bool, tmp_path: Path) -> None:
    """Whichever of the files has the smaller name, and whether or not the parent goes on."""
    parent = ClaudeSession()
    for n in range(3):
        parent.round(n)
    fork = background_fork(parent, f"{name}e550000-0000-4000-8000-00000000000b", 500, marked=marked)
    own = f"{name}e550000-0000-4000-8000-00000000000b"
    (tmp_path / f"{own}.jsonl").write_bytes(encoded(fork))
    opened = [{"type": "queue-operation", "operation": "enqueue", "timestamp": iso(0), "sessionId": "x"}]
    parent.round(3)
    (tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl").write_bytes(encoded([*opened, *parent.lines]))
    total = summarize_groups([tmp_path]).summary.total()
    assert (total.turns, total.tokens.sums["input"], total.tokens.sums["output"]) == (10, 100, 250)
    assert summarize(tmp_path / f"{own}.jsonl").tool_use_summary["turns"] == 2


def test_a_fork_of_a_fork_counts_only_its_own(tmp_path: Path) -> None:
    parent = ClaudeSession()
    parent.round(0)
    (tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl").write_bytes(encoded(parent.lines))
    first = background_fork(parent, "ae550000-0000-4000-8000-00000000000a", 500)
    (tmp_path / "ae550000-0000-4000-8000-00000000000a.jsonl").write_bytes(encoded(first))
    middle = ClaudeSession()
    middle.lines = [line for line in first if "uuid" in line]
    second = background_fork(middle, "be550000-0000-4000-8000-00000000000b", 700)
    (tmp_path / "be550000-0000-4000-8000-00000000000b.jsonl").write_bytes(encoded(second))
    assert summarize_groups([tmp_path]).summary.total().turns == 6


def test_a_fork_without_its_parent_counts_what_it_has(tmp_path: Path) -> None:
    parent = ClaudeSession()
    parent.round(0)
    log = tmp_path / "ae550000-0000-4000-8000-00000000000a.jsonl"
    log.write_bytes(encoded(background_fork(parent, "ae550000-0000-4000-8000-00000000000a", 500)))
    assert summarize(log).tool_use_summary["turns"] == 4

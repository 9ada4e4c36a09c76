"""`tool_use_summary`: every number as docs/metrics.md defines it, exact totals under capped lists."""

from typing import Any

import msgspec
import pytest

from agentv_stages.chain.pair import Pair
from agentv_stages.figures import stats as module
from agentv_stages.figures.counters import Statistics
from agentv_stages.figures.stats import Stats
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, Outcome
from support.events import batch, call, result, text, user


def summary(*events: AnyEvent, watch: tuple[str, ...] = (), lines: bool = False) -> dict[str, Any]:
    stats, pairs = Stats(watch, lines), Pair()
    whole = batch(*events)
    pairs.push(whole)
    stats.observe(whole)
    for last in pairs.flush():
        stats.observe(last)
    return stats.summary()


def test_an_empty_session_has_zeros_where_it_counts_and_nulls_where_it_does_not_say() -> None:
    seen = summary()
    assert (seen["total_tool_calls"], seen["turns"], seen["by_tool"], seen["tools"]) == (0, 0, {}, {})
    for key in ("first_edit_turn", "first_successful_edit_turn", "first_edit_tool_index", "first_edit_seconds"):
        assert seen[key] is None
    assert seen["by_outcome"] == {"ok": 0, "error": 0, "denied": 0, "cancelled": 0, "unpaired": 0}


def test_a_call_counts_when_it_is_requested() -> None:
    stats = Stats()
    stats.observe(batch(call(0, "t", kind="read")))
    seen = stats.summary()
    assert (seen["total_tool_calls"], seen["by_outcome"]["unpaired"], seen["by_kind"]["read"]) == (1, 1, 1)


def test_outcomes_sum_to_the_calls() -> None:
    outcomes: tuple[Outcome, ...] = ("ok", "error", "denied", "cancelled")
    calls = [call(n, f"t{n}") for n in range(5)]
    seen = summary(*calls, *(result(10 + n, f"t{n}", o) for n, o in enumerate(outcomes)))
    assert seen["by_outcome"] == {"ok": 1, "error": 1, "denied": 1, "cancelled": 1, "unpaired": 1}
    assert seen["tools"]["Read"]["errors"] == 3


def test_edits_are_told_by_turn_index_and_success() -> None:
    seen = summary(
        text(0, "a", "m1", time_ms=1_000),
        call(1, "r", "Read", "m1", time_ms=1_500),
        call(2, "e1", "Edit", "m2", time_ms=3_000, edit=True, kind="write"),
        result(3, "e1", "error"),
        call(4, "e2", "Edit", "m3", time_ms=4_000, edit=True, kind="write"),
        result(5, "e2", "ok"),
    )
    assert (seen["first_edit_turn"], seen["first_successful_edit_turn"]) == (2, 3)
    assert (seen["first_edit_tool_index"], seen["first_edit_seconds"]) == (1, 2.0)
    assert seen["by_stream"]["main"] == {"turns": 3, "tool_calls": 3, "edits": 2}


def test_edits_of_sub_agents_are_not_the_first_edit() -> None:
    seen = summary(call(0, "e", "Edit", "s1", stream="sidechain:a", edit=True), call(1, "f", "Read", "m1"))
    assert seen["first_edit_turn"] is None
    assert seen["tool_sequence"] == ["Read"]
    assert seen["by_tool"] == {"Edit": 1, "Read": 1}
    assert seen["by_stream"]["sidechain:a"] == {"turns": 1, "tool_calls": 1, "edits": 1}


def test_turns_of_a_sub_agent_are_answers_of_the_model() -> None:
    several = "subagent:(several)"  # at work at once on one stream
    seen = summary(
        text(0, "a", "s1", stream="sidechain:a"),
        text(1, "API Error: 529", "s2", stream="sidechain:a", synthetic=True),
        text(2, "API Error: 529", "s1", stream="sidechain:b", synthetic=True),
        text(3, "a", "s1", stream=several),
        text(4, "b", "s2", stream=several),
        call(5, "r", "Read", "s1", stream=several),
    )
    turns = {stream: sums["turns"] for stream, sums in seen["by_stream"].items()}
    assert turns == {"main": 0, "sidechain:a": 1, several: 2}


def test_an_edit_of_a_sub_agent_does_not_hide_the_first_successful_one() -> None:
    seen = summary(
        call(0, "e", "Edit", "m1", edit=True),
        call(1, "t", "Task", "m1"),
        call(2, "inner", "Edit", "s1", stream="sidechain:t", edit=True),
        result(3, "inner", stream="sidechain:t"),
        result(4, "t"),
        result(5, "e"),
    )
    assert (seen["first_edit_turn"], seen["first_successful_edit_turn"]) == (1, 1)


def test_nothing_is_kept_of_edits_that_can_be_the_first_successful_one_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    stats, pairs = Stats(), Pair()

    def observe(*events: AnyEvent) -> None:
        whole = batch(*events)
        pairs.push(whole)
        stats.observe(whole)

    observe(*(call(n, f"e{n}", "Edit", f"m{n}", edit=True) for n in range(5)))
    assert stats.snapshot().edit_turns == {"e0": 1, "e1": 2, "e2": 3}
    observe(result(5, "e1"), call(6, "e6", "Edit", "m6", edit=True))
    assert stats.summary()["first_successful_edit_turn"] == 2
    assert stats.snapshot().edit_turns == {"e0": 1}
    observe(result(7, "e0"))
    assert (stats.summary()["first_successful_edit_turn"], stats.snapshot().edit_turns) == (1, {})


def test_a_restart_changes_nothing() -> None:
    events = [
        text(0, "a", "m1", time_ms=1_000),
        call(1, "r", "Read", "m1", kind="read"),
        text(2, "b", "s1", stream="sidechain:a"),
        call(3, "s", "Bash", "s1", stream="sidechain:a", command="bobbin search x"),
        result(4, "r"),
        call(5, "e", "Edit", "m2", time_ms=2_000, edit=True),
        call(6, "f", "Edit", "s1", stream="sidechain:a", edit=True),
        result(7, "e", "error"),
        text(8, "c", "m2"),
        call(9, "g", "Edit", "m3", edit=True),
        result(10, "g", duration_ms=70),
        text(11, "d", "s2", stream="sidechain:a"),
    ]
    (whole,) = Pair().push(batch(*events))

    def told(cut: int) -> dict[str, Any]:
        stats = Stats(lines=True)
        stats.observe(Batch(events=whole.events[:cut]))
        again = Stats(lines=True)
        again.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(stats.snapshot()), type=Statistics))
        again.observe(Batch(events=whole.events[cut:]))
        return again.summary()

    expected = told(0)
    assert (expected["turns"], expected["by_stream"]["sidechain:a"]["turns"]) == (3, 2)
    for cut in range(1, len(events) + 1):
        assert told(cut) == expected, cut


def test_after_a_restart_other_programs_can_be_watched() -> None:
    stats = Stats("rg")
    stats.observe(batch(call(0, "a", "Bash", command="rg x"), call(1, "b", "Bash", command="pytest -q")))
    again = Stats(("pytest",))
    again.restore(stats.snapshot())
    again.observe(batch(call(2, "c", "Bash", command="pytest -x"), call(3, "d", "Bash", command="rg y")))
    seen = again.summary()
    assert {name: [run["command"] for run in runs] for name, runs in seen["watched_commands"].items()} == {
        "bobbin": [],
        "pytest": ["pytest -x"],
    }
    assert seen["watched_commands_truncated"] is True
    fresh = Stats(("pytest",))
    fresh.restore(Stats().snapshot())
    assert "watched_commands_truncated" not in fresh.summary()


def test_a_shell_edit_is_labelled_and_is_no_edit() -> None:
    seen = summary(call(0, "t", "Bash", kind="write", shell_edit=True, command="sed -i s/a/b/ x"))
    assert (seen["shell_edits"], seen["first_edit_turn"], seen["by_kind"]["write"]) == (1, None, 1)


def test_watched_programs_are_runs_with_turn_and_stream() -> None:
    seen = summary(
        call(0, "a", "Bash", "m1", command="cd x && bobbin search foo | head; cat bobbin.txt"),
        call(1, "b", "Bash", "s1", stream="sidechain:a", command="pytest -q"),
        watch=("pytest",),
    )
    (run,) = seen["bobbin_commands"]
    assert run == {"command": "bobbin search foo", "turn": 1}
    assert seen["watched_commands"]["pytest"] == [{"command": "pytest -q", "turn": None, "stream": "sidechain:a"}]


def test_origins_and_servers_are_counted() -> None:
    seen = summary(call(0, "a"), call(1, "b", "mcp__n__add", origin="mcp", server="n"))
    assert (seen["by_origin"], seen["by_mcp_server"]) == ({"system": 1, "mcp": 1}, {"n": 1})


def test_durations_are_null_without_times_and_within_one_percent_with() -> None:
    assert summary(call(0, "a"), result(1, "a"))["tools"]["Read"]["p50_ms"] is None
    calls = [call(n, f"t{n}", time_ms=0) for n in range(101)]
    answers = [result(200 + n, f"t{n}", time_ms=1000 + 10 * n) for n in range(101)]
    row = summary(*calls, *answers)["tools"]["Read"]
    assert row["p50_ms"] == pytest.approx(1500, rel=0.011)
    assert row["p95_ms"] == pytest.approx(1950, rel=0.011)
    assert row["total_ms"] == sum(1000 + 10 * n for n in range(101))


def test_bytes_are_of_raw_arguments_and_outputs() -> None:
    row = summary(call(0, "a", given={"k": "é"}), result(1, "a", output="ab"))["tools"]["Read"]
    assert (row["bytes_in"], row["bytes_out"]) == (len('{"k":"é"}'.encode()), 4)


def test_lists_are_capped_and_totals_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEQUENCE", 10)
    monkeypatch.setattr(module, "MOST_ENTRIES", 5)
    stats = Stats()
    read = [call(n, f"t{n}", f"Tool{n}", f"m{n}", kind="read") for n in range(25)]
    of_server = [call(n, f"t{n}", f"mcp__s__{n}", f"m{n}", origin="mcp", server="s") for n in range(25, 50)]
    stats.observe(Batch(events=[*read, *of_server]))
    seen = stats.summary()
    assert (seen["by_kind"]["read"], seen["by_kind"]["other"]) == (25, 25)
    assert seen["by_origin"] == {"system": 25, "mcp": 25}
    assert len(seen["tool_sequence"]) == 10
    assert len(seen["by_tool"]) <= 6
    assert seen["total_tool_calls"] == sum(seen["by_tool"].values()) == 50
    assert seen["tool_sequence_truncated"]
    assert seen["by_tool_truncated"]
    assert "by_stream_truncated" not in seen


def test_streams_over_the_cap_are_left_out_and_their_calls_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    seen = summary(*(call(n, f"t{n}", message=f"m{n // 2}", stream=f"sidechain:{n // 2}") for n in range(10)))
    assert list(seen["by_stream"]) == ["main", "sidechain:0", "sidechain:1"]
    assert seen["by_stream"]["sidechain:1"] == {"turns": 1, "tool_calls": 2, "edits": 0}
    assert (seen["total_tool_calls"], seen["by_stream_truncated"]) == (10, True)


def test_the_historical_count_of_lines_is_kept_for_comparison() -> None:
    events = [text(0, "a", "m1"), call(1, "r", "Read", "m1"), user(2, "u"), call(3, "e", "Edit", "m2", edit=True)]
    assert summary(*events, lines=True)["first_edit_turn_lines"] == 2
    assert summary(*events)["first_edit_turn_lines"] is None


def test_what_the_model_says_behind_a_text_of_the_program_is_a_turn() -> None:
    """In one message; and a restart between them changes nothing."""
    events = [text(0, "Error: 400", "m", synthetic=True), call(1, "t", message="m"), text(2, "b", "m")]
    whole = Stats()
    whole.observe(batch(*events))
    parts = Stats()
    for event in events:
        after = Stats()
        after.restore(msgspec.json.decode(msgspec.json.encode(parts.snapshot()), type=Statistics))
        parts = after
        parts.observe(batch(event))
    assert whole.summary() == parts.summary()
    assert (whole.summary()["turns"], whole.summary()["by_stream"]["main"]["turns"]) == (1, 1)

"""Tokens, cost and time: one model call once, totals of the agent before sums, null where the log does not say."""

from itertools import permutations
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentv_stages.figures import call_sums
from agentv_stages.figures.totals import MOST_PROCESSES, Totals, TotalsState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, SessionEnd, SessionInfo, TokenUsage
from agentv_stages.model.tokens import Tokens, TokenTotals, token_totals
from support.events import at, batch, end, text, usage


def told(*events: AnyEvent) -> Totals:
    totals = Totals()
    totals.observe(batch(*events))
    return totals


def tokens(*events: AnyEvent) -> TokenTotals:
    return token_totals(told(*events).tokens())


def test_nothing_known_is_null_and_never_zero() -> None:
    assert set(tokens().values()) == {None}
    totals = told(text(0, "x"))
    assert (totals.cost_usd, totals.duration_ms) == (None, None)


@pytest.mark.parametrize("covers", [False, True])
def test_a_new_session_costs_what_its_own_streams_cost(covers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what those of all sessions before it in the same input do."""
    added: list[int] = []
    add = Tokens.add

    def counted(self: Tokens, other: Any, sign: int = 1) -> None:
        added.append(sign)
        add(self, other, sign)

    monkeypatch.setattr(Tokens, "add", counted)
    totals, costs = Totals(), list[int]()
    for n in range(50):
        run = f"run-{n}"
        added.clear()
        totals.observe(
            batch(
                SessionInfo(at(n), "", f"s{n}", another=n > 0, begins=True),
                *(usage(n, f"{run}-{stream}", stream=stream, input=10) for stream in ("main", f"subagent:{n}")),
                usage(n, run, scope="segment", input=15, covers_streams=covers),
            )
        )
        costs.append(len(added))
    assert max(costs[40:]) == max(costs[4:10])
    assert (token_totals(totals.tokens())["input"], len(totals.by_stream())) == (50 * (15 if covers else 25), 51)


@pytest.mark.parametrize("seed", range(40))
def test_sums_that_are_kept_up_to_date_are_those_that_are_made_anew(seed: int) -> None:
    """A restored one makes them anew."""
    chance, running = Random(seed), Totals()
    streams = ["main", *(f"subagent:{n}" for n in range(chance.choice((1, 4))))]

    def figures() -> dict[str, int | None]:
        return {name: chance.choice((None, 0, chance.randrange(99))) for name in ("input", "cached", "output")}

    def total(row: int) -> TokenUsage:
        stream = chance.choice(streams)
        scope: Any = chance.choice(("segment", "session"))
        covers, cost = stream == "main" and chance.random() < 0.3, (seed % 3 == 0 and chance.random()) or None
        return usage(row, f"t{row}", stream=stream, scope=scope, covers_streams=covers, cost_usd=cost, **figures())

    for row in range(60):
        kind, stream = chance.random(), chance.choice(streams)
        event: AnyEvent = total(row)
        if kind < 0.6:
            cost = (seed % 3 == 0 and chance.random()) or None
            key, model = f"m{chance.randrange(30)}", chance.choice((None, "a", "b"))
            event = usage(row, key, stream=stream, model=model, cost_usd=cost, **figures())
        elif kind < 0.75:
            event = SessionInfo(at(row), "", f"s{row}", another=chance.random() < 0.7, begins=chance.random() < 0.5)
        state = msgspec.json.decode(msgspec.json.encode(running.snapshot()), type=TotalsState)
        running.restore(running.snapshot()) if row == 30 else None
        anew = Totals()
        anew.restore(state)
        for totals in (running, anew):
            totals.observe(batch(event))
        assert running.tokens() == anew.tokens()
        assert (running.by_stream(), running.by_model()) == (anew.by_stream(), anew.by_model())
        assert msgspec.to_builtins(running.snapshot()) == msgspec.to_builtins(anew.snapshot())


def test_figures_below_zero_are_none() -> None:
    told = tokens(usage(0, "a", input=-7, cached=3, output=5, reasoning=-1), usage(1, "b", input=10, output=-2))
    assert (told["input"], told["cached"], told["output"], told["reasoning"]) == (None, 3, None, None)
    assert told["output_at_least"] == 5
    assert tokens(usage(0, "a", scope="session", input=-7, output=5))["input"] is None


def test_one_call_is_counted_once_with_its_largest_output() -> None:
    seen = tokens(*(usage(n, "m", input=100, cached=90, output=o) for n, o in enumerate((8, 436, 12))))
    assert (seen["input"], seen["cached"], seen["output"]) == (100, 90, 436)


def test_of_two_records_with_the_same_output_the_later_one_holds() -> None:
    seen = tokens(usage(0, "m", input=1, output=5), usage(1, "m", input=3, output=5))
    assert (seen["input"], seen["output"]) == (3, 5)


def test_a_record_without_an_output_takes_none_away() -> None:
    for first, second in ((5, None), (None, 5)):
        seen = tokens(usage(0, "m", input=1, output=first), usage(1, "m", cached=1, output=second))
        assert (seen["input"], seen["cached"], seen["output"]) == (1, 1, 5)


def test_a_final_output_wins_over_a_larger_placeholder() -> None:
    seen = tokens(usage(0, "m", input=1, output=9, output_final=False), usage(1, "m", output=5))
    assert (seen["input"], seen["output"], "output_at_least" in seen) == (1, 5, False)


def test_placeholders_alone_are_a_lower_bound() -> None:
    seen = tokens(usage(0, "a", input=1, output=9), usage(1, "b", input=1, output=1, output_final=False))
    assert (seen["output"], seen["output_at_least"]) == (None, 10)


@pytest.mark.parametrize("output", [None, -5])
def test_a_call_that_does_not_say_its_output_makes_the_sum_a_lower_bound(output: int | None) -> None:
    silent = usage(0, "a", input=1, output=output)
    seen = tokens(silent, usage(1, "b", input=1, output=7))
    assert (seen["input"], seen["output"], seen["output_at_least"]) == (2, None, 7)
    assert "output_at_least" not in tokens(silent)
    whole = tokens(silent, usage(1, "b", input=1, output=7), usage(2, "a", input=1, output=3))
    assert (whole["output"], "output_at_least" in whole) == (10, False)


def test_a_total_of_the_agent_covers_the_calls_of_its_streams() -> None:
    calls = [usage(0, "a", input=10, output=1), usage(1, "b", stream="sidechain:x", input=5, output=1)]
    own = usage(2, "t", scope="session", input=100, output=50)
    assert tokens(*calls, own)["input"] == 105
    assert tokens(*calls, usage(2, "t", scope="session", input=100, output=50, covers_streams=True))["input"] == 100


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 0, 1), (2, 0, 3, 1)])
def test_a_stream_that_went_on_after_the_total_of_all_is_added(order: tuple[int, ...]) -> None:
    """Its own total is in a log of its own, which may be read before or after."""
    whole: dict[str, Any] = {"scope": "segment", "covers_streams": True}
    told_of = [
        usage(0, "t0", **whole, input=10, output=2, apart=("subagent:b",)),
        usage(1, "t1", **whole, input=5, output=1, apart=("subagent:b", "subagent:c")),
        usage(2, "t2", stream="subagent:a", scope="segment", input=7, output=1, model="m"),
        usage(3, "t3", stream="subagent:b", scope="segment", input=100, output=20, model="n"),
    ]
    totals = told(*(told_of[n] for n in order))
    assert token_totals(totals.tokens())["input"] == 115
    restored = Totals()
    restored.restore(msgspec.json.decode(msgspec.json.encode(totals.snapshot()), type=TotalsState))
    assert restored.tokens() == totals.tokens()


@pytest.mark.parametrize(("model", "expected"), [("m", {"m": 110}), ("n", {"m": 10, "n": 100}), (None, {})])
def test_what_a_stream_spent_apart_counts_for_its_model(model: str | None, expected: dict[str, int]) -> None:
    totals = told(
        usage(0, "t0", scope="segment", covers_streams=True, input=10, apart=("subagent:b",)),
        usage(0, "m", scope="share", model="m", input=10),
        usage(1, "t1", stream="subagent:b", scope="segment", input=100, model=model),
    )
    assert {name: spent["input"] for name, spent in totals.by_model().items()} == expected


def test_what_was_apart_in_one_session_is_part_of_the_next_ones_beginning() -> None:
    first = [
        usage(0, "t0", scope="segment", covers_streams=True, input=10, apart=("subagent:b",)),
        usage(1, "t1", stream="subagent:b", scope="segment", input=100),
    ]
    second: list[AnyEvent] = [
        SessionInfo(at(2), "", "s2", another=True),
        usage(3, "t3", scope="segment", covers_streams=True, input=1),
    ]
    assert tokens(*first, *second)["input"] == 111


def test_segments_add_up_and_the_last_session_total_holds() -> None:
    parts = [usage(n, f"s{n}", scope="segment", input=10, output=2) for n in range(3)]
    assert tokens(*parts)["input"] == 30
    assert tokens(usage(0, "a", input=10, output=5), parts[1])["output"] == 2  # a call's output may be a placeholder
    both = [usage(n, f"s{n}", scope="segment", input=10, output=2, covers_streams=True) for n in range(3)]
    calls = usage(9, "a", stream="sidechain:x", input=5, output=1)
    assert tokens(*parts, calls)["input"] == 35
    assert tokens(calls, *both)["input"] == 30
    sums = [usage(n, "s", scope="session", input=10 * n, output=n) for n in (1, 2, 3)]
    assert tokens(*sums)["input"] == 30


def test_what_sub_agents_spend_after_a_total_counts_beside_it() -> None:
    calls = [usage(0, "a", input=10, output=1), usage(1, "b", stream="sidechain:x", input=5, output=1)]
    total = usage(2, "t", scope="session", input=15, output=2, covers_streams=True)
    later = [usage(3, "c", input=20, output=1), usage(4, "d", stream="sidechain:x", input=7, output=1)]
    seen = tokens(*calls, total, *later)
    assert (seen["input"], seen["output"]) == (42, 4)
    assert tokens(*calls, total, later[1], usage(5, "t", scope="session", input=22, covers_streams=True))["input"] == 22


def test_sub_agents_logs_that_are_read_behind_a_total_of_before_are_in_it() -> None:
    """Claude Code 2.1.329 on disk: `cost-state` ends the session's file, the sub-agents have files of their own."""

    def call(row: int, key: str, time_ms: int, stream: str = "main", **more: Any) -> AnyEvent:
        return replace(usage(row, key, input=10, **more), source=at(row, time_ms, stream))

    total = usage(2, "t", scope="session", input=30, output=6, covers_streams=True)
    read = [call(0, "a", 1_000, output=2), text(1, "done", time_ms=5_000), total]
    within = [
        call(3, "b", 4_000, "sidechain:x", output=1, output_final=False),
        call(4, "b", 4_100, "sidechain:x", output=2),
    ]
    seen = tokens(*read, *within, call(5, "c", 4_200, "sidechain:x", output=2))
    assert (seen["input"], seen["output"]) == (30, 6)
    after = call(6, "d", 6_000, "sidechain:x", output=1)  # the session went on, and was killed
    assert tokens(*read, *within, after)["input"] == 40
    going_on = call(7, "e", 5_000, output=1)  # of the main thread, what is read behind the total came behind it
    assert tokens(*read, *within, going_on)["input"] == 40


def test_repeated_results_of_a_run_do_not_add_their_cost() -> None:
    totals = told(
        end(0, cost_usd=0.02, duration_ms=10, agent_num_turns=2),
        end(1, cost_usd=0.03, duration_ms=5, agent_num_turns=1),
    )
    assert (totals.cost_usd, totals.duration_ms, totals.state.agent_num_turns) == (0.03, 15, 3)


def test_without_a_word_of_the_agent_the_time_is_last_minus_first_event() -> None:
    assert (
        told(text(0, "a", time_ms=5_000), text(1, "b", time_ms=2_000), text(2, "c", time_ms=9_000)).duration_ms == 7_000
    )


def test_repetitions_are_told_in_a_window_of_bounded_size() -> None:
    totals = Totals(window=64)
    for n in range(10_000):
        totals.observe(Batch(events=[usage(n, f"m{n}", input=1, output=1)] * 2))
    assert totals.tokens().input == 10_000
    assert len(totals.snapshot().calls) <= 64


def test_models_and_streams_are_told_apart() -> None:
    totals = told(
        usage(0, "a", model="big", input=10, output=1),
        usage(1, "b", model="small", input=2, output=1, stream="sidechain:x"),
    )
    assert {name: row["input"] for name, row in totals.by_model().items()} == {"big": 10, "small": 2}
    assert {name: row["input"] for name, row in totals.by_stream().items()} == {"main": 10, "sidechain:x": 2}


def test_streams_over_the_cap_are_summed_up_under_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_sums, "MOST_SUMS", 2)
    calls = [usage(n, f"m{n}", stream=f"sidechain:{n % 4}", input=1, output=1) for n in range(8)]
    found = told(*calls).by_stream()
    assert {name: row["input"] for name, row in found.items()} == {"sidechain:0": 2, "sidechain:1": 2, "(other)": 4}


def test_what_the_last_model_call_of_the_main_stream_was_given_is_known() -> None:
    calls = [usage(0, "a", input=10), usage(1, "b", input=30), usage(2, "b", output=1), usage(3, "c", cost_usd=0.1)]
    state = told(*calls, usage(4, "d", input=5, stream="sidechain:x")).state
    assert (state.last_input, state.model_calls) == (30, 4)


def test_a_restart_changes_nothing() -> None:
    events = [
        text(0, "a", time_ms=9_000),
        usage(1, "m", model="big", input=10, output=1, output_final=False),
        usage(2, "m", model="big", output=7, cost_usd=0.5),
        usage(3, "x", model="big", stream="sidechain:x", input=2, output=2),
        usage(4, "m", output=6),
        usage(5, "s", scope="segment", stream="sidechain:y", input=4, output=4),
        usage(6, "s", scope="session", stream="sidechain:z", input=8, output=8),
        text(7, "b", time_ms=12_000),
        end(8, agent_num_turns=2),
    ]

    def whole(cut: int) -> tuple[object, ...]:
        again = Totals()
        again.restore(msgspec.json.decode(msgspec.json.encode(told(*events[:cut]).snapshot())))
        again.observe(batch(*events[cut:]))
        state = again.state
        turns = (state.model_calls, state.last_input, state.agent_num_turns)
        return (
            token_totals(again.tokens()),
            again.by_stream(),
            again.by_model(),
            again.cost_usd,
            again.duration_ms,
            turns,
        )

    expected = whole(0)
    unsaid = dict.fromkeys(("cached", "cache_write", "cache_write_1h", "reasoning"))
    assert expected[0] == {**unsaid, "input": 24, "output": 21}
    assert expected[3:] == (0.5, 3_000, (2, 10, 2))
    for cut in range(1, len(events) + 1):
        assert whole(cut) == expected, cut


def test_calls_after_the_last_total_count_beside_it() -> None:
    """A run that is cut in its second turn has no later total."""
    first = [usage(0, "a", input=100, output=7), usage(1, "t", scope="session", input=120, output=9)]
    cut = [usage(2, "b", input=130, output=1, output_final=False)]
    for covers in (False, True):
        totals = [first[0], usage(1, "t", scope="session", input=120, output=9, covers_streams=covers)]
        assert tokens(*totals, *cut) == {**tokens(), "input": 250, "output_at_least": 10}
        later = usage(3, "t", scope="session", input=260, output=30, covers_streams=covers)
        assert tokens(*totals, *cut, later) == {**tokens(), "input": 260, "output": 30}
    parts = [usage(n, f"s{n}", scope="segment", input=50, output=5) for n in (4, 5)]
    assert tokens(*parts, *cut)["input"] == 230
    assert tokens(*first[:1], *parts, *cut, parts[0])["input"] == 100 + 50 + 130  # less than its calls: no total


def test_a_runs_total_with_each_prompt_twice_counts_each_once() -> None:
    """Claude Code of mid-2025, whose `result.usage` is exactly twice its answers' prompts; what it wrote is right."""
    calls = [
        usage(0, "a", input=120, cached=90, cache_write=20, output=1, output_final=False),
        usage(1, "b", input=130, cached=110, cache_write=10, output=2, output_final=False),
    ]

    def total(row: int, cached: int = 400) -> AnyEvent:
        return usage(row, f"t{row}", scope="segment", input=500, cached=cached, cache_write=60, output=80)

    once = {**tokens(), "input": 250, "cached": 200, "cache_write": 30, "output": 80}
    assert tokens(*calls, total(2)) == once
    other = total(2, cached=399)
    assert tokens(*calls, other)["input"] == 500  # sub-agents' calls, say
    again = [replace(call, key=f"{call.key}2") for call in calls]
    assert tokens(*calls, total(2), *again, total(5)) == {k: v and 2 * v for k, v in once.items()}


def saved(row: int, spent: int, output: int, time_ms: int = 0) -> AnyEvent:
    total = usage(row, "t", scope="session", input=spent, output=output, covers_streams=True, saved=True)
    return replace(total, source=at(row, time_ms or None))


@pytest.mark.parametrize(
    ("totals", "told_in_all"),
    [
        ({2: (60, 6)}, (60, 6)),
        ({1: (30, 3), 2: (60, 6)}, (60, 6)),
        ({1: (90, 9), 2: (150, 15)}, (150, 15)),  # with a compaction
        ({2: (30, 3)}, (60, 6)),  # the first process was killed
        ({1: (30, 3), 3: (60, 6)}, (90, 9)),  # the second was
        ({3: (30, 3)}, (90, 9)),  # the first two were
        ({1: (30, 3), 2: (20, 2)}, (60, 6)),  # the second went on from nothing, and less was logged than it says
        ({1: (30, 3), 2: (30, 3), 3: (60, 6)}, (90, 9)),
    ],
)
def test_what_a_process_spent_that_was_killed_counts_beside_the_totals_of_the_others(
    totals: dict[int, tuple[int, int]], told_in_all: tuple[int, int]
) -> None:
    """Claude Code 2.1.332 on disk: a process goes on from the last `cost-state`, and leaves one only as it ends."""
    events: list[AnyEvent] = []
    for process in range(1, max(totals) + 1):
        events.append(usage(len(events), f"m{process}", input=30, output=3))
        if process in totals:
            events.append(saved(len(events), *totals[process]))
    seen = tokens(*events)
    assert (seen["input"], seen["output"]) == told_in_all
    again = Totals()
    again.restore(msgspec.json.decode(msgspec.json.encode(told(*events[:2]).snapshot())))
    again.observe(batch(*events[2:]))
    assert token_totals(again.tokens()) == seen


def test_sub_agents_of_a_process_that_was_killed_count_though_their_logs_are_read_behind() -> None:
    def call(row: int, key: str, time_ms: int, stream: str = "main") -> AnyEvent:
        return replace(usage(row, key, input=10, output=1), source=at(row, time_ms, stream))

    main = [call(0, "a", 1_000), call(1, "b", 5_000), saved(2, 60, 6, 6_000)]
    main += [call(3, "c", 8_000), saved(4, 80, 8, 9_000)]
    within = [call(5 + n, f"x{n}", 5_500, "sidechain:x") for n in range(3)]
    assert tokens(*main, *within)["input"] == 80  # the first total knows of a call that stands in no log
    killed = [call(9 + n, f"y{n}", 1_500, "sidechain:y") for n in range(2)]
    assert tokens(*main, *within, *killed)["input"] == 90
    later = call(12, "z", 8_500, "sidechain:z")
    assert tokens(*main, *within, *killed, later)["input"] == 90


def test_a_saved_total_that_is_written_again_adds_nothing() -> None:
    assert tokens(usage(0, "a", input=30, output=3), saved(1, 60, 6), saved(2, 60, 6))["input"] == 60


def test_a_total_without_a_time_may_say_when_it_was_made() -> None:
    """Of a process that was stopped while its sub-agents worked, the main thread's last word is older than they are."""
    total = usage(1, "t", scope="session", input=20, covers_streams=True, saved=True)
    read = [text(0, "go on", time_ms=1_000), replace(total, until_ms=5_000)]
    within, behind = [
        replace(usage(row, f"m{row}", input=10), source=at(row, time_ms, "sidechain:x"))
        for row, time_ms in ((2, 4_000), (3, 6_000))
    ]
    assert tokens(*read, within)["input"] == 20
    assert tokens(*read, within, behind)["input"] == 30
    assert tokens(read[0], total, within)["input"] == 30


@pytest.mark.parametrize(
    ("steps", "told_in_all"),
    [
        ("b30 t30", 30),
        ("b30 30 t30", 30),  # an answer broke off, and the agent does not count it
        ("b30 t30 b30 30 t60", 60),  # in the second run
        ("b30 b30 t60 t60", 60),  # a background agent's notice: both results come at the end (2.1.329)
        ("b30 b30 t30", 60),  # the first run was killed
        ("b30 t30 b30 b30 t60", 90),  # the second was, as its output was appended
        ("b30 t30 b30 b30 b30 t60", 120),  # the second and the third
        ("b30 b30 t35", 60),
        ("b30 b30", 60),
    ],
)
def test_runs_that_were_killed_in_one_input_count_beside_the_others(steps: str, told_in_all: int) -> None:
    """`b30`: a run begins, and a call of 30 tokens; `t60`: the agent's total so far."""
    events: list[AnyEvent] = []
    for step in steps.split():
        row = len(events)
        if step.startswith("t"):
            events.append(usage(row, "t", scope="session", input=int(step[1:]), covers_streams=True))
            continue
        if step.startswith("b"):
            events.append(SessionInfo(at(row), "", begins=True))
        events.append(usage(row, f"m{row}", input=int(step.lstrip("b"))))
    assert tokens(*events)["input"] == told_in_all
    for cut in range(len(events)):
        again = Totals()
        again.restore(msgspec.json.decode(msgspec.json.encode(told(*events[:cut]).snapshot())))
        again.observe(batch(*events[cut:]))
        assert again.tokens().input == told_in_all


def test_processes_over_the_cap_are_summed_up() -> None:
    killed: list[AnyEvent] = [usage(0, "lost", input=30, output=3)]
    for n in range(100):
        killed += [usage(1 + 2 * n, f"m{n}", input=30, output=3), saved(2 + 2 * n, 30 * (n + 1), 3 * (n + 1))]
    observer = told(*killed)
    assert token_totals(observer.tokens())["input"] == 101 * 30
    assert len(observer.state.processes) == MOST_PROCESSES


def test_a_total_at_the_head_of_a_log_covers_what_follows() -> None:
    head = usage(0, "t", scope="session", input=100, output=50, covers_streams=True, covers_later=True)
    assert tokens(head, usage(1, "a", input=60, output=1))["input"] == 100


def test_the_totals_of_a_session_that_another_follows_in_the_same_input_stay() -> None:
    """Agents that are run in a loop, all of their output in one file."""
    one = [usage(0, "a", input=90, output=1), usage(1, "t", scope="session", input=100, output=5, covers_streams=True)]
    two = [usage(3, "b", input=30, output=1), usage(4, "t", scope="session", input=40, output=3, covers_streams=True)]
    header = SessionInfo(at(2), "", "s2", another=True)
    assert tokens(*one, header, *two)["input"] == 140
    assert tokens(one[0], header, *two)["input"] == 130  # the first was cut
    assert tokens(*one, header, two[0])["input"] == 130  # the second was cut
    totals = told(end(0, cost_usd=0.05), header, end(3, cost_usd=0.02), end(4, cost_usd=0.03))
    assert totals.cost_usd == 0.08


@pytest.mark.parametrize("order", list(permutations((0.1, 0.2, 0.3, 1e-7))))
def test_costs_are_added_up_exactly_and_in_any_order(order: tuple[float, ...]) -> None:
    calls = (usage(n, str(n), model=str(n), cost_usd=cost) for n, cost in enumerate(order))
    assert told(*calls, usage(9, "0", model="0", output=5)).cost_usd == 0.6000001
    another = SessionInfo(at(1), "", "s2", another=True)
    runs = (event for cost in order for event in (end(0, cost_usd=cost), another))
    assert told(*runs).cost_usd == 0.6000001


def test_a_cost_that_the_agent_reported_stays_as_it_is() -> None:
    assert told(end(0, cost_usd=0.30000000000000004)).cost_usd == 0.30000000000000004


def test_a_sub_agents_run_adds_nothing_to_the_time_that_the_agent_reported() -> None:
    sub = SessionEnd(at(1, None, "subagent:x"), "", "complete", duration_ms=700)
    assert told(end(0, duration_ms=900), sub).duration_ms == 900


def test_shares_that_the_agent_told_stand_for_the_calls_of_a_model_and_a_stream() -> None:
    """Of single calls Claude's stream has placeholders; its end says what each model and the main thread had."""
    call = usage(0, "a", model="big", input=10, output=1, output_final=False)
    ended = (
        usage(1, "s", scope="share", model="big", input=10, output=7),
        usage(1, "s", scope="share", model="small", input=3, output=2),
        usage(1, "t", scope="session", input=13, output=9, covers_streams=True),
        usage(1, "u", scope="share", input=10, output=7),
    )
    totals = told(call, *ended)
    assert {name: (row["input"], row["output"]) for name, row in totals.by_model().items()} == {
        "big": (10, 7),
        "small": (3, 2),
    }
    assert {name: (row["input"], row["output"]) for name, row in totals.by_stream().items()} == {"main": (10, 7)}
    assert (totals.tokens().input, totals.tokens().output) == (13, 9)
    cut = told(call, *ended, usage(2, "b", model="big", input=20, output=1, output_final=False))
    assert {name: (row["input"], row["output"]) for name, row in cut.by_model().items()} == {"big": (30, None)}
    assert cut.by_stream()["main"]["input"] == 30
    broken = told(call, usage(1, "lost", input=5), *ended)
    assert broken.by_stream()["main"]["input"] == 15


@pytest.mark.parametrize("cost", [-7.5, 1e300, float("inf")])
def test_what_no_cost_can_be_is_none(cost: float) -> None:
    totals = Totals()
    totals.observe(batch(usage(0, "a", input=1, cost_usd=0.5), usage(1, "b", input=1, cost_usd=cost)))
    assert (totals.cost_usd, totals.tokens().input) == (0.5, 2)
    totals.observe(batch(end(2, cost_usd=cost)))
    assert totals.cost_usd == 0.5


@pytest.mark.parametrize("seed", range(20))
def test_lines_that_repeat_the_tokens_of_a_call_change_no_sum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out where only the output differs is what the general way adds."""
    chance = Random(seed)
    records = [
        replace(
            usage(n, chance.choice(["a", "b"]), input=chance.choice([5, 5, 7]), output=chance.choice([None, 1, 4])),
            output_final=chance.random() < 0.5,
            model=chance.choice(["m", "m", None]),
        )
        for n in range(12)
    ]
    short = told(*records)

    def never(known: object, usage: object) -> bool:
        return False

    monkeypatch.setattr(call_sums, "_differ_in_output_only", never)
    general = told(*records)
    assert short.tokens() == general.tokens()
    assert short.state.model_calls == general.state.model_calls
    assert msgspec.to_builtins(short.snapshot().calls) == msgspec.to_builtins(general.snapshot().calls)


def test_a_call_that_is_replaced_is_never_unsure_less_than_once() -> None:
    """A final record without an output, replaced by one that is unlike it, made the count negative."""
    first = usage(0, "a", output=None, output_final=False)
    final = usage(1, "a", output=None, output_final=True)
    other = usage(2, "a", input=7, output=5, output_final=True)
    assert [told(*events).tokens().unsure for events in ((first, final), (first, final, other))] == [1, 0]

"""Pairing: by id, in any order, once; what stays open comes at the end as unpaired."""

from random import Random

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.chain import pair
from agentv_stages.chain.pair import Pair
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import to_raw
from support.events import at, batch, call, result, text


def run(*events: AnyEvent) -> tuple[list[AnyEvent], list[str], Batch]:
    stage, whole = Pair(), batch(*events)
    stage.push(whole)
    out = list(whole.events)
    faults: list[str] = [f.reason for f in whole.faults]
    for last in stage.flush():
        out += last.events
        faults += [f.reason for f in last.faults]
    return out, faults, whole


def results(events: list[AnyEvent]) -> list[ToolResult]:
    return [e for e in events if isinstance(e, ToolResult)]


def test_results_are_paired_by_id_whatever_their_order() -> None:
    ids = [f"t{n}" for n in range(50)]
    shuffled = Random(3).sample(ids, len(ids))
    out, faults, _ = run(
        *(call(n, i) for n, i in enumerate(ids)), *(result(100 + n, i) for n, i in enumerate(shuffled))
    )
    assert [(r.call_id, r.call.call_id if r.call else None) for r in results(out)] == [(i, i) for i in shuffled]
    assert faults == []


def test_an_outcome_that_the_log_does_not_say_is_ok() -> None:
    out, _, _ = run(call(0, "t"), result(1, "t", None))
    assert results(out)[0].outcome == "ok"


@pytest.mark.parametrize(
    ("begun", "ended", "given", "duration"),
    [
        (1000, 1500, None, 500),
        (1000, 1500, 7, 7),
        (900, 900, None, 0),
        (None, 5, None, None),
        (5, None, None, None),
        (900, 100, None, None),
    ],
)
def test_a_duration_is_the_logs_or_the_time_between(
    begun: int | None, ended: int | None, given: int | None, duration: int | None
) -> None:
    out, _, _ = run(call(0, "t", time_ms=begun), result(1, "t", time_ms=ended, duration_ms=given))
    assert results(out)[0].duration_ms == duration


def test_open_calls_of_a_message_that_is_taken_back_are_cancelled() -> None:
    """The retraction names messages or records. Other open calls stay; a late result is no fault."""
    named = Source("log", 3, 30, 1, None, "main", "record-c")
    open_calls = [
        call(0, "a", message="m0"),
        call(1, "b", message="m1"),
        ToolCall(named, "", "m2", "c", "Bash", Raw(b"{}")),
    ]
    back = Retract(at(4), "", ("m1", "record-c"), "rewind")
    out, faults, _ = run(*open_calls, back, result(5, "b"), result(6, "a"))
    assert [(type(e).__name__, getattr(e, "call_id", None), getattr(e, "outcome", None)) for e in out[3:]] == [
        ("Retract", None, None),
        ("ToolResult", "b", "cancelled"),
        ("ToolResult", "c", "cancelled"),
        ("ToolResult", "b", "ok"),
        ("ToolResult", "a", "ok"),
    ]
    assert faults == []


def test_open_calls_come_at_the_end_as_unpaired() -> None:
    stage = Pair()
    stage.push(batch(call(0, "a"), call(1, "b"), result(2, "a")))
    assert list(stage.open_calls) == ["b"]
    (last,) = stage.flush()
    (left,) = results(last.events)
    assert (left.call_id, left.outcome, left.output_json, stage.left) == ("b", "unpaired", None, ["b"])


def test_a_result_without_a_call_is_a_fault_and_goes_on() -> None:
    out, faults, _ = run(text(0, "x"), result(1, "nobody"))
    assert faults == ["orphan-result"]
    assert results(out)[0].call is None


def test_a_result_before_its_call_waits_for_it() -> None:
    out, faults, _ = run(result(0, "t"), call(1, "t"))
    assert [type(e) for e in out] == [ToolCall, ToolResult]
    assert results(out)[0].call is not None
    assert faults == []


def test_a_result_waits_for_its_call_from_one_batch_to_the_next() -> None:
    stage = Pair()
    stage.push(batch(result(0, "late"), result(1, "t")))
    whole = batch(text(2, "x"), call(3, "other"), call(4, "t"), text(5, "y"))
    stage.push(whole)
    assert [e.source.row for e in whole.events] == [2, 3, 4, 1, 5]
    assert [r.call.source.row for r in results(whole.events) if r.call] == [4]
    assert list(stage.open_calls) == ["other"]


def test_repetitions_are_dropped_and_counted() -> None:
    out, faults, whole = run(call(0, "t"), call(1, "t"), result(2, "t"), result(3, "t"), call(4, "t"), result(5, "t"))
    assert [type(e) for e in out] == [ToolCall, ToolResult]
    assert whole.ignored == {"repeated-call": 2, "repeated-result": 2}
    assert faults == []


def test_what_records_with_ids_say_is_told_once() -> None:
    source, other = at(0), at(0, stream="subagent:a")
    said = AssistantText(source, "-0", "m1", to_raw("Yes."))
    told: list[AnyEvent] = [
        SessionInfo(source, "", begins=True), UserText(source, "", to_raw("Do it.")), said, replace(said, part="-1"),
        Reasoning(source, "-0", "m1", to_raw("Hm.")), Retract(source, "", ("m0",), "rewind"),
        SessionEnd(source, "", "error"), replace(said, source=other),
    ]  # fmt: skip
    again = [replace(event, source=replace(event.source, row=7, offset=700)) for event in told]
    out, _, whole = run(*told, *again)
    assert out == told
    assert whole.ignored == {"repeated-record": len(told)}
    piece = replace(said, delta=True)
    other_words = replace(said, text_json=to_raw("No."))
    nameless = replace(said, source=replace(source, base_id="", time_ms=None))
    fact = SessionInfo(source, "", model="m")
    others: list[AnyEvent] = [piece, piece, said, other_words, nameless, nameless, fact, fact]
    assert run(*others)[0] == others


def test_one_record_may_say_things_under_one_id() -> None:
    twice = [text(0, "a"), text(0, "a")]
    assert run(*twice)[0] == twice


def test_what_was_said_is_known_however_far_back() -> None:
    stage = Pair()
    for n in range(3_000):
        stage.push(batch(text(n, "x")))
    for n in (0, 1_500, 2_999):
        whole = batch(AssistantText(replace(at(5_000 + n), base_id=f"b{n}"), "", "m1", to_raw("x")))
        stage.push(whole)
        assert whole.events == []


def test_repetitions_are_known_after_a_restart() -> None:
    stage = Pair()
    stage.push(batch(call(0, "t"), result(1, "t"), text(2, "x")))
    again = Pair()
    again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot())))
    whole = batch(call(2, "t"), result(3, "t"), AssistantText(replace(at(4), base_id="b2"), "", "m1", to_raw("x")))
    again.push(whole)
    assert whole.events == []
    assert whole.ignored == {"repeated-call": 1, "repeated-result": 1, "repeated-record": 1}


def test_a_partial_result_leaves_its_call_open() -> None:
    out, _, _ = run(call(0, "t"), result(1, "t", partial=True), result(2, "t"))
    assert [r.partial for r in results(out)] == [True, False]
    assert all(r.call is not None for r in results(out))


@pytest.mark.parametrize("given", [{"a": 222}, {"a": 2}], ids=["longer", "as long"])
def test_a_reused_id_with_another_input_is_another_call(given: dict[str, int]) -> None:
    out, faults, _ = run(call(0, "t", given={"a": 1}), result(1, "t"), call(2, "t", given=given), result(3, "t"))
    assert len(results(out)) == 2
    assert [r.call.source.row for r in results(out) if r.call] == [0, 2]
    assert faults == []


def test_a_reused_id_of_another_tool_is_another_call() -> None:
    out, _, whole = run(call(0, "t", "Read"), result(1, "t"), call(2, "t", "Glob"), result(3, "t"))
    assert [r.call.name for r in results(out) if r.call] == ["Read", "Glob"]
    assert whole.ignored == {}


def test_another_tool_under_an_open_id_is_another_call() -> None:
    out, _, whole = run(call(0, "t", "Read"), call(1, "t", "Write"), result(2, "t"))
    assert [(r.call.name, r.outcome) for r in results(out) if r.call] == [("Read", "unpaired"), ("Write", "ok")]
    assert [type(e) for e in out] == [ToolCall, ToolResult, ToolCall, ToolResult]
    assert whole.ignored == {}


def test_calls_of_two_streams_under_one_id_each_get_their_result() -> None:
    """Two sub-agents at once, whose server counts the calls of each answer anew."""
    one, other = "subagent:a", "subagent:b"
    calls = [call(0, "t", "Read", stream=one), call(1, "t", "Glob", stream=other)]
    for first, second in ((one, other), (other, one)):
        stage, whole = Pair(), batch(*calls)
        stage.push(whole)
        again = Pair()
        again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=pair.PairState))
        rest = batch(call(2, "t", "Read", stream=one), result(3, "t", stream=first), result(4, "t", stream=second))
        again.push(rest)
        assert [(r.source.stream, r.call.source.stream) for r in results(rest.events) if r.call] == [
            (first, first),
            (second, second),
        ]
        assert rest.ignored == {"repeated-call": 1}
        assert not again.flush()


def test_the_same_call_under_one_id_in_two_streams_is_two_calls() -> None:
    """The second was taken for a repetition, and dropped with its result."""
    events: list[AnyEvent] = []
    for row, stream in enumerate(["main", "subagent:a", "subagent:b"]):
        events += [call(2 * row, "t", stream=stream), result(2 * row + 1, "t", stream=stream)]
    out, faults, whole = run(*events, result(6, "t", stream="subagent:a"))
    assert [r.call.source.row for r in results(out) if r.call] == [0, 2, 4]
    assert (faults, whole.ignored) == ([], {"repeated-result": 1})


def test_a_repeated_result_is_not_that_of_another_streams_call() -> None:
    one, other = "subagent:a", "subagent:b"
    stage, whole = Pair(), batch(call(0, "t", stream=one), result(1, "t", stream=one))
    whole.events += [call(2, "t", "Glob", stream=other), result(3, "t", stream=one)]
    stage.push(whole)
    assert [(r.source.row, r.call.name) for r in results(whole.events) if r.call] == [(1, "Read")]
    assert (whole.ignored, stage.left) == ({"repeated-result": 1}, ["t"])


def test_a_result_whose_stream_the_log_does_not_tell_is_of_the_call_that_is_open() -> None:
    out, faults, _ = run(call(0, "t", stream="subagent:a"), result(1, "t"))
    assert [(r.outcome, r.call is not None) for r in results(out)] == [("ok", True)]
    assert faults == []


def test_such_a_result_before_its_call_is_joined_at_the_end() -> None:
    """Unless several calls may have it; a result that says its stream is that of its call, as soon as it comes."""
    stage, first = Pair(), batch(result(0, "t"), result(1, "u", stream="subagent:a"), call(2, "t", stream="subagent:a"))
    stage.push(first)
    assert (results(first.events), stage.left) == ([], ["t"])
    again = Pair()
    again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=pair.PairState))
    (last,) = again.flush()
    told = [(r.call_id, r.outcome, r.call and r.call.source.row) for r in results(last.events)]
    assert told == [("t", "ok", 2), ("u", "ok", None)]
    assert ([f.row for f in last.faults], again.left) == ([1], [])
    several = [call(row, "t", stream=f"subagent:{row}") for row in (1, 2)]
    out, faults, _ = run(result(0, "t"), *several)
    assert [(r.outcome, r.call and r.call.source.row) for r in results(out)] == [
        *(("ok", None), ("unpaired", 1), ("unpaired", 2))
    ]
    assert faults == ["orphan-result"]
    partial = replace(result(0, "t", "error", partial=True), output_json=None)
    out, faults, _ = run(partial, call(1, "t", stream="subagent:a"))
    assert [(r.outcome, r.call and r.call.source.row, r.partial) for r in results(out)] == [("error", 1, False)]
    assert faults == []


def test_such_a_result_that_comes_again_is_known() -> None:
    again: list[AnyEvent] = [call(0, "t", stream="subagent:a"), result(1, "t"), result(2, "t")]
    out, faults, whole = run(*again)
    assert [r.source.row for r in results(out)] == [1]
    assert (faults, whole.ignored) == ([], {"repeated-result": 1})
    out, faults, _ = run(*again[:2], call(2, "t", "Glob", stream="subagent:b"), result(3, "t"), call(4, "t"))
    assert [(r.call.source.row, r.outcome) for r in results(out) if r.call] == [(0, "ok"), (2, "ok"), (4, "unpaired")]
    assert faults == []


def test_results_before_their_calls_under_one_id_are_none_lost() -> None:
    """The second took the place of the first, of which nothing was left."""
    one, other = "subagent:a", "subagent:b"
    early = [result(0, "t", stream=one), result(1, "t", stream=other), result(2, "t", stream=other)]
    stage, first = Pair(), batch(*early)
    stage.push(first)
    again = Pair()
    again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=pair.PairState))
    rest = batch(call(3, "t", stream=other), call(4, "t", stream=one))
    again.push(rest)
    assert [(r.source.row, r.call.source.row) for r in results(rest.events) if r.call] == [(2, 3), (0, 4)]
    assert [(f.reason, f.row) for f in first.faults] == [("orphan-result", 1)]
    assert [r.source.row for r in results(first.events)] == [1]


def test_calls_under_one_id_that_nobody_answers_are_all_told(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = ["main", "subagent:a", "subagent:b"]
    calls = [call(n, "t", f"Tool{n}", stream=stream) for n, stream in enumerate(streams)]
    waiting = Pair()
    waiting.push(batch(*calls))
    assert waiting.left == ["t", "t", "t"]
    out, _, _ = run(*calls, call(3, "t", "Other", stream="subagent:a"))
    assert sorted((r.call.name, r.outcome) for r in results(out) if r.call) == [
        *(("Other", "unpaired"), ("Tool0", "unpaired"), ("Tool1", "unpaired"), ("Tool2", "unpaired"))
    ]
    monkeypatch.setattr(pair, "MOST_OPEN", 10)
    stage = Pair()
    for n in range(50):
        stage.push(batch(call(n, "t", given={"n": n}, stream=f"subagent:{n}")))
    assert len(stage.open_calls) == 10


def test_what_a_call_that_is_given_up_was_told_of_its_end_is_its_result() -> None:
    told = result(1, "t", "error", partial=True)
    out, _, _ = run(call(0, "t", "Task"), replace(told, output_json=None), call(2, "t", "Read"), result(3, "t"))
    assert [(r.call.name, r.outcome, r.partial) for r in results(out) if r.call] == [
        ("Task", "error", False),
        ("Read", "ok", False),
    ]


def test_open_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "MOST_OPEN", 10)
    stage = Pair()
    stage.push(batch(*(call(n, f"t{n}") for n in range(25))))
    assert list(stage.open_calls) == [f"t{n}" for n in range(15, 25)]


def test_the_late_result_of_a_call_that_was_let_go_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "MOST_OPEN", 10)
    stage, calls = Pair(), [call(n, f"t{n}") for n in range(12)]
    stage.push(batch(*calls))
    late = batch(calls[0], result(20, "t0"), result(21, "t0"), result(22, "t11"))
    stage.push(late)
    assert [(r.call_id, r.source.row, r.call is not None) for r in results(late.events)] == [
        ("t0", 20, False),
        ("t11", 22, True),
    ]
    assert (late.faults, late.ignored) == ([], {"repeated-call": 1, "repeated-result": 1})


def test_early_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "MOST_EARLY", 4)
    whole = batch(*(result(n, f"t{n}") for n in range(9)))
    whole.records = [Record(b"%d" % n, n, n) for n in range(9)]
    stage = Pair()
    stage.push(whole)
    assert [(f.reason, f.row, f.data) for f in whole.faults] == [("orphan-result", n, b"") for n in range(5)]
    assert [r.call_id for r in results(whole.events)] == [f"t{n}" for n in range(5)]
    (last,) = stage.flush()
    assert [r.call_id for r in results(last.events)] == [f"t{n}" for n in range(5, 9)]


def test_a_record_of_another_file_is_another_record_though_its_row_is_the_same() -> None:
    told = text(0, "a")
    copy = replace(told, source=replace(told.source, file="copy"))
    stage, first, rest = Pair(), batch(told, told), batch(copy, replace(copy, source=replace(copy.source, row=1)))
    stage.push(first)
    assert (len(first.events), first.ignored) == (2, {})  # of one record
    again = Pair()
    again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=pair.PairState))
    again.push(rest)
    assert (rest.events, rest.ignored) == ([], {"repeated-record": 2})


def test_other_events_keep_their_order() -> None:
    events = [text(0, "a"), call(1, "t"), text(2, "b"), result(3, "t"), text(4, "c")]
    out, _, _ = run(*events)
    assert [e.source.row for e in out] == [0, 1, 2, 3, 4]


def test_an_end_without_output_waits_for_the_output() -> None:
    bare = replace(result(2, "t", "error"), partial=True, output_json=None, duration_ms=7)
    given = replace(result(3, "t", None), output_json=Raw(b'"x"'))
    for order in ((bare, given), (given, bare)):
        out, faults, _ = run(call(0, "t"), *order)
        [end] = results(out)
        assert (end.output, faults) == ("x", [])
    out, faults, _ = run(call(0, "t"), bare, call(1, "u"))
    assert [(r.call_id, r.outcome, r.duration_ms, r.partial) for r in results(out)] == [
        ("t", "error", 7, False),
        ("u", "unpaired", None, False),
    ]


def test_a_restored_pairing_still_waits_for_the_output() -> None:
    bare = replace(result(2, "t", "error"), partial=True, output_json=None)
    before, after = Pair(), Pair()
    before.push(batch(call(0, "t"), bare))
    after.restore(msgspec.json.decode(msgspec.json.encode(before.snapshot()), type=pair.PairState))
    [last] = after.flush()
    assert [(r.call_id, r.outcome) for r in results(last.events)] == [("t", "error")]
    assert after.left == []


def test_a_call_that_is_let_go_is_told_as_one_without_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "MOST_OPEN", 2)
    calls = [call(n, f"t{n}") for n in range(4)]
    stage, whole = Pair(), batch(*calls, result(4, "t0"), result(5, "t3"))
    stage.push(whole)
    told = [(r.call_id, r.outcome, r.call is not None) for r in results(whole.events)]
    assert told == [("t0", "unpaired", True), ("t1", "unpaired", True), ("t0", "ok", False), ("t3", "ok", True)]
    assert [r.call_id for last in stage.flush() for r in results(last.events)] == stage.left == ["t2"]


def test_the_place_of_an_orphan_among_other_faults_does_not_depend_on_the_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair, "MOST_EARLY", 1)
    early = {n: result(n, f"t{n}") for n in (0, 2, 3, 6)}
    bad = {n: Fault("not-json", "log", n, at(n).offset, 99, "", b"") for n in (1, 4, 7)}
    told: list[list[int]] = []
    for size in (1, 3, 8):
        stage, rows = Pair(), list[int]()
        for begin in range(0, 8, size):
            places = range(begin, begin + size)
            one = batch(*(early[n] for n in places if n in early))
            one.faults = [bad[n] for n in places if n in bad]
            stage.push(one)
            rows += [fault.row for fault in one.faults]
        told.append(rows)
    assert told == [[1, 0, 2, 4, 3, 7]] * 3

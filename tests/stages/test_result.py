"""The result's JSON: indented where it is short, the same in pieces, unset members left out."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from agentv_stages.figures import result as results
from agentv_stages.figures.result import Observer, Result, settled
from agentv_stages.figures.summary import StreamRow
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import SessionInfo, Summary
from agentv_stages.model.fault import Fault, Part
from agentv_stages.model.slices import SIZE
from agentv_stages.providers import get_provider
from support.events import at, call, end, text


@pytest.fixture
def result() -> Result:
    provider = get_provider("claude")
    return Observer(provider, provider.dialects[0], ("make",)).result(["toolu_1"])


def test_a_short_result_is_indented_and_ends_in_a_line_end(result: Result) -> None:
    text = result.to_json()
    assert text == msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
    assert b"\n  " in text


def test_a_long_result_is_one_line_in_short_pieces(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_INDENTED", 100)
    result.tool_use_summary = replace(result.tool_use_summary, tool_sequence=["Read"] * 5_000)
    pieces = list(result.json_pieces())
    assert b"".join(pieces) == msgspec.json.encode(result) + b"\n"
    assert max(map(len, pieces)) <= SIZE * len('"Read",')
    rows = {f"sidechain:{i}": StreamRow(i, 0, 0) for i in range(3 * SIZE)}
    result.tool_use_summary = replace(result.tool_use_summary, by_stream=rows)
    assert result.to_json() == msgspec.json.encode(result) + b"\n"


def test_a_result_without_lists_is_written_with_them(result: Result) -> None:
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0], ("make",))
    short = observer.result(["toolu_1"], lists=False)
    left_out = {"tool_sequence", "kind_sequence", "bobbin_commands", "watched_commands", "by_stream"}
    assert result.tool_use_summary.keys() - short.tool_use_summary.keys() == left_out
    assert b"".join(short.json_pieces(observer.stats.members())) == result.to_json()


def test_a_settled_result_does_not_change_while_the_session_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written by another thread meanwhile."""
    monkeypatch.setattr(results, "MOST_INDENTED", 100)
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0], ("make",))

    def observe(begin: int, end: int) -> None:
        calls = [
            call(i, f"t{i}", "Bash", stream=f"sidechain:{i}" if i % 2 else "main", command=f"bobbin {i}; make")
            for i in range(begin, end)
        ]
        observer.observe(Batch(events=list(calls)))

    observe(0, 3 * SIZE)
    result = observer.result([], lists=False)
    expected = b"".join(result.json_pieces(observer.stats.members()))
    later = settled(observer.stats.members())
    observe(3 * SIZE, 4 * SIZE)
    assert b"".join(result.json_pieces(later)) == expected
    assert b"".join(result.json_pieces(observer.stats.members())) != expected
    summary = json.loads(expected)["tool_use_summary"]
    assert (len(summary["bobbin_commands"]), len(summary["watched_commands"]["make"])) == (3 * SIZE, 3 * SIZE)
    assert summary["watched_commands"]["make"][1] == {"command": "make", "turn": None, "stream": "sidechain:1"}


def test_time_to_the_first_edit_counts_from_the_earliest_event() -> None:
    """A forked session begins with a header of its own time; a call has the time when it began."""
    provider = get_provider("pi")
    observer = Observer(provider, provider.dialects[0])
    observer.observe(Batch(events=[SessionInfo(at(0, 9_000), "", "s"), text(1, "x", time_ms=1_000)]))
    observer.observe(Batch(events=[call(2, "c", "Edit", edit=True, time_ms=3_500)]))
    assert observer.result([]).tool_use_summary["first_edit_seconds"] == 2.5


def test_what_is_unset_does_not_appear(result: Result) -> None:
    told = json.loads(result.to_json())
    assert "verdicts" not in told
    assert "stream_log" not in told["outputs"]
    assert told["evidence"]["open_calls"] == ["toolu_1"]
    assert told["cost_usd"] is None


def test_who_began_the_session_and_why_it_ended_are_told() -> None:
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0])
    parent = SessionInfo(at(0), "", "s", parent_session_id="p")
    observer.observe(Batch(events=[parent, Summary(at(1), "", "T"), end(2, "error", reason="refused")]))
    told = observer.result([f"c{n}" for n in range(200)])
    assert (told.session.parent, told.session.title) == ("p", "T")
    assert (told.evidence.reason, told.evidence.open_calls) == ("refused", [f"c{n}" for n in range(100)])
    observer.observe(Batch(events=[text(3, "it goes on")]))
    assert observer.result([]).evidence.reason is None


def test_a_record_over_the_cap_is_one_fault_in_however_many_pieces() -> None:
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0])
    parts: tuple[Part, ...] = ("begin", "middle", "middle", "end", "whole")
    for part in parts:
        observer.observe(Batch(faults=[Fault("too-large", "log", 0, 0, 9, "", b"x", part)]))
    assert observer.result([]).faults == {"too-large": 2}

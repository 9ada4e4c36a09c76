"""Facts of a session: which events speak for it, and what its end is called."""

from typing import Any

import msgspec
import pytest
from msgspec import json

from agentv_stages.figures.facts import Facts, FactsObserver, Opening
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AnyEvent, SessionInfo, Status, Summary
from support.events import at, batch, call, end, text, thought, user


def observed(*batches: Batch) -> FactsObserver:
    observer = FactsObserver()
    for one in batches:
        observer.observe(one)
    return observer


def info(row: int, stream: str = "main", **facts: Any) -> AnyEvent:
    return SessionInfo(at(row, None, stream), "", **facts)


def test_the_first_word_on_who_it_is_counts_and_the_last_on_model_and_version() -> None:
    facts = observed(
        batch(info(0, session_id="a", model="m1", cwd="/one", git_branch="main", version="1", parent_session_id="p")),
        batch(info(1, session_id="b", model="m2", cwd="/two", git_branch="other", version="2", parent_session_id="q")),
    ).facts
    assert (facts.session_id, facts.cwd, facts.git_branch, facts.parent_session_id) == ("a", "/one", "main", "p")
    assert (facts.model, facts.version) == ("m2", "2")


def test_what_stood_there_when_session_and_model_were_first_known_stays_so() -> None:
    observer = observed(batch(info(0, model="m0", cwd="/one")))
    assert observer.facts.first is None
    observer.observe(batch(info(1, session_id="a", version="1"), info(2, model="m2", version="2", git_branch="b")))
    assert observer.facts.first == Opening("m0", "1", "/one", None)


def test_sub_agents_say_nothing_about_the_session() -> None:
    facts = observed(batch(info(0, "sidechain:x", session_id="x", model="small"), user(1, "go", stream="sidechain:x")))
    assert (facts.facts.session_id, facts.facts.model, facts.facts.prompt_seen) == (None, None, False)
    assert facts.facts.last_event is None


def test_the_start_is_the_first_time_that_anything_tells() -> None:
    assert (
        observed(batch(user(0, "no time")), batch(text(1, "a", time_ms=7), text(2, "b", time_ms=3))).facts.started_ms
        == 7
    )
    assert observed(batch(user(0, "no time"))).facts.started_ms is None


def test_a_prompt_is_what_a_person_said() -> None:
    assert not observed(batch(user(0, "reminder", injected=True))).facts.prompt_seen
    assert observed(batch(user(0, "reminder", injected=True), user(1, "fix it"))).facts.prompt_seen


def test_records_and_events_are_counted_whatever_they_are() -> None:
    empty = Batch("log", records=[Record(b"{}", 0, 0), Record(b"{}", 3, 1)])
    facts = observed(empty, batch(user(2, "a"), text(3, "b"))).facts
    assert (facts.records, facts.events) == (2, 2)


def test_the_last_event_is_one_of_the_main_stream() -> None:
    facts = observed(batch(text(1, "a"), call(2, "t"), text(3, "b", stream="sidechain:x"))).facts
    assert (facts.last_event, facts.last_offset) == ("tool_call", 200)


def test_a_title_comes_from_a_summary_or_the_log_itself() -> None:
    assert observed(batch(Summary(at(0), "", "Fixing it"))).facts.title == "Fixing it"
    assert observed(batch(info(0, title="T"))).facts.title == "T"
    assert observed(batch(info(0, title="T"), Summary(at(1, None, "sidechain:x"), "", "Its own"))).facts.title == "T"


@pytest.mark.parametrize(
    ("events", "has_end", "open_calls", "status"),
    [
        ([], True, 0, "incomplete"),
        ([], False, 0, "unknown"),
        ([end(1)], True, 0, "complete"),
        ([end(1)], True, 1, "complete"),  # it says so itself
        ([end(1)], False, 0, "complete"),
        ([end(1)], False, 1, "unknown"),  # without an end record an open call speaks against it
        ([end(1, "error")], False, 1, "error"),
        ([end(1), text(2, "more")], True, 0, "incomplete"),
        ([end(1), text(2, "more")], False, 0, "unknown"),
        ([end(1), call(2, "t")], True, 1, "incomplete"),
        ([end(1), thought(2, "hm")], True, 0, "incomplete"),
        ([user(0, "go"), end(1), user(2, "and this")], True, 0, "incomplete"),
        ([user(0, "go"), end(1), user(2, "and this")], False, 0, "unknown"),  # asked, and never answered
        ([end(1), user(2, "a notice", injected=True)], False, 0, "complete"),
        ([end(1), user(2, "to a sub-agent", stream="sidechain:x")], False, 0, "complete"),
        ([end(1), text(2, "more"), end(3, "interrupted")], True, 0, "interrupted"),
        ([end(1), text(2, "of a sub-agent", stream="sidechain:x")], True, 0, "complete"),
        ([end(1), text(2, "API error", synthetic=True)], True, 0, "complete"),
        ([end(1), info(2, begins=True)], True, 0, "incomplete"),
        ([end(1), info(2, begins=True)], False, 0, "unknown"),
        ([end(1), info(2, begins=True, stream="sidechain:x")], True, 0, "complete"),
        ([info(0, begins=True), info(1, begins=True), end(2), end(3)], True, 0, "complete"),  # told at the end
        ([end(1), info(2, model="m")], True, 0, "complete"),
    ],
)
def test_the_status_is_what_the_last_end_says_if_nothing_came_after_it(
    events: list[AnyEvent], has_end: bool, open_calls: int, status: Status
) -> None:
    assert observed(batch(*events)).status(has_end, open_calls) == status
    assert observed(*(batch(event) for event in events)).status(has_end, open_calls) == status


def test_it_goes_on_from_a_snapshot_as_if_nothing_had_been() -> None:
    events = [info(0, session_id="a"), user(1, "go"), text(2, "b", time_ms=9), end(3), call(4, "t")]
    for cut in range(len(events) + 1):
        before = observed(batch(*events[:cut]))
        after = FactsObserver()
        after.restore(json.decode(json.encode(before.snapshot()), type=Facts))
        after.observe(batch(*events[cut:]))
        assert msgspec.to_builtins(after.facts) == msgspec.to_builtins(observed(batch(*events)).facts)

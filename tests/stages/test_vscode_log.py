"""VS Code's chats as a log of mutations."""

from typing import Any

import pytest
from msgspec import Raw

from agentv_stages.model.event import AnyEvent, Notification, Retract, SessionEnd, SessionInfo
from agentv_stages.providers.vscode import session as session_module
from agentv_stages.providers.vscode.lenient import read_request
from agentv_stages.providers.vscode.log import mutate
from agentv_stages.providers.vscode.wire import Request
from support.decoding import check_laws, decoded, document, events_of, lines, pushed, texts
from support.vscode_chats import (
    DOCUMENT,
    LOG,
    ONE,
    PARTS,
    RESULT,
    answers,
    markdown,
    request,
    rounds,
    session,
    step,
)

LINES = lines(
    {"kind": 0, "v": session()},
    step(1, ["inputState", "inputText"], "x"),
    step(2, ["requests"], [request("r1")]),
    step(2, ["requests", 0, "response"], list(PARTS[:3])),
    step(2, ["requests", 0, "response"], [markdown("ing."), *PARTS[3:]], 2),
    step(1, ["requests", 0, "result"], RESULT),
    step(1, ["requests", 0, "followups"], []),
    step(1, ["customTitle"], "T"),
    step(2, ["requests"], [request("r2", prompt="more")]),
    step(2, ["requests", 1, "response"], [markdown("Bye")]),
)


def test_the_log_keeps_the_laws_of_decoders() -> None:
    check_laws(LOG, LINES)


def test_the_log_says_what_the_document_says() -> None:
    whole = document(session(ONE, request("r2", markdown("Bye"), prompt="more"), customTitle="T"))

    def told(events: list[AnyEvent]) -> list[tuple[str, Any, str, str]]:
        return [
            (type(e).__name__, getattr(e, "message_id", None), e.source.base_id, e.part)
            for e in events
            if not isinstance(e, SessionInfo)
        ]

    assert told(events_of(LOG, LINES)) == told(events_of(DOCUMENT, whole))


def test_a_request_is_told_when_it_has_its_result_the_last_one_at_the_end() -> None:
    """When it has ended it is told at the parts of its response, or at the next line that is not its own."""
    assert texts(pushed(LOG, LINES[:7]).events) == []
    assert texts(pushed(LOG, LINES[:8]).events) == ["Looking.", "Done, see x.py."]
    assert texts(pushed(LOG, LINES).events) == ["Looking.", "Done, see x.py."]
    assert texts(decoded(LOG, LINES).events) == ["Looking.", "Done, see x.py.", "Bye"]


def test_what_is_added_after_the_result_is_told_as_an_addition() -> None:
    given = [*LINES[:8], *lines(step(2, ["requests", 0, "response"], [markdown(" And more.")]))]
    assert texts(events_of(LOG, given))[-1] == " And more."
    check_laws(LOG, given)


def test_an_answer_that_grows_is_not_read_until_it_may_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Raw] = []

    def read(raw: Raw) -> tuple[Request, str | None]:
        reads.append(raw)
        return read_request(raw)

    monkeypatch.setattr(session_module, "read_request", read)
    grows = [step(2, ["requests", 0, "response"], [markdown("more ")]) for _ in range(50)]
    waits = step(1, ["requests", 0, "modelState"], {"value": 0})
    given = lines({"kind": 0, "v": session()}, step(2, ["requests"], [request("r1")]), waits, *grows)
    assert texts(events_of(LOG, given)) == ["more " * 50]
    assert len(reads) <= 2  # was once a line: 4,000 lines took seconds


def test_a_second_snapshot_tells_nothing_twice() -> None:
    given = [*LINES[:6], *lines({"kind": 0, "v": session(ONE, request("r2", markdown("Bye")))})]
    assert texts(events_of(LOG, given)) == ["Looking.", "Done, see x.py.", "Bye"]
    check_laws(LOG, given)


def test_requests_that_are_removed_are_taken_back() -> None:
    given = [*LINES, *lines(step(2, ["requests"], [request("r3", markdown("New"))], 0))]
    [retract] = [e for e in events_of(LOG, given) if isinstance(e, Retract)]
    assert retract.message_ids == ("r1", "r1-a0", "r1-a1", "r1-a2", "r2", "r2-a0")
    assert texts(events_of(LOG, given))[-1] == "New"
    emptied = [*LINES[:6], *lines(step(3, ["requests"]))]
    assert [e.message_ids[0] for e in events_of(LOG, emptied) if isinstance(e, Retract)] == ["r1"]
    check_laws(LOG, given)
    check_laws(LOG, emptied)


def test_a_path_that_leads_nowhere_is_a_fault() -> None:
    batch = pushed(LOG, [*LINES[:3], *lines(step(1, ["requests", 0, "a", 3, "b"], 1), step(9, ["requests"]))])
    assert [f.reason for f in batch.faults] == ["schema"]
    assert batch.unknown == {"kind/9": 1}


def test_mutations() -> None:
    target: dict[str, Any] = {"a": [1, 2, 3], "b": {"c": 1}}
    assert mutate(target, ["a"], 2, [9], 1) and target["a"] == [1, 9]
    assert mutate(target, ["a", 2], 1, 7, None) and target["a"] == [1, 9, 7]
    assert mutate(target, ["a", 0], 3, None, None) and target["a"] == [9, 7]
    assert mutate(target, ["b", "d"], 1, 5, None) and mutate(target, ["b", "c"], 3, None, None)
    assert mutate(target, ["e"], 2, [1], None) and target == {"a": [9, 7], "b": {"d": 5}, "e": [1]}
    assert not mutate(target, ["a", 9, "x"], 1, 1, None)
    assert not mutate(target, ["b"], 2, [1], None)
    mutate(target, ["b", "zz"], 3, None, None)
    assert target["b"] == {"d": 5}


def test_the_changes_of_an_end_are_read_before_it_is_told() -> None:
    """VS Code writes a request's plain members before the parts of its response."""
    given = lines(
        {"kind": 0, "v": session()},
        step(2, ["requests"], [request("r1", *PARTS[:2])]),
        step(1, ["requests", 0, "result"], RESULT),
        step(1, ["requests", 0, "modelState"], {"value": 1, "completedAt": 1772359209000}),
        step(2, ["requests", 0, "response"], [markdown("Looking."), *PARTS[3:]], 1),
        step(1, ["inputState", "inputText"], ""),
        step(1, ["requests", 0, "followups"], []),
    )
    assert answers(events_of(LOG, given)) == answers(events_of(DOCUMENT, document(session(ONE))))
    assert texts(pushed(LOG, given[:4]).events) == []
    assert pushed(LOG, given[:5]).events == events_of(LOG, given)
    check_laws(LOG, given)


def test_a_line_of_a_new_kind_stands_between_the_changes_of_an_end() -> None:
    """The request was told without the parts that came behind it, and those as another answer."""
    given = lines(
        {"kind": 0, "v": session()},
        step(2, ["requests"], [request("r1", markdown("Lo"))]),
        step(1, ["requests", 0, "result"], rounds(("Looking.", []))),
        step(9, ["later"]),
        step(2, ["requests", 0, "response"], [markdown("oking.")]),
    )
    events = events_of(LOG, given)
    assert (texts(events), answers(events)) == (["Looking."], [("AssistantText", "r1-a0")])


def ended(given: list[Any]) -> list[tuple[str, int | None, int | None]]:
    events = events_of(LOG, lines({"kind": 0, "v": session()}, *given))
    return [(e.status, e.duration_ms, e.source.time_ms) for e in events if isinstance(e, SessionEnd)]


def test_the_model_state_says_how_a_request_ended() -> None:
    begun = step(2, ["requests"], [request("r1", markdown("Hm"))])
    done = {"value": 1, "completedAt": 1772359209000}
    assert ended([begun]) == []
    assert ended([begun, step(1, ["requests", 0, "modelState"], {"value": 0})]) == []
    assert ended([begun, step(1, ["requests", 0, "modelState"], {"value": 4})]) == []
    assert ended([begun, step(1, ["requests", 0, "modelState"], done)]) == [("complete", 9000, 1772359209000)]
    stopped = [step(1, ["requests", 0, "result"], {}), step(1, ["requests", 0, "modelState"], {**done, "value": 2})]
    assert ended([begun, *stopped]) == [("interrupted", 9000, 1772359209000)]
    assert ended([begun, step(1, ["requests", 0, "modelState"], {**done, "value": 3})])[0][0] == "error"
    assert ended([begun, step(1, ["requests", 0, "modelState"], "new")]) == []


def test_an_end_that_turns_out_to_be_another_is_told_again_its_time_once() -> None:
    one = request("r1", result={"timings": {"totalElapsed": 500}})
    given = [
        step(2, ["requests"], [one]),
        step(1, ["customTitle"], "T"),
        step(1, ["requests", 0, "isCanceled"], True),
    ]
    assert [(status, took) for status, took, _ in ended(given)] == [("complete", 500), ("interrupted", None)]
    events = events_of(LOG, lines({"kind": 0, "v": session()}, *given))
    assert [e.name for e in events if isinstance(e, Notification)] == ["cancelled"]
    check_laws(LOG, lines({"kind": 0, "v": session()}, *given))


def test_a_request_that_a_snapshot_finds_untold_is_told() -> None:
    given = lines(
        {"kind": 0, "v": session()},
        step(2, ["requests"], [request("r1", markdown("Hm"))]),
        {"kind": 0, "v": session(request("r1", markdown("Hm, yes.")), request("r2", markdown("Bye")))},
    )
    assert texts(events_of(LOG, given)) == ["Hm, yes.", "Bye"]
    check_laws(LOG, given)


def test_pushing_from_an_index_replaces_what_stood_there() -> None:
    given = lines(
        {"kind": 0, "v": session()},
        step(2, ["requests"], [request("r1", markdown("One"))]),
        step(2, ["requests"], [request("r2", markdown("Two"))], 1),
        step(2, ["requests"], None, 1),
    )
    events = events_of(LOG, given)
    assert texts(events) == ["One", "Two"]
    assert [e.message_ids for e in events if isinstance(e, Retract)] == [("r2", "r2-a0")]
    check_laws(LOG, given)

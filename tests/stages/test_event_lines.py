"""Events as JSON lines: ids that every reading gives again, parents, the form of agtrace."""

import json
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import pytest
from msgspec import Raw

from agentv_stages.model.event import AnyEvent, AssistantText
from agentv_stages.sinks.event_lines import EventLines, Tips, session_uuid, stream_json
from support.events import at, call, end, result, text, thought, user

EVENTS: list[AnyEvent] = [
    user(0, "fix it"),
    thought(1, "hm"),
    text(2, "ok"),
    call(3, "t1", given={"file_path": "a"}),
    text(4, "side", stream="sidechain:a1"),
    result(5, "t1", "error", output=[{"text": "no"}], exit_code=1),
    end(6),
]


def lines(*events: AnyEvent, session: str = "s") -> list[dict[str, Any]]:
    writer = EventLines(session)
    return [json.loads(writer.line(event)) for event in events]


def test_ids_follow_agtraces_scheme() -> None:
    first = lines(EVENTS[0])[0]
    session = uuid5(NAMESPACE_OID, "s")
    assert first["session_id"] == str(session) == str(session_uuid("s"))
    assert UUID(first["id"]).version == 5
    assert first["id"] == str(uuid5(session, "b0:user"))


def test_every_reading_gives_the_same_ids_and_no_two_are_equal() -> None:
    once, again, other = lines(*EVENTS), lines(*EVENTS), lines(*EVENTS, session="t")
    assert once == again
    ids = [line["id"] for line in (*once, *other)]
    assert len(set(ids)) == len(ids)


def test_the_parent_is_the_event_before_on_the_same_stream() -> None:
    made = lines(*EVENTS)
    main = [line for line in made if line["stream_id"]["stream_type"] == "main"]
    (side,) = [line for line in made if line["stream_id"]["stream_type"] == "sidechain"]
    assert [line["parent_id"] for line in main] == [None, *[line["id"] for line in main[:-1]]]
    assert side["parent_id"] is None
    assert side["stream_id"] == {"stream_type": "sidechain", "stream_data": {"agent_id": "a1"}}
    assert stream_json("subagent:explore") == {"stream_type": "subagent", "stream_data": {"name": "explore"}}


def test_a_result_names_the_event_of_its_call() -> None:
    made = lines(*EVENTS)
    asked, answered = made[3], made[5]
    assert asked["content"]["arguments"] == {"file_path": "a"}
    assert asked["content"]["provider_call_id"] == "t1"
    content = answered["content"]
    assert (content["tool_call_id"], content["provider_call_id"]) == (asked["id"], "t1")
    assert (content["is_error"], content["exit_code"], content["output"]) == (True, 1, [{"text": "no"}])


@pytest.mark.parametrize(("outcome", "is_error"), [("ok", False), (None, False), ("denied", True), ("cancelled", True)])
def test_whatever_did_not_end_well_is_an_error_there(outcome: Any, is_error: bool) -> None:
    assert lines(result(0, "t", outcome))[0]["content"]["is_error"] is is_error


def test_a_result_whose_call_was_never_seen_names_none() -> None:
    content = lines(result(0, "t", output=None))[0]["content"]
    assert (content["tool_call_id"], content["output"]) == (None, None)


def test_times_are_null_where_the_log_has_none() -> None:
    assert [line["timestamp"] for line in lines(text(0, "a"), text(1, "b", time_ms=0))] == [
        None,
        "1970-01-01T00:00:00.000Z",
    ]


def test_broken_text_becomes_readable_and_stays_one_line() -> None:
    data = EventLines("s").line(AssistantText(at(0), "", "m", Raw(b'"a\xff\\n"')))
    assert data.count(b"\n") == 1
    assert json.loads(data.decode())["content"]["text"] == "a�\n"


@pytest.mark.parametrize("cut", range(len(EVENTS)))
def test_a_restarted_writer_goes_on_with_parents_and_calls(cut: int) -> None:
    first = EventLines("s")
    made = [json.loads(first.line(event)) for event in EVENTS[:cut]]
    second = EventLines("s")
    second.restore(json_round_trip(first.snapshot()))
    made += [json.loads(second.line(event)) for event in EVENTS[cut:]]
    assert made == lines(*EVENTS)


def json_round_trip(tips: Tips) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps({"parents": tips.parents, "calls": tips.calls}))
    return value


def test_a_result_names_the_call_of_its_stream_where_two_have_one_id() -> None:
    asked = [call(n, "t", name, stream=f"subagent:{n}") for n, name in enumerate(("Read", "Glob"))]
    told = [result(n + 2, "t", stream=one.source.stream, call=one) for n, one in enumerate(asked)]
    first, second, *answers = lines(*asked, *told)
    assert [answer["content"]["tool_call_id"] for answer in answers] == [first["id"], second["id"]]

"""OpenClaw's transcripts: Pi's decoder, told apart where the content tells it; results, nested and missing calls."""

from typing import Any

import msgspec
import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.model.event import AnyEvent, AssistantText, Notification, SessionEnd, SessionInfo
from agentv_stages.providers.openclaw import PROVIDER
from agentv_stages.providers.pi import PROVIDER as PI
from support.conformance import detected
from support.decoding import (
    FIXTURES,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    events_of,
    lines,
    records,
    results,
    texts,
    total,
    usages,
)

SESSION = dialect(PROVIDER, "openclaw-session")
NAMES = ["session.jsonl", "tools.jsonl", "scripts.jsonl"]
HEADER = {"type": "session", "version": 4, "id": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}
USAGE = {"input": 100, "output": 20, "cacheRead": 30, "cacheWrite": 7, "totalTokens": 157, "cost": {"total": 0.25}}


def fixture(name: str) -> Any:
    return records((FIXTURES / "openclaw" / name).read_bytes())


def entry(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "id": "e-1", "parentId": None, "timestamp": "2026-03-01T10:00:01.000Z", **members}


def message(role: str, **members: Any) -> dict[str, Any]:
    return entry("message", message={"role": role, "timestamp": 1772359200500, **members})


def answer(*asked: tuple[str, str, dict[str, Any]], stop: str = "toolUse") -> dict[str, Any]:
    blocks = [{"type": "toolCall", "id": i, "name": name, "arguments": arguments} for i, name, arguments in asked]
    return message("assistant", content=blocks, model="m-1", usage=USAGE, stopReason=stop)


def result(call_id: str, name: str, error: bool = False, **details: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "out"}]
    return message("toolResult", toolCallId=call_id, toolName=name, content=content, details=details, isError=error)


def nested(parent: str, call_id: str, name: str, error: bool = False) -> dict[str, Any]:
    details = {
        "parentToolCallId": parent,
        "toolCallId": call_id,
        "toolName": name,
        "input": {"path": "a"},
        "result": {"content": [{"type": "text", "text": "inner"}]},
        "isError": error,
        "startedAt": 1772359200100,
        "timestamp": 1772359200350,
    }
    return message("custom", customType="openclaw.nested-tool.v1", content="", details=details)


def stored(*values: Any) -> list[AnyEvent]:
    return events_of(SESSION, lines(HEADER, *values))


def told(*values: Any) -> str:
    return detected(b"".join(msgspec.json.encode(value) + b"\n" for value in values))[1].name


@pytest.mark.parametrize("name", NAMES)
def test_the_laws_of_decoders_are_kept(name: str) -> None:
    check_laws(SESSION, fixture(name))
    check_odd_shapes(PROVIDER, fixture(name))


@pytest.mark.parametrize(
    ("name", "asked", "errors", "tokens"),
    [
        ("session.jsonl", ["read", "edit", "exec", "frobnicate", "read", "write", "exec"], 3, (71716, 68)),
        ("scripts.jsonl", ["read", "read", "code_execution"], 1, (27451, 44)),
        (
            "tools.jsonl",
            [
                *("read", "exec", "ls", "apply_patch", "tool_search", "tool_describe", "sessions_spawn"),
                *("tool_call", "tool_call", "exec", "process", "exec", "exec", "sessions_yield"),
            ],
            6,
            (88027, 161),
        ),
    ],
)
def test_recordings_say_what_the_model_asked_for(
    name: str, asked: list[str], errors: int, tokens: tuple[int, int]
) -> None:
    batch = decoded(SESSION, fixture(name))
    assert not batch.unknown and not batch.faults
    assert [c.name for c in calls(batch.events)] == asked
    assert [r.outcome for r in results(batch.events)].count("error") == errors
    assert {c.call_id for c in calls(batch.events)} == {r.call_id for r in results(batch.events)}
    sums = total(batch.events)
    assert (sums["input"], sums["output"]) == tokens
    assert [e.status for e in batch.events if isinstance(e, SessionEnd)] == ["complete"]


def test_the_texts_are_those_of_the_answers() -> None:
    assert texts(events_of(SESSION, fixture("session.jsonl")))[-2:] == ["Write.", "All done."]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([HEADER, entry("model_change", provider="p", modelId="m")], "openclaw-session"),
        ([{**HEADER, "version": 3}, entry("custom", customType="model-snapshot", data={})], "openclaw-session"),
        ([{**HEADER, "version": 3}, entry("custom", customType="openclaw.cache-ttl")], "openclaw-session"),
        ([{**HEADER, "version": 3}, message("user", content="x", __openclaw={})], "openclaw-session"),
        ([{**HEADER, "version": 3}, message("user", content="x")], "pi-session"),
        ([{**HEADER, "version": 3}, entry("custom", customType=["openclaw"])], "pi-session"),
    ],
)
def test_content_tells_openclaw_from_pi(values: list[Any], name: str) -> None:
    assert told(*values) == name


@pytest.mark.parametrize("name", ["session-1.5.jsonl", "session-v3.jsonl", "session-v1.jsonl"])
def test_logs_of_pi_stay_those_of_pi(name: str) -> None:
    assert detected((FIXTURES / "pi" / name).read_bytes())[0] is PI


@pytest.mark.parametrize(
    ("error", "details", "outcome", "code", "lasted"),
    [
        (False, {"status": "completed", "exitCode": 0, "durationMs": 12}, "ok", 0, 12),
        (False, {"status": "completed", "exitCode": 3}, "error", 3, None),
        (True, {"status": "failed", "exitCode": 127}, "error", 127, None),
        (True, {"status": "failed", "exitCode": None}, "error", None, None),
        (False, {"status": "running"}, "ok", None, None),
        (True, {"status": "denied"}, "denied", None, None),
        (True, {"status": 3}, "error", None, None),
        (False, {}, "ok", None, None),
    ],
)
def test_details_say_how_a_command_ended(
    error: bool, details: dict[str, Any], outcome: str, code: int | None, lasted: int | None
) -> None:
    [seen] = results(stored(answer(("c", "exec", {"command": "x"})), result("c", "exec", error, **details)))
    assert (seen.outcome, seen.exit_code, seen.duration_ms) == (outcome, code, lasted)


@pytest.mark.parametrize("asked", [("tool_call", {"id": "read"}), ("exec", {"code": "await read()"})])
def test_what_was_called_inside_counts_and_what_called_it_does_not(asked: tuple[str, dict[str, Any]]) -> None:
    name, arguments = asked
    events = stored(answer(("c", name, arguments)), nested("c", "n", "read", True), result("c", name))
    [call] = calls(events)
    [inner] = results(events)
    assert (call.name, call.parent_call, call.input) == ("read", "c", {"path": "a"})
    assert (inner.call_id, inner.outcome, inner.duration_ms) == ("n", "error", 250)
    assert [e.call_id for e in events if isinstance(e, Notification) and e.call_id] == ["c"]


def test_what_called_nothing_counts_itself() -> None:
    events = stored(answer(("c", "tool_call", {"id": "gone"}), ("s", "exec", {"code": "1"})), result("c", "tool_call"))
    assert [c.name for c in calls(events)] == ["tool_call", "code_execution"]


def test_a_result_without_a_call_tells_of_the_call() -> None:
    events = stored(answer(), result("c", "gone", True), result("c", "gone", True))
    [first] = calls(events)
    assert (first.name, first.call_id, first.message_id, first.input) == ("gone", "c", "e-1", {})
    assert [r.outcome for r in results(events)] == ["error", "error"]


def test_a_shell_is_one_and_a_script_is_none() -> None:
    batch = decoded(SESSION, fixture("scripts.jsonl"))
    Normalize(PROVIDER.tools).push(batch)
    Pair().push(batch)
    assert [(c.tool, c.kind) for c in calls(batch.events)] == [
        *[("Read", "read")] * 2,
        ("code_execution", "execute"),
    ]


def test_calls_of_an_answer_that_broke_off_are_cancelled() -> None:
    events = stored(answer(("c", "exec", {"code": "1"}), ("d", "read", {}), stop="aborted"))
    assert [(c.call_id, c.name) for c in calls(events)] == [("c", "exec"), ("d", "read")]
    assert [r.outcome for r in results(events)] == ["cancelled", "cancelled"]
    assert [u.input for u in usages(events)] == [137]


def test_reasoning_tokens_bear_a_name_of_their_own() -> None:
    said = [{"type": "text", "text": "Done."}]
    used = {**USAGE, "reasoningTokens": 8}
    last = message("assistant", content=said, model="m-1", usage=used, stopReason="stop")
    events = decoded(SESSION, lines(HEADER, last)).events
    assert [(usage.output, usage.reasoning) for usage in usages(events)] == [(20, 8)]


def spoken(text: str, **members: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return message("assistant", **{"content": content, "model": "m-1", "usage": USAGE, "stopReason": "stop", **members})


def said(events: list[AnyEvent]) -> list[tuple[str, bool]]:
    return [(event.text, event.synthetic) for event in events if isinstance(event, AssistantText)]


def test_the_reply_of_a_run_repeats_its_answers() -> None:
    """The tokens of a reply are those of the whole run."""
    asked, reply = message("user", content="Count."), spoken("One. Two.", api="cli")
    events = events_of(SESSION, lines(HEADER, asked, spoken("One."), spoken("Two."), reply))
    assert said(events) == [("One.", False), ("Two.", False), ("One. Two.", True)]
    assert len(usages(events)) == 2


def test_the_reply_is_the_answer_where_another_program_ran_the_model() -> None:
    asked, reply = message("user", content="Count."), spoken("One.", api="cli")
    events = events_of(SESSION, lines(HEADER, asked, spoken("Zero."), asked, reply))
    assert said(events) == [("Zero.", False), ("One.", False)]
    assert len(usages(events)) == 2


@pytest.mark.parametrize("model", ["delivery-mirror", "gateway-injected"])
def test_what_openclaw_writes_as_an_answer_is_no_turn(model: str) -> None:
    sent = spoken("Sent.", provider="openclaw", model=model)
    events = events_of(SESSION, lines(HEADER, spoken("One."), sent, spoken("Two.")))
    assert said(events) == [("One.", False), ("Sent.", True), ("Two.", False)]
    assert [event.model for event in events if isinstance(event, SessionInfo) and event.model] == ["m-1"]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete", "complete"]

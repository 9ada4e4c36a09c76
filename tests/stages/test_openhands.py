"""OpenHands: what its CLI prints, one event a line or over many; its conversations on disk, which are folders."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AnyEvent,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.openhands import PROVIDER
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
    usages,
)

STREAM, SESSION = dialect(PROVIDER, "openhands-stream"), dialect(PROVIDER, "openhands-session")
FOLDER = FIXTURES / "openhands"
STREAMS, SESSIONS = ["stream.jsonl", "printed.jsonl"], ["session.jsonl", "agent-0.jsonl", "hooks.jsonl", "mcp.jsonl"]


def fixture(name: str) -> Any:
    return records((FOLDER / name).read_bytes())


def event(kind: str, source: str = "environment", **members: Any) -> dict[str, Any]:
    return {"id": f"e-{kind}", "timestamp": "2026-03-01T10:00:01.000", "source": source, "kind": kind, **members}


def action(call_id: str = "c1", name: str = "terminal", arguments: str = '{"command":"ls"}', **more: Any) -> Any:
    asked = {"id": call_id, "name": name, "arguments": arguments}
    members: dict[str, Any] = {"thought": [], "tool_call": asked, "tool_name": name, "tool_call_id": call_id}
    members["llm_response_id"] = "a1"
    return event("ActionEvent", "agent", **{**members, **more})


def observation(call_id: str = "c1", **members: Any) -> Any:
    seen = {"content": [{"type": "text", "text": "out"}], "is_error": False, "kind": "TerminalObservation", **members}
    return event("ObservationEvent", tool_name="terminal", tool_call_id=call_id, observation=seen)


def message(source: str, text: str, **members: Any) -> Any:
    content = [{"type": "text", "text": text}] if text else []
    said = {"role": "assistant" if source == "agent" else "user", "content": content, **members.pop("llm", {})}
    return event("MessageEvent", source, llm_message=said, llm_response_id="a1", **members)


def state(status: str = "finished", **metrics: Any) -> Any:
    workspace = {"working_dir": "/w"}
    agent = {"llm": {"model": "m-1"}}
    stats = {"usage_to_metrics": metrics}
    return {"id": "s-1", "agent": agent, "workspace": workspace, "execution_status": status, "stats": stats}


def spent(*calls: tuple[str, int, int], cost: float = 0.0) -> dict[str, Any]:
    counts = [{"model": "m-1", "prompt_tokens": i, "completion_tokens": o, "response_id": key} for key, i, o in calls]
    total = {"prompt_tokens": sum(c[1] for c in calls), "completion_tokens": sum(c[2] for c in calls)}
    return {"accumulated_cost": cost, "accumulated_token_usage": total, "token_usages": counts}


def stored(*values: Any) -> list[AnyEvent]:
    return events_of(SESSION, lines(*values))


def printed(data: bytes) -> Batch:
    """What the whole ladder makes of an output: its one batch, with the faults of the flush."""
    stage = Decode(STREAM, DecodeContext("log"))
    (batch,) = stage.push(Batch("log", records=records(data)))
    for rest in stage.flush():
        batch.faults += rest.faults
    return batch


def ends(events: Sequence[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def prompts(events: Sequence[AnyEvent]) -> list[tuple[str, bool]]:
    return [(e.text, e.injected) for e in events if isinstance(e, UserText)]


def outcomes(events: Sequence[AnyEvent]) -> list[tuple[str | None, int | None]]:
    return [(one.outcome, one.exit_code) for one in results(events)]


@pytest.mark.parametrize("name", STREAMS)
def test_laws_of_the_stream(name: str) -> None:
    check_laws(STREAM, fixture(name))
    assert detected((FOLDER / name).read_bytes())[1] is STREAM


@pytest.mark.parametrize("name", SESSIONS)
def test_laws_of_a_conversation(name: str) -> None:
    check_laws(SESSION, fixture(name))
    assert detected((FOLDER / name).read_bytes())[1] is SESSION


def test_odd_shapes_are_refused_whole_or_taken_whole() -> None:
    check_odd_shapes(PROVIDER, [r for r in fixture("stream.jsonl") if r.data.startswith(b"{")])
    check_odd_shapes(PROVIDER, fixture("session.jsonl"))


def test_the_stream_has_every_call_with_its_outcome_and_what_was_said() -> None:
    batch = decoded(STREAM, fixture("stream.jsonl"))
    events = batch.events
    assert [call.name for call in calls(events)] == [
        *("file_editor", "file_editor", "terminal", "terminal", "file_editor", "terminal", "think", "task_tracker"),
        *("terminal", "finish"),
    ]
    assert len({call.message_id for call in calls(events)}) == 7
    assert outcomes(events)[2:6] == [("ok", 0), ("ok", 0), ("ok", None), ("error", 3)]
    assert outcomes(events)[-2:] == [(None, None), ("ok", None)]  # a command that still runs, and `finish`
    assert texts(events) == ["Let me look.", "Now in parallel.", "Finishing."]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["I should read calc first."]
    assert prompts(events) == [("Fix calc.py.", False)]
    assert ends(events) == [("complete", "finish")]
    assert usages(events) == [] and not batch.faults


def test_lines_for_people_name_the_model_and_the_conversation() -> None:
    found = [e for e in decoded(STREAM, fixture("stream.jsonl")).events if isinstance(e, SessionInfo)]
    assert (found[0].model, found[-1].session_id) == ("openai/gpt-4o", "1d9c0649-ae06-4773-8053-81ca08e33fb5")


def test_an_event_over_many_lines_is_told_when_it_is_whole() -> None:
    batch = decoded(STREAM, fixture("printed.jsonl"))
    assert [call.input["command"] for call in calls(batch.events)] == ["echo one", "exit_me() { return 2; }; exit_me"]
    assert outcomes(batch.events) == [("ok", 0), ("error", 2)]
    assert texts(batch.events) == ["Look.", "Done with {braces}\n}\n."]
    assert ends(batch.events) == [("complete", "answer")] and not batch.faults
    data = (FOLDER / "printed.jsonl").read_bytes()
    source = calls(batch.events)[0].source
    assert msgspec.json.decode(data[source.offset : source.offset + source.length])["kind"] == "ActionEvent"


def test_an_event_that_broke_off_is_a_dead_letter_and_costs_no_other() -> None:
    whole = msgspec.json.encode(message("agent", "Hello.", sender=None))
    batch = printed(b'{\n  "id": "e-1",\n--JSON Event--\n{\n  "kind": "PauseEvent"\n}\n' + whole + b"\n")
    assert [(fault.reason, fault.data) for fault in batch.faults] == [("torn-middle", b'{\n  "id": "e-1",')]
    assert ends(batch.events) == [("interrupted", "PauseEvent"), ("complete", "answer")]


def test_a_line_within_an_event_that_is_none_of_its_own_costs_it_nothing() -> None:
    other = msgspec.json.encode(message("agent", "Hello.", sender=None))
    batch = printed(b'{\n  "kind":\nAgent is working\n' + other + b'\n{"torn":"in\n  "PauseEvent"\n}\n')
    assert [(fault.reason, fault.data) for fault in batch.faults] == [("torn-middle", b'{"torn":"in')]
    assert ends(batch.events) == [("complete", "answer"), ("interrupted", "PauseEvent")]


def test_an_event_without_its_end_is_torn() -> None:
    batch = printed(b'--JSON Event--\n{\n  "id": "e-1",\n  "kind": "Mess')
    assert [(fault.reason, fault.offset, fault.row, fault.data) for fault in batch.faults] == [
        ("torn", 15, 1, b'{\n  "id": "e-1",\n  "kind": "Mess')
    ]


def test_an_event_over_many_lines_that_does_not_fit_is_a_dead_letter_whole() -> None:
    batch = printed(b'Agent is working\n{\n  "kind": 7\n}\n')
    assert [(fault.reason, fault.data) for fault in batch.faults] == [("schema", b'{\n  "kind": 7\n}')]


def test_other_text_is_a_dead_letter_and_the_box_at_the_end_is_not() -> None:
    box = '│ {"kind":"MessageEvent","id":"x"} │\nTraceback (most recent call last):\n'
    batch = printed(box.encode())
    assert [fault.reason for fault in batch.faults] == ["not-json"]
    assert batch.ignored == {"text for people": 1} and not batch.events


def test_stream_and_disk_give_the_same_ids() -> None:
    shown = message("agent", "Hello.", sender=None)
    on_disk = {key: value for key, value in shown.items() if value is not None}
    printed, kept = (events_of(one, lines(value)) for one, value in ((STREAM, shown), (SESSION, on_disk)))
    assert [e.source.base_id for e in printed] == [e.source.base_id for e in kept] == ["e-MessageEvent"] * 2


def test_a_refused_call_is_denied_and_hooks_are_told() -> None:
    events = decoded(SESSION, fixture("hooks.jsonl")).events
    assert outcomes(events) == [("denied", None), ("ok", 0)]
    assert results(events)[0].output == "no rm here"
    assert [(e.name, e.level) for e in events if isinstance(e, Notification)] == [
        ("hook/PreToolUse", "warning"),
        ("hook/PreToolUse", "info"),
    ]


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"exit_code": 0}, ("ok", 0)),
        ({"exit_code": 2}, ("error", 2)),
        ({"exit_code": -1}, (None, None)),
        ({"exit_code": -1, "timeout": True}, ("error", None)),
        ({"is_error": True}, ("error", None)),
        ({}, ("ok", None)),
    ],
)
def test_outcome_of_an_observation(given: dict[str, Any], outcome: Any) -> None:
    assert outcomes(stored(action(), observation(**given))) == [outcome]


def test_a_call_that_did_not_fit_its_tool_is_an_error() -> None:
    refused = event("AgentErrorEvent", "agent", tool_name="terminal", tool_call_id="c1", error="no JSON")
    events = stored(action(arguments="{not json", action=None), refused)
    assert calls(events)[0].input == "{not json"
    assert (results(events)[0].outcome, results(events)[0].output) == ("error", "no JSON")


def test_what_has_an_image_in_it_stays_as_it_is_and_texts_are_one_text() -> None:
    blocks = [{"type": "text", "text": "seen"}, {"type": "image", "image_urls": ["data:x"]}]
    assert results(stored(action(), observation(content=blocks)))[0].output == blocks
    for given, wanted in ((blocks, blocks), (blocks[:1] * 2, "seenseen")):
        (prompt,) = [e for e in stored(message("user", "", llm={"content": given})) if isinstance(e, UserText)]
        assert msgspec.json.decode(prompt.body) == wanted


@pytest.mark.parametrize(
    ("thought", "wanted"),
    [
        ({"reasoning_content": "why", "thinking_blocks": [{"type": "thinking", "thinking": "why"}]}, ["why"]),
        ({"thinking_blocks": [{"type": "thinking", "thinking": "a"}, {"type": "redacted_thinking"}]}, ["a"]),
        ({"responses_reasoning_item": {"summary": ["b", "c"], "content": None}}, ["b\nc"]),
    ],
)
def test_thoughts_of_each_api(thought: dict[str, Any], wanted: list[str]) -> None:
    for events in (stored(action(**thought)), stored(message("agent", "x", llm=thought))):
        assert [e.text for e in events if isinstance(e, Reasoning)] == wanted


def test_a_tool_of_an_mcp_server_is_told_by_what_was_made_of_the_call() -> None:
    normalize = Normalize(PROVIDER.tools)
    batch = decoded(SESSION, fixture("mcp.jsonl"))
    normalize.push(batch)
    assert [(c.tool, c.origin, c.kind) for c in calls(batch.events)] == [("mcp__lookup", "mcp", "other")] * 2
    assert [r.outcome for r in results(batch.events)] == ["ok", "error"]


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "kind", "edit"),
    [
        ("file_editor", '{"command":"view","path":"/a"}', "Read", "read", False),
        ("file_editor", '{"command":"create","path":"/a"}', "Write", "write", True),
        ("file_editor", '{"command":"str_replace","path":"/a"}', "Edit", "write", True),
        ("file_editor", '{"command":"undo_edit","path":"/a"}', "Edit", "write", True),
        ("terminal", '{"command":"cat a"}', "Bash", "read", False),
        ("task_tracker", '{"command":"view"}', "TodoRead", "plan", False),
        ("task", '{"prompt":"x"}', "Task", "plan", False),
        ("think", '{"thought":"x"}', "think", "other", False),
    ],
)
def test_canonical_tools(name: str, arguments: str, tool: str, kind: str, edit: bool) -> None:
    call = Normalize(PROVIDER.tools).call(calls(stored(action(name=name, arguments=arguments)))[0])
    assert (call.tool, call.kind, call.edit) == (tool, kind, edit)
    assert call.files == ({"file_editor": ("/a",), "terminal": ("a",)}.get(name, ()))


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        (message("agent", "Done."), [("complete", "answer")]),
        (message("agent", ""), []),
        (
            event("ConversationErrorEvent", code="MaxIterationsReached", detail="3"),
            [("error", "MaxIterationsReached: 3")],
        ),
        (event("PauseEvent", "user"), [("interrupted", "PauseEvent")]),
        (observation(kind="FinishObservation"), [("complete", "finish")]),
        (state("paused"), [("interrupted", "paused")]),
        (state("stuck"), [("error", "stuck")]),
        (state("running"), []),
        (state("finished"), []),
    ],
)
def test_ends(last: Any, wanted: list[Any]) -> None:
    assert ends(stored(message("user", "Go."), last)) == wanted


def test_what_the_program_wrote_in_the_users_name_is_injected() -> None:
    demand = "Your last response did not include a function call or a message. Please use a tool."
    events = stored(
        event("SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You are."}, tools=[]),
        message("user", "Go.", extended_content=[{"type": "text", "text": "<skill>"}]),
        message("user", demand),
        message("user", "Count.", sender="OpenHands Agent"),
    )
    assert prompts(events) == [
        *(("You are.", True), ("Go.", False), ("<skill>", True), (demand, True), ("Count.", True)),
    ]


def test_a_condensation_is_told_and_what_is_not_known_is_counted() -> None:
    found = decoded(
        SESSION, lines(event("Condensation", summary="So far."), event("NewEvent"), event("CondensationRequest"))
    )
    assert [(e.name, e.message) for e in found.events if isinstance(e, Notification)] == [("condensation", "So far.")]
    assert (found.unknown, found.ignored) == ({"NewEvent": 1}, {"CondensationRequest": 1})


def test_tokens_are_those_of_the_calls_and_the_total_is_not_added_to_them() -> None:
    own, condenser = spent(("a1", 100, 10), ("a2", 200, 20), cost=0.5), spent(("k1", 50, 5))
    task = spent(("t1", 30, 3), cost=0.25)
    metrics: dict[str, Any] = {"agent": own, "condenser": condenser, "task:task_1": task}
    events = stored(state("finished", **metrics))
    assert [u.key for u in usages(events) if u.scope == "call"] == ["a1", "a2", "k1", "t1"]
    child = decoded(SESSION, lines(state(agent=task)), DecodeContext("c", "subagent:x", "c1", "s-1")).events
    streams: list[dict[str, Any]] = []
    for order in ((events, child), (child, events)):
        totals = Totals()
        for part in order:
            batch = decoded(SESSION, [])
            batch.events = list(part)
            totals.observe(batch)
            totals.restore(totals.snapshot())
        assert (totals.tokens().input, totals.tokens().output, totals.cost_usd) == (380, 38, 0.75)
        assert totals.state.last_input == 50
        streams.append({stream: told["input"] for stream, told in totals.by_stream().items()})
    assert streams == [{"main": 350, "subagent:x": 30}] * 2  # a follower meets the session's state first


def test_a_cost_of_nothing_is_not_known_and_no_call_is_no_total() -> None:
    assert [u.cost_usd for u in usages(stored(state(agent=spent(("a1", 1, 1)))))] == [None, None]
    assert not [e for e in stored(state(agent=spent())) if isinstance(e, TokenUsage)]


def test_the_state_names_session_model_and_folder() -> None:
    info = next(e for e in stored(state()) if isinstance(e, SessionInfo))
    assert (info.session_id, info.model, info.cwd) == ("s-1", "m-1", "/w")


def test_the_folder_names_the_conversation() -> None:
    place = "/h/.openhands/conversations/043ad75bab224b2b83d0acfbfe1c81ea/events/event-00000-36063bd6.json"
    found = decoded(SESSION, lines(message("user", "Go.")), DecodeContext("f", place=place)).events
    assert [e.session_id for e in found if isinstance(e, SessionInfo)] == ["043ad75b-ab22-4b2b-83d0-acfbfe1c81ea"]


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "ActionEvent", "id": "1"},
        {"kind": "Event", "id": "1", "timestamp": "2026-01-01", "source": "agent"},
        {"id": 0, "timestamp": "2025-01-01T00:00:00", "source": "agent", "action": "run", "args": {"command": "ls"}},
        {"execution_status": "finished", "stats": {}, "agent": {}, "workspace": {}},
        {"apiVersion": "v1", "kind": "MessageEvent", "source": {"component": "x"}, "id": "1", "timestamp": "x"},
    ],
)
def test_other_records_are_not_claimed(line: dict[str, Any]) -> None:
    assert [one.detect([line]) for one in PROVIDER.dialects] == [0.0, 0.0]


def test_every_call_of_the_recording_is_one_call() -> None:
    events = decoded(SESSION, fixture("session.jsonl")).events
    assert [call.name for call in calls(events)] == ["task"] * 4
    assert all(isinstance(call, ToolCall) and call.input["security_risk"] == "LOW" for call in calls(events))
    assert [r.outcome for r in results(events)] == ["ok", "ok", "error", "error"]


WRAPPED = rb"""--JSON Event--
{
  "id": "e-1",
  "kind": "MessageEvent",
  "llm_message": {
    "content": [
      {
        "text":
"Twelve \"apples\" and
 a pear, as C:\\
orchard says\
n{
}",
        "type": "text"
      }
    ],
    "role": "user"
  },
  "sender": null,
  "source": "user",
  "timestamp": "2026-03-01T10:00:01.000"
}
--JSON Event--
{
  "id": "e-2",
  "kind": "PauseEvent",
  "source": "user",
  "timestamp": "2026-03-01T10:00:02.000"
}
""".replace(b'"text":', b'"text": ')
"""As 1.10 prints where there is no terminal: strings go on in the next line, and may begin there."""


def test_an_event_printed_at_the_width_of_a_terminal_is_put_together_again() -> None:
    data = WRAPPED.replace(b"n{\n}", b"nand more")
    batch = decoded(STREAM, records(data))
    assert [e.text for e in batch.events if isinstance(e, UserText)] == [
        'Twelve "apples" and a pear, as C:\\orchard says\nand more'
    ]
    assert not batch.faults
    assert detected(data)[1] is STREAM
    check_laws(STREAM, records(data))


def test_a_brace_alone_within_a_string_ends_nothing() -> None:
    batch = decoded(STREAM, records(WRAPPED.replace(b"n{\n}", b"n\n}")))
    assert [e.text for e in batch.events if isinstance(e, UserText)] == [
        'Twelve "apples" and a pear, as C:\\orchard says\n}'
    ]
    assert not batch.faults


def test_an_event_that_breaks_off_within_a_string_does_not_take_the_next() -> None:
    broken = WRAPPED[: WRAPPED.index(b"orchard")] + b"\n" + WRAPPED[WRAPPED.rindex(b"--JSON") :]
    batch = decoded(STREAM, records(broken))
    assert [fault.reason for fault in batch.faults] == ["torn-middle"]
    assert batch.events

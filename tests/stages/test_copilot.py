import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.decode import Decode
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AnyEvent,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.copilot import PROVIDER
from agentv_stages.providers.copilot.catalogue import KNOWN
from support.decoding import (
    FIXTURES,
    asked_calls,
    best,
    calls,
    check_laws,
    corpus,
    decoded,
    dialect,
    events_of,
    head,
    lines,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)

STREAM = dialect(PROVIDER, "copilot-stream")
SESSION = dialect(PROVIDER, "copilot-session")
START = "2026-03-01T10:00:00.000Z"


def event(kind: str, data: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "data": data or {},
        "id": f"e-{kind}",
        "timestamp": START,
        "parentId": None,
        **more,
    }


def message(text: str = "Hi.", *requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    data = {"messageId": "m1", "model": "model-1", "content": text, "toolRequests": list(requests), **more}
    return event("assistant.message", data)


def request(call_id: str = "c1", name: str = "bash", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "toolCallId": call_id,
        "name": name,
        "arguments": arguments or {"command": "ls"},
        "type": "function",
        **more,
    }


def complete(call_id: str = "c1", **data: Any) -> dict[str, Any]:
    return event("tool.execution_complete", {"toolCallId": call_id, **data})


def kinds(events: list[AnyEvent]) -> list[str]:
    return [type(e).__name__ for e in events]


@pytest.mark.parametrize("name", ["stream.jsonl", "session.jsonl"])
def test_prefixes_and_restored_decoders_give_the_same_events(name: str) -> None:
    given = records((FIXTURES / "copilot" / name).read_bytes())
    found, score = best(PROVIDER, given)
    assert (found, score) == ("copilot-stream" if name == "stream.jsonl" else "copilot-session", 1.0)
    check_laws(dialect(PROVIDER, found), given)


def test_a_live_stream_gives_each_text_call_and_result_once() -> None:
    batch = decoded(STREAM, records((FIXTURES / "copilot" / "stream.jsonl").read_bytes()))
    assert texts(batch.events) == ["Looking.", "Sub done.", "All done."]
    assert [c.name for c in calls(batch.events)] == ["view", "task", "bash", "mcp__demo__lookup"]
    assert [(r.call_id, r.outcome, r.exit_code) for r in results(batch.events)] == [
        ("c1", "ok", None),
        ("c3", "error", 3),
        ("c2", "ok", None),
        ("c4", "denied", None),
    ]
    assert not batch.unknown
    assert batch.ignored["assistant.message_delta"] == 2
    assert batch.ignored["tool.shell_output"] == 1


def test_the_last_line_gives_session_id_and_end() -> None:
    events = events_of(STREAM, records((FIXTURES / "copilot" / "stream.jsonl").read_bytes()))
    end = events[-1]
    assert isinstance(end, SessionEnd)
    assert (end.status, end.duration_ms) == ("complete", 4200)
    assert end.result_json is not None
    assert [e.session_id for e in events if isinstance(e, SessionInfo) and e.session_id] == ["s-1"]


def test_sub_agents_have_their_stream_and_the_call_that_started_them() -> None:
    events = events_of(STREAM, records((FIXTURES / "copilot" / "stream.jsonl").read_bytes()))
    shell = next(c for c in calls(events) if c.name == "bash")
    assert (shell.source.stream, shell.parent_call) == ("subagent:a-1", "c2")
    task = next(r for r in results(events) if r.call_id == "c2")
    assert (task.source.stream, task.agent_id) == ("main", "a-1")
    prompt = next(e for e in events if isinstance(e, UserText) and e.source.stream != "main")
    assert (prompt.text, prompt.injected) == ("Do the sub work.", False)


def test_a_sub_agent_of_an_older_version_is_known_by_its_call_alone() -> None:
    old = message("Sub.", request("c9"), parentToolCallId="c2")
    text, call = events_of(SESSION, lines(old))[-2:]
    assert text.source.stream == call.source.stream == "subagent:c2"
    assert isinstance(call, ToolCall) and call.parent_call == "c2"


def test_deltas_of_an_answer_that_was_broken_off_are_told_at_the_end() -> None:
    given = lines(
        event("assistant.message_delta", {"messageId": "m1", "deltaContent": "Half an "}),
        event("assistant.message_delta", {"messageId": "m1", "deltaContent": "answ"}),
    )
    assert texts(events_of(STREAM, given)) == ["Half an answ"]


def test_a_delta_without_a_proper_time_is_told_with_a_fault() -> None:
    odd = {**event("assistant.message_delta", {"messageId": "m1", "deltaContent": "Half"}), "timestamp": [5]}
    batch = decoded(STREAM, lines(odd))
    assert texts(batch.events) == ["Half"]
    assert [fault.reason for fault in batch.faults] == ["schema"]


def test_deltas_of_a_dead_attempt_are_void() -> None:
    dead = event("assistant.message_delta", {"messageId": "m0", "deltaContent": "Dead"})
    new = event("assistant.message_delta", {"messageId": "m1", "deltaContent": "New"})
    retry = event("assistant.turn_retry", {"turnId": "1", "reason": "api_error"})
    assert texts(events_of(STREAM, lines(dead, new))) == ["New"]
    assert texts(events_of(STREAM, lines(dead, retry))) == []
    assert texts(events_of(STREAM, lines(dead, retry, new, message("New")))) == ["New"]


@pytest.mark.parametrize(
    ("breaks", "status"),
    [
        (event("abort", {"reason": "user_initiated"}), "interrupted"),
        (event("session.error", {"errorType": "query", "message": "503"}), "error"),
    ],
    ids=["abort", "error"],
)
def test_a_partial_answer_is_told_where_it_was_broken_off(breaks: dict[str, Any], status: str) -> None:
    delta = event("assistant.message_delta", {"messageId": "m1", "deltaContent": "Half"})
    events = events_of(STREAM, lines(delta, breaks, event("session.shutdown")))
    assert kinds(events) == ["AssistantText", "Notification", "SessionEnd"]
    assert isinstance(events[2], SessionEnd) and events[2].status == status


def test_reasoning_is_taken_once_from_the_message() -> None:
    delta = event("assistant.reasoning_delta", {"reasoningId": "r1", "deltaContent": "Hm"})
    whole = event("assistant.reasoning", {"reasoningId": "r1", "content": "Hmm."})
    events = events_of(STREAM, lines(delta, whole, message("Hi.", reasoningText="Hmm.")))
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Hmm."]


def test_reasoning_that_stands_behind_its_message_is_no_turn_of_its_own() -> None:
    def whole(thought: str) -> dict[str, Any]:
        return event("assistant.reasoning", {"reasoningId": "r1", "content": thought})

    given = lines(message("Hi.", reasoningText="Hm\u00e9."), whole("Hm\u00e9."))
    check_laws(STREAM, given)
    found = [e for e in events_of(STREAM, given) if isinstance(e, Reasoning)]
    assert [(e.text, e.message_id) for e in found] == [("Hm\u00e9.", "m1")]
    again = lines(message(reasoningText="Hm."), event("model.call_start"), whole("Hm."), message(messageId="m2"))
    found = [e for e in events_of(STREAM, again) if isinstance(e, Reasoning)]
    assert [(e.text, e.message_id) for e in found] == [("Hm.", "m1"), ("Hm.", "m2")]


def test_reasoning_that_the_message_lacks_comes_from_its_own_events() -> None:
    delta = event("assistant.reasoning_delta", {"reasoningId": "r1", "deltaContent": "Hm"})
    whole = event("assistant.reasoning", {"reasoningId": "r1", "content": "Hmm."})
    more = event("assistant.reasoning_delta", {"reasoningId": "r1", "deltaContent": "m."})
    for given in ([delta, whole, message()], [delta, more, message(reasoningText=None)]):
        found = [e for e in events_of(STREAM, lines(*given)) if isinstance(e, Reasoning)]
        assert [(e.text, e.message_id) for e in found] == [("Hmm.", "m1")]


@pytest.mark.parametrize(
    ("data", "outcome", "code"),
    [
        ({"success": True, "result": {"content": "x"}}, "ok", None),
        ({"success": True, "result": {"content": "x"}, "shellExecution": {"exitCode": 2}}, "error", 2),
        ({"success": True, "result": {"content": "x", "contents": [{"type": "shell_exit", "exitCode": 0}]}}, "ok", 0),
        ({"success": True, "result": {"content": "x\n<shellId: 0 completed with exit code 3>"}}, "error", 3),
        ({"success": True, "result": {"content": "x\n<exited with exit code 0>"}}, "ok", 0),
        ({"success": True, "result": {"content": "<exited with exit code 2>"}}, "error", 2),
        ({"success": True, "result": {"content": "1. x\n2. <exited with exit code 2>"}}, "ok", None),
        ({"success": True, "result": {"content": "notes.md:7:<exited with exit code 2>"}}, "ok", None),
        ({"success": False, "error": {"message": "no", "code": "failure"}}, "error", None),
        ({"success": False, "error": {"message": "no", "code": "denied"}}, "denied", None),
        ({"success": False, "error": {"message": "no", "code": "rejected"}}, "denied", None),
        ({"success": False, "error": {"message": "no", "code": "cancelled"}}, "cancelled", None),
        ({"success": False, "error": "a text"}, "error", None),
        ({"result": "an odd result"}, None, None),
    ],
)
def test_outcome_and_exit_code_of_a_result(data: dict[str, Any], outcome: str | None, code: int | None) -> None:
    (result,) = results(events_of(SESSION, lines(complete(**data))))
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert result.output_json is not None


def test_output_is_the_content_that_the_model_saw() -> None:
    shown = complete(success=True, result={"content": "seen", "detailedContent": "a diff"})
    wrong = complete("c2", success=False, error={"message": "not found", "code": "failure"})
    assert [r.output for r in results(events_of(SESSION, lines(shown, wrong)))] == ["seen", "not found"]


def test_duration_counts_from_the_start_of_the_execution() -> None:
    start = event(
        "tool.execution_start", {"toolCallId": "c1", "toolName": "bash"}, timestamp="2026-03-01T10:00:01.000Z"
    )
    end = complete(success=True) | {"timestamp": "2026-03-01T10:00:03.500Z"}
    (result,) = results(events_of(SESSION, lines(message("Hi.", request()), start, end)))
    assert result.duration_ms == 2500


def test_an_execution_without_its_message_is_a_call_all_the_same() -> None:
    start = event("tool.execution_start", {"toolCallId": "c1", "toolName": "view", "arguments": {"path": "a"}})
    (call,) = calls(events_of(SESSION, lines(start)))
    assert (call.name, call.input) == ("view", {"path": "a"})
    assert call.message_id


def test_a_tool_that_the_user_ran_is_no_call_of_the_model() -> None:
    asked = event("tool.user_requested", {"toolCallId": "c1", "toolName": "bash"})
    start = event("tool.execution_start", {"toolCallId": "c1", "toolName": "bash"})
    assert kinds(events_of(SESSION, lines(asked, start, complete(success=True)))) == ["Notification"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [('{"a": 1}', {"a": 1}), ("*** Begin Patch", "*** Begin Patch"), ('{"a":', '{"a":'), (None, {})],
)
def test_arguments_given_as_text_are_unwrapped_where_they_are_an_object(given: Any, wanted: Any) -> None:
    asked = {"toolCallId": "c1", "name": "apply_patch", "arguments": given}
    (call,) = calls(events_of(SESSION, lines(message("", asked))))
    assert call.input == wanted


def test_usage_records_count_each_model_call_with_the_cached_part() -> None:
    usage = {"model": "model-1", "inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 60, "cacheWriteTokens": 5}
    record = event("session.usage_record", {"usage": {**usage, "reasoningTokens": 3, "apiCallId": "api-1"}})
    (found,) = usages(events_of(SESSION, lines(record, message(outputTokens=10, apiCallId="api-1"))))
    assert (found.input, found.cached, found.cache_write) == (100, 60, 5)
    assert (found.output, found.reasoning, found.scope) == (10, 3, "call")


def test_responses_that_a_server_gives_one_id_are_told_apart() -> None:
    """Own models, behind Ollama: it draws the ids of its responses from 999. What comes twice counts once."""
    call = {"model": "model-1", "outputTokens": 7, "apiCallId": "chatcmpl-7"}
    records = [event("session.usage_record", {"usage": {**call, "inputTokens": n}}, id=f"u{n}") for n in (700, 800)]
    also = event("assistant.usage", {**call, "inputTokens": 800}, id="e")
    found = usages(events_of(SESSION, lines(*records, also, message(outputTokens=7, apiCallId="chatcmpl-7"))))
    totals = Totals()
    totals.observe(Batch("log", events=list(found)))
    assert (totals.tokens().input, totals.state.model_calls) == (1500, 2)


def test_tokens_recorded_before_their_answer_stand_in_its_row() -> None:
    def record(call: str, tokens: int) -> dict[str, Any]:
        used = {"apiCallId": call, "model": "model-1", "inputTokens": tokens, "outputTokens": 1}
        return event("session.usage_record", {"usage": used}, id=f"u-{call}")

    def answer(own: str, call: str) -> dict[str, Any]:
        return message(own, messageId=own, apiCallId=call) | {"id": own}

    given = lines(
        record("r1", 10), answer("a1", "r1"), record("r2", 20), answer("a2", "r2"), record("r3", 30), event("abort")
    )
    check_laws(SESSION, given)
    stage, batch = Consolidate(), Batch("log", events=events_of(SESSION, given))
    rows = [m for b in (*stage.push(batch), *stage.flush()) for m in b.messages if m.role == "assistant"]
    assert [(m.message_id, m.usage.input if m.usage else None) for m in rows] == [("a1", 10), ("a2", 20)]
    assert [u.input for u in usages(events_of(SESSION, given))] == [10, 20, 30]
    assert [u.input for u in usages(events_of(SESSION, given[:-1]))] == [10, 20, 30]


def test_output_tokens_beside_a_message_are_kept_where_nothing_else_tells() -> None:
    (found,) = usages(events_of(STREAM, lines(message(outputTokens=10, apiCallId="api-1"))))
    assert (found.input, found.output) == (None, 10)


def test_answers_whose_calls_a_server_gave_one_id_each_count_their_output() -> None:
    records = [message(messageId=f"a{n}", outputTokens=n, apiCallId="chatcmpl-7") | {"id": f"a{n}"} for n in (7, 8)]
    totals = Totals()
    totals.observe(Batch("log", events=list(events_of(STREAM, lines(*records, records[1])))))
    assert (totals.tokens().output, totals.state.model_calls) == (15, 2)


@pytest.mark.parametrize(("more", "scope"), [({"accountingSnapshot": {}}, "session"), ({}, "segment")])
def test_totals_of_a_shutdown_are_read_from_one_of_the_three_copies(more: dict[str, Any], scope: str) -> None:
    metrics = {
        "m-1": {"usage": {"inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 60}, "requests": {"count": 2}},
        "m-2": {"usage": {"inputTokens": 1, "outputTokens": 2}, "requests": 1},
    }
    copies = {"modelMetrics": metrics, "agentMetrics": {"main": {"modelMetrics": metrics}}, **more}
    (found,) = usages(events_of(SESSION, lines(event("session.shutdown", copies))))
    assert (found.scope, found.input, found.output, found.cached) == (scope, 101, 12, 60)
    assert found.covers_streams


def test_a_shutdown_after_a_fatal_error_is_an_error() -> None:
    failed = event("session.error", {"errorType": "query", "message": "400 bad"})
    events = events_of(SESSION, lines(failed, event("session.shutdown", {"shutdownType": "routine"})))
    assert isinstance(events[-1], SessionEnd)
    assert (events[-1].status, events[-1].reason) == ("error", "query: 400 bad")
    again = events_of(SESSION, lines(failed, message(), event("session.shutdown", {"shutdownType": "routine"})))
    assert isinstance(again[-1], SessionEnd) and again[-1].status == "complete"


def test_an_exit_code_that_is_not_zero_is_an_error() -> None:
    line = {"type": "result", "timestamp": START, "sessionId": "s-1", "exitCode": 1, "usage": {"sessionDurationMs": 5}}
    end = events_of(STREAM, lines(line))[-1]
    assert isinstance(end, SessionEnd)
    assert (end.status, end.reason, end.duration_ms) == ("error", "exit code 1", 5)


def test_a_resumed_session_tells_its_facts_again() -> None:
    context = {"cwd": "/w", "branch": "main"}
    start = event("session.start", {"sessionId": "s-1", "copilotVersion": "1.0", "context": context})
    resume = event("session.resume", {"selectedModel": "model-2", "context": {"cwd": "/v"}})
    first, second = events_of(SESSION, lines(start, resume))
    assert isinstance(first, SessionInfo) and isinstance(second, SessionInfo)
    assert (first.session_id, first.version, first.cwd, first.git_branch) == ("s-1", "1.0", "/w", "main")
    assert (second.session_id, second.model, second.cwd) == (None, "model-2", "/v")


def test_a_model_change_of_a_sub_agent_is_not_the_sessions() -> None:
    assert not events_of(SESSION, lines(event("session.model_change", {"newModel": "other"}, agentId="a-1")))


def test_text_of_the_program_is_injected() -> None:
    skill = event("user.message", {"content": "<skill>", "source": "skill-x", "messageId": "u1"})
    notice = event("system.notification", {"content": "done", "kind": {"type": "agent_completed"}})
    human = event("user.message", {"content": "Do it.", "transformedContent": "<now>Do it.", "messageId": "u2"})
    found = [e for e in events_of(SESSION, lines(skill, notice, human)) if isinstance(e, UserText)]
    assert [(e.text, e.injected) for e in found] == [("<skill>", True), ("done", True), ("Do it.", False)]


def test_a_permission_that_is_asked_for_names_its_call() -> None:
    asked = {"requestId": "q", "permissionRequest": {"kind": "shell", "toolCallId": "c1", "intention": "Run"}}
    answer = {"requestId": "q", "toolCallId": "c1", "result": {"kind": "denied-interactively-by-user"}}
    granted = {"requestId": "q", "toolCallId": "c1", "result": {"kind": "approved"}}
    given = lines(
        event("permission.requested", asked),
        event("permission.completed", answer),
        event("permission.completed", granted),
    )
    found = [e for e in events_of(SESSION, given) if isinstance(e, Notification)]
    assert [(e.name, e.call_id) for e in found] == [("permission_request", "c1"), ("permission.completed", "c1")]


def test_every_known_type_has_a_name() -> None:
    batch = decoded(SESSION, lines(*({"type": kind, "data": {}, "id": kind, "timestamp": START} for kind in KNOWN)))
    assert not batch.unknown


def test_why_autopilot_stopped_is_told() -> None:
    """Recorded in 1.0.102 with `--mode autopilot`."""
    (told,) = events_of(STREAM, lines(event("session.autopilot_stopped", {"reason": "cap_reached"})))
    assert isinstance(told, Notification) and (told.message, told.level) == ("cap_reached", "info")


def test_a_new_type_is_counted() -> None:
    assert decoded(SESSION, lines(event("future.event"))).unknown == {"future.event": 1}


def test_an_interrupted_agent_ends_interrupted() -> None:
    events = events_of(STREAM, lines(event("agent.interrupted", {"reason": "user"}), event("session.idle")))
    assert isinstance(events[0], Notification) and events[0].name == "agent.interrupted"
    assert isinstance(events[1], SessionEnd) and events[1].status == "interrupted"


def test_a_member_of_another_shape_costs_that_member_only() -> None:
    odd = message("Hi.", request()) | {"data": {**message("Hi.", request())["data"], "model": 7}}
    stage, batch = Decode(SESSION, DecodeContext("log")), Batch("log", records=lines(odd))
    stage.push(batch)
    assert texts(batch.events) == ["Hi."]
    assert [c.call_id for c in calls(batch.events)] == ["c1"]
    assert [f.reason for f in batch.faults] == ["schema"]


def test_events_of_others_are_not_copilots() -> None:
    others: list[dict[str, Any]] = [
        {"type": "session.start", "session_start": {}, "id": "x", "timestamp": START},
        {"type": "assistant", "message": {"content": []}, "uuid": "u", "sessionId": "s"},
        {"type": "result", "subtype": "success", "session_id": "s", "usage": {}},
        {"type": "session", "id": "s", "cwd": "/w", "timestamp": START},
    ]
    for other in others:
        assert best(PROVIDER, lines(other))[1] == 0.0


def test_a_log_that_begins_in_mid_session_is_still_copilots() -> None:
    assert best(PROVIDER, lines(message()))[1] > 0.5
    assert best(PROVIDER, lines(event("session.info", {"message": "x"}, ephemeral=True)))[1] == 1.0


def test_its_acp_output_is_copilots_and_that_of_others_is_not() -> None:
    def hello(name: str) -> dict[str, Any]:
        info = {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1.0"}}
        return {"jsonrpc": "2.0", "id": 1, "result": info}

    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi."}}
    chunk = {"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}}
    assert best(PROVIDER, lines(hello("Copilot"), chunk)) == ("copilot-acp", 1.0)
    assert best(PROVIDER, lines({"dir": "a2c", "msg": hello("Copilot")}, chunk)) == ("copilot-acp", 1.0)
    assert best(PROVIDER, lines(hello("gemini-cli"), chunk))[1] == 0.0
    assert best(PROVIDER, lines(chunk)) == ("copilot-acp", 0.5)
    assert texts(events_of(dialect(PROVIDER, "copilot-acp"), lines(hello("Copilot"), chunk))) == ["Hi."]


def _recordings(pattern: str) -> list[Path]:
    root = corpus("clients")
    found = [p for client in ("copilot", "copilot_oai", "copilot_acp") for p in sorted(root.glob(client + pattern))]
    return [p for p in found if p.parts[-2] != "s6_pipe"]


def _truth(path: Path) -> dict[str, Any]:
    folder = next(p for p in path.parents if (p / "truth.json").is_file())
    value: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return value


def _compare(events: list[AnyEvent], truth: dict[str, Any]) -> None:
    found = calls(events)
    wanted = sorted(c["tool"] or PROVIDER.tools.resolve(c["native"]).tool for c in asked_calls(truth))
    assert sorted(PROVIDER.tools.resolve(c.name).tool for c in found) == wanted
    assert len({c.call_id for c in found}) == len(found)
    if not truth["broken"]:
        assert sorted(texts(events)) == sorted(said(truth))


def test_recorded_streams_give_what_the_model_asked_for_and_said() -> None:
    for path in [p for p in _recordings("/*/stream.jsonl*") if "copilot_acp" not in p.parts]:
        given = records(read(path))
        assert best(PROVIDER, given) == ("copilot-stream", 1.0), path
        batch = decoded(STREAM, given)
        assert not batch.unknown, path
        _compare(batch.events, _truth(path))


def test_recorded_sessions_give_calls_texts_and_tokens() -> None:
    for path in _recordings("/*/home/.copilot/session-state/*/events.jsonl"):
        if "s10b" in path.parts:
            continue
        given, truth = records(read(path)), _truth(path)
        assert best(PROVIDER, given) == ("copilot-session", 1.0), path
        batch = decoded(SESSION, given)
        assert not batch.unknown, path
        _compare(batch.events, truth)
        if not truth["broken"]:
            wanted = [sum(t["tokens"][k] for t in truth["threads"].values()) for k in ("input", "output", "cached")]
            sums = total(batch.events)
            assert [sums["input"], sums["output"], sums["cached"]] == wanted, path
            for whole in (u for u in usages(batch.events) if u.scope == "session"):
                assert [whole.input, whole.output, whole.cached] == wanted, path


def test_logs_from_the_wild_decode_without_new_types() -> None:
    for path in sorted(corpus("wild/copilot-cli").iterdir()):
        given = records(read(path))
        good = [r for r in given if r.data.startswith(b'{"')]
        if best(PROVIDER, good)[1] == 0.0:
            continue  # another agent's log that was found under Copilot's name
        stage, batch = Decode(dialect(PROVIDER, best(PROVIDER, good)[0]), DecodeContext("log")), Batch("log")
        batch.records = given
        stage.push(batch)
        assert set(batch.unknown) <= {"future.event"}, path
        assert {f.reason for f in batch.faults} <= {"torn-middle", "not-json"}, path
        assert len(head(good)) > 0


def test_any_single_record_may_be_lost_or_come_twice() -> None:
    given = records((FIXTURES / "copilot" / "stream.jsonl").read_bytes())
    for i in range(len(given)):
        for damaged in (given[:i] + given[i + 1 :], given[: i + 1] + given[i:]):
            renumbered = [Record(r.data, r.offset, row) for row, r in enumerate(damaged)]
            events = events_of(STREAM, renumbered)
            assert len(texts(events)) >= 2
            assert {r.call_id for r in results(events)} <= {"c1", "c2", "c3", "c4"}


@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_the_type_of_a_line_may_stand_anywhere_in_it(kind: str) -> None:
    line = event(kind, {"toolCallId": "c1", "messageId": "m1"})
    last = {key: line[key] for key in ("data", "id", "timestamp", "parentId", "type")}
    one, other = (decoded(STREAM, lines(each)) for each in (line, last))
    assert [type(e) for e in one.events] == [type(e) for e in other.events]
    assert (one.ignored, one.unknown, one.faults) == (other.ignored, other.unknown, [])


def test_data_of_another_shape_costs_only_itself() -> None:
    given = lines(event("assistant.message") | {"data": None}, message("Hi."))
    (found,) = Decode(STREAM).push(Batch("log", records=given))
    assert [(f.reason, f.row) for f in found.faults] == [("schema", 0)]
    assert texts(found.events) == ["Hi."]


@pytest.mark.parametrize("data", [None, 7, "x", [], [1]])
@pytest.mark.parametrize("kind", ["session.error", "abort", "session.start", "system.notification", "session.idle"])
def test_a_rare_type_without_an_object_of_data_costs_the_data_only(kind: str, data: object) -> None:
    strange = Batch("log", records=lines(message("Hi."), event(kind) | {"data": data}))
    plain = Batch("log", records=lines(message("Hi."), event(kind)))
    for batch in (strange, plain):
        Decode(STREAM).push(batch)
    assert [type(e) for e in strange.events] == [type(e) for e in plain.events]
    assert (strange.ignored, strange.unknown) == (plain.ignored, plain.unknown)
    wanted = [] if kind == "abort" else ["schema"]
    assert [f.reason for f in strange.faults] in (wanted, ["schema"])


def test_a_delta_of_a_sub_agent_is_told_in_its_stream_where_the_answer_never_comes() -> None:
    part = event("assistant.message_delta", {"messageId": "m1", "deltaContent": "Half"}, agentId="a1")
    found = decoded(STREAM, lines(part))
    (text,) = found.events
    assert texts(found.events) == ["Half"]
    assert text.source.stream == "subagent:a1"
    assert text.source.base_id == part["id"]
    assert text.source.time_ms is not None


def test_a_call_without_a_name_is_one_of_an_unknown_tool() -> None:
    given = lines(message("", request("c1", "")), event("tool.execution_start", {"toolCallId": "c2"}))
    assert [c.name for c in calls(events_of(STREAM, given))] == ["unknown", "unknown"]

import json
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.pair import Pair
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.qwen import PROVIDER, companions
from agentv_stages.providers.qwen.state import KEEP
from agentv_stages.session.detect import rank
from agentv_stream.sources.folder import LocalFolder
from agentv_stream.summary import SessionReader, read_file, summarize
from support.decoding import (
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
    pushed,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)
from support.scenarios.dialects import WRITERS

STREAM = dialect(PROVIDER, "qwen-stream")
SESSION = dialect(PROVIDER, "qwen-session")
TIME = "2026-03-01T10:00:00.000Z"
INIT: dict[str, Any] = {"type": "system", "subtype": "init", "uuid": "s-1", "session_id": "s-1", "cwd": "/w",
        "model": "qwen-x", "permission_mode": "yolo", "qwen_code_version": "0.15.10", "tools": []}  # fmt: skip
ZERO = {"input_tokens": 0, "output_tokens": 0}
SPENT = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 60, "total_tokens": 120}


def group(own: str, *blocks: dict[str, Any], usage: dict[str, int] = ZERO, parent: str | None = None) -> dict[str, Any]:
    message = {"id": own, "type": "message", "role": "assistant", "model": "qwen-x", "content": list(blocks),
               "stop_reason": None, "usage": usage}  # fmt: skip
    return {"type": "assistant", "uuid": own, "session_id": "s-1", "parent_tool_use_id": parent, "message": message}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(call_id: str, name: str = "run_shell_command", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def gave(call_id: str, output: Any, error: bool = False, parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "is_error": error, "content": output}
    return {"type": "user", "uuid": f"r-{call_id}", "session_id": "s-1", "parent_tool_use_id": parent,
            "message": {"role": "user", "content": [block]}}  # fmt: skip


def end(result: str = "Done.", subtype: str = "success", **members: Any) -> dict[str, Any]:
    usage = {"input_tokens": 350, "output_tokens": 70, "cache_read_input_tokens": 90}
    return {"type": "result", "subtype": subtype, "uuid": "e", "session_id": "s-1", "is_error": False,
            "duration_ms": 900, "num_turns": 2, "result": result, "usage": usage, **members}  # fmt: skip


WHOLE = lines(
    INIT,
    group("a1", {"type": "thinking", "thinking": "hm", "signature": ""}),
    group("a2", text("Looking.")),
    group("a3", use("c1", command="ls"), use("c2", "agent", prompt="p"), usage=SPENT),
    gave("c1", "x.py"),
    {"type": "user", "uuid": "p1", "session_id": "s-1", "parent_tool_use_id": "c2",
     "message": {"role": "user", "content": [text("p")]}},
    group("b1", use("d1", "read_file", file_path="x.py"), parent="c2"),
    gave("d1", "text", parent="c2"),
    group("b2", use("d2", "grep_search", pattern="x"), parent="c2"),
    gave("d2", "Found 1 match", parent="c2"),
    gave("c2", "report"),
    group("a4", text("Done."), usage=SPENT),
    end(),
)  # fmt: skip


def answers(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(e.message_id, e.source.stream) for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)]


def judged(output: str, error: bool = False, name: str = "run_shell_command") -> tuple[Any, Any]:
    [found] = results(events_of(STREAM, lines(INIT, group("a", use("c", name), usage=SPENT), gave("c", output, error))))
    return found.outcome, found.exit_code


def test_the_stream_keeps_the_laws_of_decoders() -> None:
    check_laws(STREAM, WHOLE)


def test_groups_of_blocks_are_one_answer_until_a_result() -> None:
    main = [key for key, stream in answers(events_of(STREAM, WHOLE)) if stream == "main"]
    assert main == ["a1", "a1", "a1", "a1", "a4"]


def test_a_line_that_comes_twice_is_told_once() -> None:
    given = [INIT, group("a1", text("x")), group("a2", use("c1"), usage=SPENT)]
    assert events_of(STREAM, lines(*given, given[-1])) == events_of(STREAM, lines(*given))


def test_usage_ends_an_answer() -> None:
    given = lines(INIT, group("a1", text("one"), usage=SPENT), group("a2", text("two"), usage=SPENT))
    assert [key for key, _ in answers(events_of(STREAM, given))] == ["a1", "a2"]


def test_a_sub_agent_has_a_stream_of_its_own() -> None:
    events = events_of(STREAM, WHOLE)
    inner = [pair for pair in answers(events) if pair[1] != "main"]
    assert inner == [("b1", "sidechain:c2"), ("b2", "sidechain:c2")]
    assert [c.parent_call for c in calls(events)] == [None, None, "c2", "c2"]


def test_zero_usage_is_no_usage_and_the_total_covers_all() -> None:
    found = usages(events_of(STREAM, WHOLE))
    assert [(u.key, u.scope) for u in found] == [("a1", "call"), ("a4", "call"), ("result", "session")]
    assert (found[0].input, found[0].cached, found[0].output) == (100, 60, 20)
    assert (found[2].input, found[2].output, found[2].covers_streams) == (350, 70, True)


def test_a_call_that_took_longer_than_there_is_time_begins_where_it_is_told() -> None:
    took = {"function_name": "web_fetch", "prompt_id": "s#agent#1", "decision": "accept"}
    for duration_ms in (2**63, 10**15 - 1, 1e300):
        on_disk = events_of(SESSION, lines(record("user", "u"), telemetry("t", **took, duration_ms=duration_ms)))
        (call,) = calls(on_disk)
        assert call.source.time_ms is not None and call.source.time_ms > 0


def test_a_call_of_the_bridge_is_a_call_of_the_tool_that_it_names() -> None:
    envelope = {"name": "web_fetch", "arguments": {"url": "http://x"}}
    odd: tuple[dict[str, Any], ...] = ({"name": "web_fetch"}, {"name": "", "arguments": {}}, {"bogus": 1})
    bridged = [block("c0", envelope), *(block(f"o{i}", given) for i, given in enumerate(odd))]
    streamed = events_of(STREAM, lines(INIT, group("a", *bridged, usage=SPENT)))
    asked = {"functionCall": {"id": "c0", "name": "tool_call", "args": envelope}}
    on_disk = events_of(SESSION, lines(
        record("assistant", "a", asked),
        telemetry("t", function_name="web_fetch", function_args={"url": "http://x"}, duration_ms=7),
        result("c0", "tool_call", output="page"),
    ))  # fmt: skip
    assert [(c.name, c.input) for c in calls(streamed)] == [
        ("web_fetch", {"url": "http://x"}),
        *(("tool_call", given) for given in odd),
    ]
    assert [(c.name, c.input) for c in calls(on_disk)] == [("web_fetch", {"url": "http://x"})]
    assert [r.duration_ms for r in results(on_disk)] == [7]


def block(call_id: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "tool_call", "input": given}


def test_notices_of_0_24_are_told_and_name_their_call() -> None:
    def notice(subtype: str, **data: Any) -> dict[str, Any]:
        return {"type": "system", "subtype": subtype, "uuid": subtype, "session_id": "s-1", "data": data}

    ended = [text('Background agent "general-purpose: Read calc" completed.')]
    given = lines(
        INIT,
        notice("task_started", task_id="t", tool_use_id="c", description="Read calc"),
        notice("task_notification", task_id="t", tool_use_id="c", status="completed"),
        notice("retry", reason="retry", discardedToolCalls=0),
        notice("session_recording_degraded", reason="write_failed", message="Session recording stopped."),
        notice("session_end"),
        {"type": "user", "uuid": "u", "message": {"role": "user", "content": ended}},
    )
    batch = pushed(STREAM, given)
    assert batch.unknown == {}
    assert [(e.name, e.message, e.call_id) for e in batch.events if isinstance(e, Notification)] == [
        ("task_started", "Read calc", "c"),
        ("task_notification", "completed", "c"),
        ("retry", "retry", None),
        ("session_recording_degraded", "write_failed", None),
    ]
    assert [e.injected for e in batch.events if isinstance(e, UserText)] == [True]


SKIPPED = "Skipped because the provider attempt was retried before execution."


def retry(**data: Any) -> dict[str, Any]:
    line = {"type": "system", "subtype": "retry", "uuid": "y", "session_id": "s-1", "parent_tool_use_id": None}
    return {**line, "data": {"reason": "retry", **data}}


def voids(events: list[AnyEvent]) -> list[tuple[str, ...]]:
    return [e.message_ids for e in events if isinstance(e, Retract)]


def test_a_printed_attempt_that_is_asked_for_again_is_taken_back() -> None:
    void = [group("a1", text("Half")), group("a2", use("c1"), usage=SPENT), gave("c1", SKIPPED, error=True)]
    events = events_of(STREAM, lines(INIT, *void, retry(preserveText=False), group("a3", text("Whole."), usage=SPENT)))
    assert voids(events) == [("a1",)]
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c1", "cancelled")]
    assert [u.key for u in usages(events)] == ["a1", "a3"]


def test_a_retry_takes_back_nothing_that_was_answered_or_is_preserved() -> None:
    """Recorded in 0.24.4: the answer before was whole, its call ran, and the attempt had not printed anything."""
    whole = [INIT, group("a1", use("c1"), usage=SPENT), gave("c1", "x")]
    again = retry(preserveText=False)
    assert voids(events_of(STREAM, lines(*whole, again, again, group("a2", text("Done."), usage=SPENT)))) == []
    cut = [INIT, group("a1", text("Half")), retry(preserveText=True), group("a2", text(" whole."), usage=SPENT)]
    events = events_of(STREAM, lines(*cut))
    assert voids(events) == []
    assert {key for key, _ in answers(events)} == {"a1"}


def test_a_broken_block_that_is_asked_for_again_is_not_said() -> None:
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Half"}}
    piece = {"type": "stream_event", "uuid": "p", "session_id": "s-1", "parent_tool_use_id": None, "event": delta}
    assert texts(events_of(STREAM, lines(INIT, piece, retry(preserveText=False)))) == []
    assert texts(events_of(STREAM, lines(INIT, piece, retry(preserveText=True)))) == ["Half"]


def attempt(own: str, *parts: dict[str, Any], prompt: int = 100) -> dict[str, Any]:
    spent = {"promptTokenCount": prompt, "candidatesTokenCount": 7, "thoughtsTokenCount": 0}
    return record("assistant", own, *parts, model="qwen-x", usageMetadata=spent)


def test_an_attempt_on_disk_is_taken_back_where_the_same_request_follows() -> None:
    first, ran = attempt("a1", {"text": "Half"}, asks("c1", command="x")), result("c1", output="x")
    again, last = attempt("a2", asks("c2", command="y")), attempt("a3", {"text": "Done."}, prompt=140)
    between = telemetry("t", response_id="r", input_token_count=100)
    asked = record("user", "u", {"text": "Go."})
    assert voids(events_of(SESSION, lines(asked, first, between, again, result("c2", output="y"), last))) == [("a1",)]
    assert voids(events_of(SESSION, lines(asked, first, again, last))) == [("a1",), ("a2",)]
    assert voids(events_of(SESSION, lines(asked, first, ran, again))) == []
    assert voids(events_of(SESSION, lines(asked, first, record("user", "u2", {"text": "Go on."}), again))) == []


@pytest.mark.parametrize(("prompt", "void"), [(100, [("a1",)]), (140, [])])
def test_a_text_on_disk_is_taken_back_only_by_an_answer_to_an_equally_long_prompt(prompt: int, void: object) -> None:
    given = lines(attempt("a1", {"text": "Half"}), attempt("a2", {"text": "Whole."}, prompt=prompt))
    assert voids(events_of(SESSION, given)) == void


def test_a_script_of_a_discarded_attempt_is_a_call_that_never_ran() -> None:
    given = lines(attempt("a1", asks("s1", "exec", source="x")), attempt("a2", {"text": "Done."}))
    batch = Batch("log", records=given)
    Pair().push(Decode(SESSION).push(batch)[0])
    assert [(r.call_id, r.outcome) for r in results(batch.events)] == [("s1", "cancelled")]


@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
@hypothesis.given(choice=st.data())
@pytest.mark.parametrize("form", ["qwen-stream", "qwen-session"])
def test_discarded_attempts_only_cost_tokens(form: str, choice: st.DataObject) -> None:
    """A random session with attempts put before some of its answers: the rest is as without them."""
    writer = WRITERS[form]
    written = [json.loads(line) for line in writer.write(choice.draw(writer.sessions)).data.splitlines()]
    begins = [
        i for i, line in enumerate(written) if line["type"] == "assistant" and written[i - 1]["type"] != "assistant"
    ]
    begins = [i for i in begins if not written[i].get("parent_tool_use_id")]
    chosen = choice.draw(st.lists(st.sampled_from(begins), unique=True) if begins else st.just([]))
    told: list[dict[str, Any]] = []
    for i, line in enumerate(written):
        if i in chosen:
            told += discarded(line, f"void-{i}", choice.draw(st.booleans()))
        told.append(line)
    plain, again = (summarize(b"".join(json.dumps(line).encode() + b"\n" for line in rows)) for rows in (written, told))
    taken_back = [e for e in events_of(dialect(PROVIDER, form), lines(*told)) if isinstance(e, Retract)]
    assert [e.message_ids for e in taken_back] == [(f"void-{i}",) for i in sorted(chosen)]
    assert (plain.status, plain.evidence.open_calls) == (again.status, again.evidence.open_calls)
    outcomes = [summary.tool_use_summary["by_outcome"] for summary in (plain, again)]
    void = sum(line.get("void", 0) for line in told)
    assert outcomes[1] == {**outcomes[0], "cancelled": outcomes[0]["cancelled"] + void}
    assert again.tool_use_summary["turns"] == plain.tool_use_summary["turns"] + len(chosen)


def discarded(line: dict[str, Any], own: str, calls: bool) -> list[dict[str, Any]]:
    """The lines of an attempt before an answer: its text, a call or not, and in the stream the sign that it is void."""
    if "sessionId" in line:
        parts = [{"text": "Half"}, *([asks(f"c-{own}", command="x")] if calls else [])]
        message = {"role": "model", "parts": parts}
        return [{**line, "uuid": own, "message": message, "void": int(calls)}]
    made = [group(own, text("Half"), *([use(f"c-{own}", command="x")] if calls else []), usage=SPENT)]
    made += [gave(f"c-{own}", SKIPPED, error=True)] if calls else []
    return [*made, {**retry(preserveText=False), "uuid": f"y-{own}", "void": int(calls)}]


def test_a_failed_command_keeps_its_exit_code() -> None:
    shown = "Command: exit 3\nOutput: (empty)\nError: (none)\nExit Code: 3\nSignal: (none)\nProcess Group PGID: (none)"
    assert judged(shown, error=True) == ("error", 3)
    disk = lines(record("assistant", "a", asks("c", command="x")), result("c", status="error", error=shown))
    assert [(r.outcome, r.exit_code) for r in results(events_of(SESSION, disk))] == [("error", 3)]


def scripted(own: str, parent: str, name: str, **event: Any) -> dict[str, Any]:
    return telemetry(own, source="code_mode", call_id=own, parent_call_id=parent, function_name=name,
                     function_args={"command": "x"}, duration_ms=5, **event)  # fmt: skip


def test_the_calls_of_a_script_count_and_the_script_only_if_it_made_none() -> None:
    given = lines(
        record("assistant", "a1", {"text": "A script."}, asks("s1", "exec", source="…")),
        scripted("s1:code:1", "s1", "run_shell_command", success=False, error="Output: x\nExit Code: 3"),
        scripted("s1:code:2", "s1", "grep_search", success=True),
        telemetry("t", function_name="exec", function_args={"source": "…"}, duration_ms=9),
        result("s1", "exec", output="Return value: 1"),
        record("assistant", "a2", asks("s2", "exec", source="return 2")),
        result("s2", "exec", output="Return value: 2"),
        record("assistant", "a3", asks("s3", "exec", source="for (;;) {}")),
    )
    check_laws(SESSION, given)
    events = events_of(SESSION, given)
    assert [(c.name, c.call_id, c.parent_call, c.message_id) for c in calls(events)] == [
        ("run_shell_command", "s1:code:1", "s1", "a1"),
        ("grep_search", "s1:code:2", "s1", "a1"),
        ("exec", "s2", None, "a2"),
        ("exec", "s3", None, "a3"),
    ]
    assert [(r.outcome, r.exit_code, r.duration_ms) for r in results(events)] == [
        ("error", 3, 5),
        ("ok", None, 5),
        ("ok", None, None),
    ]
    assert [(e.name, e.message) for e in events if isinstance(e, Notification)] == [("exec", "Return value: 1")]


def test_a_sub_agents_file_of_its_own_is_read() -> None:
    side: dict[str, Any] = {"agentId": "helper-c1", "agentName": "helper", "isSidechain": True, "version": "0.24.4"}
    gave = {**result("d1", "read_file", output="text"), **side}
    gave["toolCallResult"] = {"callId": "d1", "durationMs": 211}
    given = lines(
        record("user", "u1", {"text": "Read it."}, **side),
        record("assistant", "a1", {"text": "Reading."}, usageMetadata=META, **side),
        record("assistant", "a2", asks("d1", "read_file", file_path="x"), **side),
        gave,
    )
    assert best(PROVIDER, given) == ("qwen-session", 1.0)
    events = events_of(SESSION, given)
    assert {e.source.stream for e in events} == {"sidechain:helper-c1"}
    assert [(r.outcome, r.duration_ms) for r in results(events)] == [(None, 211)]


def test_a_sub_agents_file_beside_its_session_is_not_counted_again(tmp_path: Path) -> None:
    place = tmp_path / "projects" / "-w"
    inner = place / "subagents" / "s-1" / "agent-helper-c1.jsonl"
    for path in (place / "chats" / "s-1.jsonl", inner):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    [found] = companions(str(place / "chats" / "s-1.jsonl"), LocalFolder())
    assert (found.path, found.context.stream, found.context.session_id) == (str(inner), "subagent:helper-c1", "s-1")
    assert companions(str(inner), LocalFolder()) == []
    side: dict[str, Any] = {"agentId": "helper-c1", "agentName": "helper", "isSidechain": True}
    told = pushed(SESSION, lines(record("assistant", "a1", asks("d1"), usageMetadata=META, **side)), found.context)
    assert (told.events, list(told.ignored.values())) == ([], [1])


@pytest.mark.parametrize("beside", [True, False])
def test_what_a_sub_agents_tools_gave_back_is_taken_from_its_file(tmp_path: Path, beside: bool) -> None:
    place = tmp_path / "projects" / "-w"
    agent = {"prompt_id": "s-1#helper-c1#0", "model": "m"}
    ran = {"function_args": {"command": "x"}, "duration_ms": 5, "status": "error", **agent}
    main = lines(
        record("user", "u1", {"text": "Go."}),
        telemetry("t1", call_id="d1", function_name="run_shell_command", **ran),
        record("assistant", "a1", {"text": "Done."}, usageMetadata=META),
    )
    side: dict[str, Any] = {"agentId": "helper-c1", "agentName": "helper", "isSidechain": True}
    gave = result("d1", "run_shell_command", "error", output="Output: no\nExit Code: 3")
    inner = lines({**gave, **side})
    for path, given in ((place / "chats" / "s-1.jsonl", main), (place / "subagents/s-1/agent-helper-c1.jsonl", inner)):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\n".join(r.data for r in given) + b"\n")
    reader = SessionReader(read_file(str(place / "chats" / "s-1.jsonl")), str(place / "chats" / "s-1.jsonl"))
    [end] = results([e for batch in reader.batches(beside) for e in batch.events])
    assert (end.source.stream, end.outcome, end.duration_ms) == ("subagent:helper-c1", "error", 5)
    assert (end.output, end.exit_code) == (("Output: no\nExit Code: 3", 3) if beside else (None, None))
    told = reader.result()
    assert (told.tool_use_summary["by_outcome"]["error"], told.status, told.faults) == (1, "complete", {})


def test_records_of_0_24_are_told_or_named() -> None:
    quiet = ("branch_checkpoint", "turn_result", "session_source", "session_model", "goal_state", "goal_turn_end")
    given = lines(
        *(record("system", name, subtype=name, systemPayload={"v": 1}) for name in quiet),
        record("system", "p", subtype="parent_session", systemPayload={"parentSessionId": "s-0"}),
        record("system", "b", subtype="background_task_completed", systemPayload={"displayText": "Done."}),
        record("user", "g", {"text": "Go on."}, subtype="goal_runtime"),
    )
    batch = pushed(SESSION, given)
    assert batch.unknown == {}
    assert batch.ignored == dict.fromkeys(quiet, 1)
    assert [e.message for e in batch.events if isinstance(e, Notification)] == ["Done."]
    assert [e.parent_session_id for e in batch.events if isinstance(e, SessionInfo)][-1] == "s-0"
    assert [e.injected for e in batch.events if isinstance(e, UserText)] == [True]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("Done.", "complete"),
        ("[API Error: 400 bad]", "error"),
        ("This breaks off[API Error: The server had an error]", "error"),
        ("I fixed how [API Error: x] is printed.", "complete"),
    ],
)
def test_an_api_error_is_an_error_though_the_agent_says_success(result: str, status: str) -> None:
    [found] = [e for e in events_of(STREAM, lines(INIT, end(result))) if isinstance(e, SessionEnd)]
    assert found.status == status


def test_an_error_that_the_agent_admits() -> None:
    given = lines(INIT, end("", "error_during_execution", is_error=True, error={"message": "boom"}))
    [found] = [e for e in events_of(STREAM, given) if isinstance(e, SessionEnd)]
    assert (found.status, found.reason, found.agent_num_turns) == ("error", "boom", 2)


def test_a_text_that_the_program_made_is_marked() -> None:
    given = lines(INIT, group("a", text("[API Error: 400]")), group("b", text("fine [API Error: 400]")))
    assert [e.synthetic for e in events_of(STREAM, given) if isinstance(e, AssistantText)] == [True, False]


def test_outcomes_of_calls_in_the_stream() -> None:
    assert judged("Command exited with code: 3") == ("error", 3)
    assert judged("Command terminated by signal: 9") == ("error", None)
    assert judged("Command: x\nOutput: y\nError: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 2") == (
        "error",
        1,
    )
    assert judged("out") == ("ok", None)
    assert judged("Command exited with code: 3", name="read_file") == ("ok", None)
    assert judged("File not found", True) == ("error", None)
    assert judged("Tool requires user approval but cannot run", True) == ("denied", None)


def test_increments_count_only_where_the_whole_never_comes() -> None:
    def delta(value: str) -> dict[str, Any]:
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": value}}
        return {"type": "stream_event", "uuid": "p", "session_id": "s-1", "parent_tool_use_id": None, "event": event}

    whole = lines(INIT, delta("Do"), delta("ne."), group("a", text("Done."), usage=SPENT), end())
    assert texts(events_of(STREAM, whole)) == ["Done."]
    cut = lines(INIT, delta("Do"), delta("n\u00e9"))
    assert texts(pushed(STREAM, cut).events) == []
    assert texts(events_of(STREAM, cut)) == ["Don\u00e9"]
    check_laws(STREAM, whole)
    check_laws(STREAM, cut)


def test_the_stream_is_not_taken_for_claudes() -> None:
    assert best(PROVIDER, WHOLE) == ("qwen-stream", 1.0)
    assert rank(list(head(WHOLE)))[0][2].name == "qwen-stream"
    assert best(PROVIDER, WHOLE[1:])[0] == "qwen-stream"
    claude: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": "s", "permissionMode": "x",
              "tools": [], "mcp_servers": [], "apiKeySource": "x", "claude_code_version": "2"}  # fmt: skip
    assert best(PROVIDER, lines(claude))[1] == 0.0


def record(kind: str, own: str, *parts: dict[str, Any], **members: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"uuid": own, "parentUuid": None, "sessionId": "s-1", "timestamp": TIME,
                            "type": kind, "cwd": "/w", "version": "0.15.10", "gitBranch": "main"}  # fmt: skip
    if kind != "system":
        line["message"] = {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}
    return {**line, **members}


def asks(call_id: str, name: str = "run_shell_command", **given: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": given}}


def result(call_id: str, name: str = "run_shell_command", status: str = "success", **response: Any) -> dict[str, Any]:
    part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
    more = {"callId": call_id, "status": status, "resultDisplay": {"any": "shape"}}
    return record("tool_result", f"r-{call_id}", part, toolCallResult=more)


def telemetry(own: str, **event: Any) -> dict[str, Any]:
    return record("system", own, subtype="ui_telemetry", systemPayload={"uiEvent": {"prompt_id": "abc", **event}})


META = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "cachedContentTokenCount": 60,
        "totalTokenCount": 120}  # fmt: skip
CHAT = lines(
    record("user", "u1", {"text": "fix it"}),
    telemetry("t0", input_token_count=100, output_token_count=20, response_id="x"),
    record("assistant", "a1", {"text": "hm", "thought": True}, {"text": "Looking."}, asks("c1", command="ls"),
           model="qwen-x", usageMetadata=META, contextWindowSize=1000),
    telemetry("t1", function_name="run_shell_command", function_args={"command": "ls"}, duration_ms=33, success=True),
    result("c1", output="Output: x\nError: (none)\nExit Code: 2\nSignal: 0\nProcess Group PGID: 1"),
    record("assistant", "a2", {"text": "Done."}, model="qwen-x", usageMetadata=META),
)  # fmt: skip


def test_the_session_keeps_the_laws_of_decoders() -> None:
    check_laws(SESSION, CHAT)


def test_a_session_on_disk() -> None:
    events = events_of(SESSION, CHAT)
    assert [e.message_id for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)] == ["a1"] * 3 + ["a2"]
    assert texts(events) == ["Looking.", "Done."]
    [found] = results(events)
    assert (found.outcome, found.exit_code, found.duration_ms) == ("error", 2, 33)
    assert total(events) == {"input": 200, "cached": 120, "output": 40, "reasoning": 10}
    infos = [e for e in events if isinstance(e, SessionInfo)]
    assert (infos[0].session_id, infos[0].version, infos[0].cwd, infos[0].git_branch) == (
        "s-1",
        "0.15.10",
        "/w",
        "main",
    )
    assert (infos[1].model, infos[1].context_window) == ("qwen-x", 1000)


def test_telemetry_that_is_repeated_times_no_other_call() -> None:
    """It was kept for the next call with the same arguments."""
    parts: list[dict[str, Any]] = []
    for n, took in enumerate((33, 44)):
        own = telemetry(f"t{n}", function_name="run_shell_command", function_args={"command": "ls"}, duration_ms=took)
        parts += [record("assistant", f"a{n}", asks(f"c{n}", command="ls")), own, own, result(f"c{n}", output="x")]
    assert [r.duration_ms for r in results(events_of(SESSION, lines(*parts)))] == [33, 44]


def ends(*given: dict[str, Any]) -> list[str]:
    return [e.status for e in events_of(SESSION, lines(*given)) if isinstance(e, SessionEnd)]


def test_what_a_branch_copied_is_told_by_its_parent() -> None:
    copied = {"forkedFrom": {"sessionId": "parent", "messageUuid": "m"}}
    old = (record("user", "u1", {"text": "old"}, **copied), record("assistant", "a1", {"text": "old answer"}, **copied))
    given = lines(*old, record("user", "u2", {"text": "new"}), record("assistant", "a2", {"text": "new answer"}))
    batch = decoded(SESSION, given)
    assert texts(batch.events) == ["new answer"]
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["new"]
    (info,) = [e for e in batch.events if isinstance(e, SessionInfo) and e.session_id is not None]
    assert (info.parent_session_id, info.source.time_ms) == ("parent", None)
    assert batch.ignored["copied from the parent session"] == 2
    check_laws(SESSION, given)


def test_a_whole_answer_without_calls_ends_a_turn() -> None:
    assert [e.status for e in events_of(SESSION, CHAT) if isinstance(e, SessionEnd)] == ["complete"]
    assert ends(record("assistant", "a", {"text": "cut off"})) == []


@pytest.mark.parametrize(("status", "told"), [("success", ["complete"]), ("error", [])])
def test_the_answer_to_a_schema_ends_a_turn_when_it_is_accepted(status: str, told: list[str]) -> None:
    """Recorded in 0.24.4 with `--json-schema`."""
    asked = record("assistant", "a", {"functionCall": {"id": "c", "name": "structured_output", "args": {}}})
    given = lines(asked, result("c", "structured_output", status, output="accepted"))
    assert [e.status for e in events_of(SESSION, given) if isinstance(e, SessionEnd)] == told
    check_laws(SESSION, given)


def test_an_api_error_ends_the_session_if_nothing_follows() -> None:
    failed = telemetry("t", error_message="500", duration_ms=1)
    assert ends(record("user", "u", {"text": "x"}), failed, failed) == ["error"]
    assert ends(failed, record("assistant", "a", {"text": "x"}, usageMetadata=META)) == ["complete"]


def test_thoughts_that_come_on_top_are_added_to_the_output() -> None:
    meta = {**META, "totalTokenCount": 125}
    [usage] = usages(events_of(SESSION, lines(record("assistant", "a", {"text": "x"}, usageMetadata=meta))))
    assert (usage.output, usage.reasoning) == (25, 5)


def test_a_sub_agent_stands_in_the_telemetry_alone() -> None:
    prompt = {"prompt_id": "s-1#general-purpose-xyz#0", "response_id": "resp-1", "model": "qwen-x"}
    given = lines(
        record("assistant", "a1", asks("c1", "agent", prompt="p"), model="qwen-x"),
        telemetry("t1", **prompt, input_token_count=50, output_token_count=9, response_text="Sub reads."),
        telemetry("t2", **prompt, function_name="read_file", function_args={"file_path": "x"}, duration_ms=4,
                  success=False, status="error"),
        result("c1", "agent", output="report"),
    )  # fmt: skip
    check_laws(SESSION, given)
    events = [e for e in events_of(SESSION, given) if e.source.stream != "main"]
    assert {e.source.stream for e in events} == {"subagent:general-purpose-xyz"}
    assert texts(events) == ["Sub reads."]
    answer = "s-1#general-purpose-xyz#0:resp-1"
    assert [(c.name, c.input, c.message_id) for c in calls(events)] == [("read_file", {"file_path": "x"}, answer)]
    assert [(r.outcome, r.output_json, r.duration_ms) for r in results(events)] == [("error", None, 4)]
    assert [(u.key, u.input, u.output) for u in usages(events)] == [(answer, 50, 9)]


def test_responses_that_a_server_gives_one_id_are_told_apart() -> None:
    """Ollama draws the ids of its responses from 999."""
    given = lines(
        *(telemetry(f"t{n}", prompt_id=f"s-1#helper-x#{n}", response_id="chatcmpl-7", model="qwen-x",
                    input_token_count=50 + n, output_token_count=9, response_text=f"{n}.") for n in range(3))
    )  # fmt: skip
    assert sum(usage.input or 0 for usage in usages(events_of(SESSION, given))) == 153
    told = [event for event in events_of(SESSION, given) if isinstance(event, AssistantText)]
    assert len({event.message_id for event in told}) == 3


def test_a_compression_is_a_model_call() -> None:
    """Its answer stands nowhere, its tokens in the telemetry right before the record of it."""
    asked = telemetry("t9", input_token_count=70, output_token_count=5, cached_content_token_count=10)
    made = record("system", "4", subtype="chat_compression", systemPayload={"info": {}})
    check_laws(SESSION, CHAT + lines(asked, made))
    found = usages(events_of(SESSION, CHAT + lines(asked, made)))
    assert [(u.input, u.cached, u.output) for u in found[2:]] == [(70, 10, 5)]
    assert len(usages(events_of(SESSION, CHAT + lines(made)))) == 2


def test_a_compression_that_asked_twice_is_two_model_calls() -> None:
    """0.24 writes the summary, and then looks it over; what stood before them is the answer's own."""
    own = telemetry("t7", input_token_count=100, output_token_count=20, prompt_id="s-1########0")
    asked = (
        telemetry(f"t{n}", input_token_count=n, output_token_count=5, prompt_id="compress-1", model="qwen-x")
        for n in (70, 80)
    )
    made = record("system", "4", subtype="chat_compression", systemPayload={"info": {}})
    given = CHAT + lines(own, *asked, made)
    check_laws(SESSION, given)
    assert [(u.key, u.input) for u in usages(events_of(SESSION, given))[2:]] == [("4", 70), ("4-1", 80)]


def test_an_answer_to_a_sub_agents_notice_is_the_main_threads() -> None:
    """Its telemetry names the sub-agent, its prompt's id does not."""
    named = {"subagent_name": "helper", "response_id": "resp", "response_text": "Done."}
    given = lines(
        telemetry("t1", prompt_id="s-1########3", input_token_count=100, output_token_count=20, **named),
        record("assistant", "a1", {"text": "Done."}, model="qwen-x", usageMetadata=META),
    )
    events = events_of(SESSION, given)
    assert texts(events) == ["Done."]
    assert [(u.input, u.source.stream) for u in usages(events)] == [(100, "main")]


def test_a_call_that_a_sub_agent_could_not_ask_for_is_denied(tmp_path: Path) -> None:
    text = (
        'Tool "x" requires permission, but background agents cannot prompt for confirmation. The tool call was denied.'
    )
    asked = {"prompt_id": "s-1#helper-1#0", "response_id": "resp"}
    told = telemetry("t", **asked, function_name="run_shell_command", function_args={"command": "rm x"}, call_id="c1",
                     status="error", success=False, error=text, error_type="execution_denied")  # fmt: skip
    assert [r.outcome for r in results(events_of(SESSION, lines(told)))] == ["denied"]
    part = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"error": text}}}
    gave = record("tool_result", "r", part, isSidechain=True, agentId="helper-1", toolCallResult={"callId": "c1"})
    for name, given in (("subagents/s-1/agent-helper-1", gave), ("chats/s-1", told)):
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"".join(line.data + b"\n" for line in lines(record("user", "u", {"text": "x"}), given)))
    reader = SessionReader(read_file(str(path)), str(path))
    assert [r.outcome for r in results([e for batch in reader.batches() for e in batch.events])] == ["denied"]
    assert reader.result().tool_use_summary["by_outcome"]["denied"] == 1


def test_a_call_whose_permission_was_declined_is_denied() -> None:
    text = 'Qwen Code requires permission to use "edit", but that permission was declined. Matching deny rule: "edit".'
    part = {"functionResponse": {"id": "c", "name": "edit", "response": {"error": text}}}
    gave = record("tool_result", "r", part, toolCallResult={"callId": "c", "status": "error"})
    given = lines(record("assistant", "a", asks("c", "edit"), model="qwen-x", usageMetadata=META), gave)
    assert [r.outcome for r in results(events_of(SESSION, given))] == ["denied"]


def test_what_a_person_stopped_is_interrupted_until_it_goes_on() -> None:
    asked = record("assistant", "a", asks("c", command="x"), model="qwen-x", usageMetadata=META)
    denied = (
        telemetry("t", function_name="run_shell_command", function_args={"command": "x"}, decision="reject"),
        result("c", status="cancelled", error="[Operation Cancelled] Reason: User did not allow tool call"),
    )
    stopped = result("c", status="cancelled", error="[Operation Cancelled] Reason: The tool had already completed")
    broken = record("assistant", "b", {"text": "This is sen"}, model="qwen-x")
    check_laws(SESSION, lines(asked, *denied, broken))
    assert ends(asked, *denied) == ["interrupted"]
    assert ends(asked, stopped) == ["interrupted"]
    assert ends(asked, result("c", status="error", error="no such file")) == []
    assert ends(asked, result("c", output="fine"), broken) == ["interrupted"]
    assert ends(asked, result("c", output="fine"), {**broken, "model": "counts-nothing"}) == []
    assert ends(asked, result("c", output="fine"), record("assistant", "b", asks("d"), model="qwen-x")) == []


def said_by(*given: dict[str, Any]) -> list[tuple[Any, bool]]:
    return [
        (msgspec.json.decode(e.body), e.injected) for e in events_of(SESSION, lines(*given)) if isinstance(e, UserText)
    ]


def test_the_files_that_a_prompt_names_are_injected() -> None:
    files = [{"text": "\n--- Content from referenced files ---"}, {"text": "def add(): ..."}]
    given = record("user", "u", {"text": "Explain @calc.py"}, *files)
    check_laws(SESSION, lines(given))
    assert said_by(given) == [("Explain @calc.py", False), (files, True)]
    assert said_by(record("user", "u", *files)) == [(files, True)]


def test_the_text_that_a_command_sends_is_injected_and_its_words_are_a_prompt() -> None:
    def command(raw: str, **more: Any) -> dict[str, Any]:
        return record("system", "s", subtype="slash_command",
                      systemPayload={"phase": "invocation", "rawCommand": raw, **more})  # fmt: skip

    end = record("system", "e", subtype="slash_command", systemPayload={"phase": "result", "rawCommand": "/init"})
    text = record("user", "u", {"text": "Analyze the folder"})
    check_laws(SESSION, lines(command("/init", sentToModel=True), end, text, text))
    init = said_by(command("/init", sentToModel=True), end, text, record("user", "v", {"text": "thanks"}))
    assert init == [("Analyze the folder", True), ("thanks", False)]
    assert said_by(command("/plan Analyze the folder", sentToModel=True), text) == [("Analyze the folder", False)]
    assert said_by(command("/context", sentToModel=False), text) == [("Analyze the folder", False)]
    assert said_by(command("/context"), text) == [("Analyze the folder", False)]


def test_a_scheduled_prompt_is_injected() -> None:
    assert said_by(record("user", "u", {"text": "look again"}, subtype="cron")) == [("look again", True)]
    assert said_by(record("user", "u", {"text": "and this"}, subtype="mid_turn_user_message")) == [("and this", False)]


def test_outcomes_on_disk() -> None:
    def outcome(*extra: dict[str, Any], **given: Any) -> str | None:
        events = events_of(
            SESSION, lines(record("assistant", "a", asks("c", command="x")), *extra, result("c", **given))
        )
        return results(events)[0].outcome

    assert outcome(output="fine") == "ok"
    assert outcome(status="error", error="File not found") == "error"
    assert outcome(status="cancelled", error="[Operation Cancelled] Reason: user") == "cancelled"
    said_no = telemetry("t", function_name="run_shell_command", function_args={"command": "x"}, decision="reject")
    assert outcome(said_no, status="error", error="no") == "denied"


def test_records_of_the_system() -> None:
    given = lines(
        record("system", "1", subtype="slash_command", systemPayload={"phase": "invocation", "rawCommand": "/mcp l"}),
        record("system", "2", subtype="slash_command", systemPayload={"phase": "result", "rawCommand": "/mcp l"}),
        record("system", "3", subtype="custom_title", systemPayload={"customTitle": "T"}),
        record("system", "4", subtype="chat_compression", systemPayload={
            "info": {"originalTokenCount": 90, "newTokenCount": 30}, "compressedHistory": []}),
        telemetry("5", error_message="500", duration_ms=1),
        record("user", "6", {"text": "note"}, subtype="notification"),
        record("system", "7", subtype="brand_new"),
    )  # fmt: skip
    batch = pushed(SESSION, given)
    events = batch.events
    assert [(e.name, e.args) for e in events if isinstance(e, SlashCommand)] == [("/mcp", "l")]
    assert [e.title for e in events if isinstance(e, SessionInfo) and e.title] == ["T"]
    assert [e.name for e in events if isinstance(e, Notification)] == ["compact_boundary", "api_error"]
    assert [e.injected for e in events if isinstance(e, UserText)] == [True]
    assert batch.unknown == {"system/brand_new": 1}


def test_a_rewind_takes_back_what_follows_its_target() -> None:
    given = lines(
        record("user", "u1", {"text": "a"}),
        record("assistant", "a1", {"text": "b"}),
        record("system", "s", subtype="rewind", systemPayload={"targetUuid": "u1"}),
        record("assistant", "a2", {"text": "c"}),
    )
    [retract] = [e for e in events_of(SESSION, given) if isinstance(e, Retract)]
    assert retract.message_ids == ("a1",)
    check_laws(SESSION, given)


def test_a_rewind_of_0_24_takes_back_the_prompt_that_followed_the_same_record() -> None:
    back = record("system", "s", subtype="rewind", systemPayload={"truncatedCount": 2}, parentUuid="t1")
    given = lines(
        record("user", "u1", {"text": "a"}),
        record("assistant", "a1", {"text": "b"}, parentUuid="u1"),
        telemetry("t1", input_token_count=1, output_token_count=1),
        record("user", "u2", {"text": "c"}, parentUuid="t1"),
        record("assistant", "a2", {"text": "d"}, parentUuid="u2"),
        back,
        record("user", "u3", {"text": "e"}, parentUuid="s"),
        {**back, "uuid": "s2", "parentUuid": None},
        {**back, "uuid": "s3", "parentUuid": "unknown"},
    )
    events = events_of(SESSION, given)
    taken = [(e.message_ids, e.since) for e in events if isinstance(e, Retract)]
    assert taken == [(("u2", "a2"), "t1"), (("u1", "a1", "u3"), None)]
    assert [e.name for e in events if isinstance(e, Notification)] == ["rewind"]
    check_laws(SESSION, given)


def test_two_lines_with_one_id_are_one_message() -> None:
    given = lines(record("assistant", "a", {"text": "hm", "thought": True}), record("assistant", "a", {"text": "x"}))
    assert {key for key, _ in answers(events_of(SESSION, given))} == {"a"}
    check_laws(SESSION, given)


def test_what_is_remembered_is_bounded() -> None:
    decoder = SESSION.decoder(DecodeContext("log"))
    batch = Batch("log")
    for line in lines(*(record("assistant", f"a{i}", asks(f"c{i}", command=str(i))) for i in range(KEEP + 90))):
        decoder.decode(line, batch)
    state = msgspec.to_builtins(decoder.state)
    assert len(state["calls"]) == KEEP
    assert len(state["messages"]) <= KEEP


def test_the_session_is_told_from_others() -> None:
    assert best(PROVIDER, CHAT) == ("qwen-session", 1.0)
    assert best(PROVIDER, CHAT[1:2]) == ("qwen-session", 1.0)
    assert best(PROVIDER, lines({"type": "user", "uuid": "u", "sessionId": "s", "isSidechain": False}))[1] == 0.0


@pytest.mark.parametrize("form", ["stream", "session"])
def test_recordings_give_what_the_model_asked_for(form: str) -> None:
    """The total of a resumed run (`s10b`) holds the earlier run; `s6_pipe` was cut; side requests may be in totals."""
    root, table = corpus("clients/qwen"), PROVIDER.tools.by_name
    for path in sorted(root.glob("*/stream.jsonl" if form == "stream" else "*/home/.qwen/projects/*/chats/*.jsonl")):
        scenario = path.relative_to(root).parts[0]
        if scenario in ("s10b", "s6_pipe"):
            continue
        truth = msgspec.json.decode((root / scenario / "truth.json").read_bytes())
        events = events_of(STREAM if form == "stream" else SESSION, records(read(path)))
        names = sorted(table[c.name].tool if c.name in table else c.name for c in calls(events))
        wanted = sorted(c["tool"] or (table[c["native"]].tool if c["native"] in table else c["native"])
                        for c in asked_calls(truth))  # fmt: skip
        assert names == wanted, path
        threads = tuple(truth["threads"]) if form == "session" else tuple(t for t in truth["threads"] if t[:3] != "sub")
        whole = "".join(texts(events))
        assert [t for t in said(truth, *threads) if t.strip() not in whole] == [], path
        if truth["broken"] or scenario.startswith("s6_"):
            continue
        sums = [sum(t["tokens"][k] for t in truth["threads"].values()) for k in ("input", "output")]
        sides = [s + truth["side_tokens"][k] for s, k in zip(sums, ("input", "output"), strict=True)]
        ends = [u for u in usages(events) if u.scope == "session"]
        found = [ends[-1].input, ends[-1].output] if ends else [total(events)["input"], total(events)["output"]]
        assert found in (sums, sides), path


def test_wild_sessions_hold_nothing_unknown() -> None:
    for path in sorted(corpus("wild/qwen-session").iterdir()):
        given = records(read(path))
        assert best(PROVIDER, given) == ("qwen-session", 1.0), path
        batch = Batch(str(path), records=given)
        Decode(SESSION, DecodeContext(str(path))).push(batch)
        assert not batch.unknown and not batch.faults, path

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.pi import PROVIDER
from support.decoding import (
    FIXTURES,
    asked_calls,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    corpus,
    decoded,
    dialect,
    events_of,
    lines,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)

STREAM = dialect(PROVIDER, "pi-stream")
SESSION = dialect(PROVIDER, "pi-session")
SUBAGENT = dialect(PROVIDER, "pi-subagent")
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}
USAGE = {"input": 100, "output": 20, "cacheRead": 30, "cacheWrite": 7, "totalTokens": 157, "cost": {"total": 0.25}}


def answer(content: list[Any], stop: str = "toolUse", **more: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "provider": "p",
        "model": "m-1",
        "usage": USAGE,
        "stopReason": stop,
        "timestamp": 1772359200500,
        **more,
    }


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def end(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message_end", "message": message}


def tool_end(call_id: str, output: str, error: bool = False) -> dict[str, Any]:
    result = {"content": [text(output)], "details": {"diff": "x"}}
    return {"type": "tool_execution_end", "toolCallId": call_id, "toolName": "bash", "result": result, "isError": error}


def entry(kind: str, own: str, parent: str | None, **members: Any) -> dict[str, Any]:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": "2026-03-01T10:00:01.000Z", **members}


def outcome_of(output: str, error: bool) -> tuple[Any, Any]:
    given = lines(HEADER, end(answer([call("c")])), tool_end("c", output, error))
    [result] = results(events_of(STREAM, given))
    return result.outcome, result.exit_code


def fixture(name: str) -> list[Record]:
    return records((FIXTURES / "pi" / name).read_bytes())


@pytest.mark.parametrize("name", ["stream.jsonl", "retry.jsonl"])
def test_the_stream_keeps_the_laws_of_decoders(name: str) -> None:
    check_laws(STREAM, fixture(name))


@pytest.mark.parametrize("name", ["session-v1.jsonl", "session-v3.jsonl"])
def test_the_session_keeps_the_laws_of_decoders(name: str) -> None:
    check_laws(SESSION, fixture(name))


@pytest.mark.parametrize("name", ["stream.jsonl", "retry.jsonl", "session-v1.jsonl", "session-v3.jsonl"])
def test_members_of_any_shape_are_taken_or_refused_whole(name: str) -> None:
    check_odd_shapes(PROVIDER, fixture(name))


def test_an_answer_that_is_printed_four_times_counts_once() -> None:
    events = events_of(STREAM, fixture("stream.jsonl"))
    assert texts(events) == ["Looking.", "All done."]
    assert [c.name for c in calls(events)] == ["read", "bash"]
    assert total(events) == {"input": 274, "cached": 60, "output": 40, "reasoning": 0}
    assert [u.cost_usd for u in usages(events)] == [0.25, 0.25]


def test_results_come_in_the_order_in_which_tools_end_and_once() -> None:
    events = events_of(STREAM, fixture("stream.jsonl"))
    assert [(r.call_id, r.outcome, r.exit_code) for r in results(events)] == [("c-2", "error", 3), ("c-1", "ok", None)]
    assert all(r.source.time_ms is None for r in results(events))


def test_all_blocks_of_an_answer_share_its_message_id_and_answers_differ() -> None:
    events = events_of(STREAM, fixture("stream.jsonl"))
    ids = [e.message_id for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)]
    assert len(set(ids)) == 2
    assert all(ids)


def test_the_end_of_a_run_has_the_last_answers_stop_reason() -> None:
    [end_event] = [e for e in events_of(STREAM, fixture("stream.jsonl")) if isinstance(e, SessionEnd)]
    assert (end_event.status, end_event.reason) == ("complete", "stop")


def test_an_error_that_is_retried_does_not_end_the_run() -> None:
    ends = [e for e in events_of(STREAM, fixture("retry.jsonl")) if isinstance(e, SessionEnd)]
    assert [e.status for e in ends] == ["complete"]


def test_an_error_that_is_not_retried_ends_the_run_even_as_the_last_record() -> None:
    given = lines(HEADER, {"type": "agent_start"}, end(answer([], "error", errorMessage="500")), {"type": "agent_end"})
    events = events_of(STREAM, given)
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["error"]
    assert [(e.level, e.message) for e in events if isinstance(e, Notification)] == [("error", "500")]


def test_an_error_with_a_retry_to_come_is_no_end() -> None:
    given = lines(HEADER, end(answer([], "error", errorMessage="500")), {"type": "agent_end", "willRetry": True})
    assert not [e for e in events_of(STREAM, given) if isinstance(e, SessionEnd)]


def test_an_answer_cut_off_while_it_was_written_is_taken_from_its_last_update() -> None:
    update = {
        "type": "message_update",
        "message": answer([{"type": "thinking", "thinking": "hm"}, text("Half a")], "stop"),
    }
    events = events_of(STREAM, lines(HEADER, {"type": "agent_start"}, update))
    assert texts(events) == ["Half a"]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["hm"]
    assert not usages(events)


def test_a_call_that_was_still_being_written_is_no_call() -> None:
    update = {
        "type": "message_update",
        "assistantMessageEvent": {"type": "toolcall_delta", "partial": answer([text("Now"), call("c", command="ec")])},
    }
    events = events_of(STREAM, lines(HEADER, update))
    assert texts(events) == ["Now"]
    assert not calls(events)


def test_calls_of_a_broken_answer_are_cancelled() -> None:
    broken = {**call("c-2"), "partialJson": '{"comm'}
    events = events_of(STREAM, lines(HEADER, end(answer([call("c-1"), broken], "aborted"))))
    assert [c.call_id for c in calls(events)] == ["c-1"]
    assert [(r.call_id, r.outcome, r.output_json) for r in results(events)] == [("c-1", "cancelled", None)]


@pytest.mark.parametrize(
    ("output", "error", "outcome", "code"),
    [
        ("fine", False, "ok", None),
        ("x\n\nCommand exited with code 127", True, "error", 127),
        ("Command exited with code 2 was printed before", True, "error", None),
        ("ENOENT: no such file", True, "error", None),
        ("partial\n\nCommand aborted", True, "cancelled", None),
        ("Operation aborted", True, "cancelled", None),
        ("Skipped due to queued user message.", True, "cancelled", None),
        ("Tool execution was blocked by an extension", True, "denied", None),
    ],
)
def test_outcomes_are_read_from_the_error_flag_and_the_text(
    output: str, error: bool, outcome: str, code: int | None
) -> None:
    assert outcome_of(output, error) == (outcome, code)


def test_a_tool_result_message_counts_where_no_execution_end_was_printed() -> None:
    message = {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [text("hi")], "isError": False}
    events = events_of(STREAM, lines(HEADER, end(answer([call("c")])), end(message), end(message)))
    assert [r.outcome for r in results(events)] == ["ok"]


def test_an_execution_without_a_call_gives_its_call() -> None:
    start = {"type": "tool_execution_start", "toolCallId": "x", "toolName": "read", "args": {"path": "a"}}
    events = events_of(STREAM, lines(HEADER, start, tool_end("x", "text")))
    assert [(c.name, c.input) for c in calls(events)] == [("read", {"path": "a"})]
    assert len(results(events)) == 1


def test_arguments_that_came_as_a_string_are_unwrapped() -> None:
    block = {"type": "toolCall", "id": "c", "name": "read", "arguments": '{"path":"a"}'}
    [one] = calls(events_of(STREAM, lines(HEADER, end(answer([block])))))
    assert one.input == {"path": "a"}


def test_updates_are_skipped_without_decoding_yet_torn_and_welded_ones_are_not() -> None:
    update = b'{"type":"message_update","message":{"role":"assistant","content":[{"type":"text","text":"}{ hi"}]}}'
    whole = msgspec.json.encode(end(answer([text("Done")], "stop")))
    stage = Decode(STREAM, DecodeContext("log"))
    batch = Batch("log", records=records(b"\n".join([update, update + whole])))
    stage.push(batch)
    assert texts(batch.events) == ["Done"]
    assert [f.reason for f in batch.faults] == ["welded"]
    torn = Batch("log", records=[Record(update[:-30], 0, 0)])
    Decode(STREAM, DecodeContext("log")).push(torn)
    assert [f.reason for f in torn.faults] in (["torn"], ["torn-middle"])


@pytest.mark.parametrize(
    "behind",
    [
        {"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": "behind"}]}},
        {"type": "tool_execution_start", "toolCallId": "c9", "toolName": "bash", "args": {"command": "ls"}},
        {"type": "extension_error", "error": "behind"},
        {"type": "queue_update", "steering": ["behind"]},
    ],
)
@pytest.mark.parametrize("cut", [30, 400, 900, 1100])
def test_a_record_behind_a_torn_update_is_told(behind: dict[str, Any], cut: int) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "word, " * 500}]}
    event = {"type": "text_delta", "delta": "x", "partial": message}
    update = msgspec.json.encode({"type": "message_update", "assistantMessageEvent": event, "message": message})
    alone = Batch("log", records=[Record(msgspec.json.encode(behind), 0, 0)])
    Decode(STREAM, DecodeContext("log")).push(alone)
    welded = Batch("log", records=[Record(update[:-cut] + msgspec.json.encode(behind), 0, 0)])
    Decode(STREAM, DecodeContext("log")).push(welded)
    told = [event for event in welded.events if not isinstance(event, SessionInfo)]
    assert [type(event) for event in told] == [type(event) for event in alone.events] != []
    assert [f.reason for f in welded.faults] == ["torn-middle"]


def test_an_update_that_shows_its_snapshot_twice_does_not_pass_where_it_was_torn_and_another_record_follows() -> None:
    behind = msgspec.json.encode({"type": "extension_error", "error": "behind"})
    message = {"role": "assistant", "content": [{"type": "text", "text": "word, " * 50}], "timestamp": 1795240861483}
    event = {"type": "text_delta", "delta": "x", "partial": message}
    update = msgspec.json.encode({"type": "message_update", "assistantMessageEvent": event, "message": message})
    for cut in range(30, len(update)):
        batch = Batch("log", records=[Record(update[:cut] + behind, 0, 0)])
        Decode(STREAM, DecodeContext("log")).push(batch)
        assert batch.faults and not batch.ignored, cut


def test_an_update_alone_is_counted_in_place_whatever_its_texts_quote() -> None:
    quoted = '}{"type":"message_end"}' * 120
    message = {"role": "assistant", "content": [{"type": kind, kind: quoted} for kind in ("text", "thinking")]}
    event = {"type": "thinking_delta", "delta": quoted, "partial": message}
    update = msgspec.json.encode({"type": "message_update", "assistantMessageEvent": event, "message": message})
    batch = Batch("log", records=[Record(update, 0, 0)])
    Decode(STREAM, DecodeContext("log")).push(batch)
    assert (batch.ignored, batch.faults) == ({"message_update": 1}, [])


def test_an_update_with_its_keys_in_another_order_is_ignored_too() -> None:
    given = lines(HEADER, {"message": answer([text("a")]), "type": "message_update"})
    assert decoded(STREAM, given).ignored == {"message_update": 1}


def test_known_types_are_never_unknown_and_new_ones_are() -> None:
    given = lines(
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529"},
        {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "529"},
        {"type": "compaction_start", "reason": "threshold"},
        {"type": "compaction_end", "reason": "threshold", "result": {"summary": "so far", "tokensBefore": 9}},
        {"type": "auto_compaction_end", "aborted": True, "willRetry": False},
        {"type": "queue_update", "steering": ["stop that"], "followUp": []},
        {"type": "session_info_changed", "name": "a title"},
        {"type": "thinking_level_changed", "level": "high"},
        {"type": "session_action_update"},
        {"type": "agent_settled"},
        {"type": "extension_error", "extensionPath": "x", "event": "tool_call", "error": "boom"},
        {"type": "extension_ui_request", "id": "1", "method": "confirm", "title": "Sure?", "message": "rm"},
        {"type": "extension_ui_request", "id": "2", "method": "setWidget", "widgetKey": "k"},
        {"type": "response", "id": "1", "command": "prompt", "success": True},
        {"type": "response", "id": "2", "command": "prompt", "success": False, "error": "busy"},
    )
    batch = decoded(STREAM, given)
    assert not batch.unknown
    names = [e.name for e in batch.events if isinstance(e, Notification)]
    assert "compact_boundary" in names
    assert "permission_request" in names
    assert [e.text for e in batch.events if isinstance(e, UserText) and e.injected] == ["so far"]
    new = decoded(STREAM, lines({"type": "brand_new"}))
    assert new.unknown == {"brand_new": 1}
    assert len(new.strangers) == 1


def test_a_branch_is_noted_and_both_branches_count() -> None:
    events = events_of(SESSION, fixture("session-v3.jsonl"))
    assert [e.message for e in events if isinstance(e, Notification) and e.name == "branch"] == [
        "continues e2; e4 was left"
    ]
    assert texts(events) == ["One.", "Two.", "Other way."]
    assert len(usages(events)) == 3


def test_a_session_tells_its_facts() -> None:
    infos = [e for e in events_of(SESSION, fixture("session-v3.jsonl")) if isinstance(e, SessionInfo)]
    assert infos[0].session_id == "s-3"
    assert infos[0].cwd == "/w"
    assert [i.model for i in infos if i.model] == ["m-1"]
    assert [i.title for i in infos if i.title] == ["Fix it"]


def test_version_one_sessions_have_answers_without_ids() -> None:
    events = events_of(SESSION, fixture("session-v1.jsonl"))
    assert texts(events) == ["Reading.", "Read."]
    assert len({e.message_id for e in events if isinstance(e, AssistantText)}) == 2
    assert [r.outcome for r in results(events)] == ["ok"]
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]


def test_what_the_program_puts_into_the_context_is_injected() -> None:
    given = lines(
        HEADER,
        entry("compaction", "a", None, summary="before", firstKeptEntryId="x", tokensBefore=5),
        entry("branch_summary", "b", "a", fromId="z", summary="left"),
        entry("custom_message", "c", "b", customType="note", content="by an extension", display=True),
        entry("message", "d", "c", message={"role": "custom", "customType": "n", "content": "note", "display": True}),
        entry("message", "e", "d", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0}),
        entry("message", "f", "e", message={"role": "compactionSummary", "summary": "sum", "tokensBefore": 5}),
        entry("message", "g", "f", message={"role": "user", "content": "a person"}),
        entry("custom", "h", "g", customType="state", data={}),
        entry("label", "i", "h", targetId="a", label="here"),
        entry("thinking_level_change", "j", "i", thinkingLevel="high"),
    )
    batch = decoded(SESSION, given)
    told = [(e.text, e.injected) for e in batch.events if isinstance(e, UserText)]
    assert told == [
        ("before", True),
        ("left", True),
        ("by an extension", True),
        ("note", True),
        ("!ls\na\n(exit code 0)", True),
        ("sum", True),
        ("a person", False),
    ]
    assert not batch.unknown


def test_unknown_entries_and_roles_are_counted() -> None:
    given = lines(HEADER, entry("brand_new", "a", None), entry("message", "b", "a", message={"role": "martian"}))
    assert decoded(SESSION, given).unknown == {"brand_new": 1, "message/martian": 1}


def test_a_copied_entry_of_a_fork_keeps_its_usage_key() -> None:
    copied = entry("message", "abcd0001", None, message=answer([text("a")], "stop"))
    first = usages(events_of(SESSION, lines(HEADER, copied)))
    second = usages(events_of(SESSION, lines({**HEADER, "id": "fork", "parentSession": "/s-1.jsonl"}, copied)))
    assert first[0].key == second[0].key


SKILL = '<skill name="count" location="/s/count/SKILL.md">\nReferences are relative to /s/count.\n\nCount.\n</skill>'


@pytest.mark.parametrize(
    ("content", "prompts"),
    [
        ([text(f"{SKILL}\n\na.py\n\nand b.py")], ["/skill:count a.py\n\nand b.py"]),
        ([text(SKILL), {"type": "image", "data": "aa", "mimeType": "image/png"}], ["/skill:count"]),
        (SKILL, ["/skill:count"]),
        ([text(f"Look at this: {SKILL}")], [f"Look at this: {SKILL}"]),
        ([text('<skill name="count" says nothing')], ['<skill name="count" says nothing']),
    ],
)
def test_the_prompt_of_a_skill_is_its_command_and_the_skills_text_is_injected(content: Any, prompts: list[str]) -> None:
    message = {"role": "user", "content": content, "timestamp": 1772359200500}
    for of, record in ((SESSION, entry("message", "a", None, message=message)), (STREAM, end(message))):
        told = [e for e in events_of(of, lines(HEADER, record)) if isinstance(e, UserText)]
        assert [e.text for e in told if not e.injected] == prompts
        assert [msgspec.json.decode(e.body) for e in told if e.injected] == ([content] if len(told) == 2 else [])
        assert len({e.message_id for e in told}) == len(told)
        check_laws(of, lines(HEADER, record))


def test_a_persons_own_command_says_that_the_model_did_not_see_it_and_that_it_was_cancelled() -> None:
    run = {"role": "bashExecution", "command": "ls", "output": "a\n", "cancelled": False, "excludeFromContext": False}
    given = lines(
        HEADER,
        entry("message", "a", None, message={**run, "exitCode": 0, "excludeFromContext": True}),
        entry("message", "b", "a", message={**run, "cancelled": True}),
    )
    told = [(e.text, e.injected) for e in events_of(SESSION, given) if isinstance(e, UserText)]
    assert told == [("!!ls\na\n\n(exit code 0)", True), ("!ls\na\n\n(cancelled)", True)]


def test_escape_during_a_call_ends_the_run_as_interrupted_whatever_its_empty_answer_says() -> None:
    """Before 1.5.1 that answer was an `error` with the text of JavaScript's AbortError."""
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    ended = answer([], "error", usage=zero, errorMessage="This operation was aborted")
    failed = answer([], "error", usage=zero, errorMessage="The operation was aborted due to timeout")
    for message, status in ((ended, "interrupted"), (failed, "error")):
        session = lines(HEADER, entry("message", "a", None, message=message))
        stream = lines(HEADER, end(message), {"type": "agent_end", "messages": [], "willRetry": False})
        for of, given in ((SESSION, session), (STREAM, stream)):
            events = events_of(of, given)
            assert [e.status for e in events if isinstance(e, SessionEnd)] == [status]
            assert not texts(events)


def test_what_a_fork_copies_from_its_parent_is_not_told_again() -> None:
    """Copied entries keep their times; the header bears the time of the fork."""
    header = {**HEADER, "id": "fork", "timestamp": "2026-03-01T10:00:02.000Z", "parentSession": "/s-1.jsonl"}
    copied = [
        entry("model_change", "a", None, provider="p", modelId="m-1"),
        entry("message", "b", "a", message={"role": "user", "content": "first"}),
        entry("message", "c", "b", message=answer([call("c1")])),
    ]
    own = {
        **entry("message", "d", "c", message=answer([text("mine")], "stop")),
        "timestamp": "2026-03-01T10:00:03.000Z",
    }
    batch = decoded(SESSION, lines(header, *copied, own))
    assert (texts(batch.events), calls(batch.events), len(usages(batch.events))) == (["mine"], [], 1)
    assert [e.model for e in batch.events if isinstance(e, SessionInfo) and e.model] == ["m-1"]
    assert not any(e.name == "branch" for e in batch.events if isinstance(e, Notification))
    assert batch.ignored == {"copied from the parent session": 2}
    check_laws(SESSION, lines(header, *copied, own))
    assert len(usages(events_of(SESSION, lines({**header, "parentSession": None}, *copied, own)))) == 2


def test_a_broken_answer_without_tokens_gives_no_usage() -> None:
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    given = lines(HEADER, entry("message", "a", None, message=answer([], "error", usage=zero, errorMessage="400")))
    events = events_of(SESSION, given)
    assert not usages(events)
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["error"]


def test_a_sub_agents_transcript_is_read_as_a_session() -> None:
    base = {"version": 1, "recordType": "message", "runId": "r", "agent": "reviewer", "childIndex": 1, "cwd": "/w"}
    row = {**base, "timestamp": "2026-03-01T10:00:00.000Z"}
    given = lines(
        {**row, "role": "user", "message": {"role": "user", "content": "review"}},
        {**row, "role": "assistant", "message": answer([call("c", "read", path="a")])},
        {**row, "recordType": "tool_start", "toolCallId": "c", "toolName": "read"},
        {**row, "message": {"role": "toolResult", "toolCallId": "c", "content": [text("x")], "isError": True}},
        {**row, "recordType": "stderr", "text": "warned"},
        {**row, "role": "assistant", "message": answer([text("fine")], "stop")},
    )
    check_laws(SUBAGENT, given)
    events = events_of(SUBAGENT, given)
    assert best(PROVIDER, given) == ("pi-subagent", 1.0)
    assert [c.name for c in calls(events)] == ["read"]
    assert [r.outcome for r in results(events)] == ["error"]
    assert texts(events) == ["fine"]


def test_stream_and_session_are_told_apart_by_what_follows_their_common_header() -> None:
    assert best(PROVIDER, fixture("stream.jsonl")) == ("pi-stream", 1.0)
    assert best(PROVIDER, fixture("session-v1.jsonl")) == ("pi-session", 1.0)
    assert best(PROVIDER, fixture("session-v3.jsonl")) == ("pi-session", 1.0)
    assert 0 < best(PROVIDER, lines(HEADER))[1] < 1.0


def test_other_agents_records_are_no_pi() -> None:
    others: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "x", "tools": [], "mcp_servers": []},
        {"type": "session.start", "id": "a", "parentId": None, "timestamp": "t", "data": {}},
        {"type": "message", "role": "user", "content": "x", "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "thread.started", "thread_id": "t"},
        {"type": "tool_call", "name": "x", "timestamp": "2026-01-01T00:00:00Z"},
    ]
    for other in others:
        assert best(PROVIDER, lines(other))[1] == 0.0


def recordings(form: str) -> list[Path]:
    root = corpus("clients/pi")
    pattern = "*/stream.jsonl*" if form == "stream" else "*/home/.pi/agent/sessions/*/*.jsonl"
    return sorted(root.glob(pattern))


def check_against_truth(path: Path, truth_file: Path, events: list[AnyEvent], form: str) -> None:
    truth = msgspec.json.decode(truth_file.read_bytes())
    scenario = truth["scenario"]
    if scenario == "s10b" and form == "session":
        return  # the log of a resumed session holds its first part too
    table = PROVIDER.tools.by_name
    names = sorted(table[c.name].tool if c.name in table else c.name for c in calls(events))
    wanted = sorted(
        c["tool"] or table[c["native"]].tool if c["native"] in table else c["native"] for c in asked_calls(truth)
    )
    assert names == wanted, path
    whole = "\n".join(texts(events))
    assert [t for t in said(truth) if t.strip() not in whole] == [], path
    if not truth["broken"] and not scenario.startswith("s6_"):
        tokens = truth["threads"]["part2" if "part2" in truth["threads"] else "main"]["tokens"]
        found = total(events)
        assert (found["input"], found["cached"], found["output"]) == (
            tokens["input"],
            tokens["cached"],
            tokens["output"],
        )


@pytest.mark.parametrize("form", ["stream", "session"])
def test_recordings_hold_what_the_model_asked_for(form: str) -> None:
    found = recordings(form)
    assert found
    for path in found:
        place = path.parent if form == "stream" else next(p for p in path.parents if p.name == "home").parent
        if place.name == "s6_pipe":
            continue  # its reader left, and the agent died of it
        given = records(read(path))
        name, score = best(PROVIDER, given[:8])
        assert (name, score) == (f"pi-{form}", 1.0)
        batch = Batch(str(path), records=given)
        stage = Decode(dialect(PROVIDER, name), DecodeContext(str(path)))
        stage.push(batch)
        events = [*batch.events, *(e for b in stage.flush() for e in b.events)]
        assert not batch.unknown
        assert not batch.faults
        check_against_truth(path, place / "truth.json", events, form)


@pytest.mark.parametrize("kind", ["pi-events", "pi-session", "pi-subagent-transcript"])
def test_wild_logs_decode_without_unknown_types(kind: str) -> None:
    for path in sorted(corpus(f"wild/{kind}").iterdir()):
        given = records(read(path))
        readable = [r for r in given if r.data.endswith(b"}") and b'"axli"' not in r.data[:8]]
        name, score = best(PROVIDER, readable[:8])
        assert score == 1.0, path
        batch = Batch(str(path), records=readable)
        Decode(dialect(PROVIDER, name), DecodeContext(str(path))).push(batch)
        assert not batch.unknown, path
        assert [f.reason for f in batch.faults if f.reason == "schema"] == []
        answered = {r.call_id for r in results(batch.events)}
        assert len(answered) == len(results(batch.events)), path
        assert isinstance(next(e for e in batch.events if isinstance(e, ToolResult | UserText)), ToolResult | UserText)


def test_a_member_of_another_shape_costs_only_itself() -> None:
    odd = end({**answer([text("Hello.")]), "errorMessage": ["no text"]})
    (found,) = Decode(STREAM).push(Batch("log", records=lines(HEADER, odd)))
    assert [(f.reason, f.row) for f in found.faults] == [("schema", 1)]
    assert texts(found.events) == ["Hello."]


def update(kind: str, index: int, **members: Any) -> dict[str, Any]:
    """An update as Pi prints it from 0.84 on: a piece, and no snapshot."""
    event = {"type": kind, "contentIndex": index, **members}
    return {"type": "message_update", "usage": USAGE, "assistantMessageEvent": event}


WARMED: dict[str, Any] = {**entry("usage", "a", None, provider="p", model="m-2"), "kind": "cache_warm"}
NEW_STREAM = fixture("stream-1.5.jsonl")
NEW_SESSION = fixture("session-1.5.jsonl")


def test_what_pi_1_5_writes_keeps_the_laws_of_decoders() -> None:
    check_laws(STREAM, NEW_STREAM)
    check_laws(SESSION, NEW_SESSION)
    check_odd_shapes(PROVIDER, NEW_STREAM)
    check_odd_shapes(PROVIDER, NEW_SESSION)


@pytest.mark.parametrize(("given", "name"), [(NEW_STREAM, "pi-stream"), (NEW_SESSION, "pi-session")])
def test_nothing_that_pi_1_5_writes_is_unknown(given: list[Record], name: str) -> None:
    assert best(PROVIDER, given) == (name, 1.0)
    batch = decoded(dialect(PROVIDER, name), given)
    assert not batch.unknown
    assert not batch.faults


def test_a_killed_answer_is_put_together_from_its_pieces() -> None:
    given = lines(
        HEADER,
        update("thinking_start", 0),
        update("thinking_delta", 0, delta="Hm"),
        update("thinking_end", 0, content="Hmm."),
        update("text_start", 1),
        update("text_delta", 1, delta="I am "),
        update("toolcall_start", 2, id="c", toolName="bash"),
        update("toolcall_delta", 2, delta='{"co'),
        update("text_delta", 1, delta="writ"),
    )
    events = events_of(STREAM, given)
    assert texts(events) == ["I am writ"]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Hmm."]
    assert not calls(events)
    check_laws(STREAM, given)


def test_the_pieces_of_an_answer_that_came_to_its_end_or_was_begun_anew_are_forgotten() -> None:
    begun = [HEADER, update("text_start", 0), update("text_delta", 0, delta="Dead")]
    assert texts(events_of(STREAM, lines(*begun, end(answer([text("Whole.")], "stop"))))) == ["Whole."]
    anew = [*begun, update("text_start", 0), update("text_delta", 0, delta="Alive")]
    assert texts(events_of(STREAM, lines(*anew))) == ["Alive"]


def test_a_result_has_the_duration_that_pi_states() -> None:
    assert [r.duration_ms for r in results(events_of(STREAM, NEW_STREAM))] == [7, 12, 5]
    assert [r.duration_ms for r in results(events_of(SESSION, NEW_SESSION))] == [7, 12, 5]
    told = {**tool_end("c", "x"), "durationMs": 8.6}
    assert [r.duration_ms for r in results(events_of(STREAM, lines(HEADER, end(answer([call("c")])), told)))] == [9]


@pytest.mark.parametrize(("of", "given"), [(STREAM, NEW_STREAM), (SESSION, NEW_SESSION)])
def test_the_calls_of_a_script_count_and_the_script_only_if_it_made_none(of: Any, given: list[Record]) -> None:
    events = events_of(of, given)
    assert [(c.name, c.call_id, c.parent_call) for c in calls(events)] == [
        ("bash", "s-1/1", "s-1"),
        ("mcp__demo__lookup", "s-1/2", "s-1"),
        ("codemode", "s-2", None),
    ]
    assert [(r.call_id, r.outcome) for r in results(events)] == [("s-1/1", "error"), ("s-1/2", "ok"), ("s-2", "ok")]
    [answered] = {c.message_id for c in calls(events) if c.parent_call}
    assert answered == next(e.message_id for e in events if isinstance(e, AssistantText))
    [printed] = [e for e in events if isinstance(e, Notification) and e.name == "codemode"]
    assert (printed.message, printed.call_id) == ("Script completed", "s-1")


def test_a_script_that_was_killed_is_a_call_without_a_result() -> None:
    asked = lines(HEADER, end(answer([call("s", "codemode", code="while (1) {}")])))
    assert [c.name for c in calls(events_of(STREAM, asked))] == ["codemode"]
    inner: dict[str, Any] = {
        "type": "tool_execution_start",
        "toolCallId": "s/1",
        "toolName": "bash",
        "args": {},
        "parentToolCallId": "s",
    }
    given = [*asked, *lines(inner)]
    assert [c.name for c in calls(events_of(STREAM, given))] == ["bash"]
    assert not results(events_of(STREAM, given))


def test_models_that_a_tool_or_a_compaction_asked_and_warmed_caches_are_in_the_tokens() -> None:
    spent = {"input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}
    session = lines(
        HEADER,
        {**WARMED, "usage": spent},
        entry("compaction", "b", "a", summary="Short.", firstKeptEntryId="a", tokensBefore=9, usage=spent),
        entry("branch_summary", "c", "b", fromId="a", summary="Left.", usage=spent),
        entry("message", "d", "c", message={"role": "toolResult", "toolCallId": "x", "content": [], "usage": spent}),
    )
    assert total(events_of(SESSION, session))["input"] == 40
    assert next(u.model for u in usages(events_of(SESSION, session))) == "m-2"
    stream = lines(
        HEADER,
        {"type": "entry_appended", "entry": {**WARMED, "usage": spent}},
        {"type": "compaction_end", "reason": "manual", "result": {"summary": "S", "tokensBefore": 9, "usage": spent}},
        end(answer([call("x")])),
        tool_end("x", "done"),
        end({"role": "toolResult", "toolCallId": "x", "content": [], "usage": spent}),
    )
    assert total(events_of(STREAM, stream))["input"] == 137 + 30


def test_entries_that_only_change_what_the_model_sees_next_are_named_and_left_out() -> None:
    edited = entry("context_edit", "b", "a", targetId="a", replacement=None)
    assert decoded(SESSION, lines(HEADER, edited)).ignored == {"context_edit": 1}
    assert decoded(STREAM, lines(HEADER, {"type": "entry_appended", "entry": edited})).ignored == {
        "entry_appended/context_edit": 1
    }
    strange = {"type": "entry_appended", "entry": entry("novelty", "c", "b")}
    assert decoded(STREAM, lines(HEADER, strange)).unknown == {"entry_appended/novelty": 1}


def test_retries_of_summaries_are_told() -> None:
    retry = {
        "type": "summarization_retry_scheduled",
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 1,
        "errorMessage": "529",
    }
    rest = [
        {"type": "summarization_retry_attempt_start", "source": "compaction"},
        {"type": "summarization_retry_finished"},
    ]
    batch = decoded(STREAM, lines(HEADER, retry, *rest))
    assert [e.message for e in batch.events if isinstance(e, Notification)] == ["attempt 1 of 3: 529"]
    assert not batch.unknown


def test_a_member_of_a_block_that_does_not_fit_costs_itself_alone() -> None:
    asked: dict[str, Any] = {**call("c"), "id": 7}
    given = lines(HEADER, entry("message", "a", None, message=answer([text("I look."), asked])))
    batch = Decode(SESSION).push(Batch("log", records=given))[0]
    assert [f.reason for f in batch.faults] == ["schema"]
    assert [e.text for e in batch.events if isinstance(e, AssistantText)] == ["I look."]
    assert [c.name for c in calls(batch.events)] == ["bash"]

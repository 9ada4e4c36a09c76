from typing import Any

import pytest

from agentv_stages.figures.facts import FactsObserver
from agentv_stages.model.batch import Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    UserText,
)
from agentv_stages.providers.codex import PROVIDER
from support.decoding import best, calls, check_laws, decoded, dialect, lines, records, results, texts, usages

EXEC = dialect(PROVIDER, "codex-exec")
OLD = dialect(PROVIDER, "codex-exec-old")
START = {"type": "thread.started", "thread_id": "t-1"}
TURN = {"type": "turn.started"}


def item(event: str, number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": f"item_{number}", "type": kind, **more}}


def command(event: str, number: int, **more: Any) -> dict[str, Any]:
    return item(event, number, "command_execution", command="/bin/bash -lc 'ls'", **more)


def done(**usage: int) -> dict[str, Any]:
    return {"type": "turn.completed", "usage": usage}


def simple() -> list[Record]:
    return lines(
        START,
        TURN,
        item("completed", 0, "reasoning", text="**Looking**"),
        item("completed", 1, "agent_message", text="I look."),
        command("started", 2, aggregated_output="", exit_code=None, status="in_progress"),
        command("completed", 2, aggregated_output="a.txt\n", exit_code=0, status="completed"),
        item("completed", 3, "file_change", changes=[{"path": "a.txt", "kind": "add"}], status="completed"),
        item("completed", 4, "agent_message", text="Done."),
        done(input_tokens=1000, cached_input_tokens=200, output_tokens=50, reasoning_output_tokens=20),
    )


def test_a_review_tells_no_tokens() -> None:
    """`exec review` ends with zeros: its model calls are another thread's."""
    given = lines(
        START, TURN, item("completed", 0, "agent_message", text="Fine."), done(input_tokens=0, output_tokens=0)
    )
    events = decoded(EXEC, given).events
    assert usages(events) == []
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]


def test_a_run_gives_session_texts_calls_results_total_and_end() -> None:
    events = decoded(EXEC, simple()).events
    assert [e.session_id for e in events if isinstance(e, SessionInfo)] == ["t-1"]
    assert texts(events) == ["I look.", "Done."]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["**Looking**"]
    assert [(c.name, c.input) for c in calls(events)] == [
        ("command_execution", {"command": "/bin/bash -lc 'ls'"}),
        ("file_change", {"changes": [{"path": "a.txt", "kind": "add"}]}),
    ]
    assert [(r.output, r.outcome, r.exit_code) for r in results(events)] == [("a.txt\n", "ok", 0), (None, "ok", None)]
    (usage,) = usages(events)
    assert (usage.scope, usage.key, usage.input, usage.cached, usage.output, usage.reasoning) == (
        "session",
        "t-1",
        1000,
        200,
        50,
        20,
    )
    assert usage.cache_write is None
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]


def test_what_follows_a_result_is_a_new_answer() -> None:
    events = decoded(EXEC, simple()).events
    first, second = calls(events)
    assert first.message_id == "m2"
    assert second.message_id == "m6" != first.message_id


def test_the_laws_hold_for_a_run() -> None:
    check_laws(EXEC, simple())


def test_a_running_command_has_no_result_and_the_run_no_end() -> None:
    events = decoded(EXEC, lines(START, TURN, command("started", 0, status="in_progress"))).events
    assert len(calls(events)) == 1
    assert results(events) == []
    assert not any(isinstance(e, SessionEnd) for e in events)


def test_failed_and_declined_commands_say_so() -> None:
    events = decoded(
        EXEC,
        lines(
            START,
            command("completed", 0, aggregated_output="", exit_code=3, status="failed"),
            command("completed", 1, aggregated_output="", exit_code=None, status="declined"),
        ),
    ).events
    assert [(r.outcome, r.exit_code) for r in results(events)] == [("error", 3), ("denied", None)]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("user cancelled MCP tool call", "denied"), ("user rejected MCP tool call", "denied"), ("timed out", "error")],
)
def test_a_call_of_an_mcp_server_that_was_not_allowed_is_denied(said: str, outcome: str) -> None:
    call = {"server": "s", "tool": "t", "arguments": {}, "result": None, "error": {"message": said}}
    done = item("completed", 0, "mcp_tool_call", **call, status="failed")
    invocation: dict[str, Any] = {"server": "s", "tool": "t", "arguments": {}}
    begun = message("mcp_tool_call_begin", call_id="c", invocation=invocation)
    ended = message("mcp_tool_call_end", call_id="c", invocation=invocation, result={"Err": said})
    for events in (decoded(EXEC, lines(START, done)).events, decoded(OLD, lines(begun, ended)).events):
        assert [r.outcome for r in results(events)] == [outcome]


def test_calls_of_an_mcp_server_bear_its_name() -> None:
    tool = {"server": "demo", "tool": "lookup", "arguments": {"key": "a"}}
    events = decoded(
        EXEC,
        lines(
            START,
            item("started", 0, "mcp_tool_call", **tool, result=None, error=None, status="in_progress"),
            item("completed", 0, "mcp_tool_call", **tool, result={"content": []}, error=None, status="completed"),
            item("completed", 1, "mcp_tool_call", **tool, result=None, error={"message": "no"}, status="failed"),
        ),
    ).events
    assert {(c.name, c.input["key"]) for c in calls(events)} == {("mcp__demo__lookup", "a")}
    assert [(r.output, r.outcome) for r in results(events)] == [({"content": []}, "ok"), ({"message": "no"}, "error")]


def test_each_change_of_a_plan_is_a_call_but_its_last_repetition_is_none() -> None:
    def plan(event: str, done: bool) -> dict[str, Any]:
        return item(event, 0, "todo_list", items=[{"text": "a", "completed": done}])

    given = lines(START, plan("started", False), plan("updated", True), plan("completed", True))
    events = decoded(EXEC, given).events
    assert [c.input["items"][0]["completed"] for c in calls(events)] == [False, True]
    assert len({c.call_id for c in calls(events)}) == 2
    assert len(results(events)) == 2
    check_laws(EXEC, given)


def test_a_search_is_told_when_its_query_is_known_and_the_last_of_two_ids_holds() -> None:
    started = b'{"type":"item.started","item":{"id":"item_0","type":"web_search","id":"ws_1","query":""}}'
    completed = (
        b'{"type":"item.completed","item":{"id":"item_0","type":"web_search","id":"ws_1","query":"rain",'
        b'"action":{"type":"search","query":"rain"}}}'
    )
    (call,) = calls(decoded(EXEC, records(started + b"\n" + completed)).events)
    assert (call.call_id, call.name, call.input["query"]) == ("ws_1", "web_search", "rain")
    (cut,) = calls(decoded(EXEC, records(started)).events)
    assert cut.input == {}


def test_a_spawned_agent_is_named_by_the_result() -> None:
    events = decoded(
        EXEC,
        lines(
            START,
            item("started", 0, "collab_tool_call", tool="spawn_agent", receiver_thread_ids=[], prompt="Read."),
            item(
                "completed",
                0,
                "collab_tool_call",
                tool="spawn_agent",
                receiver_thread_ids=["t-2"],
                prompt="Read.",
                agents_states={"t-2": {"status": "pending_init", "message": None}},
                status="completed",
            ),
        ),
    ).events
    assert [(c.name, c.input) for c in calls(events)] == [("spawn_agent", {"prompt": "Read."})]
    assert results(events)[0].agent_id == "t-2"


def test_retries_and_warnings_are_no_end_and_a_failure_is_told_once() -> None:
    events = decoded(
        EXEC,
        lines(
            START,
            item("completed", 0, "error", message="Model metadata not found."),
            TURN,
            {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"},
            {"type": "error", "message": "bad request"},
            {"type": "turn.failed", "error": {"message": "bad request"}},
        ),
    ).events
    notices = [(e.name, e.level) for e in events if isinstance(e, Notification)]
    assert notices == [("warning", "warning"), ("retry", "warning"), ("error", "error")]
    assert [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)] == [("error", "bad request")]


def test_item_ids_begin_anew_with_each_run() -> None:
    events = decoded(
        EXEC,
        lines(START, command("completed", 0, exit_code=0), done(), START, command("completed", 0, exit_code=0), done()),
    ).events
    assert [c.call_id for c in calls(events)] == ["item_0", "item_0@2"]


@pytest.mark.parametrize(("more", "status"), [((), "complete"), ((TURN,), "incomplete"), ((TURN, done()), "complete")])
def test_a_further_turn_that_did_not_end_leaves_the_run_open(more: tuple[dict[str, Any], ...], status: str) -> None:
    """It may have been killed before its first item."""
    facts = FactsObserver()
    facts.observe(decoded(EXEC, [*simple(), *lines(START, TURN, *more)[2:]]))
    assert facts.status(EXEC.has_end, 0) == status


def test_the_form_between_is_read_too() -> None:
    given = lines(
        {"type": "session.created", "session_id": "s-1"},
        {"type": "item.completed", "item": {"id": "itm_0", "item_type": "assistant_message", "text": "Hello."}},
    )
    assert best(PROVIDER, given) == ("codex-exec", 1.0)
    assert texts(decoded(EXEC, given).events) == ["Hello."]


def test_unknown_items_and_lines_are_counted_by_name() -> None:
    batch = decoded(EXEC, lines(START, item("completed", 0, "telepathy"), {"type": "turn.dreamt"}))
    assert batch.unknown == {"item:telepathy": 1, "turn.dreamt": 1}


def message(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "0", "msg": {"type": kind, **more}}


def old_run() -> list[Record]:
    return lines(
        {"model": "m-1", "workdir": "/w", "provider": "p", "reasoning effort": "low"},
        {"prompt": "Do it."},
        message("task_started", model_context_window=None),
        message("agent_reasoning", text="hm"),
        message("agent_message", message="I look."),
        message("exec_command_begin", call_id="c1", command=["bash", "-lc", "ls"], cwd="/w"),
        message("exec_command_output_delta", call_id="c1", stream="stdout", chunk=[97, 10]),
        message(
            "exec_command_end", call_id="c1", stdout="a\n", stderr="", exit_code=2, duration={"secs": 1, "nanos": 0}
        ),
        message("token_count", input_tokens=10, cached_input_tokens=2, output_tokens=5, reasoning_output_tokens=1),
        message("plan_update", explanation=None, plan=[{"step": "a", "status": "completed"}]),
        message("patch_apply_begin", call_id="c2", changes={"/w/n": {"add": {"content": "x"}}}),
        message("patch_apply_end", call_id="c2", stdout="ok", stderr="", success=False),
        message("web_search_begin", call_id="ws"),
        message("web_search_end", call_id="ws", query="rain"),
        message("turn_diff", unified_diff="diff"),
        message("token_count", input_tokens=20, cached_input_tokens=2, output_tokens=6, reasoning_output_tokens=1),
    )


def test_what_the_oldest_stream_says_is_text_whatever_its_type() -> None:
    events = decoded(
        OLD, lines(message("agent_reasoning", text={"a": 1}), message("agent_message", message=["b"]))
    ).events
    assert [bytes(e.text_json)[:1] for e in events if isinstance(e, AssistantText | Reasoning)] == [b'"', b'"']


def test_calls_of_an_mcp_server_in_the_oldest_stream_give_what_the_server_said() -> None:
    tool = {"server": "s", "tool": "add", "arguments": {"a": 1}}
    pairs: list[dict[str, Any]] = []
    ends: dict[str, Any] = {"a": {"Ok": {"content": []}}, "b": {"Ok": {"isError": True}}, "c": {"Err": "no"}}
    for call_id, result in ends.items():
        pairs.append(message("mcp_tool_call_begin", call_id=call_id, invocation=tool))
        pairs.append(message("mcp_tool_call_end", call_id=call_id, invocation=tool, result=result))
    events = decoded(OLD, [*old_run(), *lines(*pairs)]).events
    assert [(r.output, r.outcome) for r in results(events)[-3:]] == [
        ({"content": []}, "ok"),
        ({"isError": True}, "error"),
        ("no", "error"),
    ]


def test_the_oldest_stream_gives_calls_with_names_outcomes_and_tokens_of_each_model_call() -> None:
    given = old_run()
    assert best(PROVIDER, given) == ("codex-exec-old", 1.0)
    batch = decoded(OLD, given)
    assert batch.unknown == {}
    assert [c.name for c in calls(batch.events)] == ["shell", "update_plan", "file_change", "web_search"]
    assert calls(batch.events)[2].input == {"changes": [{"path": "/w/n", "kind": "add", "content": "x"}]}
    first = results(batch.events)[0]
    assert (first.output, first.outcome, first.exit_code, first.duration_ms) == ("a\n", "error", 2, 1000)
    assert results(batch.events)[2].outcome == "error"
    assert [(u.input, u.output) for u in usages(batch.events)] == [(10, 5), (20, 6)]
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["Do it."]
    assert len({c.message_id for c in calls(batch.events)}) == 2
    check_laws(OLD, given)


def test_output_as_a_list_of_bytes_becomes_text() -> None:
    events = decoded(
        OLD,
        lines(
            message("exec_command_begin", call_id="c", command=["ls"]),
            message("exec_command_end", call_id="c", stdout=[104, 195, 169], stderr=[], exit_code=0),
        ),
    ).events
    assert results(events)[0].output == "hé"


def test_an_interrupt_of_the_oldest_stream_cancels_open_calls() -> None:
    given = lines(
        message("exec_command_begin", call_id="a", command=["ls"]),
        message("exec_command_begin", call_id="b", command=["ls"]),
        message("turn_aborted", reason="interrupted"),
    )
    events = decoded(OLD, given).events
    assert [r.outcome for r in results(events)] == ["cancelled", "cancelled"]
    check_laws(OLD, given)


def test_agentvs_log_of_the_sdk_is_read_too() -> None:
    given = lines(
        *({"time": "00:02", "event": line["type"], "data": line} for line in (START, TURN, done(input_tokens=5)))
    )
    assert best(PROVIDER, given) == ("codex-exec", 1.0)
    events = decoded(EXEC, given).events
    assert [type(e) for e in events] == [SessionInfo, TokenUsage, SessionEnd]

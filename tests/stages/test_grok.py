"""Grok Build: its two streams. Its sessions on disk: `test_grok_session.py`."""

import json
from typing import Any

import pytest

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.message import Message
from agentv_stages.providers import all_providers
from agentv_stages.providers.grok import PROVIDER
from agentv_stages.session.detect import LIKELY
from agentv_stages.sinks.transcript import Identity, TranscriptRows
from support.decoding import (
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    head,
    lines,
    pushed,
    records,
    results,
    texts,
    total,
    usages,
)
from support.grok_sessions import FOLDER

STREAM, MESSAGES = dialect(PROVIDER, "grok-stream"), dialect(PROVIDER, "grok-messages")
STREAMED = records((FOLDER / "stream.jsonl").read_bytes())
MESSAGED = records((FOLDER / "messages.jsonl").read_bytes())
BOTH = pytest.mark.parametrize(("of", "given"), [(STREAM, STREAMED), (MESSAGES, MESSAGED)])
SPENT = {"input": 130033, "cached": 104576, "output": 182}
"""What the model server billed for the run of the fixtures, its sub-agent included (a script of nine answers)."""
ASKED: list[tuple[str, Outcome]] = [
    ("read_file", "ok"),
    ("grep", "ok"),
    ("list_dir", "ok"),
    ("search_replace", "ok"),
    ("run_terminal_command", "denied"),
    ("run_terminal_command", "error"),
    ("fruit__count_apples", "ok"),
    ("no_such_tool", "error"),
    ("spawn_subagent", "ok"),
    ("read_file", "ok"),
    ("todo_write", "ok"),
]
"""What the script asked for, and how each call ended."""


def result(of: Any, given: Any) -> Result:
    batch = Batch("log", records=list(given), events=events_of(of, given))
    Normalize(PROVIDER.tools).push(batch)
    observer = Observer(PROVIDER, of)
    observer.observe(batch)
    return observer.result([])


def outcomes(events: list[AnyEvent]) -> dict[str, tuple[str | None, int | None]]:
    return {e.call_id: (e.outcome, e.exit_code) for e in results(events)}


def ends(events: list[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def answers(events: list[AnyEvent], stream: str = MAIN) -> list[str]:
    kinds = (AssistantText, Reasoning, ToolCall)
    return list(dict.fromkeys(e.message_id for e in events if isinstance(e, kinds) and e.source.stream == stream))


def test_each_stream_is_told() -> None:
    assert best(PROVIDER, STREAMED) == ("grok-stream", 1.0)
    assert best(PROVIDER, MESSAGED) == ("grok-messages", 1.0)
    for row, record in enumerate(STREAMED):
        kind = json.loads(record.data)["type"]
        if kind not in ("text", "plan"):  # which may be anybody's
            assert best(PROVIDER, STREAMED[row : row + 1]) >= ("grok-stream", 0.9), kind


@BOTH
def test_nobody_else_takes_them(of: Any, given: Any) -> None:
    """Of a whole run, of its first line, and of one whose beginning is missing."""
    for part in (given, given[:1], given[12:]):
        found = {(d.detect(head(part)), d.name) for p in all_providers() for d in p.dialects}
        assert max(found)[1] == of.name, part[0]


@pytest.mark.parametrize("kind", ["assistant", "user", "result"])
def test_each_line_of_the_second_stream_tells_it(kind: str) -> None:
    """Where the first lines are missing."""
    one = next(r for r in MESSAGED if json.loads(r.data)["type"] == kind)
    found = [(d.detect(head([one])), d.name) for p in all_providers() for d in p.dialects]
    assert max(found) == (0.95, "grok-messages")


def test_claudes_own_stream_stays_claudes() -> None:
    init: dict[str, Any] = {
        "type": "system",
        "subtype": "init",
        "apiKeySource": "user",
        "mcp_servers": [],
        "session_id": "s",
    }
    old, new = {**init, "tools": ["Bash"]}, {**init, "tools": ["Bash"], "skills": [], "claude_code_version": "2.1.0"}
    assert MESSAGES.detect([old]) == MESSAGES.detect([new]) == 0.0
    claude = next(p for p in all_providers() if p.name == "claude").dialects[0]
    assert claude.detect([old]) == claude.detect([new]) == 1.0
    none: dict[str, Any] = {**init, "tools": [], "skills": []}  # of a run that never began
    assert MESSAGES.detect([none]) == 1.0
    assert claude.detect([none]) < LIKELY


def test_a_run_that_never_began_is_told_and_is_an_error() -> None:
    given = lines({"type": "error", "message": "Couldn't set model 'nope': Invalid params"})
    assert max((d.detect(head(given)), d.name) for p in all_providers() for d in p.dialects)[1] == "grok-stream"
    assert ends(events_of(STREAM, given)) == [("error", "Couldn't set model 'nope': Invalid params")]


def test_its_chat_history_is_nobodys_log() -> None:
    """It lies beside the log of a session, and has items of reasoning as the first Codex had."""
    reasoning = {"type": "reasoning", "id": "", "summary": [{"type": "summary_text", "text": "Hm."}]}
    history = head(lines({"type": "system", "content": "You are Grok."}, reasoning))
    assert not [d.name for p in all_providers() for d in p.dialects if d.detect(history) > 0]


@BOTH
def test_the_laws_hold(of: Any, given: Any) -> None:
    check_laws(of, given)


@BOTH
def test_odd_shapes_are_refused_whole_or_taken_whole(of: Any, given: Any) -> None:
    check_odd_shapes(PROVIDER, given, 40)


@BOTH
def test_calls_and_outcomes_are_those_of_the_script(of: Any, given: Any) -> None:
    events = events_of(of, given)
    ended = outcomes(events)
    assert [(call.name, ended[call.call_id][0]) for call in calls(events)] == ASKED
    assert {code for _, code in ended.values()} == {None, 3}
    asked = calls(events)
    assert asked[0].input == {"target_file": "calc.py"}
    assert asked[6].input == {"tree": "old"}, "an MCP tool is called through use_tool"


@BOTH
def test_outputs_are_what_the_model_was_told(of: Any, given: Any) -> None:
    told = {call.name: answer.output for call, answer in _pairs(events_of(of, given))}
    assert told["list_dir"].startswith("- /home/ada/orchard/")
    assert told["search_replace"] == "The file calc.py has been updated successfully."
    assert told["run_terminal_command"] == "exit: 3\nout\n"
    assert told["fruit__count_apples"] == "12 apples"
    assert told["grep"].startswith("<workspace_result"), "printed as a list of bytes"
    assert "Tool not found: no_such_tool" in told["no_such_tool"]
    assert told["spawn_subagent"] == "README is short."


def _pairs(events: list[AnyEvent]) -> list[tuple[ToolCall, ToolResult]]:
    by_id = {answer.call_id: answer for answer in results(events)}
    return [(call, by_id[call.call_id]) for call in calls(events)]


@BOTH
def test_answers_turns_and_tokens(of: Any, given: Any) -> None:
    events = events_of(of, given)
    assert len(answers(events)) == 7
    counted = result(of, given)
    assert counted.tool_use_summary["turns"] == 7
    assert {name: counted.tokens[name] for name in SPENT} == SPENT
    assert {name: total(events)[name] for name in SPENT} == SPENT, "the calls say it; the total is left out"
    assert counted.cost_usd == pytest.approx(0.00086435)
    assert (counted.status, counted.agent_num_turns) == ("complete", 7)
    assert (counted.session.id, counted.session.model) == (_session_of(given), "grok-4.6")
    assert counted.tool_use_summary["by_tool"]["mcp__fruit__count_apples"] == 1
    assert counted.tool_use_summary["by_kind"]["write"] == 2, "an edit and rm"


def _session_of(given: Any) -> str:
    last = json.loads(given[-1].data)
    return str(last.get("sessionId") or last["session_id"])


@BOTH
def test_a_sub_agent_that_is_waited_for_has_a_stream_of_its_own(of: Any, given: Any) -> None:
    events = events_of(of, given)
    spawn = next(call for call in calls(events) if call.name == "spawn_subagent")
    stream = f"subagent:{spawn.call_id}"
    assert len(answers(events, stream)) == 2
    inner = [call for call in calls(events) if call.source.stream == stream]
    assert [(call.name, call.parent_call) for call in inner] == [("read_file", spawn.call_id)]
    assert next(e.agent_id for e in results(events) if e.call_id == spawn.call_id) is not None
    assert {u.source.stream for u in usages(events)} == {MAIN, stream}


@BOTH
def test_a_sub_agents_result_that_was_printed_before_its_call_is_in_the_row_of_the_call(of: Any, given: Any) -> None:
    """Only the call tells whose result it is."""
    inner = next(call for call in calls(events_of(of, given)) if call.source.stream != MAIN)
    row = next(e.source.row for e in results(events_of(of, given)) if e.call_id == inner.call_id)
    moved = [*given[: inner.source.row], given[row], *given[inner.source.row : row], *given[row + 1 :]]
    batch, pairs, stage = Batch("log", events=events_of(of, moved)), Pair(), Consolidate()
    messages: list[Message] = []
    for one in (*pairs.push(batch), *pairs.flush()):
        messages += stage.push(one)[0].messages
    messages += [message for last in stage.flush() for message in last.messages]
    rows = TranscriptRows(Identity("t", "x", "p", "s", "f")).render(messages).splitlines()
    told = [json.loads(line)["metadata"]["agentv_stream"] for line in rows if json.loads(line)["role"] == "assistant"]
    outcomes = [about["outcome"] for one in told for about in one.get("calls", {}).values()]
    assert "ok" in outcomes and "unpaired" not in outcomes
    assert not [message for message in messages if message.role == "tool"]


def test_texts_of_both_streams_are_the_same() -> None:
    said = [_joined(events_of(of, given)) for of, given in ((STREAM, STREAMED), (MESSAGES, MESSAGED))]
    assert said[0] == said[1]
    assert said[0][-1] == "Done: add adds now. ✓"


def _joined(events: list[AnyEvent]) -> list[str]:
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, AssistantText):
            found[event.message_id] = found.get(event.message_id, "") + event.text
    return list(found.values())


USAGE = {"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}
USAGE_LINE = {"type": "usage", "usage": {**USAGE, "reasoning_tokens": 2}}


def call(call_id: str, name: str = "read_file", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "toolCallId": call_id, "toolName": name, "status": "pending", "rawInput": arguments}


def done(call_id: str, raw: Any = None, status: str = "completed") -> dict[str, Any]:
    return {"type": "tool_call_update", "toolCallId": call_id, "status": status, "rawOutput": raw, "content": []}


def available(*tools: str) -> dict[str, Any]:
    return {"type": "available_commands", "tools": list(tools), "commands": []}


def text(data: str) -> dict[str, Any]:
    return {"type": "text", "data": data}


STARTED = {"type": "Text", "text": "Subagent started in background.\nsubagent_id: kid-1\ndescription: x"}
FINISHED = {"type": "TaskOutput", "Result": {"output": "ok\n\n<subagent_meta>id=kid-1, tool_calls=1</subagent_meta>"}}


def test_tokens_take_in_both_caches() -> None:
    (usage,) = usages(events_of(STREAM, lines(text("Hi"), USAGE_LINE)))
    assert (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning) == (123, 20, 3, 5, 2)
    nothing = dict.fromkeys(USAGE, 0)
    assert not usages(events_of(STREAM, lines(text("Hi"), {"type": "usage", "usage": nothing}))), "0 is not known"


def test_a_total_counts_only_where_it_knows_more() -> None:
    end = {"type": "end", "stopReason": "end_turn", "sessionId": "s", "requestId": "r", "usage": USAGE}
    whole = events_of(STREAM, lines(text("Hi"), USAGE_LINE, end))
    assert [u.scope for u in usages(whole)] == ["call"]
    assert [u.scope for u in usages(events_of(STREAM, lines(text("Hi"), end)))] == ["segment"]


def test_an_answer_without_words_is_an_answer() -> None:
    events = events_of(
        STREAM,
        lines(text("A"), USAGE_LINE, call("1"), done("1"), USAGE_LINE, call("2"), call("3"), done("3"), done("2")),
    )
    assert len(answers(events)) == 2
    assert [c.message_id for c in calls(events)][1:] == [answers(events)[1]] * 2


def test_who_speaks_is_told_by_the_tools_while_a_sub_agent_is_in_the_background() -> None:
    main, sub = available("read_file", "spawn_subagent"), available("read_file")
    given = lines(
        *(main, text("I ask."), main, USAGE_LINE, call("s", "spawn_subagent"), done("s", STARTED)),
        *(text("Sub."), sub, USAGE_LINE, call("k"), done("k", {"type": "ReadFile", "FileNotFound": "no"}, "failed")),
        *(text("Main."), main, USAGE_LINE, call("w", "get_command_or_subagent_output")),
        *(text("Sub ends."), USAGE_LINE, done("w", FINISHED), text("End."), sub, USAGE_LINE),
    )
    events = events_of(STREAM, given)
    said = [(e.source.stream, e.text) for e in events if isinstance(e, AssistantText)]
    assert said == [
        (MAIN, "I ask."),
        ("subagent:s", "Sub."),
        (MAIN, "Main."),
        ("subagent:s", "Sub ends."),  # the main agent waits
        (MAIN, "End."),  # the sub-agent has ended
    ]
    assert outcomes(events)["k"] == ("error", None)
    assert [e.source.stream for e in results(events)] == [MAIN, "subagent:s", MAIN]
    check_laws(STREAM, given)


def test_what_several_sub_agents_do_at_once_stands_on_one_stream() -> None:
    main, sub = available("spawn_subagent"), available("read_file")
    given = lines(
        *(main, USAGE_LINE, call("a", "spawn_subagent"), call("b", "spawn_subagent")),
        *(text("One."), sub, USAGE_LINE, call("k"), done("k"), text("Two."), sub, USAGE_LINE),
    )
    events = events_of(STREAM, given)
    assert {e.source.stream for e in events if isinstance(e, AssistantText)} == {"subagent:(several)"}
    assert [c.parent_call for c in calls(events)] == [None, None, None]


def test_what_was_said_when_the_stream_was_cut_is_told() -> None:
    given = lines(available("x"), USAGE_LINE, call("s", "spawn_subagent"), text("Half a sen"))
    assert texts(pushed(STREAM, given).events) == []
    assert [e.source.stream for e in events_of(STREAM, given) if isinstance(e, AssistantText)] == ["subagent:s"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([{"type": "end", "stopReason": "end_turn", "sessionId": "s"}], ("complete", None)),
        ([{"type": "end", "stopReason": "cancelled", "sessionId": "s"}], ("interrupted", "cancelled")),
        (
            [{"type": "max_turns_reached"}, {"type": "end", "stopReason": "cancelled", "sessionId": "s"}],
            ("error", "max_turns_reached"),
        ),
        ([{"type": "end", "stopReason": "refusal", "sessionId": "s"}], ("error", "refusal")),
        ([{"type": "end", "stopReason": "EndTurn", "sessionId": "s"}], ("complete", None)),
        ([{"type": "end", "stopReason": "Cancelled", "sessionId": "s"}], ("interrupted", "cancelled")),
        ([{"type": "end", "stopReason": "MaxTokens", "sessionId": "s"}], ("error", "MaxTokens")),
        ([{"type": "error", "message": "Rate limit exceeded"}], ("error", "Rate limit exceeded")),
        ([{"type": "error", "message": 'Internal error: {"message": "too long"}'}], ("error", "too long")),
        ([{"type": "error", "message": 'Internal error: "cut off"'}], ("error", "cut off")),
        ([{"type": "error", "message": "Internal error: {"}], ("error", "Internal error: {")),
    ],
)
def test_how_a_run_ends(last: list[dict[str, Any]], expected: tuple[str, str | None]) -> None:
    events = events_of(STREAM, lines(text("Hi"), USAGE_LINE, *last))
    assert ends(events) == [expected]


def test_a_stream_without_its_end_is_incomplete() -> None:
    assert result(STREAM, STREAMED[:-1]).status == result(MESSAGES, MESSAGED[:-1]).status == "incomplete"


def test_compactions_are_told_and_unknown_lines_are_named() -> None:
    given = lines(
        {"type": "auto_compact_started", "percentage": 22},
        {"type": "auto_compact_failed", "error": "later"},
        {"type": "auto_compact_completed"},
        {"type": "brand_new"},
    )
    batch = pushed(STREAM, given)
    assert [(e.name, e.message) for e in batch.events if isinstance(e, Notification)] == [
        ("auto_compact_started", ""),
        ("auto_compact_failed", "later"),
        ("compact_boundary", ""),
    ]
    assert batch.unknown == {"brand_new": 1}


@pytest.mark.parametrize(
    ("raw", "content", "status", "expected"),
    [
        ({"type": "Bash", "output_for_prompt": "exit: 0\n", "exit_code": 0}, [], "completed", ("ok", 0)),
        ({"type": "Bash", "exit_code": 0, "timed_out": True}, [], "completed", ("error", 0)),
        ({"type": "Bash", "exit_code": -9}, [], "completed", ("error", -9)),
        ({"type": "Bash", "exit_code": -1, "signal": "9"}, [], "completed", ("error", None)),
        ({"type": "MCP", "output": {"Error": "rotten"}, "is_error": True}, [], "failed", ("error", None)),
        (None, ["Tool `x` was not executed: Denied by permission policy"], "failed", ("denied", None)),
        (None, ["User rejected the execution for tool `x`"], "failed", ("denied", None)),
        (None, ["User cancelled the execution for tool `x`"], "failed", ("denied", None)),
        (None, ["Hook denied: no rm here"], "failed", ("denied", None)),
        (None, ["Failed to parse arguments"], "failed", ("error", None)),
        ({"error": "tool_execution_failed", "message": "no"}, ["no"], "failed", ("error", None)),
        (None, [], "cancelled", ("cancelled", None)),
        ({"type": "Bash"}, [], "in_progress", None),
    ],
)
def test_how_a_call_ends(raw: Any, content: list[str], status: str, expected: tuple[str, int | None] | None) -> None:
    pieces = [{"type": "content", "content": {"type": "text", "text": said}} for said in content]
    given = lines(USAGE_LINE, call("1", "x"), {**done("1", raw, status), "content": pieces})
    assert outcomes(events_of(STREAM, given)) == ({"1": expected} if expected else {})


INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "grok-4.6", "cwd": "/w", "tools": ["use_tool"]}


def message(message_id: str, *content: dict[str, Any], usage: dict[str, int] | None = None) -> dict[str, Any]:
    inner = {"id": message_id, "role": "assistant", "model": "grok-4.6", "content": list(content)}
    return {
        "type": "assistant",
        "session_id": "s",
        "message": {**inner, "usage": dict.fromkeys(USAGE, 0) if usage is None else usage},
    }


def use(call_id: str, name: str = "read_file") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def answer(call_id: str, output: Any, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": json.dumps(output), "is_error": failed}
    return {"type": "user", "session_id": "s", "message": {"role": "user", "content": [block]}}


def test_a_call_behind_a_result_of_its_own_answer_is_no_turn() -> None:
    given = lines(
        INIT,
        message("msg_0", {"type": "text", "text": "Both."}, use("1"), usage=USAGE),
        answer("1", [{"type": "content", "content": {"type": "text", "text": "Tool `x` was not executed: no"}}], True),
        message("msg_1", use("2")),
        answer("2", {"type": "ReadFile", "FileContent": {"content": "1→x"}}),
        message("msg_2", {"type": "text", "text": "Done."}, usage=USAGE),
    )
    events = events_of(MESSAGES, given)
    assert [c.message_id for c in calls(events)] == ["msg_0", "msg_0"]
    assert outcomes(events) == {"1": ("denied", None), "2": ("ok", None)}
    assert answers(events) == ["msg_0", "msg_2"]


def test_answers_of_a_server_without_counts_stay_apart() -> None:
    given = lines(INIT, message("msg_0", use("1")), answer("1", {}), message("msg_1", use("2")))
    assert answers(events_of(MESSAGES, given)) == ["msg_0", "msg_1"]


def test_a_smaller_prompt_is_a_sub_agents() -> None:
    small = {**USAGE, "input_tokens": 10}
    given = lines(
        INIT,
        message("msg_0", use("s", "spawn_subagent"), usage=USAGE),
        answer("s", STARTED),
        message("msg_1", {"type": "text", "text": "Sub."}, usage=small),
        message("msg_2", {"type": "text", "text": "Main."}, usage={**USAGE, "input_tokens": 200}),
    )
    said = [(e.source.stream, e.text) for e in events_of(MESSAGES, given) if isinstance(e, AssistantText)]
    assert said == [("subagent:s", "Sub."), (MAIN, "Main.")]


def test_an_answer_that_never_came_whole_is_told_from_its_pieces() -> None:
    cut = next(i for i, r in enumerate(MESSAGED) if b'"type":"message_delta"' in r.data)
    events = events_of(MESSAGES, MESSAGED[: cut + 1])
    assert texts(events) == ["Reading the files."]
    assert [(c.name, c.source.stream) for c in calls(events)] == [(n, MAIN) for n in ("read_file", "grep", "list_dir")]
    assert calls(events)[0].input == {"target_file": "calc.py"}
    whole = events_of(MESSAGES, MESSAGED)
    assert answers(events) == answers(whole)[:1]


def test_zero_is_no_cost_and_several_runs_number_their_answers_anew() -> None:
    run = [
        INIT,
        message("msg_0", {"type": "text", "text": "Hi."}, usage=USAGE),
        {"type": "result", "subtype": "success", "session_id": "s", "stop_reason": "end_turn", "total_cost_usd": 0.0},
    ]
    events = events_of(MESSAGES, lines(*run, *run))
    assert answers(events) == ["msg_0", "msg_0#2"]
    assert [e.cost_usd for e in events if isinstance(e, SessionEnd)] == [None, None]
    priced = {**run[2], "total_cost_usd": 0.5}
    events = events_of(MESSAGES, lines(run[0], run[1], priced, run[0], run[1], priced))
    assert [e.cost_usd for e in events if isinstance(e, SessionEnd)] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"subtype": "success", "stop_reason": "end_turn"}, ("complete", None)),
        (
            {"subtype": "error_max_turns", "is_error": True, "stop_reason": "cancelled", "errors": ["Reached"]},
            ("error", "max_turns_reached"),
        ),
        (
            {
                "subtype": "error_during_execution",
                "is_error": True,
                "stop_reason": "cancelled",
                "errors": ["cancelled"],
            },
            ("interrupted", "cancelled"),
        ),
        (
            {"subtype": "error_during_execution", "is_error": True, "errors": ["Rate limit exceeded"]},
            ("error", "Rate limit exceeded"),
        ),
    ],
)
def test_how_a_run_of_messages_ends(last: dict[str, Any], expected: tuple[str, str | None]) -> None:
    events = events_of(MESSAGES, lines(INIT, {"type": "result", "session_id": "s", **last}))
    assert ends(events) == [expected]


def test_an_inline_web_search_is_a_call_with_its_result() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "w", "content": [{"type": "web_search_result", "url": "u"}]},
        {"type": "text", "text": "Found."},
    ]
    events = events_of(MESSAGES, lines(INIT, message("msg_0", *blocks, usage=USAGE)))
    assert [c.name for c in calls(events)] == ["web_search"]
    assert outcomes(events) == {"w": ("ok", None)}


def test_another_session_in_the_same_input_is_noticed() -> None:
    batch = pushed(MESSAGES, lines(INIT, {**INIT, "session_id": "t"}))
    assert [f.reason for f in batch.faults] == ["foreign-record"]
    assert [e.another for e in batch.events if isinstance(e, SessionInfo)] == [False, True]


def test_arguments_that_were_printed_in_pieces_are_json_or_none() -> None:
    def asked(*pieces: str) -> bytes:
        block = {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "c", "name": "grep"}}
        events = [block, *({"type": "content_block_delta", "delta": {"partial_json": piece}} for piece in pieces)]
        given = lines(*({"type": "stream_event", "event": event} for event in events))
        (call,) = [e for e in events_of(MESSAGES, given) if isinstance(e, ToolCall)]
        return bytes(call.input_json)

    assert asked('{"a":', "1}") == b'{"a":1}'
    assert asked('{\n"a": 1}') == b'{"a":1}'
    assert asked('{"a":1}', '{"b":2}') == b"{}"
    assert asked('{"a') == b"{}"


def test_calls_that_broke_off_under_one_id_have_ids_of_their_own() -> None:
    block = {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "c", "name": "grep"}}
    events = events_of(MESSAGES, lines(*[{"type": "stream_event", "event": block}] * 2))
    assert [e.part for e in events if isinstance(e, ToolCall)] == ["-cut-c", "-cut-c#2"]

"""Cline's CLI: its stream, its sessions on disk, its sub-agents and teammates."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Record
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.providers.cline import PROVIDER
from agentv_stream.sources.folder import LocalFolder
from agentv_stream.summary import summarize
from support.decoding import (
    FIXTURES,
    best,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    document,
    events_of,
    lines,
    pushed,
    records,
)

STREAM = dialect(PROVIDER, "cline-stream")
SESSION = dialect(PROVIDER, "cline-session")
FOLDER = FIXTURES / "cline" / "session"
NAME = "1772443800000_orch1"
TS = "2026-03-02T09:30:00.000Z"


def recorded(name: str) -> list[Record]:
    return records((FIXTURES / "cline" / name).read_bytes())


def whole(name: str) -> list[Record]:
    return [Record((FOLDER / name).read_bytes(), 0, 0)]


def of(events: list[AnyEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if type(event) is kind]


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"ts": TS, "type": "agent_event", "event": {"type": kind, **members}}


def ended(name: str, output: Any, **members: Any) -> ToolResult:
    """How a call ends by its `content_end`."""
    end = event("content_end", contentType="tool", toolName=name, toolCallId="c", output=output, **members)
    result = events_of(STREAM, lines(end))[0]
    assert isinstance(result, ToolResult)
    return result


@pytest.mark.parametrize("name", ["stream.jsonl", "stream-team.jsonl", "stream-stopped.jsonl"])
def test_streams_are_known_and_keep_the_laws(name: str) -> None:
    given = recorded(name)
    assert best(PROVIDER, given) == ("cline-stream", 1.0)
    assert not decoded(STREAM, given).unknown
    check_laws(STREAM, given)


@pytest.mark.parametrize("name", [f"{NAME}.messages.json", f"{NAME}.json", "agent_1772443802000_bbb.messages.json"])
def test_files_of_a_session_are_known_and_keep_the_laws(name: str) -> None:
    given = whole(name)
    assert SESSION.detect([json.loads(given[0].data)]) == 1.0
    assert STREAM.detect([json.loads(given[0].data)]) == 0.0
    check_laws(SESSION, given)


def test_odd_shapes() -> None:
    check_odd_shapes(PROVIDER, recorded("stream.jsonl")[:40], rounds=40)
    check_odd_shapes(PROVIDER, recorded("stream-team.jsonl"), rounds=40)
    check_odd_shapes(PROVIDER, whole(f"{NAME}.messages.json"))
    check_odd_shapes(PROVIDER, whole(f"{NAME}.json"))


def test_whole_texts_count_and_pieces_do_not() -> None:
    events = events_of(STREAM, recorded("stream.jsonl"))
    main = [e for e in events if e.source.stream == MAIN]
    assert [e.text for e in of(main, AssistantText)] == [
        "Reading both files.",
        "Done: slugs have an underscore now ✅.",
    ]
    assert [e.text for e in of(main, Reasoning)] == ["The test fails; look at slug.py first."]
    answers = {e.message_id for e in main if isinstance(e, AssistantText | Reasoning | ToolCall)}
    assert len(answers) == 4


def test_pieces_tell_what_an_answer_said_that_broke_off() -> None:
    given = recorded("stream-stopped.jsonl")
    cut = decoded(STREAM, given[:7])
    assert not of(pushed(STREAM, given[:7]).events, AssistantText)
    assert [e.text for e in of(cut.events, Reasoning)] == ["Write it down at once."]
    assert [e.text for e in of(cut.events, AssistantText)] == ["A long answer that somebody"]
    events = events_of(STREAM, given)
    assert of(events, AssistantText)[0].text == "A long answer that somebody stops 😀"
    assert [(e.status, e.reason) for e in of(events, SessionEnd)] == [
        ("interrupted", "aborted"),
        ("interrupted", "aborted"),
    ]


def test_an_answer_that_is_tried_again_keeps_what_it_had_said() -> None:
    begun = event("content_start", contentType="text", text="half", accumulated="half")
    again = event("iteration_start", iteration=2)
    events = events_of(STREAM, lines(event("iteration_start", iteration=1), begun, again))
    assert [(type(e), e.message_id) for e in events if isinstance(e, AssistantText)] == [(AssistantText, "m0")]


def test_sub_agents_are_told_apart() -> None:
    events = events_of(STREAM, recorded("stream.jsonl"))
    reader, looker = "subagent:agent_1772443803000_bbb", "subagent:agent_1772443803000_ccc"
    said = [(e.source.stream, e.text) for e in of(events, AssistantText) if e.source.stream != MAIN]
    assert sorted(said) == [
        (reader, "It makes slugs."),
        (reader, "Reading."),
        (looker, "Asking."),
        (looker, "No trees."),
    ]
    calls = {e.call_id: (e.source.stream, e.parent_call) for e in of(events, ToolCall)}
    assert calls["call_a"] == (reader, "call_3")
    assert calls["call_b"] == (looker, "call_4")
    assert calls["call_5"] == (MAIN, None)
    results = {e.call_id: e.source.stream for e in of(events, ToolResult)}
    assert results == {call: stream for call, (stream, _) in calls.items()}
    spent = [(e.source.stream, e.input) for e in of(events, TokenUsage) if e.source.stream != MAIN]
    assert sorted(spent) == [(reader, 300), (reader, 400), (looker, 310), (looker, 410)]


def hook(name: str, agent: str, parent: str | None = "a") -> dict[str, Any]:
    return {"ts": TS, "type": "hook_event", "hookEventName": name, "agentId": agent, "parentAgentId": parent}


def begun(*after: dict[str, Any]) -> list[Record]:
    """Two sub-agents, `b` and `c`, that began at once, and what they print."""
    asked = [
        event(
            "content_start", contentType="tool", toolName="spawn_agent", toolCallId=f"call_{name}", input={"task": name}
        )
        for name in "bc"
    ]
    starts = [hook("agent_start", name) for name in "bc"]
    first = [event("iteration_start", iteration=1)] * 2
    return lines(hook("agent_start", "a", None), *asked, *starts, *first, *after)


def spawned(*after: dict[str, Any]) -> list[AnyEvent]:
    return events_of(STREAM, begun(*after))


def told_by(name: str, tokens: int, text: str) -> list[dict[str, Any]]:
    """The first answer of a sub-agent, which calls a tool."""
    said = event("content_end", contentType="text", text=text)
    call = event("content_start", contentType="tool", toolName="search_codebase", toolCallId=name, input={})
    return [event("usage", inputTokens=tokens, totalInputTokens=tokens), said, hook("tool_call", name), call]


@pytest.mark.parametrize("order", ["bc", "cb"])
def test_the_first_tokens_and_texts_of_sub_agents_are_whose_the_next_hook_says(order: str) -> None:
    tokens = {"b": 300, "c": 310}
    events = spawned(*(line for name in order for line in told_by(name, tokens[name], name)))
    assert {e.text: e.source.stream for e in of(events, AssistantText)} == {"b": "subagent:b", "c": "subagent:c"}
    assert {e.source.stream: e.input for e in of(events, TokenUsage)} == {"subagent:b": 300, "subagent:c": 310}
    messages = {e.source.stream: e.message_id for e in of(events, AssistantText)}
    calls = {e.source.stream: e.message_id for e in of(events, ToolCall) if e.source.stream != MAIN}
    assert calls == messages


def test_what_no_hook_names_is_kept() -> None:
    events = spawned(*told_by("b", 300, "Hm.")[:2])
    assert [e.text for e in of(events, AssistantText)] == ["Hm."]
    assert [e.input for e in of(events, TokenUsage)] == [300]


def test_of_an_endless_answer_that_no_hook_names_only_the_beginning_is_held() -> None:
    said = [event("content_end", contentType="text", text=f"{n}") for n in range(2_000)]
    endless = begun(*told_by("b", 300, "")[:1], *said)
    assert len(of(pushed(STREAM, endless).events, AssistantText)) > 1_800  # emitted before the end of the input
    assert len(of(events_of(STREAM, endless), AssistantText)) == 2_000


def test_an_agent_with_an_open_call_does_not_begin_another_answer() -> None:
    done = event("content_end", contentType="tool", toolName="search_codebase", toolCallId="c", output="x")
    again = [event("iteration_start", iteration=2), event("usage", inputTokens=400, totalInputTokens=710)]
    events = spawned(*told_by("b", 300, "b"), *told_by("c", 310, "c"), done, *again)
    keys = [(e.source.stream, e.key) for e in of(events, TokenUsage)]
    assert [stream for stream, _ in keys] == ["subagent:b", "subagent:c", "subagent:c"]
    assert len({key for _, key in keys}) == 3
    assert "#" not in keys[2][1]


def test_an_agent_that_waits_is_not_the_one_that_calls() -> None:
    """The hooks of all calls of an answer come first; a call that is refused has none."""

    def hook(name: str, agent: str, parent: str | None = None) -> dict[str, Any]:
        return {"ts": TS, "type": "hook_event", "hookEventName": name, "agentId": agent, "parentAgentId": parent}

    def begun(call_id: str, name: str) -> dict[str, Any]:
        return event("content_start", contentType="tool", toolName=name, toolCallId=call_id, input={})

    given = lines(
        hook("agent_start", "main"),
        *(hook("tool_call", "main"), hook("tool_call", "main"), begun("1", "spawn_agent")),
        *(hook("agent_start", "a", "main"), hook("tool_call", "a"), begun("2", "nope"), begun("3", "read_files")),
        *(hook("tool_call", "a"), begun("4", "spawn_agent"), hook("agent_start", "b", "a"), begun("5", "nope")),
        *(hook("agent_end", "b"), begun("6", "nope"), hook("agent_end", "a"), begun("7", "read_files")),
    )
    calls = [(e.call_id, e.source.stream, e.parent_call) for e in of(events_of(STREAM, given), ToolCall)]
    assert calls == [
        ("1", MAIN, None),
        ("2", "subagent:a", "1"),
        ("3", "subagent:a", "1"),
        ("4", "subagent:a", "1"),
        ("5", "subagent:b", "4"),
        ("6", "subagent:a", "1"),
        ("7", MAIN, None),
    ]


def test_tokens_of_a_teammate_are_printed_twice_and_count_once() -> None:
    events = events_of(STREAM, recorded("stream-team.jsonl"))
    used = [(e.source.stream, e.input, e.cached) for e in of(events, TokenUsage)]
    assert used == [
        (MAIN, 800, None),
        (MAIN, 900, 640),
        ("subagent:helper", 500, None),
        ("subagent:helper", 600, 384),
        (MAIN, 1000, 896),
    ]
    (read,) = [e for e in of(events, ToolCall) if e.call_id == "call_w"]
    assert (read.source.stream, read.parent_call) == ("subagent:helper", "call_2")
    told = [(e.name, e.message) for e in of(events, Notification)]
    assert ("team/task_start", "helper: Read slug.py.") in told


def test_outcomes_of_the_stream() -> None:
    results = {e.call_id: (e.outcome, e.exit_code) for e in of(events_of(STREAM, recorded("stream.jsonl")), ToolResult)}
    assert results == {
        "call_1": ("error", None),
        "call_2": ("error", 1),
        "call_a": ("ok", None),
        "call_b": ("error", None),
        "call_3": ("ok", None),
        "call_4": ("ok", None),
        "call_5": ("ok", None),
        "call_6": ("denied", None),
    }


@pytest.mark.parametrize(
    ("name", "output", "error", "outcome", "code"),
    [
        ("run_commands", [{"query": "ls", "result": "", "success": True}], None, "ok", 0),
        ("run_commands", [{"success": False, "error": "Command exited with code 127"}], None, "error", 127),
        ("run_commands", [{"success": False, "error": "Command timed out after 30s"}], None, "error", None),
        ("run_commands", [{"success": False, "error": "Command failed: Command was aborted"}], None, "cancelled", None),
        ("spawn_agent", {"text": "", "finishReason": "aborted"}, None, "cancelled", None),
        ("spawn_agent", {"text": "", "finishReason": "error"}, None, "error", None),
        ("docs__find", {"content": [], "isError": True}, None, "error", None),
        ("nothing", {"error": "no such tool"}, '{"error":"no such tool"}', "error", None),
        ("skills", "a text that says \"success\":false}", None, "ok", None),
        ("skills", None, None, "ok", None),
    ],
)  # fmt: skip
def test_how_calls_end(name: str, output: Any, error: str | None, outcome: str, code: int | None) -> None:
    """The same in the stream, and on disk, where an output that is an object stands as a text."""
    members = {} if error is None else {"error": error}
    result = ended(name, output, **members)
    assert (result.outcome, result.exit_code) == (outcome, code)
    content = json.dumps(output, separators=(",", ":")) if isinstance(output, dict) else output
    block = {"type": "tool_result", "tool_use_id": "c", "name": name, "content": content, "is_error": error is not None}
    message = {"id": "m", "role": "user", "content": [block]}
    stored = of(events_of(SESSION, document({"messages": [message], "sessionId": "s"})), ToolResult)[0]
    assert (stored.outcome, stored.exit_code) == (outcome, code)


@pytest.mark.parametrize(
    ("given", "command", "kind"),
    [
        ({"commands": ["cd /w", "cat a.py"]}, "cd /w\ncat a.py", "read"),
        ({"commands": "rm a.py"}, "rm a.py", "write"),
        ({"commands": [{"command": "rg", "args": ["a b", "src"]}]}, "rg 'a b' src", "search"),
        ({"command": "ls"}, "ls", "read"),
        ({"commands": [7]}, None, "execute"),
    ],
)
def test_the_commands_of_a_call_are_one_script(given: dict[str, Any], command: str | None, kind: str) -> None:
    start = event("content_start", contentType="tool", toolName="run_commands", toolCallId="c", input=given)
    (call,) = events_of(STREAM, lines(start))
    assert isinstance(call, ToolCall)
    call = Normalize(PROVIDER.tools).call(call)
    assert (call.tool, call.kind, call.command) == ("Bash", kind, command)
    assert given.items() <= call.input.items()


def test_files_that_a_call_reads() -> None:
    normalize = Normalize(PROVIDER.tools).call
    calls = {e.call_id: normalize(e) for e in of(events_of(STREAM, recorded("stream.jsonl")), ToolCall)}
    assert calls["call_1"].files == ("/home/ada/orchard/slug.py", "/home/ada/orchard/gone.py")
    assert "file_path" not in calls["call_1"].input
    assert calls["call_a"].input["file_path"] == "/home/ada/orchard/slug.py"
    assert (calls["call_b"].tool, calls["call_b"].server) == ("mcp__orchard__count", "orchard")
    assert (calls["call_5"].edit, calls["call_5"].files) == (True, ("/home/ada/orchard/slug.py",))


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ({"type": "run_result", "finishReason": "completed"}, "complete"),
        ({"type": "run_result", "finishReason": "mistake_limit", "text": "too many"}, "error"),
        ({"type": "run_result", "finishReason": "aborted"}, "interrupted"),
        ({"type": "run_aborted", "reason": "local_abort", "message": "aborted"}, "interrupted"),
        ({"type": "error", "message": "no key"}, "error"),
    ],
)
def test_ends_of_runs(last: dict[str, Any], status: str) -> None:
    (end,) = of(events_of(STREAM, lines({"ts": TS, **last})), SessionEnd)
    assert end.status == status


def test_the_error_behind_a_result_ends_nothing() -> None:
    result = {"ts": TS, "type": "run_result", "finishReason": "error", "text": "broke", "iterations": 2}
    events = events_of(STREAM, lines(result, {"ts": TS, "type": "error", "message": "broke"}))
    assert [(e.status, e.reason, e.agent_num_turns) for e in of(events, SessionEnd)] == [("error", "error: broke", 2)]
    assert [e.message for e in of(events, Notification)] == ["broke"]


def test_unknown_records_are_counted_by_name() -> None:
    batch = decoded(STREAM, lines({"ts": TS, "type": "run_dreamt"}, event("dream")))
    assert batch.unknown == {"run_dreamt": 1, "agent_event/dream": 1}


def test_prompts_are_what_the_user_typed() -> None:
    users = of(events_of(SESSION, whole(f"{NAME}.messages.json")), UserText)
    assert [(e.text, e.injected) for e in users if not e.injected] == [
        ('Fix the "slug"\nof <b>the orchard</b>.', False),
        ("Go on.", False),
    ]
    assert [e.text[:8] for e in users if e.injected] == ["[SYSTEM]"]


def test_outcomes_on_disk() -> None:
    events = events_of(SESSION, whole(f"{NAME}.messages.json"))
    assert {e.call_id: (e.outcome, e.exit_code) for e in of(events, ToolResult)} == {
        "call_1": ("error", None),
        "call_2": ("error", 1),
        "call_3": ("ok", None),
        "call_4": ("error", None),
        "call_5": ("ok", None),
        "call_6": ("cancelled", None),
        "call_7": ("denied", None),
    }


def test_an_error_that_is_only_shown_is_no_answer() -> None:
    shown = {"displayOnly": True, "displayRole": "error"}
    last = {"id": "error_1", "role": "assistant", "content": [{"type": "text", "text": "no route"}], "metadata": shown}
    events = events_of(SESSION, document({"messages": [last], "sessionId": "s", "origin": {}}))
    assert not of(events, AssistantText)
    assert [(e.status, e.reason) for e in of(events, SessionEnd)] == [("error", "no route")]


def test_what_a_fork_copied_is_its_parents() -> None:
    parent = json.loads((FOLDER / f"{NAME}.messages.json").read_bytes())
    later = {"id": "u-3", "role": "user", "content": [{"type": "text", "text": "More."}], "ts": 1772443900000}
    fork = {**parent, "sessionId": "1772443890000_orch2", "messages": [*parent["messages"], later]}
    batch = decoded(SESSION, document(fork))
    assert [e.text for e in of(batch.events, UserText)] == ["More."]
    assert batch.ignored == {"copied from another session": len(parent["messages"])}
    manifest = json.loads((FOLDER / f"{NAME}.json").read_bytes())
    manifest["metadata"]["fork"] = {"forkedFromSessionId": NAME}
    assert of(events_of(SESSION, document(manifest)), SessionInfo)[0].parent_session_id == NAME


def test_a_call_that_was_aborted_last_was_interrupted() -> None:
    part = {"query": "sleep 9", "result": "", "error": "Command failed: Command was aborted", "success": False}
    result = {"type": "tool_result", "tool_use_id": "c", "name": "run_commands", "content": [part]}
    given = {"messages": [{"id": "m", "role": "user", "content": [result]}], "sessionId": "s"}
    assert [e.status for e in of(events_of(SESSION, document(given)), SessionEnd)] == ["interrupted"]
    result["content"] = [{**part, "error": "Command exited with code 1"}]
    assert not of(events_of(SESSION, document(given)), SessionEnd)


def test_an_answer_without_metrics_broke_off() -> None:
    last = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "half"}]}
    assert not of(events_of(SESSION, document({"messages": [last], "sessionId": "s"})), SessionEnd)


@pytest.mark.parametrize(
    ("status", "ends"),
    [("completed", ["complete"]), ("failed", ["error"]), ("cancelled", ["interrupted"]), ("running", []), ("idle", [])],
)
def test_the_manifest_says_where_and_how_it_ended(status: str, ends: list[str]) -> None:
    manifest = json.loads((FOLDER / f"{NAME}.json").read_bytes())
    events = events_of(SESSION, document({**manifest, "status": status}))
    (info,) = of(events, SessionInfo)
    assert (info.session_id, info.cwd, info.git_branch, info.title) == (
        NAME,
        "/home/ada/orchard",
        "main",
        "Fix the slug",
    )
    assert [e.status for e in of(events, SessionEnd)] == ends


def test_the_files_of_a_session() -> None:
    found = PROVIDER.companions(str(FOLDER / f"{NAME}.messages.json"), LocalFolder())
    assert [(Path(c.path).name, c.context.stream, c.context.parent_call) for c in found] == [
        ("agent_1772443802000_bbb.messages.json", "subagent:agent_1772443802000_bbb", "call_3"),
        (f"{NAME}.json", MAIN, None),
    ]
    agent = str(FOLDER / "agent_1772443802000_bbb.messages.json")
    assert PROVIDER.companions(agent, LocalFolder()) == []


def test_a_session_with_all_its_files() -> None:
    result = summarize(FOLDER / f"{NAME}.messages.json")
    assert result.status == "interrupted"
    assert (result.tokens["input"], result.tokens["output"], result.tokens["cached"]) == (5500, 238, 3584)
    assert result.cost_usd == 0.0125


def test_both_forms_give_the_same(tmp_path: Path) -> None:
    """Of what stands in both: tools, kinds, edits."""
    figures: Callable[[Path], Any] = lambda path: summarize(path).tool_use_summary  # noqa: E731
    live, disk = figures(FIXTURES / "cline" / "stream.jsonl"), figures(FOLDER / f"{NAME}.messages.json")
    assert live["first_edit_turn"] == disk["first_edit_turn"] == 3
    assert live["turns"] == disk["turns"] == 4


def test_answers_that_broke_off_at_once_have_ids_of_their_own() -> None:
    begun = event("content_start", contentType="text", text="Reading.")
    helper = {"type": "hook_event", "hookEventName": "agent_start", "agentId": "a2", "parentAgentId": "a1"}
    given = lines(begun, helper, begun, {"type": "run_result"})
    told = [e for e in events_of(STREAM, given) if isinstance(e, AssistantText)]
    assert len(told) == len({(e.source.row, e.part) for e in told}) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "kind", "edit"),
    [
        ("read_file", {"path": "a"}, "Read", "read", False),
        ("list_files", {"path": "src", "recursive": True}, "LS", "read", False),
        ("search_files", {"path": "src", "regex": "x"}, "Grep", "search", False),
        ("list_code_definition_names", {"path": "src"}, "list_code_definition_names", "search", False),
        ("write_to_file", {"path": "a", "content": "x"}, "Write", "write", True),
        ("replace_in_file", {"path": "a", "diff": "x"}, "Edit", "write", True),
        ("execute_command", {"command": "cat a"}, "Bash", "read", False),
        ("web_fetch", {"url": "http://x"}, "WebFetch", "search", False),
        ("new_task", {"context": "x"}, "Task", "plan", False),
        ("ask_followup_question", {"question": "x"}, "AskUserQuestion", "ask", False),
        ("attempt_completion", {"result": "x"}, "attempt_completion", "other", False),
    ],
)
def test_tools_of_its_editor_extension_are_known(
    name: str, arguments: dict[str, object], tool: str, kind: str, edit: bool
) -> None:
    start = event("content_start", contentType="tool", toolName=name, toolCallId="c", input=arguments)
    (call,) = of(events_of(STREAM, lines(start)), ToolCall)
    call = Normalize(PROVIDER.tools).call(call)
    assert (call.tool, call.kind, call.edit) == (tool, kind, edit)
    assert call.files == (("a",) if tool in ("Read", "Write", "Edit", "Bash") else ())

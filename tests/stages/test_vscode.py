from typing import Any

import msgspec

from agentv_stages.batch import Batch
from agentv_stages.decode import Decode
from agentv_stages.event import (
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
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.vscode import PROVIDER
from agentv_stages.providers.vscode.mutate import mutate
from support.decoding import (
    best,
    calls,
    check_laws,
    corpus,
    decoded,
    dialect,
    document,
    events_of,
    lines,
    pushed,
    read,
    records,
    results,
    texts,
    usages,
)

DOCUMENT = dialect(PROVIDER, "vscode-chat")
LOG = dialect(PROVIDER, "vscode-chat-jsonl")
MODEL = "copilot/gpt-x"


def markdown(text: str) -> dict[str, Any]:
    return {"value": text, "supportThemeIcons": False}


def tool(call_id: str, tool_id: str = "run_in_terminal", **members: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolId": tool_id, "toolCallId": call_id, "isComplete": True,
            "isConfirmed": {"type": 1}, "invocationMessage": {"value": "Running"}, **members}  # fmt: skip


def asks(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": msgspec.json.encode(given).decode()}


def rounds(*given: tuple[str, list[dict[str, Any]]], **outputs: str) -> dict[str, Any]:
    found = {key: {"content": [{"value": text}]} for key, text in outputs.items()}
    return {"metadata": {
        "toolCallRounds": [{"response": text, "toolCalls": made, "toolInputRetry": 0} for text, made in given],
        "toolCallResults": found,
    }}  # fmt: skip


def request(own: str, *response: dict[str, Any], prompt: str = "fix it", **members: Any) -> dict[str, Any]:
    return {"requestId": own, "timestamp": 1772359200000, "modelId": MODEL, "message": {"text": prompt, "parts": []},
            "variableData": {"variables": []}, "response": list(response), **members}  # fmt: skip


def session(*requests: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"version": 3, "sessionId": "s-1", "creationDate": 1772359100000, "requesterUsername": "me",
            "responderUsername": "GitHub Copilot", "requests": list(requests), **members}  # fmt: skip


RESULT = rounds(
    ("Looking.", [asks("c1", "read_file", filePath="/w/x.py", startLine=1)]),
    ("", [asks("c2__vscode-7", "run_in_terminal", command="ls; exit 3")]),
    ("Done.", []),
    c1="the file",
    c2="out\nCommand exited with code 3",
)
PARTS = (
    {"kind": "thinking", "value": "hm", "id": "t"},
    markdown("Look"),
    markdown("ing."),
    tool("c1", "copilot_readFile", source={"type": "internal"}),
    {"kind": "undoStop", "id": "u"},
    tool("other-id", toolSpecificData={"kind": "terminal", "commandLine": {"original": "ls"}}),
    markdown("Done, see "),
    {"kind": "inlineReference", "inlineReference": {"$mid": 1, "path": "/w/x.py", "scheme": "file"}},
    markdown("."),
)
ONE = request("r1", *PARTS, result=RESULT)


def answers(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(type(e).__name__, e.message_id) for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)]


def only(part: dict[str, Any], result: dict[str, Any] | None = None) -> tuple[Any, ...]:
    events = events_of(DOCUMENT, document(session(request("r", part, result=result))))
    [asked] = calls(events)
    given = results(events)
    return asked.name, asked.input, *((given[0].outcome, given[0].exit_code, given[0].output) if given else ("open",))


def test_the_document_keeps_the_laws_of_decoders() -> None:
    check_laws(DOCUMENT, document(session(ONE, request("r2", markdown("Bye.")))))


def test_a_request_is_a_prompt_and_the_models_answers() -> None:
    events = events_of(DOCUMENT, document(session(ONE, customTitle="T")))
    assert [(e.text, e.message_id) for e in events if isinstance(e, UserText)] == [("fix it", "r1")]
    assert answers(events) == [
        ("Reasoning", "r1-a0"),
        ("AssistantText", "r1-a0"),
        ("ToolCall", "r1-a0"),
        ("ToolCall", "r1-a1"),
        ("AssistantText", "r1-a2"),
    ]
    assert texts(events) == ["Looking.", "Done, see x.py."]
    infos = [e for e in events if isinstance(e, SessionInfo)]
    assert [(i.session_id, i.title, i.model) for i in infos] == [("s-1", "T", None), (None, None, MODEL)]


def test_parts_and_rounds_are_joined_by_id_or_by_name() -> None:
    events = events_of(DOCUMENT, document(session(ONE)))
    assert [(c.call_id, c.name, c.input) for c in calls(events)] == [
        ("c1", "read_file", {"filePath": "/w/x.py", "startLine": 1}),
        ("c2", "run_in_terminal", {"command": "ls; exit 3"}),
    ]
    assert [(r.call_id, r.output, r.outcome, r.exit_code) for r in results(events)] == [
        ("c1", "the file", None, None),
        ("c2", "out\nCommand exited with code 3", "error", 3),
    ]
    assert {r.source.time_ms for r in results(events)} == {None}


def test_calls_that_no_part_shows_are_told_before_the_closing_text() -> None:
    hidden = rounds(("", [asks("h1", "manage_todo_list", todoList=[])]), ("Done.", []), h1="ok")
    events = events_of(DOCUMENT, document(session(request("r", markdown("Done."), result=hidden))))
    assert answers(events) == [("ToolCall", "r-a0"), ("AssistantText", "r-a1")]
    assert [r.output for r in results(events)] == ["ok"]


def test_a_part_alone_shows_what_it_can() -> None:
    terminal = {"kind": "terminal", "commandLine": {"original": "ls", "userEdited": "ls -l"},
                "terminalCommandState": {"exitCode": 2}, "terminalCommandOutput": {"text": "no"}}  # fmt: skip
    assert only(tool("c", toolSpecificData=terminal)) == ("run_in_terminal", {"command": "ls -l"}, "error", 2, "no")
    shown = {"input": "pytest", "output": [{"type": "embed", "value": "3 passed"}]}
    plain = {"kind": "terminal", "commandLine": {"original": "pytest"}}
    assert only(tool("c", resultDetails=shown, toolSpecificData=plain))[1] == {"command": "pytest"}
    details = {"input": '{"key": 1}', "output": [{"type": "embed", "value": "v"}], "isError": True}
    assert only(tool("c", "mcp_demo_look", resultDetails=details))[:3] == ("mcp_demo_look", {"key": 1}, "error")
    assert only(tool("c", "copilot_readFile")) == ("copilot_readFile", {}, None, None, None)


def test_a_call_that_has_not_ended_has_no_result() -> None:
    assert only(tool("c", isComplete=False))[2:] == ("open",)


def test_refusals() -> None:
    assert only(tool("c", isConfirmed={"type": 0}))[2] == "denied"
    assert only(tool("c", isConfirmed={"type": 5}))[2] == "denied"
    assert only(tool("c", isConfirmed=False))[2] == "denied"
    assert only(tool("c", isConfirmed=True))[2] is None


def test_arguments_that_are_no_json_stay_a_string() -> None:
    broken = {"id": "c", "name": "read_file", "arguments": '{"a'}
    assert only(tool("c", "copilot_readFile"), rounds(("", [broken])))[1] == '{"a'


def test_a_sub_agents_calls_have_a_stream_of_their_own() -> None:
    parts = (tool("c1", "runSubagent"), tool("c2", "copilot_readFile", subAgentInvocationId="c1"), markdown("Done."))
    found = calls(events_of(DOCUMENT, document(session(request("r", *parts)))))
    assert [(c.source.stream, c.parent_call) for c in found] == [("main", None), ("subagent:c1", "c1")]


def test_errors_commands_and_cancellations() -> None:
    failed = request("r1", result={"errorDetails": {"message": "quota", "code": 7}}, isCanceled=True)
    command = request("r2", prompt="all tests", slashCommand={"name": "explain"})
    events = events_of(DOCUMENT, document(session(failed, command)))
    notices = [(e.name, e.message, e.level) for e in events if isinstance(e, Notification)]
    assert notices == [("error", "quota", "error"), ("cancelled", "the request was cancelled", "warning")]
    assert [(e.name, e.args) for e in events if isinstance(e, SlashCommand)] == [("/explain", "all tests")]


def ends(**members: Any) -> list[str]:
    events = events_of(DOCUMENT, document(session(request("r", markdown("x"), **members))))
    return [e.status for e in events if isinstance(e, SessionEnd)]


def test_a_request_ends_with_its_result() -> None:
    assert ends() == []
    assert ends(result={}) == ["complete"]
    assert ends(result={"errorDetails": {"message": "quota"}}) == ["error"]
    assert ends(result={}, isCanceled=True) == ["interrupted"]


def spent(**members: Any) -> list[tuple[int | None, int | None]]:
    events = events_of(DOCUMENT, document(session(request("r", markdown("x"), **members))))
    return [(u.input, u.output) for u in usages(events)]


def test_input_tokens_are_told_only_of_a_single_model_call() -> None:
    metadata: dict[str, Any] = {"promptTokens": 100, "outputTokens": 20}
    assert spent(result={"metadata": metadata}) == [(100, 20)]
    assert spent(result={"metadata": {**RESULT["metadata"], **metadata}}) == []
    assert spent(result={"metadata": {**RESULT["metadata"], **metadata}}, completionTokens=70) == [(None, 70)]
    assert spent(promptTokens=100, completionTokens=20) == [(100, 20)]


def test_the_model_that_answered_the_folder_and_the_systems_own_prompts() -> None:
    asked = request("r", result={"metadata": {"resolvedModel": "gpt-y"}}, isSystemInitiated=True)
    events = events_of(DOCUMENT, document(session(asked, workingDirectory="file:///w/my%20app")))
    infos = [(e.model, e.cwd) for e in events if isinstance(e, SessionInfo)]
    assert infos == [(None, "/w/my app"), ("gpt-y", None)]
    assert [e.injected for e in events if isinstance(e, UserText)] == [True]


def test_a_new_kind_of_part_is_counted_by_name() -> None:
    batch = pushed(DOCUMENT, document(session(request("r", {"kind": "brandNew"}, {"kind": "undoStop"}))))
    assert (batch.unknown, batch.ignored) == ({"part/brandNew": 1}, {"part/undoStop": 1})


def test_exports_with_plain_texts() -> None:
    plain = {"timestamp": 1772359200000, "prompt": "do", "completion": "did"}
    events = events_of(DOCUMENT, document(session(plain, plain)))
    assert texts(events) == ["did", "did"]
    assert len({e.message_id for e in events if isinstance(e, UserText)}) == 2


def step(kind: int, path: list[Any], value: Any = None, cut: int | None = None) -> dict[str, Any]:
    line: dict[str, Any] = {"kind": kind, "k": path}
    if value is not None:
        line["v"] = value
    if cut is not None:
        line["i"] = cut
    return line


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
    assert texts(pushed(LOG, LINES[:5]).events) == []
    assert texts(pushed(LOG, LINES[:6]).events) == ["Looking.", "Done, see x.py."]
    assert texts(pushed(LOG, LINES).events) == ["Looking.", "Done, see x.py."]
    assert texts(decoded(LOG, LINES).events) == ["Looking.", "Done, see x.py.", "Bye"]


def test_what_is_added_after_the_result_is_told_as_an_addition() -> None:
    given = [*LINES[:6], *lines(step(2, ["requests", 0, "response"], [markdown(" And more.")]))]
    assert texts(events_of(LOG, given))[-1] == " And more."
    check_laws(LOG, given)


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


def test_members_of_unknown_shape_cost_only_themselves() -> None:
    odd = request("r1", markdown("Hi."), tool("c", toolId=7), result={"metadata": {"toolCallRounds": [None]}})
    for of, given in ((DOCUMENT, document(session(odd))), (LOG, lines({"kind": 0, "v": session(odd)}))):
        batch = decoded(of, given)
        assert texts(batch.events) == ["Hi."]
        assert {f.reason for f in batch.faults} == {"schema"}


def test_mutations() -> None:
    target: dict[str, Any] = {"a": [1, 2, 3], "b": {"c": 1}}
    assert mutate(target, ["a"], 2, [9], 1) and target["a"] == [1, 9]
    assert mutate(target, ["a", 2], 1, 7, None) and target["a"] == [1, 9, 7]
    assert mutate(target, ["a", 0], 3, None, None) and target["a"] == [9, 7]
    assert mutate(target, ["b", "d"], 1, 5, None) and mutate(target, ["b", "c"], 3, None, None)
    assert mutate(target, ["e"], 2, [1], None) and target == {"a": [9, 7], "b": {"d": 5}, "e": [1]}
    assert not mutate(target, ["a", 9, "x"], 1, 1, None)
    assert not mutate(target, ["b"], 2, [1], None)
    assert not mutate(target, ["b", "zz"], 3, None, None) or "zz" not in target["b"]


def test_the_forms_are_told_apart() -> None:
    assert best(PROVIDER, document(session(ONE))) == ("vscode-chat", 1.0)
    assert best(PROVIDER, LINES) == ("vscode-chat-jsonl", 1.0)
    assert best(PROVIDER, LINES[2:])[0] == "vscode-chat-jsonl"
    assert best(PROVIDER, lines({"sessionId": "s", "messages": []}))[1] == 0.0


def test_wild_sessions_hold_nothing_unknown() -> None:
    for path in sorted(corpus("wild/vscode-chat").iterdir()):
        given = records(read(path))
        assert best(PROVIDER, given) == ("vscode-chat", 1.0), path
        batch = Batch(str(path), records=given)
        Decode(DOCUMENT, DecodeContext(str(path))).push(batch)
        assert not batch.unknown and not batch.faults, path
        assert len(texts(batch.events)) == 44

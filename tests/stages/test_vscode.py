from typing import Any

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.vscode import PROVIDER
from support.decoding import (
    best,
    calls,
    check_laws,
    corpus,
    decoded,
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
from support.vscode_chats import (
    DOCUMENT,
    LOG,
    MODEL,
    ONE,
    RESULT,
    answers,
    asks,
    markdown,
    request,
    rounds,
    session,
    step,
    tool,
)


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
    assert {e.source.time_ms for e in events if isinstance(e, AssistantText | Reasoning)} == {None}
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


def test_members_of_unknown_shape_cost_only_themselves() -> None:
    odd = request("r1", markdown("Hi."), tool("c", toolId=7), result={"metadata": {"toolCallRounds": [None]}})
    for of, given in ((DOCUMENT, document(session(odd))), (LOG, lines({"kind": 0, "v": session(odd)}))):
        batch = decoded(of, given)
        assert texts(batch.events) == ["Hi."]
        assert {f.reason for f in batch.faults} == {"schema"}


def test_the_forms_are_told_apart() -> None:
    assert best(PROVIDER, document(session(ONE))) == ("vscode-chat", 1.0)
    changes = lines(step(2, ["requests"], [ONE]), step(1, ["customTitle"], "T"))
    assert best(PROVIDER, [*lines({"kind": 0, "v": session()}), *changes]) == ("vscode-chat-jsonl", 1.0)
    assert best(PROVIDER, changes)[0] == "vscode-chat-jsonl"
    assert best(PROVIDER, lines({"sessionId": "s", "messages": []}))[1] == 0.0


def test_wild_sessions_hold_nothing_unknown() -> None:
    for path in sorted(corpus("wild/vscode-chat").iterdir()):
        given = records(read(path))
        assert best(PROVIDER, given) == ("vscode-chat", 1.0), path
        batch = Batch(str(path), records=given)
        Decode(DOCUMENT, DecodeContext(str(path))).push(batch)
        assert not batch.unknown and not batch.faults, path
        assert len(texts(batch.events)) == 44


def ends(**members: Any) -> list[str]:
    events = events_of(DOCUMENT, document(session(request("r", markdown("x"), **members))))
    return [e.status for e in events if isinstance(e, SessionEnd)]


def test_a_request_ends_with_its_result() -> None:
    assert ends() == []
    assert ends(result={}) == ["complete"]
    assert ends(result={"errorDetails": {"message": "quota"}}) == ["error"]
    assert ends(result={}, isCanceled=True) == ["interrupted"]
    assert ends(modelState={"value": 2, "completedAt": 1772359209000}) == ["interrupted"]


def test_how_long_a_request_took() -> None:
    def took(**members: Any) -> list[int | None]:
        events = events_of(DOCUMENT, document(session(request("r", markdown("x"), **members))))
        return [e.duration_ms for e in events if isinstance(e, SessionEnd)]

    assert took(result={"timings": {"firstProgress": 5, "totalElapsed": 206179}}, elapsedMs=206241) == [206179]
    assert took(result={}, elapsedMs=206241) == [206241]
    assert took(modelState={"value": 1, "completedAt": 1772359200700}) == [700]
    assert took(result={}) == [None]


def test_the_version_is_that_of_the_chat_extension() -> None:
    asked = request("r", markdown("x"), agent={"id": "github.copilot.editsAgent", "extensionVersion": "0.31.2"})
    infos = [e for e in events_of(DOCUMENT, document(session(asked))) if isinstance(e, SessionInfo)]
    assert [i.version for i in infos] == [None, "0.31.2"]


def test_text_marked_as_vulnerable_is_text() -> None:
    marked = {"kind": "markdownVuln", "content": {"value": "eval(x)"}, "vulnerabilities": [{"title": "t"}]}
    assert texts(events_of(DOCUMENT, document(session(request("r", markdown("Use "), marked))))) == ["Use eval(x)"]


def test_thoughts_are_a_text_or_a_list_of_texts() -> None:
    parts = ({"kind": "thinking", "value": ["a", "b"]}, {"kind": "thinking", "value": ""}, {"kind": "thinking"})
    events = events_of(DOCUMENT, document(session(request("r", *parts))))
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["ab"]


def test_notices_of_the_editor() -> None:
    parts = (
        {"kind": "warning", "content": {"value": "first"}},
        {"kind": "warning", "content": {"value": "second"}},
        {"kind": "info", "content": {"value": "news"}},
        {"kind": "systemNotification", "content": {"value": "moved"}},
        {"kind": "hook", "hookType": "PreToolUse", "stopReason": "not allowed"},
        {"kind": "hook", "hookType": "Stop"},
    )
    batch = pushed(DOCUMENT, document(session(request("r", *parts))))
    assert [(e.name, e.message, e.level) for e in batch.events if isinstance(e, Notification)] == [
        ("warning", "first", "warning"),
        ("warning", "second", "warning"),
        ("info", "news", "info"),
        ("systemNotification", "moved", "info"),
        ("hook", "not allowed", "warning"),
    ]
    assert batch.ignored == {"part/hook": 1}
    check_laws(DOCUMENT, document(session(request("r", *parts))))


def test_a_request_without_parts_is_told_from_its_rounds() -> None:
    for parts in ((), ({"kind": "undoStop", "id": "u"},)):
        events = events_of(DOCUMENT, document(session(request("r", *parts, result=RESULT))))
        assert answers(events) == [
            ("AssistantText", "r-a0"),
            ("ToolCall", "r-a0"),
            ("ToolCall", "r-a1"),
            ("AssistantText", "r-a2"),
        ]
        assert texts(events) == ["Looking.", "Done."]


def test_calls_that_no_part_shows_come_before_the_whole_closing_text() -> None:
    hidden = rounds(("", [asks("h1", "read_file", filePath="/x")]), ("Done.", []), h1="ok")
    link = {"kind": "inlineReference", "name": "x"}
    events = events_of(
        DOCUMENT, document(session(request("r", markdown("Done, see "), link, markdown("."), result=hidden)))
    )
    assert answers(events) == [("ToolCall", "r-a0"), ("AssistantText", "r-a1")]
    assert texts(events) == ["Done, see x."]


def test_thoughts_of_rounds_stand_where_no_part_shows_them() -> None:
    def thoughts(thinking: Any) -> list[str]:
        given = {
            "metadata": {
                "toolCallRounds": [{"response": "", "toolCalls": [asks("c1", "read_file")], "thinking": thinking}]
            }
        }
        events = events_of(DOCUMENT, document(session(request("r", tool("c1", "copilot_readFile"), result=given))))
        return [e.text for e in events if isinstance(e, Reasoning)]

    assert thoughts({"id": "t", "text": "hm"}) == ["hm"]
    assert thoughts({"id": "t", "text": ["h", "m"]}) == ["hm"]
    assert thoughts("hm") == ["hm"]
    assert thoughts(7) == []

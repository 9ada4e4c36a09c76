import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Record
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    UserText,
)
from agentv_stages.providers.acp import PROVIDER
from agentv_stages.providers.acp.catalogue import QUIET_METHODS, QUIET_UPDATES
from agentv_stages.trajectory.skills import loads
from agentv_stream.api.adapter import normalize_tool_call
from agentv_stream.summary import summarize
from support.decoding import (
    FIXTURES,
    asked_calls,
    best,
    calls,
    check_laws,
    corpus,
    decoded,
    dialect,
    lines,
    read,
    records,
    results,
    said,
    usages,
)
from support.scenarios.dialects import WRITERS

ACP = dialect(PROVIDER, "acp")
RPC = {"jsonrpc": "2.0"}


def agent(name: str) -> dict[str, Any]:
    info = {"name": name, "version": "1.0"}
    return {**RPC, "id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info}}


def update(kind: str, /, **members: Any) -> dict[str, Any]:
    inner = {"sessionUpdate": kind, **members}
    return {**RPC, "method": "session/update", "params": {"sessionId": "s-1", "update": inner}}


def chunk(text: str, **members: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **members)


def thought(text: str) -> dict[str, Any]:
    return update("agent_thought_chunk", content={"type": "text", "text": text})


def call(call_id: str = "c1", **members: Any) -> dict[str, Any]:
    return update("tool_call", toolCallId=call_id, **{"status": "pending", **members})


def change(call_id: str = "c1", *, status: str | None = "completed", **members: Any) -> dict[str, Any]:
    return update("tool_call_update", toolCallId=call_id, status=status, **members)


def shown(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def end(reason: str = "end_turn", **members: Any) -> dict[str, Any]:
    return {**RPC, "id": 3, "result": {"stopReason": reason, **members}}


def events_of(*given: dict[str, Any]) -> list[AnyEvent]:
    batch = decoded(ACP, lines(*given))
    assert not batch.unknown
    return [e for e in batch.events if not isinstance(e, SessionInfo)]


def answers(events: list[AnyEvent]) -> list[str]:
    """The texts of the answers, their chunks joined."""
    found: dict[tuple[str, str], str] = {}
    for e in events:
        if isinstance(e, AssistantText):
            key = (e.source.stream, e.message_id)
            found[key] = found.get(key, "") + e.text
    return list(found.values())


@pytest.mark.parametrize("path", sorted((FIXTURES / "acp").glob("*.jsonl")), ids=lambda p: p.stem)
def test_prefixes_and_restored_decoders_give_the_same_events(path: Path) -> None:
    given = records(path.read_bytes())
    assert best(PROVIDER, given) == ("acp", 1.0)
    check_laws(ACP, given)


def test_chunks_make_one_answer_until_a_result_comes() -> None:
    events = events_of(
        thought("Hm"),
        chunk("One "),
        chunk("text."),
        call(title="x", rawInput={"a": 1}),
        call("c2", title="x", rawInput={"a": 1}),
        change(),
        change("c2"),
        chunk("Two."),
    )
    assert answers(events) == ["One text.", "Two."]
    ids = [e.message_id for e in events if isinstance(e, (Reasoning, AssistantText, ToolCall))]
    assert ids == ["m0"] * 5 + ["m7"]
    assert all(e.delta for e in events if isinstance(e, (AssistantText, Reasoning)))


def test_message_ids_of_the_agent_separate_answers() -> None:
    events = events_of(chunk("One.", messageId="a"), chunk("Two.", messageId="b"))
    assert [e.message_id for e in events if isinstance(e, AssistantText)] == ["a", "b"]


def test_what_qwen_says_of_its_background_tasks_is_no_answer() -> None:
    note = chunk('Background agent "a" completed.', _meta={"source": "background_task_completed"})
    events = events_of(agent("qwen-code"), chunk("Started."), note, end())
    assert answers(events) == ["Started."]
    assert [e.message for e in events if isinstance(e, Notification)] == ['Background agent "a" completed.']


def test_null_changes_nothing_and_arrays_replace() -> None:
    events = events_of(
        call(title="bash", kind="execute", rawInput={"command": "ls"}, content=shown("old")),
        change(status="in_progress", title=None, kind=None, rawInput=None, content=shown("newer")),
        change(title=None, content=None),
    )
    (asked,), (result,) = calls(events), results(events)
    assert (asked.name, asked.input) == ("bash", {"command": "ls"})
    assert (result.output, result.outcome) == ("newer", "ok")


def test_a_call_announced_before_its_arguments_waits_for_them() -> None:
    events = events_of(
        agent("OpenCode"),
        call(title="bash", kind="execute", rawInput={"cwd": "/w"}),
        change(status="in_progress", title="run tests", rawInput={"command": "pytest", "cwd": "/w"}),
        change(title="run tests", rawOutput={"output": "no", "metadata": {"exit": 1}}),
    )
    (asked,), (result,) = calls(events), results(events)
    assert (asked.name, asked.input["command"], asked.source.row) == ("bash", "pytest", 1)
    assert (result.output, result.outcome, result.exit_code) == ("no", "error", 1)


def test_a_call_that_never_got_its_arguments_is_told_at_the_end() -> None:
    assert [c.name for c in calls(events_of(call(title="read", rawInput={})))] == ["read"]


def test_an_update_without_a_call_makes_the_call() -> None:
    gemini = change("read_file__read_file_1795241175750_0", status="failed", kind="read", content=shown("bad params"))
    qwen = change("c9", status="failed", content=shown("Blocked"), _meta={"toolName": "run_shell_command"})
    for first, wanted in ((gemini, "read_file"), (qwen, "run_shell_command")):
        events = events_of(agent("x"), first)
        assert [c.name for c in calls(events)] == [wanted]
        assert [r.outcome for r in results(events)] == ["error"]


def test_an_update_after_the_end_of_a_call_makes_no_second_call() -> None:
    events = events_of(call(title="x", rawInput={"a": 1}), change(), change(), change(status=None))
    assert (len(calls(events)), len(results(events))) == (1, 1)


@pytest.mark.parametrize(
    ("title", "kind", "given", "name"),
    [
        ("Run tests", "execute", {"command": "pytest", "description": "Run tests"}, "bash"),
        ("Viewing /w/a.py", "read", {"path": "/w/a.py"}, "view"),
        ("Viewing file", "read", {"bogus": True}, "view"),
        ("Searching for 'x'", "read", {"pattern": "x", "output_mode": "content"}, "grep"),
        ("Finding files matching *.py", "read", {"pattern": "*.py"}, "glob"),
        ("Editing /w/a.py", "edit", {"path": "/w/a.py", "old_str": "a", "new_str": "b"}, "edit"),
        ("Creating /w/a.py", "edit", {"path": "/w/a.py", "file_text": "a"}, "create"),
        ("Track todos", "other", {"description": "Track", "query": "INSERT"}, "sql"),
        ("Read calc", "other", {"prompt": "p", "agent_type": "general-purpose"}, "task"),
        ("Using skill: fix-bug", "other", {"skill": "fix-bug"}, "skill"),
        ("demo-lookup", "other", {"key": "x"}, "mcp__demo__lookup"),
        ("github-mcp-server-get_me", "other", {"key": "x"}, "mcp__github-mcp-server__get_me"),
        ("read_agent", "read", {"agent_id": "a"}, "read_agent"),
        ("no_such_tool", "other", {"x": 1}, "no_such_tool"),
    ],
)
def test_copilots_tools_are_told_by_title_kind_and_arguments(
    title: str, kind: str, given: dict[str, Any], name: str
) -> None:
    events = events_of(agent("Copilot"), call(title=title, kind=kind, rawInput=given))
    assert [c.name for c in calls(events)] == [name]


@pytest.mark.parametrize(
    ("title", "given", "name"),
    [
        ("demo_lookup", {"key": "x"}, "mcp__demo__lookup"),
        ("apply_patch", {"patchText": "x"}, "apply_patch"),
        ("todowrite", {"todos": []}, "todowrite"),
        ("no_such_tool", {"tool": "no_such_tool", "error": "Model tried to call unavailable tool"}, "no_such_tool"),
    ],
)
def test_opencodes_mcp_tools_are_told_by_their_server(title: str, given: dict[str, Any], name: str) -> None:
    events = events_of(agent("OpenCode"), call(title=title, kind="other", rawInput=given))
    assert [c.name for c in calls(events)] == [name]


def diff(path: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": "x", "newText": "y"}


@pytest.mark.parametrize(
    ("members", "tool", "kind", "files"),
    [
        ({"title": "a.py", "kind": "edit", "content": [diff("a.py")]}, "Edit", "write", ("a.py",)),
        ({"title": "Edit two", "kind": "edit", "content": [diff("a"), diff("b")]}, "Edit", "write", ("a", "b")),
        ({"title": "Edit", "kind": "edit", "content": [diff("a"), diff("b")], "rawInput": {"changes": {}}},
         "Edit", "write", ("a", "b")),
        ({"title": "Move a", "kind": "move", "locations": [{"path": "a"}, {"path": "b"}]}, "move", "write", ("a", "b")),
        ({"title": "peruse", "kind": "read", "rawInput": {"what": "a"}, "locations": [{"path": "a"}]},
         "peruse", "read", ("a",)),
        ({"title": "mcp__s__t", "kind": "read", "rawInput": {"what": "a"}}, "mcp__s__t", "other", ()),
        ({"title": "make", "kind": "execute", "rawInput": {"command": "make"}}, "Bash", "execute", ()),
        ({"title": "ls", "kind": "execute", "rawInput": {"command": ["bash", "-lc", "ls"]}}, "Bash", "read", ()),
        ({"title": "deploy", "kind": "execute", "rawInput": {"command": "make"}}, "deploy", "execute", ()),
    ],
)  # fmt: skip
def test_the_protocols_kinds_and_files_tell_what_an_unknown_agents_call_does(
    members: dict[str, Any], tool: str, kind: str, files: tuple[str, ...]
) -> None:
    (found,) = map(Normalize(PROVIDER.tools).call, calls(events_of(call(status="completed", **members))))
    assert (found.tool, found.kind, found.files, found.edit) == (tool, kind, files, tool == "Edit")


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"title": "Shell: ls", "_meta": {"toolName": "run_shell_command"}}, "run_shell_command"),
        ({"title": "Writing 1 todos", "kind": "other", "_meta": {"tool_name": "vibe.todo"}}, "vibe.todo"),
        ({"title": "Read a", "_meta": {"claudeCode": {"toolName": "Read"}}}, "Read"),
        ({"title": "A sentence", "name": "native"}, "native"),
        ({"title": "read_file"}, "read_file"),
        ({"title": "A sentence", "kind": "fetch"}, "fetch"),
    ],
)
def test_the_best_name_that_a_call_tells(members: dict[str, Any], name: str) -> None:
    assert [c.name for c in calls(events_of(call(rawInput={"zz": 1}, **members)))] == [name]


@pytest.mark.parametrize(
    ("call_id", "title", "kind", "path", "name", "given"),
    [
        (
            "run_shell_command__run_shell_command_1_0",
            "ls -l",
            "execute",
            None,
            "run_shell_command",
            {"command": "ls -l"},
        ),
        ("read_file__read_file_1_0", "a.py", "read", "/w/a.py", "read_file", {"file_path": "/w/a.py"}),
        ("read_file-1757858840535", "a.py", "read", "/w/a.py", "read_file", {"file_path": "/w/a.py"}),
        ("read_file-1795733943726-1", "calc.py", "read", "/w/calc.py", "read_file", {"file_path": "/w/calc.py"}),
        ("grep_search__grep_search_1_0", "'def x'", "search", None, "grep_search", {"pattern": "def x"}),
        ("web_fetch__web_fetch_1_0", "Processing", "fetch", None, "web_fetch", {"prompt": "Processing"}),
        ("replace__replace_1_0", "a: x => y", "edit", "/w/a", "replace", {"file_path": "/w/a", "title": "a: x => y"}),
    ],
)
def test_geminis_names_stand_in_ids_and_its_arguments_in_titles(
    call_id: str, title: str, kind: str, path: str | None, name: str, given: dict[str, Any]
) -> None:
    where = [{"path": path}] if path else []
    started = call(call_id, status="in_progress", title=title, kind=kind, locations=where, content=[])
    (found,) = calls(events_of(agent("gemini-cli"), started))
    assert (found.name, found.input) == (name, given)


def test_geminis_written_content_comes_from_the_diff() -> None:
    diff = [{"type": "diff", "path": "/w/a", "oldText": None, "newText": "text"}]
    call_id = "write_file__write_file_1795241195154_0"
    (found,) = calls(
        events_of(
            agent("gemini-cli"),
            call(call_id, status="in_progress", title="Writing to a", kind="edit", locations=[{"path": "/w/a"}]),
            change(call_id, content=diff),
        )
    )
    assert found.input == {"file_path": "/w/a", "content": "text"}


NEW_OR_NOT: list[tuple[list[str | None], str]] = [
    ([None], "write"), ([None, None], "write"), (["x"], "edit"), ([None, "x"], "edit"), ([""], "edit"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "name"), NEW_OR_NOT)
def test_by_kind_alone_an_edit_of_new_files_is_a_write(old: list[str | None], name: str) -> None:
    """A diff without an old text shows a file that did not exist. An agent that names its tools keeps their names."""
    diffs = [{"type": "diff", "path": f"/w/{n}", "oldText": text, "newText": "y"} for n, text in enumerate(old)]
    asked: dict[str, Any] = {"kind": "edit", "rawInput": {"file_path": "/w/0", "content": "y"}, "content": diffs}
    assert [c.name for c in calls(events_of(call(title="Write /w/0", **asked), change()))] == [name]
    assert [c.name for c in calls(events_of(call(title="edit", **asked), change()))] == ["edit"]


def test_geminis_calls_of_one_answer_run_one_after_the_other() -> None:
    ids = [f"glob__glob_179524118655{i}_{i}" for i in range(3)]
    given = [line for i in ids for line in (call(i, status="in_progress", kind="search", title="'*'"), change(i))]
    assert {c.message_id for c in calls(events_of(agent("gemini-cli"), *given))} == {"m1"}


@pytest.mark.parametrize(
    ("members", "outcome", "code", "output"),
    [
        ({"rawOutput": {"content": "a", "contents": [{"exitCode": 3}]}}, "error", 3, "a"),
        ({"rawOutput": {"content": "a\n<shellId: 0 completed with exit code 2>"}}, "error", 2, None),
        ({"rawOutput": {"output": "a", "metadata": {"exit": 0}}}, "ok", 0, "a"),
        ({"rawOutput": {"message": "no", "code": "failure"}, "status": "failed"}, "error", None, "no"),
        ({"rawOutput": {"message": "no", "code": "denied"}, "status": "failed"}, "denied", None, "no"),
        ({"rawOutput": "x", "content": shown("Output: x\nExit Code: 3\nSignal: 0\n")}, "error", 3, None),
        ({"rawOutput": "x", "content": shown("Output: x\nExit Code: 0\nSignal: 9\n")}, "error", None, None),
        ({"rawOutput": "EXIT_CODE: 3\nSTDERR:\nno\n\nSTDOUT:\n"}, "error", 3, None),
        ({"rawOutput": "EXIT_CODE: 0\nSTDERR:\n\nSTDOUT:\na"}, "ok", 0, None),
        ({"content": shown("User did not allow tool call"), "status": "failed"}, "denied", None, None),
        ({"status": "failed"}, "error", None, None),
        ({}, "ok", None, None),
    ],
)
def test_outcome_and_exit_code_of_a_shell_call(
    members: dict[str, Any], outcome: str, code: int | None, output: str | None
) -> None:
    who = "qwen-code" if isinstance(members.get("rawOutput"), str) else "x"
    events = events_of(agent(who), call(kind="execute", title="bash", rawInput={"command": "x"}), change(**members))
    (result,) = results(events)
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert output is None or result.output == output


SPEAKERS = ("", "Copilot", "gemini-cli", "qwen-code", "OpenCode", "Kilo", "claude", "OpenHands", "kimi", "deepagents")


def canonical(*given: dict[str, Any]) -> list[ToolCall]:
    [batch] = Normalize(PROVIDER.tools).push(decoded(ACP, lines(*given)))
    return calls(batch.events)


@pytest.mark.parametrize("name", SPEAKERS)
@pytest.mark.parametrize("kind", ["read", "execute", "search", "other", None])
@pytest.mark.parametrize("given", [{}, {"rawInput": {}}, {"rawInput": {"x": "y"}}])
def test_a_name_that_stands_only_in_the_title_is_known_whoever_speaks(
    name: str, kind: str | None, given: dict[str, Any]
) -> None:
    """As `normalize_tool_call` knows it, and so the evaluators of skills."""
    path = "/w/skills/csv/SKILL.md"
    first = [agent(name)] if name else []
    skill = {"title": "Using skill: csv", "kind": kind, **given}
    read = {"title": f"Viewing {path}", "kind": kind, **given}
    found = canonical(*first, call("c1", **skill), change("c1"), call("c2", **read), change("c2"))
    assert [(c.tool, c.input.get("skill"), c.input.get("file_path")) for c in found] == [
        ("Skill", "csv", None),
        ("Read", None, path),
    ]
    assert [loads(c) for c in found] == [["csv"], ["csv"]]
    expected = [normalize_tool_call("copilot-cli", {"tool": one["title"]})["tool"] for one in (skill, read)]
    assert [c.tool for c in found] == expected


def test_a_title_in_words_gives_way_to_the_name_that_the_arguments_show() -> None:
    found = canonical(
        agent("Copilot"),
        call("c1", title="Using skill: csv", kind="other", rawInput={"skill": "csv"}),
        call("c2", title="Viewing a.py", kind="read", rawInput={"path": "/w/a.py"}),
        call("c3", title="Write File", kind="edit"),
        call("c4", title="Viewing", kind="read"),
        *(change(f"c{i}") for i in range(1, 5)),
    )
    assert [(c.name, c.tool) for c in found] == [
        ("skill", "Skill"),
        ("view", "Read"),
        ("Write File", "Write"),
        ("Viewing", "Viewing"),
    ]


def test_a_status_line_names_the_exit_code() -> None:
    said = "**Command:**\n```bash\nx\n```\n\n**Status:** Command failed with exit code 3"
    [found] = results(events_of(call(kind="execute", rawInput={"command": "x"}), change(content=shown(said))))
    assert (found.outcome, found.exit_code) == ("error", 3)


def test_a_plan_stands_for_qwens_todo_tool_but_not_for_copilots() -> None:
    entries = [{"content": "Step", "priority": "medium", "status": "pending"}]
    qwen = events_of(agent("qwen-code"), update("plan", entries=entries))
    assert [(c.name, c.input) for c in calls(qwen)] == [("todo_write", {"todos": entries})]
    assert [r.call_id for r in results(qwen)] == [calls(qwen)[0].call_id]
    assert not calls(events_of(agent("Copilot"), update("plan", entries=entries)))


def test_ids_of_the_two_sides_may_be_equal() -> None:
    ask: dict[str, Any] = {**RPC, "id": 3, "method": "session/request_permission"}
    ask["params"] = {
        "toolCall": {"toolCallId": "c1", "title": "Edit", "kind": "edit"},
        "options": [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}],
    }
    prompt = {**RPC, "id": 3, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "Go."}]}}
    refused = {**RPC, "id": 3, "result": {"outcome": {"outcome": "selected", "optionId": "no"}}}
    events = events_of(prompt, ask, refused, change(status="failed", content=shown("[Stopped]")), end())
    assert [r.outcome for r in results(events)] == ["denied"]
    assert [e.call_id for e in events if isinstance(e, Notification)] == ["c1"]
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]
    assert [e.text for e in events if isinstance(e, UserText)] == ["Go."]


def permission(call_id: str, title: str, request: int = 0, /, **members: Any) -> dict[str, Any]:
    tool = {"toolCallId": call_id, "title": title, **members}
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    ask = {**RPC, "id": request, "method": "session/request_permission"}
    return {**ask, "params": {"sessionId": "s-1", "toolCall": tool, "options": options}}


def refused(request: int = 0) -> dict[str, Any]:
    return {**RPC, "id": request, "result": {"outcome": {"outcome": "selected", "optionId": "no"}}}


def test_a_permission_under_an_id_of_its_own_belongs_to_the_call_with_the_same_input() -> None:
    """Recorded of deepagents-acp 0.0.13. Of two equal calls the first is asked for first."""
    given = {"command": "make"}
    events = events_of(
        call("c1", title="make", kind="execute", rawInput=given),
        call("c2", title="make", kind="execute", rawInput=given),
        call("c3", title="ls", kind="execute", rawInput={"command": "ls"}),
        *(permission(f"p{i}", "Execute: `make`", i, rawInput=given) for i in range(2)),
        refused(1),
        change("p0", title="Execute: `make`"),
        change("c2", status="failed"),
        change("c3"),
    )
    assert [c.call_id for c in calls(events)] == ["c1", "c2", "c3"]
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c1", "ok"), ("c2", "denied"), ("c3", "ok")]
    assert [e.call_id for e in events if isinstance(e, Notification)] == ["c1", "c2"]


def test_a_permission_for_an_edit_belongs_to_the_call_with_its_title_and_file() -> None:
    """deepagents-acp announces an edit as a diff and asks for it with the tool's own arguments."""
    diff = {"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"}
    edit = call(title="Edit `/w/a`", kind="edit", rawInput={"path": "/w/a", "content": diff})
    same = permission("p", "Edit `/w/a`", rawInput={"file_path": "/w/a", "old_string": "x", "new_string": "y"})
    assert [c.call_id for c in calls(events_of(edit, same))] == ["c1"]
    other = permission("p", "Edit `/w/a`", rawInput={"file_path": "/w/b", "old_string": "x", "new_string": "y"})
    assert [c.call_id for c in calls(events_of(edit, other))] == ["c1", "p"]


def test_a_call_may_be_announced_under_another_id_than_that_of_its_permission() -> None:
    given = {"rawInput": {"command": "make"}, "kind": "execute"}
    events = events_of(permission("p", "make", **given), call("c1", title="make", **given), change("c1"))
    assert [c.call_id for c in calls(events)] == ["p"]
    assert [(r.call_id, r.outcome) for r in results(events)] == [("p", "ok")]
    events = events_of(permission("c1", "make", **given), call("c1", title="make", **given), call("c2", **given))
    assert [c.call_id for c in calls(events)] == ["c1", "c2"]


@settings(max_examples=30, deadline=None, derandomize=True)
@hypothesis_given(choice=st.data())
@pytest.mark.parametrize("name", ["acp", "acp-claude", "copilot-acp"])
def test_permissions_under_ids_of_their_own_change_no_figure(name: str, choice: st.DataObject) -> None:
    """A random session in which permission for any call is asked for under another id, after it is announced."""
    writer = WRITERS[name]
    plain = [json.loads(line) for line in writer.write(choice.draw(writer.sessions)).data.splitlines()]
    asked: list[dict[str, Any]] = []
    for number, line in enumerate(plain):
        asked.append(line)
        told = line.get("params", {}).get("update", {})
        unfinished = told.get("status") in ("pending", "in_progress")
        own: dict[str, Any] = told.get("rawInput") or {}
        if (
            unfinished and own.keys() - {"cwd"} and choice.draw(st.booleans())
        ):  # the folder alone: there is more to come
            request = permission(f"own-{number}", f"May I? {told.get('title')}", number, rawInput=own)
            asked.append({**request, "params": {**request["params"], "sessionId": line["params"]["sessionId"]}})
    figures, found = (
        summarize(b"".join(json.dumps(line).encode() + b"\n" for line in given)).tool_use_summary
        for given in (plain, asked)
    )
    assert found == figures


def test_a_permission_request_tells_a_call_that_has_no_other_message() -> None:
    ask: dict[str, Any] = {**RPC, "id": 0, "method": "session/request_permission"}
    tool = {"toolCallId": "replace-1757858836472", "status": "pending", "title": "a: x => y", "kind": "edit"}
    ask["params"] = {"toolCall": {**tool, "locations": [{"path": "/w/a"}]}, "options": []}
    events = events_of(ask, change("replace-1757858836472", content=[]))
    assert [(c.name, c.input["file_path"]) for c in calls(events)] == [("replace", "/w/a")]
    assert len(results(events)) == 1


def test_the_client_may_read_files_under_ids_of_open_requests() -> None:
    fs = {**RPC, "id": 3, "method": "fs/read_text_file", "params": {"path": "/w/a"}}
    back = {**RPC, "id": 3, "result": {"content": "text"}}
    assert [type(e) for e in events_of(fs, back, end())] == [SessionEnd]


def test_copilots_sub_agents_are_told_apart() -> None:
    mark = {"github.com/copilot": {"agentId": "a-1"}}
    events = events_of(
        agent("Copilot"),
        chunk("Starting."),
        call(title="Work", kind="other", rawInput={"prompt": "p", "agent_type": "general"}),
        thought("Sub thinking."),
        chunk("Sub reading."),
        call("c2", title="Viewing a", kind="read", rawInput={"path": "a"}, _meta=mark),
        change("c2", rawOutput={"content": "x"}, _meta=mark),
        chunk("Sub says so."),
        change("c1", rawOutput={"content": "Sub says so."}),
        chunk("Main goes on."),
        end(),
    )
    said_by = [(e.source.stream, e.text) for e in events if isinstance(e, AssistantText)]
    assert said_by == [
        ("main", "Starting."),
        ("subagent:a-1", "Sub reading."),
        ("subagent:a-1", "Sub says so."),
        ("main", "Main goes on."),
    ]
    view = next(c for c in calls(events) if c.name == "view")
    assert (view.source.stream, view.parent_call) == ("subagent:a-1", "c1")
    assert [(r.call_id, r.agent_id) for r in results(events)] == [("c2", None), ("c1", "a-1")]


def test_text_held_back_while_a_sub_agent_works_is_not_lost() -> None:
    task = call(title="Work", kind="other", rawInput={"prompt": "p", "agent_type": "general"})
    assert answers(events_of(agent("Copilot"), task, chunk("Who said this?"))) == ["Who said this?"]
    assert answers(events_of(agent("Copilot"), task, chunk("And this?"), end())) == ["And this?"]


@pytest.mark.parametrize(
    "used",
    [
        {"inputTokens": 100, "outputTokens": 9, "thoughtTokens": 4, "cachedReadTokens": 60, "totalTokens": 109},
        {"promptTokens": 100, "completionTokens": 9, "thoughtsTokens": 4, "cachedTokens": 60, "totalTokens": 109},
    ],
    ids=["0.24", "0.10"],
)
def test_qwens_usage_chunk_ends_an_answer_and_names_its_sub_agent(used: dict[str, int]) -> None:
    events = events_of(
        agent("qwen-code"),
        chunk("Starting."),
        chunk("", _meta={"usage": used}),
        call(status="in_progress", rawInput={"prompt": "p", "subagent_type": "g"}, _meta={"toolName": "agent"}),
        chunk("Sub."),
        chunk("", _meta={"usage": used, "parentToolCallId": "c1"}),
        change("c1", content=shown("Sub.")),
        end(),
    )
    assert [(u.source.stream, u.key, u.input, u.cached, u.output, u.reasoning) for u in usages(events)] == [
        ("main", "m1", 100, 60, 9, 4),
        ("subagent:c1", "m4", 100, 60, 9, 4),
    ]
    assert [e.source.stream for e in events if isinstance(e, AssistantText)] == ["main", "subagent:c1"]


def test_a_call_that_qwen_announces_behind_the_last_usage_is_the_next_answers() -> None:
    """From 0.24 a call is announced while the model writes it; answers that only call have no text before it."""

    def usage(tokens: int) -> dict[str, Any]:
        return chunk("", _meta={"usage": {"inputTokens": tokens, "outputTokens": 1, "totalTokens": tokens + 1}})

    def announced(call_id: str) -> dict[str, Any]:
        return update("tool_call", toolCallId=call_id, status="pending", title="ReadFile", kind="read", rawInput={})

    def run(call_id: str) -> list[dict[str, Any]]:
        given = {"file_path": call_id}
        return [change(call_id, status="in_progress", rawInput=given), change(call_id, content=shown("x"))]

    events = events_of(
        agent("qwen-code"),
        *(chunk("Looking."), announced("c1"), usage(100), *run("c1")),
        *(announced("c2"), announced("c3"), usage(200), *run("c2"), *run("c3")),
        *(announced("c4"), usage(300), *run("c4"), chunk("Done."), usage(400), end()),
    )
    asked = {c.call_id: c.message_id for c in calls(events)}
    keys = [u.key for u in usages(events)]
    assert [asked[c] for c in ("c1", "c2", "c3", "c4")] == [keys[0], keys[1], keys[1], keys[2]]
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    ("who", "result", "wanted"),
    [
        (
            "Copilot",
            {"usage": {"inputTokens": 100, "outputTokens": 9, "totalTokens": 109, "cachedReadTokens": 60}},
            (100, 60, 9, True),
        ),
        (
            "gemini-cli",
            {"_meta": {"quota": {"token_count": {"input_tokens": 100, "output_tokens": 9}}}},
            (100, None, 9, True),
        ),
        (
            "OpenCode",
            {"usage": {"inputTokens": 40, "outputTokens": 9, "totalTokens": 109, "cachedReadTokens": 60}},
            (100, 60, 9, True),
        ),
        (
            "unheard-of",
            {"usage": {"inputTokens": 40, "outputTokens": 9, "totalTokens": 109, "cachedReadTokens": 60}},
            (100, 60, 9, True),
        ),
    ],
)
def test_tokens_of_a_prompt_have_one_meaning(who: str, result: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    (used,) = usages(events_of(agent(who), chunk("Hi."), end(**result)))
    assert (used.input, used.cached, used.output, used.output_final) == wanted
    assert used.scope == "segment"


def test_what_does_not_count_all_is_not_told_as_a_total() -> None:
    thinking = end(_meta={"quota": {"token_count": {"input_tokens": 100, "output_tokens": 9}}})
    (used,) = usages(events_of(agent("gemini-cli"), thought("Hm."), chunk("Hi."), thinking))
    assert not used.output_final
    last = end(usage={"inputTokens": 40, "outputTokens": 9, "totalTokens": 49})
    work = [call(title="read", status="in_progress", rawInput={"filePath": "a"}), change()]
    for name in ("OpenCode", "Kilo"):
        assert not usages(events_of(agent(name), *work, chunk("Hi."), last))


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        (end(), "complete", None),
        (end("max_tokens"), "complete", "max_tokens"),
        (end("refusal"), "error", "refusal"),
        (end("cancelled"), "interrupted", "cancelled"),
        ({**RPC, "id": 3, "error": {"code": 400, "message": "bad"}}, "error", "bad"),
        (
            {**RPC, "id": 3, "error": {"code": 1, "message": "Internal error", "data": {"details": "400"}}},
            "error",
            "Internal error: 400",
        ),
    ],
)
def test_how_a_prompt_ends(line: dict[str, Any], status: str, reason: str | None) -> None:
    last = events_of(chunk("Hi."), line)[-1]
    assert isinstance(last, SessionEnd)
    assert (last.status, last.reason) == (status, reason)


def test_a_cancelled_prompt_cancels_its_open_calls() -> None:
    events = events_of(call(title="bash", rawInput={"command": "x"}), end("cancelled"))
    assert [(r.call_id, r.outcome, r.output_json) for r in results(events)] == [("c1", "cancelled", None)]


def test_copilots_error_text_ends_in_an_error() -> None:
    events = events_of(agent("Copilot"), chunk("Error: 400 roles must alternate"), end())
    assert isinstance(events[0], AssistantText) and events[0].synthetic
    assert isinstance(events[1], SessionEnd) and events[1].status == "error"
    fine = events_of(agent("Copilot"), chunk("Error: this is what the test prints"), end())
    assert isinstance(fine[1], SessionEnd) and fine[1].status == "complete"


def test_copilots_notes_among_the_text_are_notifications() -> None:
    work = call(title="Creating a", kind="edit", rawInput={"path": "/w/a", "file_text": "x"})
    events = events_of(agent("Copilot"), chunk("Writing."), work, chunk("Info: /w/a"), change())
    assert answers(events) == ["Writing."]
    assert [e.message for e in events if isinstance(e, Notification)] == ["/w/a"]


@pytest.mark.parametrize(
    ("name", "model", "told"),
    [
        ("qwen-code", "$runtime|openai|coder-7b(openai)", "coder-7b"),
        ("qwen-code", "coder-7b(qwen-oauth)", "coder-7b"),
        ("qwen-code", "coder-7b", "coder-7b"),
        ("OpenCode", "orchard/vendor/coder-7b", "vendor/coder-7b"),
        ("OpenCode", "coder-7b", "coder-7b"),
        ("another", "orchard/coder-7b(openai)", "orchard/coder-7b(openai)"),
    ],
)
def test_a_model_has_the_name_that_it_has_on_disk(name: str, model: str, told: str) -> None:
    begun = {**RPC, "id": 2, "result": {"sessionId": "s-1", "models": {"currentModelId": model}}}
    events = decoded(ACP, lines(agent(name), begun)).events
    assert [e.model for e in events if isinstance(e, SessionInfo) and e.model] == [told]


def test_the_facts_of_a_session() -> None:
    given = lines(
        {**RPC, "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        agent("OpenCode"),
        {**RPC, "id": 2, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}},
        {**RPC, "id": 2, "result": {"sessionId": "s-1", "configOptions": [{"id": "model", "currentValue": "m-1"}]}},
        update("session_info_update", title="A title"),
        update("usage_update", used=5, size=1000, cost={"amount": 0.25, "currency": "USD"}),
        end(),
    )
    events = decoded(ACP, given).events
    facts = [e for e in events if isinstance(e, SessionInfo)]
    assert [e.version for e in facts if e.version] == ["1.0"]
    assert [e.cwd for e in facts if e.cwd] == ["/w"]
    assert [(e.session_id, e.model) for e in facts if e.session_id] == [("s-1", "m-1")]
    assert [e.title for e in facts if e.title] == ["A title"]
    assert [e.context_window for e in facts if e.context_window] == [1000]
    assert isinstance(events[-1], SessionEnd) and events[-1].cost_usd == 0.25


def test_wrapped_messages_and_their_times() -> None:
    batch = decoded(ACP, lines({"dir": "a2c", "ts": "2026-03-01T10:00:00Z", "msg": chunk("Hi.")}))
    last = batch.events[-1]
    assert isinstance(last, AssistantText)
    assert (last.text, last.source.time_ms) == ("Hi.", 1772359200000)


def test_a_prompt_that_is_echoed_counts_once() -> None:
    prompt = {**RPC, "id": 3, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "Go."}]}}
    echo = update("user_message_chunk", content={"type": "text", "text": "Go."})
    assert [type(e) for e in events_of(prompt, echo)] == [UserText]
    alone = events_of(echo, update("user_message_chunk", content={"type": "text", "text": " On."}))
    assert [e.message_id for e in alone if isinstance(e, UserText)] == ["u0", "u0"]


def test_every_known_update_and_method_has_a_name() -> None:
    known = [update(kind) for kind in sorted(QUIET_UPDATES)]
    more = [update("notice", severity="warning", title="t"), update("compaction_update", status="completed")]
    methods: list[dict[str, Any]] = [{**RPC, "method": method, "params": {}} for method in sorted(QUIET_METHODS)]
    assert not decoded(ACP, lines(*known, *more, *methods, {**RPC, "method": "_x/y"})).unknown
    new = decoded(ACP, lines(update("brand_new"), {**RPC, "method": "session/new_thing"}))
    assert new.unknown == {"brand_new": 1, "session/new_thing": 1}


def test_other_json_rpc_is_not_acp() -> None:
    server: dict[str, Any] = {**RPC, "id": 1, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    codex: dict[str, Any] = {**RPC, "method": "turn/started", "params": {}}
    assert best(PROVIDER, lines(server, codex, {"type": "assistant"}))[1] == 0.0
    assert (
        best(PROVIDER, lines({"method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}}))[1] == 1.0
    )


def _truth(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((path.parent / "truth.json").read_text())
    return value


@pytest.mark.parametrize("client", ["copilot_acp", "gemini_acp", "qwen_acp", "opencode_acp"])
def test_recordings_give_what_the_model_asked_for_and_said(client: str) -> None:
    for path in sorted(corpus(f"clients/{client}").glob("*/stream.jsonl*")):
        given, truth = records(read(path)), _truth(path)
        batch = decoded(ACP, given)
        assert best(PROVIDER, given) == ("acp", 1.0)
        assert not batch.unknown, path
        events, blind = batch.events, client in ("gemini_acp", "opencode_acp")
        threads = ("main",) if blind else tuple(truth["threads"])
        wanted = sorted(c["tool"] or PROVIDER.tools.resolve(c["native"]).tool for c in asked_calls(truth, *threads))
        found = sorted(PROVIDER.tools.resolve(c.name).tool for c in calls(events))
        if client == "gemini_acp" and "no_such_tool" in wanted:
            wanted.remove("no_such_tool")  # Gemini says nothing of it
        assert found == wanted, path
        ended = [r.call_id for r in results(events)]
        assert len(ended) == len(set(ended)) and set(ended) <= {c.call_id for c in calls(events)}
        if not truth["broken"]:
            told = [t for t in answers([e for e in events if not getattr(e, "synthetic", False)]) if t.strip()]
            assert sorted(told) == sorted(said(truth, *threads)), path


@pytest.mark.parametrize("client", ["copilot_acp", "qwen_acp"])
def test_recordings_give_the_tokens_that_the_server_counted(client: str) -> None:
    for path in sorted(corpus(f"clients/{client}").glob("*/stream.jsonl*")):
        truth = _truth(path)
        if truth["broken"]:
            continue
        wanted = [sum(t["tokens"][k] for t in truth["threads"].values()) for k in ("input", "cached", "output")]
        used = usages(decoded(ACP, records(read(path))).events)
        assert [sum(getattr(u, k) or 0 for u in used) for k in ("input", "cached", "output")] == wanted, path


def test_logs_from_the_wild_decode_without_new_types() -> None:
    paths = sorted(corpus("wild/acp").iterdir()) + sorted(corpus("samples/acp").glob("*.jsonl"))
    for path in paths:
        given = records(read(path))
        batch = decoded(ACP, given)
        assert best(PROVIDER, given) == ("acp", 1.0)
        assert not batch.unknown and not batch.faults, path
        assert calls(batch.events), path


def test_a_result_that_comes_before_its_call_waits_for_it() -> None:
    asked = call(status="in_progress", rawInput={"command": "ls"}, content=[], title="ls", kind="execute")
    in_order = events_of(agent("qwen"), asked, change(content=shown("a")), end())
    swapped = events_of(agent("qwen"), change(content=shown("a")), asked, end())
    for events in (in_order, swapped):
        [made], [given] = calls(events), results(events)
        assert (made.name, made.input, given.output, given.outcome) == ("ls", {"command": "ls"}, "a", "ok")
    check_laws(ACP, lines(agent("qwen"), change(content=shown("a")), asked, end()))


def test_a_result_whose_call_never_comes_is_told_at_the_end_of_the_prompt() -> None:
    [given] = results(events_of(agent("qwen"), change(content=shown("a")), end()))
    assert (given.output, given.outcome) == ("a", "ok")


@pytest.mark.parametrize("given", [[], "", None, {}])
def test_arguments_that_say_nothing_stay_what_they_are_behind_a_restart(given: Any) -> None:
    check_laws(ACP, lines(agent("opencode"), call(rawInput=given, kind="other"), end()))


def test_a_call_without_an_id_is_a_call() -> None:
    asked = call(status="in_progress", rawInput={"command": "ls"}, title="ls", kind="execute")
    del asked["params"]["update"]["toolCallId"]
    assert [c.input for c in calls(events_of(agent("qwen"), asked, end()))] == [{"command": "ls"}]


def test_openhands_names_its_tools_in_the_arguments_and_tells_exit_codes_and_what_was_spent() -> None:
    found = records((FIXTURES / "acp" / "openhands.jsonl").read_bytes())
    check_laws(ACP, found)
    events = decoded(ACP, found).events
    assert [one.name for one in calls(events)] == ["file_editor", "terminal", "terminal"]
    assert [(one.outcome, one.exit_code) for one in results(events)] == [("ok", None), ("ok", 0), ("error", 1)]
    assert results(events)[1].output == "one"
    told = [(one.scope, one.input, one.cached, one.output, one.reasoning) for one in usages(events)]
    assert told == [("session", 1010, 600, 21, 5), ("session", 2030, 600, 43, 10), ("session", 3060, 1200, 66, 15)]
    plain = [json.loads(record.data) for record in found]
    spaced = [Record(json.dumps(one).encode(), row, row) for row, one in enumerate(plain)]
    wrapped = lines(*({"dir": "a2c", "msg": one} for one in plain))
    for others in (spaced, wrapped):  # neither is read in one pass
        assert [(u.input, u.output) for u in usages(decoded(ACP, others).events)] == [
            (1010, 21),
            (2030, 43),
            (3060, 66),
        ]


@pytest.mark.parametrize("made", ["MCPToolAction", "odd", None, 7])
def test_a_call_of_openhands_without_a_name_of_its_own_goes_by_its_kind(made: Any) -> None:
    asked = call(kind="other", title="x: something", rawInput={"kind": made}, status="in_progress")
    assert [one.name for one in calls(decoded(ACP, lines(agent("OpenHands CLI ACP Agent"), asked)).events)] == ["other"]


@pytest.mark.parametrize("given", [{"exit_code": -1}, {"exit_code": None}])
def test_a_command_of_openhands_that_still_runs_has_no_exit_code(given: dict[str, Any]) -> None:
    raw = {"observation": {"content": [{"type": "text", "text": "so far"}], **given}}
    ended = update("tool_call_update", toolCallId="c1", status="completed", rawOutput=raw)
    begun = call(kind="execute", rawInput={"command": "make", "kind": "TerminalAction"}, status="in_progress")
    (result,) = results(decoded(ACP, lines(agent("OpenHands CLI ACP Agent"), begun, ended)).events)
    assert (result.output, result.exit_code, result.outcome) == ("so far", None, "ok")


def test_a_first_update_that_tells_a_title_tells_two_things() -> None:
    update = {"sessionUpdate": "session_info_update", "title": "Fix it"}
    given = lines({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}})
    told = [e for e in decoded(ACP, given).events if isinstance(e, SessionInfo)]
    assert [(e.session_id, e.title) for e in told] == [("s-1", None), (None, "Fix it")]
    assert len({(e.source.row, e.part) for e in told}) == 2


def test_an_id_that_a_server_uses_again_is_another_calls() -> None:
    """What was announced under it was taken for news of the call that was over, and lost."""
    first = [
        call(title="read", rawInput={"filePath": "/w/a"}),
        change(),
        call(title="read", rawInput={"filePath": "/w/a"}),
    ]
    events = events_of(*first, call(title="read", rawInput={"filePath": "/w/b"}), change(status="failed"))
    assert [c.input for c in calls(events)] == [{"filePath": "/w/a"}, {"filePath": "/w/b"}]
    assert [r.outcome for r in results(events)] == ["ok", "error"]


def kimi(*given: dict[str, Any]) -> list[AnyEvent]:
    return events_of(agent("Kimi Code CLI"), *given)


def written(title: str, arguments: dict[str, Any], call_id: str = "0:c1", kind: str = "read") -> list[dict[str, Any]]:
    """A call as Kimi announces it: first its name, then its arguments as far as the model has written them."""
    text = json.dumps(arguments)
    return [
        call(call_id, title=title, kind=kind, content=shown("")),
        change(call_id, status="in_progress", content=shown(text[:12])),
        change(call_id, status="in_progress", content=shown(text)),
    ]


def asks(call_id: str, title: str) -> dict[str, Any]:
    options = [{"optionId": "once", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    asked = {"toolCallId": call_id, "title": title, "content": shown(f"Requesting approval to run {title}")}
    params = {"sessionId": "s-1", "options": options, "toolCall": asked}
    return {**RPC, "id": 0, "method": "session/request_permission", "params": params}


def test_a_call_of_kimi_is_told_with_its_arguments_not_while_they_are_written() -> None:
    asked = {"path": "/w/calc.py"}
    begun = change("0:c1", status="in_progress", title="Reading /w/calc.py", kind="read", rawInput=asked)
    given = [*written("Read", asked), begun, change("0:c1", rawOutput="1\tx = 1", content=shown("1\tx = 1"))]
    [made], [got] = calls(kimi(*given)), results(kimi(*given))
    assert (made.name, made.input, got.output, got.outcome) == ("Read", asked, "1\tx = 1", "ok")
    check_laws(ACP, lines(agent("Kimi Code CLI"), *given, end()))


def test_a_call_of_kimi_that_was_refused_has_the_arguments_that_the_model_wrote() -> None:
    refused = 'Tool "Bash" was not run because the user rejected the approval request.'
    asked = {"command": "rm -rf build"}
    given = [*written("Bash", asked, kind="execute"), asks("0:c1", "Bash")]
    events = kimi(*given, change("0:c1", status="failed", rawOutput=refused), end())
    [made], [got] = calls(events), results(events)
    assert (made.name, made.input, got.outcome) == ("Bash", asked, "denied")


def test_arguments_of_kimi_that_never_became_whole_are_none() -> None:
    cut = [*written("Bash", {"command": "ls"}, kind="execute")[:2], change("0:c1", status="failed", rawOutput="{}")]
    assert [c.input for c in calls(kimi(*cut))] == [{}]


@pytest.mark.parametrize(
    ("output", "outcome", "code"),
    [
        ("no\nCommand failed with exit code: 3.", "error", 3),
        ("before\nInterrupted by user", "cancelled", None),
        ("lookup failed", "error", None),
    ],
)
def test_kimi_says_in_words_how_a_call_failed(output: str, outcome: str, code: int | None) -> None:
    given = [*written("Bash", {"command": "x"}, kind="execute"), change("0:c1", status="failed", rawOutput=output)]
    assert [(r.outcome, r.exit_code) for r in results(kimi(*given))] == [(outcome, code)]


def test_what_sub_agents_of_kimi_ask_for_is_no_call_of_the_main_agent() -> None:
    task = {"prompt": "Look.", "description": "Look", "subagent_type": "coder"}
    begun = change("0:a1", status="in_progress", title="Launching coder agent: Look", rawInput=task)
    done = change("0:a1", rawOutput="agent_id: agent-0\nstatus: completed\n\n[summary]\nFine.")
    events = kimi(*written("Agent", task, "0:a1", "other"), begun, asks("0:c7", "Bash"), done, chunk("Good."), end())
    assert [c.name for c in calls(events)] == ["Agent"]
    assert [(r.outcome, r.agent_id) for r in results(events)] == [("ok", "agent-0")]
    asked = [e for e in events if isinstance(e, Notification)]
    assert [(e.name, e.message, e.call_id) for e in asked] == [("permission_request", "Bash", "0:c7")]
    assert answers(events) == ["Good."]


def test_the_folder_that_a_search_of_kimi_looks_into_is_no_file_that_it_reads() -> None:
    begun = change("0:c1", status="in_progress", rawInput={"pattern": "x"}, locations=[{"path": "/w"}])
    assert [c.files for c in calls(kimi(*written("Grep", {"pattern": "x"}), begun))] == [()]


def test_arguments_that_come_after_a_call_is_said_to_run_are_its_arguments() -> None:
    """A call that was announced without arguments was told without them as soon as it ran."""
    given = [call(title="Look", kind="read"), change(status="in_progress"), change(rawInput={"path": "/w/a"})]
    assert [c.input for c in calls(events_of(*given))] == [{"path": "/w/a"}]
    bare = [call(title="Look", kind="read", status="in_progress"), change()]
    assert [c.input for c in calls(events_of(*bare))] == [{}]


@pytest.mark.parametrize(
    ("raw", "agent_id"),
    [
        ({"output": "Fine.", "metadata": {"sessionId": "ses_k1"}}, "ses_k1"),
        ({"output": "Fine.", "metadata": {"sessionId": 7}}, None),
        ({"output": "Fine."}, None),
        ("Fine.", None),
    ],
)
def test_a_task_of_opencode_names_the_session_of_its_sub_agent(raw: Any, agent_id: str | None) -> None:
    asked = {"prompt": "Look.", "description": "Look", "subagent_type": "general"}
    begun = call(title="task", kind="other", status="in_progress", rawInput=asked)
    found = results(events_of(agent("Kilo"), begun, change(rawOutput=raw), end()))
    assert [(r.outcome, r.agent_id) for r in found] == [("ok", agent_id)]


@pytest.mark.parametrize(
    ("said", "outcome"), [("The user rejected permission to use this", "denied"), ("No.", "error")]
)
def test_a_call_of_opencode_that_was_asked_for_first_has_the_name_that_follows(said: str, outcome: str) -> None:
    asked = {"command": "rm -rf build", "description": "Clean"}
    first = asks("c1", "rm -rf build")
    first["params"]["toolCall"] = {"toolCallId": "c1", "title": "rm -rf build", "kind": "execute", "rawInput": asked}
    given = [
        agent("Kilo"),
        first,
        call(title="bash", kind="execute", rawInput={"cwd": "/w"}),
        change(status="in_progress", title="rm -rf build", kind="execute", rawInput={**asked, "cwd": "/w"}),
        change(status="failed", content=shown(said), rawOutput={"error": said}),
        end(),
    ]
    events = events_of(*given)
    assert [(c.name, c.input["command"]) for c in calls(events)] == [("bash", "rm -rf build")]
    assert [r.outcome for r in results(events)] == [outcome]
    assert [e.name for e in events if isinstance(e, Notification)] == ["permission_request"]
    check_laws(ACP, lines(*given))
    unanswered = events_of(*given[:2])
    assert [c.name for c in calls(unanswered)] == ["execute"], "nothing named its tool"

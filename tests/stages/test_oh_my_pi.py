"""oh-my-pi's logs: Pi's decoders, told apart where the content tells it; calls, sub-agents and ends of its own."""

from typing import Any

import msgspec
import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, Notification, SessionEnd, SessionInfo, ToolCall, UserText
from agentv_stages.providers.oh_my_pi import PROVIDER
from agentv_stages.providers.oh_my_pi.companions import companion_files, companions
from agentv_stages.providers.pi import PROVIDER as PI
from agentv_stream.sources.folder import LocalFolder
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
    total,
    usages,
)

STREAM = dialect(PROVIDER, "oh-my-pi-stream")
SESSION = dialect(PROVIDER, "oh-my-pi-session")
FOLDER = FIXTURES / "oh-my-pi"
LIVE = records((FOLDER / "stream.jsonl").read_bytes())
STORED = records((FOLDER / "session.jsonl").read_bytes())
READER = records((FOLDER / "session" / "Reader.jsonl").read_bytes())
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}
SLOT = {"type": "title", "v": 1, "title": "", "updatedAt": "2026-03-01T10:00:00.000Z", "pad": "  "}
USAGE = {"input": 100, "output": 20, "cacheRead": 30, "cacheWrite": 7, "totalTokens": 157, "cost": {"total": 0.25}}


def entry(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "id": "e-1", "parentId": None, "timestamp": "2026-03-01T10:00:01.000Z", **members}


def message(role: str, **members: Any) -> dict[str, Any]:
    return entry("message", message={"role": role, "timestamp": 1772359200500, **members})


def call(name: str, **arguments: Any) -> dict[str, Any]:
    block = {"type": "toolCall", "id": "c-1", "name": name, "arguments": arguments}
    return message("assistant", content=[block], model="m-1", usage=USAGE, stopReason="toolUse")


def stored(*values: Any) -> list[AnyEvent]:
    return events_of(SESSION, lines(SLOT, HEADER, *values))


def normal(name: str, **arguments: Any) -> ToolCall:
    [asked] = calls(stored(call(name, **arguments)))
    batch = Batch("", events=[asked])
    Normalize(PROVIDER.tools).push(batch)
    [seen] = calls(batch.events)
    return seen


def told(*values: Any) -> str:
    return detected(b"".join(msgspec.json.encode(value) + b"\n" for value in values))[1].name


@pytest.mark.parametrize(("of", "given"), [(STREAM, LIVE), (SESSION, STORED), (SESSION, READER)])
def test_the_laws_of_decoders_are_kept(of: Any, given: Any) -> None:
    check_laws(of, given)
    check_odd_shapes(PROVIDER, given)


def test_stream_and_session_say_the_same() -> None:
    live, disk = events_of(STREAM, LIVE), events_of(SESSION, STORED)
    assert {(c.call_id, c.name) for c in calls(live)} == {(c.call_id, c.name) for c in calls(disk)}
    assert len(calls(live)) == len(calls(disk)) == 11
    assert {(r.call_id, r.outcome, r.exit_code) for r in results(live)} == {
        (r.call_id, r.outcome, r.exit_code) for r in results(disk)
    }
    assert texts(live) == texts(disk)
    assert total(live) == total(disk) == {"input": 165995, "cached": 146688, "output": 174, "reasoning": 0}


@pytest.mark.parametrize(("of", "given"), [(STREAM, LIVE), (SESSION, STORED), (SESSION, READER)])
def test_nothing_is_unknown(of: Any, given: Any) -> None:
    batch = decoded(of, given)
    assert not batch.unknown and not batch.faults


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([SLOT, HEADER], "oh-my-pi-session"),
        ([HEADER, entry("model_change", model="p/m")], "oh-my-pi-session"),
        ([HEADER, message("user", content="Fix it.", attribution="user")], "oh-my-pi-session"),
        ([HEADER, entry("session_init", task="t")], "oh-my-pi-session"),
        ([HEADER, entry("custom", customType="session_exit", data={})], "oh-my-pi-session"),
        ([HEADER, entry("model_change", provider="p", modelId="m")], "pi-session"),
        ([HEADER, entry("custom", customType="mine")], "pi-session"),
        ([HEADER, message("user", content="Fix it.")], "pi-session"),
        ([HEADER, {"type": "advisor_cost_changed"}, {"type": "agent_start"}], "oh-my-pi-stream"),
        ([{"type": "ready"}, {"type": "advisor_cost_changed"}, {"type": "agent_start"}], "oh-my-pi-stream"),
        (
            [HEADER, {"type": "message_end", "message": {"role": "user", "content": "x", "attribution": "user"}}],
            "oh-my-pi-stream",
        ),
        ([HEADER, {"type": "agent_start"}], "pi-stream"),
    ],
)
def test_content_tells_oh_my_pi_from_pi(values: list[Any], name: str) -> None:
    assert told(*values) == name


@pytest.mark.parametrize("name", ["stream.jsonl", "stream-1.5.jsonl", "retry.jsonl", "session-v3.jsonl"])
def test_logs_of_pi_stay_those_of_pi(name: str) -> None:
    assert detected((FIXTURES / "pi" / name).read_bytes())[0] is PI


def test_sub_agents_belong_to_the_session_and_to_the_call_that_began_them() -> None:
    main = str(FOLDER / "session.jsonl")
    folder = LocalFolder()
    [found] = companions(main, folder)
    [task] = [c for c in calls(events_of(SESSION, STORED)) if c.name == "task"]
    assert companion_files(main, folder) == [found.path]
    assert (found.context.stream, found.context.parent_call) == ("subagent:Reader", task.call_id)
    inner = calls(decoded(SESSION, READER, found.context).events)
    assert {(c.name, c.parent_call) for c in inner} == {(n, task.call_id) for n in ("read", "grep", "yield")}
    assert companions(str(FOLDER / "stream.jsonl"), folder) == companions("x.json", folder) == []


def test_a_write_to_a_device_is_a_call_of_the_tool_behind_it() -> None:
    seen = normal("write", path="xd://mcp__demo_lookup", content='{"word":"leaf"}')
    assert (seen.tool, seen.server, seen.origin, seen.edit) == ("mcp__demo__lookup", "demo", "mcp", False)
    assert seen.input == {"word": "leaf"}
    seen = normal("write", path="xd://ast_edit?preview", content="no object")
    assert (seen.tool, seen.edit) == ("Edit", True)
    assert seen.input == {"path": "xd://ast_edit?preview", "content": "no object"}


@pytest.mark.parametrize("path", ["notes.md", "xd://", "docs/xd://x", None, 3])
def test_other_writes_stay_writes(path: Any) -> None:
    seen = normal("write", path=path, content="as xd://lsp says")
    assert (seen.tool, seen.edit) == ("Write", True)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"input": "[a.py#6699]\nPUT 2.=2:\n+x\n[b c/d.py#3DD9]\nCUT 1\n"}, ("a.py", "b c/d.py")),
        ({"input": "[a.py#6699]\nPUT 2.=2:\n+[no.py#3DD9]\n"}, ("a.py",)),
        ({"path": "a.py", "old_string": "x", "new_string": "y"}, ("a.py",)),
        ({"path": "a.py", "edits": [{"op": "update", "diff": "@@"}]}, ("a.py",)),
        ({"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"}, ("a.py",)),
        ({}, ()),
    ],
)
def test_each_form_of_an_edit_names_its_files(arguments: dict[str, Any], files: tuple[str, ...]) -> None:
    seen = normal("edit", **arguments)
    assert (seen.tool, seen.kind, seen.edit, seen.files) == ("Edit", "write", True, files)


@pytest.mark.parametrize(
    ("name", "server"),
    [("mcp__demo_lookup", "demo"), ("mcp__demo__lookup", "demo"), ("mcp__demo_look_up", "demo"), ("mcp__only", None)],
)
def test_mcp_tools_name_their_server(name: str, server: str | None) -> None:
    seen = normal(name)
    assert (seen.origin, seen.server) == ("mcp", server)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('Tool "bash" requires approval but no interactive UI available.', "denied"),
        ("Tool call denied by user: bash", "denied"),
        ("Command aborted", "cancelled"),
        ("boom\n\nWall time: 0.08 seconds\n\nCommand exited with code 3", "error"),
        ("Tool frobnicate not found", "error"),
    ],
)
def test_a_failure_says_what_it_was(text: str, outcome: str) -> None:
    content = [{"type": "text", "text": text}]
    given = message("toolResult", toolCallId="c-1", toolName="bash", content=content, isError=True)
    [result] = results(stored(call("bash", command="x"), given))
    assert result.outcome == outcome


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"kind": "signal", "reason": "sigint", "pendingToolCalls": [{"toolName": "bash"}]}, "interrupted"),
        ({"kind": "signal", "reason": "sighup"}, "interrupted"),
        ({"kind": "normal", "reason": "dispose"}, None),
        ({"kind": "fatal", "reason": "uncaughtException"}, "error"),
        ({}, None),
    ],
)
def test_the_end_of_a_process_ends_what_was_open(data: dict[str, Any], status: str | None) -> None:
    events = stored(call("bash", command="x"), entry("custom", customType="session_exit", data=data))
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ([status] if status else [])


def test_a_signal_before_the_final_answer_interrupts_the_run_and_none_after_it() -> None:
    asked, final = message("user", content="Count."), message("assistant", content=[], model="m-1", stopReason="stop")
    leaves = entry("custom", customType="session_exit", data={"kind": "signal", "reason": "sigint"})
    assert _ends(asked, leaves) == ["interrupted"]
    assert _ends(asked, final, leaves) == ["complete"]
    assert _ends(leaves) == []


def _ends(*values: Any) -> list[str]:
    return [event.status for event in stored(*values) if isinstance(event, SessionEnd)]


def test_an_answer_that_is_written_again_under_another_id_counts_once() -> None:
    block = {"type": "text", "text": "Half a"}
    cut: dict[str, Any] = {"content": [block], "model": "m-1", "usage": USAGE, "stopReason": "length"}
    cut["responseId"] = "r-1"
    again = {**message("assistant", **cut, errorId=0), "id": "e-2"}
    events = stored(message("assistant", **cut), again)
    assert texts(events) == ["Half a"]
    assert len(usages(events)) == 1
    other = {**message("assistant", **cut, timestamp=1772359200501), "id": "e-2"}
    assert len(texts(stored(message("assistant", **cut), other))) == 2


def test_what_stands_outside_the_conversation_counts() -> None:
    events = stored(
        entry("model_change", model="p/vendor/m-1"),
        entry("model_change", model="p/small", role="smol"),
        entry("title_change", title="An orchard", source="auto"),
        entry("model_usage", purpose="title", model="small", usage=USAGE, stopReason="stop"),
        entry("reset_boundary"),
    )
    facts = [e for e in events if isinstance(e, SessionInfo)]
    assert [e.model for e in facts if e.model] == ["vendor/m-1"]
    assert [e.title for e in facts if e.title] == ["An orchard"]
    [usage] = usages(events)
    assert (usage.model, usage.input, usage.output, usage.cost_usd) == ("small", 137, 20, 0.25)
    assert [e.name for e in events if isinstance(e, Notification) and e.name != "branch"] == ["reset_boundary"]


def test_what_was_put_in_by_hand_is_injected() -> None:
    events = stored(
        message("developer", content=[{"type": "text", "text": "Go on."}]),
        message("pythonExecution", code="1+1", output="2", exitCode=0),
        message("fileMention", files=[{"path": "a.py", "content": "x = 1"}, {"path": "b", "skippedReason": "binary"}]),
    )
    told = [e for e in events if isinstance(e, UserText)]
    assert all(e.injected for e in told)
    assert [msgspec.json.decode(e.body) for e in told[1:]] == ["$1+1\n2\n(exit code 0)", "@a.py\nx = 1\n\n@b\nbinary"]


def test_a_prompt_that_no_person_wrote_is_injected() -> None:
    shown = message("user", content="### Session update", synthetic=True, attribution="agent")
    asked = message("user", content='says "synthetic":true', attribution="user")
    assert [e.injected for e in stored(shown, asked) if isinstance(e, UserText)] == [True, False]


def test_work_in_the_background_is_no_end() -> None:
    end: dict[str, Any] = {"type": "agent_end", "messages": [], "isTerminal": False}
    done: dict[str, Any] = {
        "role": "assistant",
        "content": [],
        "model": "m",
        "usage": USAGE,
        "stopReason": "stop",
        "timestamp": 1,
    }
    given: list[Any] = [HEADER, {"type": "advisor_cost_changed"}, {"type": "message_end", "message": done}]
    assert not [e for e in events_of(STREAM, lines(*given, end)) if isinstance(e, SessionEnd)]
    again = lines(*given, end, {**end, "isTerminal": True})
    assert [e.status for e in events_of(STREAM, again) if isinstance(e, SessionEnd)] == ["complete"]


def test_lines_of_its_own_are_told_or_named() -> None:
    batch = decoded(
        STREAM,
        lines(
            HEADER,
            {"type": "notice", "level": "warning", "message": "Slow down.", "source": "ttsr"},
            {"type": "todo_reminder", "todos": [], "attempt": 1, "maxAttempts": 3},
            {"type": "retry_fallback_applied", "from": "a", "to": "b", "role": "default"},
            {"type": "irc_message", "message": {"role": "custom"}},
            {"type": "tool_stream_update", "toolCallId": "c"},
            {"type": "brand_new"},
        ),
    )
    assert [(e.name, e.message, e.level) for e in batch.events if isinstance(e, Notification)] == [
        ("ttsr", "Slow down.", "warning"),
        ("todo_reminder", "attempt 1 of 3", "info"),
        ("retry_fallback_applied", "b", "warning"),
        ("irc_message", "", "info"),
    ]
    assert batch.ignored["tool_stream_update"] == 1
    assert batch.unknown == {"brand_new": 1}

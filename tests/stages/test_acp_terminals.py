"""ACP: what terminals say of a command, and what only version 2 of the protocol has."""

from base64 import b64encode
from typing import Any

from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    UserText,
)
from agentv_stages.providers.acp import PROVIDER, speaker
from agentv_stages.providers.acp.version2 import UPDATES
from support.decoding import best, calls, check_laws, decoded, dialect, head, lines, results

ACP = dialect(PROVIDER, "acp")
RPC = {"jsonrpc": "2.0"}
EMPTY: dict[str, Any] = {}
PROMPT = {**RPC, "id": 3, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "Go."}]}}
SHELL = {"toolCallId": "c1", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}}
SHOWN = [{"type": "terminal", "terminalId": "t1"}]


def update(kind: str, session: str = "s-1", /, **members: Any) -> dict[str, Any]:
    return {**RPC, "method": "session/update",
            "params": {"sessionId": session, "update": {"sessionUpdate": kind, **members}}}  # fmt: skip


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def to_agent(message: dict[str, Any]) -> dict[str, Any]:
    return {"dir": "c2a", "msg": {**RPC, **message}}


def of_agent(message: dict[str, Any]) -> dict[str, Any]:
    return {"dir": "a2c", "msg": {**RPC, **message}}


def events_of(*given: dict[str, Any]) -> list[AnyEvent]:
    records = lines(*given)
    check_laws(ACP, records)
    batch = decoded(ACP, records)
    assert not batch.unknown and not batch.faults
    return [e for e in batch.events if not isinstance(e, SessionInfo)]


def ended(*given: dict[str, Any]) -> tuple[Any, ...]:
    [one] = results(events_of(*given))
    return one.output, one.outcome, one.exit_code


def test_a_terminal_of_the_client_tells_how_its_command_ended() -> None:
    asked = {"id": 0, "method": "terminal/wait_for_exit", "params": {"sessionId": "s-1", "terminalId": "t1"}}
    printed = {"id": 1, "method": "terminal/output", "params": {"sessionId": "s-1", "terminalId": "t1"}}
    given = (
        to_agent({"id": 0, "method": "session/new", "params": {"cwd": "/w"}}),
        of_agent({"id": 0, "result": {"sessionId": "s-1"}}),
        of_agent(update("tool_call", **SHELL, status="in_progress", content=SHOWN)),
        of_agent(asked),
        to_agent({"id": 0, "result": {"exitCode": 2, "signal": None}}),
        of_agent(printed),
        to_agent({"id": 1, "result": {"output": "boom\n", "truncated": False}}),
        of_agent(update("tool_call_update", toolCallId="c1", status="completed")),
    )
    assert ended(*given) == ("boom\n", "error", 2)


def test_a_command_that_a_signal_ended_failed() -> None:
    given = (
        update("tool_call", **SHELL, content=SHOWN),
        {**RPC, "id": 7, "method": "terminal/wait_for_exit", "params": {"terminalId": "t1"}},
        {**RPC, "id": 7, "result": {"exitCode": None, "signal": "SIGKILL"}},
        update("tool_call_update", toolCallId="c1", status="completed"),
    )
    assert ended(*given) == (None, "error", None)


def test_adapters_put_the_end_of_a_command_beside_the_call() -> None:
    given = (
        update("tool_call", **SHELL, _meta={"terminal_info": {"terminal_id": "c1", "cwd": "/w"}}),
        update("tool_call_update", toolCallId="c1", _meta={"terminal_output": {"terminal_id": "c1", "data": "a\n"}}),
        update("tool_call_update", toolCallId="c1", _meta={"terminal_output": {"terminal_id": "c1", "data": "b\n"}}),
        update("tool_call_update", toolCallId="c1", status="completed",
               _meta={"terminal_exit": {"terminal_id": "c1", "exit_code": 1, "signal": None}}),
    )  # fmt: skip
    assert ended(*given) == ("a\nb\n", "error", 1)


def base64(said: str) -> str:
    return b64encode(said.encode()).decode()


def test_terminals_of_version_2() -> None:
    given = (
        update("tool_call_update", **SHELL, status="in_progress"),
        update("terminal_update", terminalId="t1", command="ls", cwd="/w"),
        update("tool_call_content_chunk", toolCallId="c1", content=SHOWN[0]),
        update("terminal_output_chunk", terminalId="t1", data=base64("first")),
        update("terminal_update", terminalId="t1", output={"data": base64("whole ")}),
        update("terminal_output_chunk", terminalId="t1", data=base64("rest")),
        update("terminal_update", terminalId="t1", exitStatus={"exitCode": 0}),
        update("tool_call_update", toolCallId="c1", status="completed"),
    )
    assert ended(*given) == ("whole rest", "ok", 0)


def test_pieces_of_a_calls_content_come_behind_it() -> None:
    def piece(said: str) -> dict[str, Any]:
        return {"type": "content", "content": text(said)}

    given = (
        update("tool_call_update", toolCallId="c1", title="Look", kind="read", content=[piece("a")]),
        update("tool_call_content_chunk", toolCallId="c1", content=piece("b")),
        update("tool_call_content_chunk", toolCallId="c1", content=piece("c")),
        update("tool_call_content_chunk", toolCallId="other", content=piece("lost")),
        update("tool_call_update", toolCallId="c1", status="completed"),
    )
    assert ended(*given)[0] == "abc"


def test_a_prompt_of_version_2_ends_when_the_session_is_idle() -> None:
    given = (
        {**RPC, "id": 1, "result": {"protocolVersion": 2, "info": {"name": "new-agent", "version": "3"}}},
        PROMPT,
        {**RPC, "id": 3, "result": EMPTY},
        update("state_update", state="running"),
        update("user_message", messageId="u", content=[text("Go.")]),
        update("agent_thought", messageId="t", content=[text("hm")]),
        update("agent_message_chunk", messageId="m", content=text("Do")),
        update("agent_message", messageId="m", content=[text("Done.")]),
        update("state_update", state="requires_action"),
        update("state_update", state="idle", stopReason="end_turn"),
    )  # fmt: skip
    events = events_of(*given)
    assert [(type(e), getattr(e, "text", "")) for e in events] == [
        (UserText, "Go."),
        (Reasoning, "hm"),
        (AssistantText, "Do"),
        (SessionEnd, ""),
    ]
    assert best(PROVIDER, lines(*given)) == ("acp", 1.0)
    infos = [e for e in decoded(ACP, lines(*given)).events if isinstance(e, SessionInfo)]
    assert [i.version for i in infos if i.version] == ["3"]
    copilot = {**RPC, "id": 1, "result": {"protocolVersion": 2, "info": {"name": "Copilot"}}}
    assert speaker(head(lines(copilot))) == "copilot"


def ends(*given: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events_of(PROMPT, *given) if isinstance(e, SessionEnd)]


def test_how_a_prompt_of_version_2_ends() -> None:
    assert ends(update("state_update", state="idle")) == []
    assert ends(update("state_update", state="idle", stopReason="cancelled")) == [("interrupted", "cancelled")]
    failed = update("state_update", state="idle", stopReason="end_turn", error={"code": 1, "message": "quota"})
    assert ends(failed) == [("error", "quota")]


def test_the_users_message_is_told_where_the_prompt_was_not_recorded() -> None:
    events = events_of(update("user_message", messageId="u", content=[text("Go.")]))
    assert [e.text for e in events if isinstance(e, UserText)] == ["Go."]


def test_a_child_session_has_a_stream_of_its_own() -> None:
    given = (
        update("subagent_update", sessionId="child", title="look", state="running"),
        update("agent_message_chunk", "child", content=text("below")),
        update("tool_call", "child", toolCallId="c9", title="read", kind="read", rawInput={"path": "x"}),
        update("agent_message_chunk", content=text("above")),
        update("subagent_update", sessionId="child", state="idle"),
    )
    events = events_of(*given)
    told = [(e.source.stream, e.text) for e in events if isinstance(e, AssistantText)]
    assert told == [("subagent:child", "below"), ("main", "above")]
    assert [c.source.stream for c in calls(events)] == ["subagent:child"]
    assert [e.message for e in events if isinstance(e, Notification)] == ["look"]


def test_what_is_replayed_when_a_session_is_loaded_is_not_counted_again() -> None:
    loading = {**RPC, "id": 1, "method": "session/load", "params": {"sessionId": "s-1", "cwd": "/w"}}
    replayed = (
        update("user_message_chunk", content=text("Before.")),
        update("agent_message_chunk", content=text("Old.")),
        update("tool_call", **SHELL, status="completed"),
        update("session_info_update", title="T"),
    )
    new = (PROMPT, update("agent_message_chunk", content=text("New.")))
    answers: list[Any] = [None, {"modes": None}]
    for answer in answers:
        events = events_of(loading, *replayed, {**RPC, "id": 1, "result": answer}, *new)
        assert [getattr(e, "text", "") for e in events] == ["Go.", "New."]
    failed = {**RPC, "id": 1, "error": {"code": 1, "message": "no such session"}}
    assert [e.text for e in events_of(loading, failed, *new) if isinstance(e, AssistantText)] == ["New."]
    titles = [e.title for e in decoded(ACP, lines(loading, *replayed)).events if isinstance(e, SessionInfo)]
    assert "T" in titles


def test_every_update_of_version_2_is_known() -> None:
    assert not decoded(ACP, lines(*(update(kind) for kind in sorted(UPDATES)))).unknown

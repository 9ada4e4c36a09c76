"""Logs of agents that are not read here are called by their names; noise before a first line is looked past."""

import json
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.foreign import OURS, foreign_agent
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import ToolCall
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers import all_providers, get_provider
from agentv_stages.session.detect import Detector, UnknownFormat, sure_dialect
from support.decoding import lines, records

AMP_INIT: dict[str, Any] = {
    "type": "system",
    "subtype": "init",
    "cwd": "/w",
    "session_id": "T-1f",
    "tools": [],
    "mcp_servers": [],
}
DROID: dict[str, Any] = {"type": "session_start", "id": "u", "title": "t", "owner": "o", "version": 2, "cwd": "/w"}
DROID_CALL: dict[str, Any] = {"type": "tool_call", "id": "c", "messageId": "m", "toolId": "LS", "parameters": {}}
DROID_RPC: dict[str, Any] = {"jsonrpc": "2.0", "factoryApiVersion": "1.0.0", "type": "notification", "params": {}}
CLINE_CONTEXT: dict[str, Any] = {"conversation_id": "1", "source_prefix_hash": "sha256:0", "messages": []}
GROK_CHAT: dict[str, Any] = {"type": "tool_result", "tool_call_id": "c", "content": "x"}
GROK_EVENT: dict[str, Any] = {"ts": "2026-03-02T09:30:00Z", "type": "turn_started", "session_relationship": "primary"}
GROK_SUMMARY: dict[str, Any] = {"text": "Done.", "stopReason": "end_turn", "sessionId": "s", "requestId": "r"}
PLAIN: dict[str, Any] = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (DROID_RPC, "a Droid JSON-RPC stream"),
        (CLINE_CONTEXT, "a compacted context of Cline"),
        (GROK_CHAT, "a chat history of Grok Build"),
        (GROK_EVENT, "a list of events of Grok Build"),
        (GROK_SUMMARY, "a summary of Grok Build"),
        (PLAIN, "a plain list of messages"),
        ({"type": "nobody knows"}, None),
        ({"schema_version": "agentv_stream.stats.v1"}, OURS),
    ],
)
def test_first_records_name_the_agent(line: dict[str, Any], name: str | None) -> None:
    assert foreign_agent([line]) == name


@pytest.mark.parametrize("odd", [{}, {"id": 1, "type": []}, {"type": "message", "message": {"content": [1]}}])
def test_odd_shapes_are_nobodys(odd: dict[str, Any]) -> None:
    assert foreign_agent([odd]) is None


def test_an_amp_stream_whose_messages_are_claudes_is_no_claude_stream() -> None:
    said: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    answer: dict[str, Any] = {"type": "assistant", "message": said, "parent_tool_use_id": None, "session_id": "T-1f"}
    detector = Detector()
    detector.push(Batch("log", records=lines(AMP_INIT, answer)))
    assert detector.finish()[1].name == "amp-stream"


def test_the_error_says_whose_log_it_is() -> None:
    detector = Detector()
    detector.push(Batch("x", records=lines(DROID_RPC)))
    with pytest.raises(UnknownFormat, match="a Droid JSON-RPC stream; not supported"):
        detector.finish()


def test_a_result_in_place_of_a_log_is_named_without_its_first_bytes() -> None:
    detector = Detector()
    detector.push(Batch("x", records=lines({"schema_version": "agentv_stream.result.v1", "session": {}})))
    with pytest.raises(UnknownFormat, match=r"^an output of agentv-stream, .*; give the log, or the transcript$"):
        detector.finish()


def test_a_line_that_many_agents_print_does_not_make_a_log_anothers() -> None:
    """The command line of Cline 2.x prints the lines of its extension, and an error as Codex does."""
    began, failed = {"type": "task_started", "taskId": "1"}, {"type": "error", "message": "too many mistakes"}
    task = [{"ts": 1795000000000 + i, "type": "say", "say": "text", "text": "x"} for i in range(6)]
    detector = Detector()
    assert detector.push(Batch("x", records=lines(began, *task, failed)))
    assert detector.finish()[1].name == "cline-task"
    detector = Detector()
    detector.push(Batch("x", records=lines(failed)))
    assert detector.finish()[1].name == "codex-exec"


def test_noise_of_a_wrapper_is_looked_past() -> None:
    detector = Detector()
    noise = b"".join(b"[log] step %d\n" % i for i in range(500))
    init = {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.0"}
    data = noise + b"[stdout] " + json.dumps(init).encode() + b"\n"
    assert detector.push(Batch("x", records=records(data)))
    assert detector.finish()[1].name == "claude-stream"


def test_another_agents_records_are_noticed_although_they_do_not_fit() -> None:
    copilot = next(d for d in get_provider("copilot").dialects if d.name == "copilot-stream")
    part = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "step-finish"}
    other = {"type": "step_finish", "timestamp": 1787392800000, "sessionID": "ses_1", "part": part}
    batch = Batch("x", records=records(json.dumps(other).encode()))
    Decode(copilot, DecodeContext("x"), sure_dialect).push(batch)
    assert "foreign-record" in [fault.reason for fault in batch.faults]


def test_an_unnamed_type_is_counted_under_a_name() -> None:
    batch = Batch("x")
    record = records(b"{}")[0]
    batch.unknown_type("", record)
    batch.unknown_type("item:", record)
    assert batch.unknown == {"(no type)": 1, "item:(no type)": 1}


def test_two_parts_welded_on_one_line_are_both_told() -> None:
    stream = next(d for d in get_provider("opencode").dialects if d.name == "opencode-stream")

    def call(name: str) -> bytes:
        state = {"status": "completed", "input": {"filePath": name}, "output": "x"}
        part = {"type": "tool", "tool": "read", "callID": name, "messageID": "msg_1", "id": name, "state": state}
        return json.dumps({"type": "tool_use", "timestamp": 1, "sessionID": "ses_1", "part": part}).encode()

    batch = Batch("x", records=records(call("a.py") + call("b.py")))
    decode = Decode(stream, DecodeContext("x"), sure_dialect)
    decode.push(batch)
    events = [*batch.events, *(event for rest in decode.flush() for event in rest.events)]
    assert [event.call_id for event in events if isinstance(event, ToolCall)] == ["a.py", "b.py"]


def claude_line(session: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"parentUuid": parent, "isSidechain": False, "type": "user", "sessionId": session, **more}
    return {**line, "uuid": f"u-{session}", "message": {"role": "user", "content": "hi"}}


COPILOT = {"type": "session.start", "id": "e", "timestamp": "2026-01-01T00:00:00Z"}
META = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta"}
TURN = {"timestamp": "2026-01-01T00:00:00Z", "type": "turn_context", "payload": {"model": "m"}}
PI = {"type": "session", "version": 3, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
STEP = {"type": "step_finish", "timestamp": 1.0}
HEADERS: dict[str, tuple[Any, ...]] = {
    "claude-stream": ({"type": "system", "subtype": "init", "session_id": "S"},),
    "claude-session": (claude_line("S"),),
    "codex-exec": ({"type": "thread.started", "thread_id": "S"},),
    "codex-app-server": ({"method": "thread/started", "params": {"thread": {"id": "S"}}},),
    "codex-rollout": ({**META, "payload": {"id": "S"}}, TURN),
    "codex-rollout-old": ({"id": "S", "timestamp": "2025-01-01T00:00:00Z", "instructions": None},),
    "codex-exec-old": ({"id": "", "msg": {"type": "session_configured", "session_id": "S", "model": "m"}},),
    "copilot-session": ({**COPILOT, "data": {"sessionId": "S"}},),
    "copilot-stream": ({"type": "result", "sessionId": "S", "exitCode": 0, "usage": {}},),
    "acp": ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "S"}},),
    "gemini-stream": ({"type": "init", "session_id": "S", "model": "m", "timestamp": "2026-01-01T00:00:00Z"},),
    "gemini-chat": ({"sessionId": "S", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"},),
    "qwen-stream": ({"type": "system", "subtype": "init", "session_id": "S", "qwen_code_version": "1"},),
    "qwen-session": ({"uuid": "u", "sessionId": "S", "type": "user", "message": {"parts": [{"text": "a"}]}},),
    "pi-stream": ({**PI, "id": "S"},),
    "pi-session": ({**PI, "id": "S"},),
    "opencode-stream": (
        {**STEP, "sessionID": "S", "part": {"type": "step-finish", "reason": "stop", "messageID": "mS"}},
    ),
    "kimi-stream": ({"role": "meta", "type": "session.resume_hint", "session_id": "S"},),
    "cline-stream": ({"ts": "2026-01-01T00:00:00Z", "type": "run_start", "providerId": "p", "sessionId": "S"},),
    "cursor-stream": ({"type": "system", "subtype": "init", "session_id": "S", "apiKeySource": "env"},),
}


@pytest.mark.parametrize("name", HEADERS)
def test_another_session_in_the_log_of_one_is_noticed(name: str) -> None:
    dialect = next(d for p in all_providers() for d in p.dialects if d.name == name)

    def faults(*sessions: str) -> list[str]:
        told = [
            line for session in sessions for line in json.loads(json.dumps(HEADERS[name]).replace('S"', f'{session}"'))
        ]
        batch = Batch("x", records=lines(*told))
        Decode(dialect, DecodeContext("x"), sure_dialect).push(batch)
        return [fault.detail for fault in batch.faults if fault.reason == "foreign-record"]

    assert faults("one", "one") == []
    assert "session two begins in the log of session one" in faults("one", "two")


def test_a_session_that_goes_on_is_no_other() -> None:
    """History that a resumed Claude session copied, a compaction, a sub-agent; a reset in a stream."""
    disk, live = get_provider("claude").dialects[1], get_provider("claude").dialects[0]
    begun = [claude_line("one"), claude_line("two", "u-one")]
    compacted = claude_line("two", logicalParentUuid="u-two")
    batch = Batch("x", records=lines(*begun, compacted, {**claude_line("three"), "isSidechain": True, "agentId": "a"}))
    Decode(disk, DecodeContext("x"), sure_dialect).push(batch)
    assert batch.faults == []
    reset = [{"type": "system", "subtype": "init", "session_id": "one"}, {"type": "conversation_reset"}]
    batch = Batch("x", records=lines(*reset, {"type": "system", "subtype": "init", "session_id": "two"}))
    Decode(live, DecodeContext("x"), sure_dialect).push(batch)
    assert batch.faults == []


def test_an_update_of_a_later_version_in_one_form_of_acp_is_not_another_forms() -> None:
    copilot = next(d for p in all_providers() for d in p.dialects if d.name == "copilot-acp")
    params = {"sessionId": "s-1", "update": {"sessionUpdate": "later"}}
    batch = Batch("x", records=lines({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    Decode(copilot, DecodeContext("x"), sure_dialect).push(batch)
    assert (list(batch.unknown.values()), batch.faults) == ([1], [])


def test_a_new_kind_of_update_of_the_same_protocol_is_not_foreign() -> None:
    """Grok speaks ACP; an update that neither decoder knows was called another agent's."""
    grok = next(d for d in get_provider("grok").dialects if d.name == "grok-acp")
    update = {"sessionId": "s", "update": {"sessionUpdate": "brand_new"}}
    batch = Batch("x", records=lines({"jsonrpc": "2.0", "method": "session/update", "params": update}))
    Decode(grok, DecodeContext("x"), sure_dialect).push(batch)
    assert (batch.faults, batch.unknown) == ([], {"brand_new": 1})

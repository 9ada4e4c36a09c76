"""Adapters: one provider's discovery, decoders and tool mapper behind one object."""

from typing import Any

import pytest

from agentv_stages.model.event import AssistantText, ToolCall
from agentv_stages.model.tool_payload import Execute, FileRead, Mcp
from agentv_stages.providers import NAMES
from agentv_stream.api.adapter import create_adapter, decode_record
from agentv_stream.errors import UsageError

CLAUDE_RECORD = (
    b'{"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","model":"x","content":'
    b'[{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]},'
    b'"session_id":"s"}'
)


@pytest.mark.parametrize("name", NAMES)
def test_every_provider_has_an_adapter(name: str) -> None:
    adapter = create_adapter(name)
    assert adapter.name == name
    assert list(adapter.decoders) == [dialect.name for dialect in adapter.provider.dialects]
    assert set(adapter.probe([{}]).values()) == {0.0}
    assert adapter.decode_record(b"{") == []


@pytest.mark.parametrize("name", ["claude-cli", "claude_code", "codex-sdk", "copilot-events"])
def test_aliases_make_adapters(name: str) -> None:
    assert name in create_adapter(name).provider.aliases


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"no provider is called '\\x1b\[0m"):
        create_adapter("\x1b[0m")


def test_bytes_of_any_kind_are_a_record_and_nothing_else_is() -> None:
    wanted = decode_record("claude", CLAUDE_RECORD)
    for record in (bytearray(CLAUDE_RECORD), memoryview(CLAUDE_RECORD), CLAUDE_RECORD.decode()):
        assert decode_record("claude", record) == wanted
    mistakes: list[Any] = [None, {"type": "user"}, 3]
    for mistake in mistakes:
        with pytest.raises(TypeError):
            decode_record("claude", mistake)
        with pytest.raises(UsageError):
            create_adapter(mistake)


@pytest.mark.parametrize(
    ("provider", "name", "expected"),
    [
        ("claude", "Glob", ("system", "search")),
        ("claude", "TaskCreate", ("system", "plan")),
        ("claude", "AskUserQuestion", ("system", "ask")),
        ("claude", "Skill", ("system", "execute")),
        ("claude", "KillShell", ("system", "execute")),
        ("claude", "mcp__a__b", ("mcp", "other")),
        ("codex", "apply_patch", ("system", "write")),
        ("codex", "shell", ("system", "execute")),
        ("codex", "read_mcp_resource", ("system", "read")),
        ("codex", "update_plan", ("system", "plan")),
        ("gemini", "write_todos", ("system", "plan")),
        ("gemini", "google_web_search", ("system", "search")),
        ("gemini", "custom_tool", ("system", "other")),
    ],
)
def test_names_are_classified(provider: str, name: str, expected: tuple[str, str]) -> None:
    assert create_adapter(provider).classify(name) == expected


def test_calls_are_normalised_with_their_payload() -> None:
    codex = create_adapter("codex")
    call = codex.normalize_call("exec_command", {"cmd": "cat a.py"}, "call_1")
    assert (call.tool, call.kind, call.files, call.call_id) == ("Read", "read", ("a.py",), "call_1")
    assert call.payload == FileRead("a.py", extra={"command": "cat a.py"})
    assert codex.normalize_call("exec_command", {"cmd": "make"}).payload == Execute("make")
    mcp = create_adapter("gemini").normalize_call("mcp_demo_lookup", {"key": 1})
    assert (mcp.tool, mcp.server, mcp.payload) == ("mcp__demo__lookup", "demo", Mcp("demo", "lookup", extra={"key": 1}))
    assert create_adapter("pi").normalize_call("read").input == {}
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for wrong in (endless, {"value": object()}):
        with pytest.raises(TypeError):
            codex.normalize_call("exec_command", wrong)


def test_a_single_record_gives_its_events_normalised() -> None:
    events = decode_record("claude", CLAUDE_RECORD + b"\n")
    assert [type(event) for event in events if isinstance(event, (AssistantText, ToolCall))] == [
        AssistantText,
        ToolCall,
    ]
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert (calls[0].tool, calls[0].files) == ("Read", ("/a",))


def test_a_dialect_can_be_named() -> None:
    adapter = create_adapter("claude")
    name = next(iter(adapter.decoders))
    assert adapter.decode_record(CLAUDE_RECORD, name)
    with pytest.raises(UsageError, match="has no dialect"):
        adapter.decode_record(CLAUDE_RECORD, "odd")


@pytest.mark.parametrize(
    ("kind", "args", "line"),
    [
        ("execute", {"command": "make test"}, "make test"),
        ("execute", {"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ("execute", {"cmd": "a\nb\x1b[31m"}, "a⏎b\\x1b[31m"),
        ("read", {"file_path": "/a"}, "/a"),
        ("write", {"path": None, "uri": "u"}, "u"),
        ("search", {"query": "x"}, "x"),
        ("plan", {"todos": [{"content": "one"}, {"content": "two"}]}, "one (+1 more)"),
        ("ask", {"questions": [{"question": "Why?", "header": "Reason"}]}, "Reason"),
        ("other", {"a": 1}, "(args...)"),
        ("read", {"path": 5}, "(args...)"),
        ("read", [], "(args...)"),
        ("write", "*** Begin\nPatch", "*** Begin Patch"),
        ("execute", None, "(args...)"),
    ],
)
def test_arguments_are_summed_up_in_one_line(kind: str, args: Any, line: str) -> None:
    assert create_adapter("claude").summarize(kind, args) == line


def test_summaries_are_short_whatever_the_text() -> None:
    for text in ("x" * 10_000, "日本語" * 1_000, "\u202e" * 500, "👩‍👩‍👧" * 200):
        assert len(create_adapter("claude").summarize("execute", {"command": text})) <= 80


def test_a_record_may_be_text() -> None:
    assert decode_record("claude", CLAUDE_RECORD.decode()) == decode_record("claude", CLAUDE_RECORD)
    assert decode_record("claude", "{") == decode_record("claude", "\udc80") == []

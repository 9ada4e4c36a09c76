"""Typed payloads: strict where the arguments fit, generic where they do not, the same after reading them back."""

from typing import Any

import pytest
from msgspec import Raw

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import Source, ToolCall
from agentv_stages.model.payload import to_raw
from agentv_stages.model.tool_payload import (
    AnyPayload,
    Execute,
    FileEdit,
    FileRead,
    FileWrite,
    Generic,
    Mcp,
    Search,
    decode_payload,
    encode_payload,
    payload_of,
)
from support.tool_tables import TABLES

ADD = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"
TWO = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"


def payload(provider: str, name: str, arguments: Any) -> AnyPayload:
    call = ToolCall(Source("log", 0, 0, 1), "", "m", "c", name, to_raw(arguments))
    return payload_of(Normalize(TABLES[provider]).call(call))


CASES: list[tuple[str, str, Any, AnyPayload]] = [
    ("claude", "Read", {"file_path": "a", "offset": 3, "pages": "1"}, FileRead("a", 3, extra={"pages": "1"})),
    ("claude", "Read", {"offset": 3}, Generic({"offset": 3})),
    ("claude", "Read", {"file_path": "a", "offset": -1}, Generic({"file_path": "a", "offset": -1})),
    ("claude", "Read", {"file_path": 5}, Generic({"file_path": 5})),
    ("claude", "Bash", {"command": "ls", "timeout": 5, "description": "List"}, Execute("ls", "List", 5)),
    ("claude", "Bash", {"command": "ls", "timeout": "5"}, Generic({"command": "ls", "timeout": "5"})),
    ("claude", "Bash", {"command": "x", "run_in_background": True}, Execute("x", extra={"run_in_background": True})),
    ("claude", "Bash", {}, Execute()),
    ("claude", "Glob", {"pattern": "*.py"}, Search("*.py")),
    ("claude", "Grep", {"pattern": "x", "path": "s", "-n": True}, Search("x", None, "s", extra={"-n": True})),
    ("claude", "Grep", {}, Generic({})),
    ("claude", "WebFetch", {"url": "http://x", "prompt": "p"}, Search(None, "http://x", extra={"prompt": "p"})),
    ("claude", "Write", {"file_path": "a", "content": "x"}, FileWrite("a", "x")),
    ("claude", "TodoWrite", {"todos": []}, Generic({"todos": []})),
    ("claude", "mcp__fs__read", {"path": "/x"}, Mcp("fs", "read", extra={"path": "/x"})),
    ("claude", "mcp__only", {}, Mcp()),
    ("claude", "mcp__fs__read", [1], Generic([1])),
    ("copilot", "edit", {"path": "a", "old_str": "x", "new_str": "y"}, FileEdit("a", "x", "y")),
    ("pi", "read", {"path": "a"}, FileRead("a")),
    ("opencode", "edit", {"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": True},
     FileEdit("a", "x", "y", True)),
    ("gemini", "replace", {"file_path": "a", "old_string": "x", "new_string": "y", "instruction": "i"},
     FileEdit("a", "x", "y", extra={"instruction": "i"})),
    ("gemini", "list_directory", {"dir_path": "src"}, FileRead("src")),
    ("codex", "exec_command", {"cmd": "cat a", "workdir": "/w"}, FileRead("a", extra={"command": "cat a"})),
    ("codex", "exec_command", {"cmd": "rg foo"}, Search("foo", extra={"command": "rg foo"})),
    ("codex", "exec_command", {"cmd": "make", "workdir": "/w"}, Execute("make", extra={"workdir": "/w"})),
    ("codex", "shell", {"command": ["bash", "-lc", "make"], "timeout_ms": 9}, Execute("make", None, 9)),
    ("codex", "apply_patch", ADD, FileWrite("a.py", ADD)),
    ("codex", "apply_patch", {"input": TWO}, FileEdit("a.py", "", TWO, extra={"files": ["a.py", "b.py"]})),
    ("codex", "apply_patch", "nonsense", Generic("nonsense")),
    ("codex", "update_plan", {"plan": []}, Generic({"plan": []})),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "name", "arguments", "expected"), CASES)
def test_arguments_become_the_typed_payload_or_stay_generic(
    provider: str, name: str, arguments: Any, expected: AnyPayload
) -> None:
    found = payload(provider, name, arguments)
    assert found == expected
    assert decode_payload(encode_payload(found)) == found


def test_a_patch_through_the_shell_is_an_edit_of_its_first_file() -> None:
    found = payload("codex", "exec_command", {"cmd": f"apply_patch <<'X'\n{TWO}\nX"})
    assert isinstance(found, FileEdit) and found.file_path == "a.py"


@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"[" * 5_000])
def test_inputs_that_are_no_objects_are_generic(raw: bytes) -> None:
    call = ToolCall(Source("log", 0, 0, 1), "", "m", "c", "Read", Raw(raw))
    assert payload_of(Normalize(TABLES["claude"]).call(call)) == Generic(None)

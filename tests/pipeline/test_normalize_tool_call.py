"""AgentV's own cases for its `normalizeToolCall`, and its edge cases; where ours goes on, the case says so."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Struct

from agentv_stream.adapter import normalize_tool_call

CLAUDE = ("claude-cli", "claude-sdk")
COPILOT = ("copilot-cli", "copilot-sdk", "copilot-events", "vscode", "vscode-insiders")
PI = ("pi-coding-agent", "pi-cli")

Case = tuple[str, str, Any, str, Any]


def _for(kinds: tuple[str, ...], name: str, given: Any, tool: str, expected: Any) -> list[Case]:
    return [(kind, name, given, tool, expected) for kind in kinds]


FOO = {"file_path": "/foo.ts"}
AGENTV: list[Case] = [
    *_for(CLAUDE, "Skill", {"skill": "my-skill"}, "Skill", {"skill": "my-skill"}),
    *_for(CLAUDE, "Read", FOO, "Read", FOO),
    *_for(CLAUDE, "Write", FOO, "Write", FOO),
    *_for(CLAUDE, "Edit", FOO, "Edit", FOO),
    *_for(CLAUDE, "Bash", {"command": "ls"}, "Bash", {"command": "ls"}),
    *_for(COPILOT, "skill", {"skill": "my-skill"}, "Skill", {"skill": "my-skill"}),
    *(case for name in ("Read File", "readFile", "readTextFile") for case in _for(COPILOT, name, FOO, "Read", FOO)),
    *(case for name in ("writeTextFile", "Write File") for case in _for(COPILOT, name, FOO, "Write", FOO)),
    *(case for name in ("editFile", "Edit File") for case in _for(COPILOT, name, FOO, "Edit", FOO)),
    *_for(COPILOT, "runTerminalCommand", {"command": "ls"}, "Bash", {"command": "ls"}),
    *_for(COPILOT, "Using skill: my-skill", {}, "Skill", {"skill": "my-skill"}),
    # AgentV does not look at the input here; ours moves the path into it
    *_for(COPILOT, "Viewing /foo/bar.ts", {}, "Read", {"file_path": "/foo/bar.ts"}),
    # the one deviation: AgentV says Bash for every command; Codex has no other way to read a file
    ("codex-cli", "command_execution", {"command": "cat file"}, "Read", {"command": "cat file", "file_path": "file"}),
    ("codex-cli", "command_execution", {"command": "make"}, "Bash", {"command": "make"}),
    ("codex-cli", "file_change", {"changes": []}, "Edit", {"changes": []}),
    ("codex-cli", "mcp:my-server/my-skill", {}, "Skill", {"skill": "my-server/my-skill"}),
    *_for(PI, "read", {"path": "/foo.ts"}, "Read", {"path": "/foo.ts", "file_path": "/foo.ts"}),
    ("claude-sdk", "Read", {"path": "/foo.ts"}, "Read", {"path": "/foo.ts", "file_path": "/foo.ts"}),
    ("copilot-cli", "Read", {"filePath": "/bar.ts"}, "Read", {"filePath": "/bar.ts", "file_path": "/bar.ts"}),
    ("claude", "Read", {"file_path": "/o", "path": "/p"}, "Read", {"file_path": "/o", "path": "/p"}),
    ("copilot-cli", "custom_search", {"query": "foo"}, "custom_search", {"query": "foo"}),
    ("openai", "Read File", FOO, "Read File", FOO),
]

EDGES: list[Case] = [
    ("copilot-cli", "Using skill: ", None, "Skill", None),
    # AgentV overwrites; ours only adds keys
    ("copilot-cli", "Using skill: x", {"skill": "y", "a": 1}, "Skill", {"skill": "y", "a": 1}),
    # AgentV spreads strings and arrays into objects; ours leaves what is no object
    ("copilot-cli", "Using skill: x", "str", "Skill", "str"),
    ("copilot-cli", "Using skill: x", [1, 2], "Skill", [1, 2]),
    ("copilot-cli", "Using skill: x", None, "Skill", {"skill": "x"}),
    ("copilot-cli", "using skill: x", {}, "using skill: x", {}),
    ("copilot-cli", "Viewing /a/b.ts", {}, "Read", {"file_path": "/a/b.ts"}),
    ("copilot-cli", "Viewing /a/b.ts", {"path": "/a/b.ts"}, "Read", {"path": "/a/b.ts", "file_path": "/a/b.ts"}),
    ("copilot-cli", "Viewing", {}, "Viewing", {}),
    ("copilot-cli", "Read", {"path": None}, "Read", {"path": None, "file_path": None}),
    ("copilot-cli", "Read", {"file_path": None, "path": "/p"}, "Read", {"file_path": None, "path": "/p"}),
    (
        "copilot-cli",
        "Read",
        {"path": "/p", "filePath": "/q"},
        "Read",
        {"path": "/p", "filePath": "/q", "file_path": "/p"},
    ),
    ("copilot-cli", "writeTextFile", {"path": "/p"}, "Write", {"path": "/p"}),
    ("copilot-cli", "read_file", {}, "read_file", {}),
    ("copilot-cli", " readFile", {}, " readFile", {}),
    ("codex-cli", "mcp:", {}, "Skill", {}),
    ("codex-cli", "mcp:srv/t", {"q": 1}, "Skill", {"q": 1, "skill": "srv/t"}),
    ("codex-cli", "mcp__srv__t", {}, "mcp__srv__t", {}),
    ("codex-cli", "Read", {"path": "/p"}, "Read", {"path": "/p"}),
    ("codex-sdk", "file_change", [{"path": "a", "kind": "update"}], "Edit", [{"path": "a", "kind": "update"}]),
    ("pi-cli", "Read", {"path": "/p"}, "Read", {"path": "/p"}),
    ("claude-cli", "read", {}, "read", {}),
    ("claude-cli", "mcp__github__get", {}, "mcp__github__get", {}),
    # names that AgentV's tables lack
    ("copilot-cli", "bash", {"command": "ls"}, "Bash", {"command": "ls"}),
    ("copilot-cli", "view", {"path": "/p"}, "Read", {"path": "/p", "file_path": "/p"}),
    ("codex-cli", "exec_command", {"cmd": "make"}, "Bash", {"cmd": "make"}),
    ("codex-cli", "apply_patch", "*** Begin Patch", "Edit", "*** Begin Patch"),
    ("codex", "command_execution", {"command": "make"}, "Bash", {"command": "make"}),
    ("pi-cli", "write", {"path": "/p"}, "Write", {"path": "/p"}),
    ("vscode", "run_in_terminal", {"command": "ls"}, "Bash", {"command": "ls"}),
]


@pytest.mark.parametrize(("kind", "name", "given", "tool", "expected"), [*AGENTV, *EDGES])
def test_calls_are_normalised_as_agentv_does(kind: str, name: str, given: Any, tool: str, expected: Any) -> None:
    call = {"tool": name} if given is None else {"tool": name, "input": given}
    done = normalize_tool_call(kind, call)
    assert done["tool"] == tool
    assert done.get("input") == expected
    assert ("input" in done) == (expected is not None)
    assert call["tool"] == name


def test_all_other_members_stay() -> None:
    rest = {"output": "x", "id": "1", "startTime": "s", "endTime": "e", "durationMs": 3}
    done = normalize_tool_call("copilot-cli", {"tool": "readFile", "input": FOO, **rest})
    assert done == {"tool": "Read", "input": FOO, **rest}


def test_the_given_call_and_its_input_are_not_changed() -> None:
    given = {"path": "/a"}
    call = {"tool": "read", "input": given}
    done = normalize_tool_call("pi-cli", call)
    assert given == {"path": "/a"} and call == {"tool": "read", "input": {"path": "/a"}}
    assert done["input"] == {"path": "/a", "file_path": "/a"}


@dataclass
class DataCall:
    tool: str
    input: Any


class StructCall(Struct):
    tool: str
    input: Any


class PlainCall:
    def __init__(self) -> None:
        self.name = "read"
        self.input = {"path": "/a"}


@pytest.mark.parametrize("call", [DataCall("read", {"path": "/a"}), StructCall("read", {"path": "/a"}), PlainCall()])
def test_objects_are_calls_too(call: Any) -> None:
    done = normalize_tool_call("pi-cli", call)
    assert done.get("tool", done.get("name")) == "Read"
    assert done["input"] == {"path": "/a", "file_path": "/a"}


@pytest.mark.parametrize("call", [{}, {"tool": 5}, {"input": {}}, {"tool": "Read", "input": {"path": object}}])
def test_what_is_no_call_comes_back_as_it_is(call: dict[str, Any]) -> None:
    assert normalize_tool_call("claude-cli", call) == call

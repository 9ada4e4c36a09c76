"""AgentV's own cases for its `normalizeToolCall`, and its edge cases; where ours goes on, the case says so."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import Struct

from agentv_stream.api.adapter import normalize_tool_call

Case = tuple[str, str, Any, str, Any]

FIXTURE = Path(__file__).parent / "recorded" / "agentv_normalization.jsonl"
GROUPS = {"claude": 15, "copilot": 55, "codex": 3, "pi": 4, "input": 3, "pass-through": 2, "members": 1}


class Recorded(Struct):
    """One of AgentV's cases, with the answer of its own `normalizeToolCall`; `checked` is what the case looks at."""

    version: str
    group: str
    kind: str
    call: dict[str, Any]
    checked: tuple[str, ...]
    answer: dict[str, Any]

    def difference(self) -> str:
        """What ours says otherwise in the members that AgentV's case looks at; empty where nothing."""
        ours = normalize_tool_call(self.kind, self.call)
        return "; ".join(
            f"{path}: {_member(self.answer, path)} there, {_member(ours, path)} here"
            for path in self.checked
            if _member(ours, path) != _member(self.answer, path)
        )


def _member(call: Mapping[str, Any], path: str) -> Any:
    value: Any = call
    for step in path.split("."):
        value = value[step]
    return value


RECORDED = [msgspec.json.decode(line, type=Recorded) for line in FIXTURE.read_bytes().splitlines()]


def test_agentvs_cases_are_all_here() -> None:
    """15 + 55 + 3 + 4 + 3 + 2 + 1 = 83."""
    assert {one.version for one in RECORDED} == {"4.42.4"}
    assert dict(Counter(one.group for one in RECORDED)) == GROUPS
    assert len(RECORDED) == 83


def test_82_of_agentvs_83_cases_hold_and_one_deviates() -> None:
    """Codex has no tool of its own for reading: a shell call that reads is its `Read`, as every other agent's read."""
    deviations = {(one.kind, one.call["tool"], one.difference()) for one in RECORDED if one.difference()}
    assert deviations == {("codex", "command_execution", "tool: Bash there, Read here")}
    assert sum(not one.difference() for one in RECORDED) == 82


def test_beyond_the_deviation_ours_only_adds_the_path_of_viewing() -> None:
    """In whole answers, members that AgentV's cases do not look at included: it leaves the path in the name."""
    others = [one for one in RECORDED if normalize_tool_call(one.kind, one.call) != one.answer]
    added = [one for one in others if one.kind != "codex"]
    assert len(others) == 6 and len(added) == 5
    for one in added:
        assert one.call["tool"] == "Viewing /foo/bar.ts"
        assert one.answer == {"tool": "Read", "input": {}}
        assert normalize_tool_call(one.kind, one.call) == {"tool": "Read", "input": {"file_path": "/foo/bar.ts"}}


NEWER = {"copilot-log": ("copilot-events",), "codex": ("codex-cli", "codex-sdk", "codex-app-server")}
"""Provider kinds that AgentV renamed or added later -> what they are called now; its cases stay."""


@pytest.mark.parametrize("one", [one for one in RECORDED if one.kind in NEWER], ids=lambda one: one.call["tool"])
def test_later_names_of_a_kind_mean_the_same(one: Recorded) -> None:
    for kind in NEWER[one.kind]:
        assert normalize_tool_call(kind, one.call) == normalize_tool_call(one.kind, one.call)


FOO = {"file_path": "/foo.ts"}
EDGES: list[Case] = [
    ("codex-cli", "command_execution", {"command": "make"}, "Bash", {"command": "make"}),
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


@pytest.mark.parametrize(("kind", "name", "given", "tool", "expected"), EDGES)
def test_edge_cases_are_decided(kind: str, name: str, given: Any, tool: str, expected: Any) -> None:
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


class Slotted:
    """An object without a `__dict__`."""

    __slots__ = ("input", "tool")

    def __init__(self) -> None:
        self.tool, self.input = "view", {"path": "a.py"}


class Named(NamedTuple):
    """A call as a named tuple."""

    tool: str
    input: Mapping[str, str]


@pytest.mark.parametrize("call", [Slotted(), Named("view", MappingProxyType({"path": "a.py"}))])
def test_any_object_with_attributes_and_any_mapping_will_do(call: object) -> None:
    """`vars()` knows neither slots nor named tuples; a mapping that is no dict got no key."""
    done = normalize_tool_call("copilot", call)
    assert done == {"tool": "Read", "input": {"path": "a.py", "file_path": "a.py"}}


@pytest.mark.parametrize("call", [None, 3, "view", ("view", {})])
def test_what_has_no_members_is_no_call(call: object) -> None:
    with pytest.raises(
        TypeError, match=f"a tool call is a mapping or an object with attributes, not {type(call).__name__}"
    ):
        normalize_tool_call("copilot", call)

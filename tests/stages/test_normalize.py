"""The stage that applies the tables: names, kinds, files, keys that are added, inputs of any shape."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source, ToolCall, UserText
from agentv_stages.model.payload import to_raw
from agentv_stages.providers import NAMES
from support.tool_tables import TABLES

SOURCE = Source("log", 3, 40, 9, 1_000)
STAGES = {name: Normalize(TABLES[name]) for name in NAMES}
PATCH = (
    "*** Begin Patch\n*** Add File: a.txt\n+x\n"
    "*** Update File: b.txt\n@@\n-x\n+y\n*** Delete File: c.txt\n*** End Patch"
)
ADD = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"


def call_of(name: str, arguments: Any = None, raw: bytes | None = None) -> ToolCall:
    return ToolCall(SOURCE, "-0", "m1", "c1", name, Raw(raw) if raw is not None else to_raw(arguments))


def normal(provider: str, name: str, arguments: Any = None) -> ToolCall:
    return STAGES[provider].call(call_of(name, arguments))


EVERY: list[tuple[str, str, Any, str, str, tuple[str, ...], bool]] = [
    ("acp", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "Edit", "write", ("/a",), True),
    ("acp", "Agent", {"description": "d", "prompt": "p"}, "Task", "plan", (), False),
    ("acp", "Bash", {"command": "rm a"}, "Bash", "write", ("a",), False),
    ("pi", "WebFetch", {"url": "https://a"}, "WebFetch", "search", (), False),
    ("pi", "apply_patch", {"input": PATCH}, "Edit", "write", ("a.txt", "b.txt", "c.txt"), True),
    ("gemini", "apply_patch", {"patch": ADD}, "Write", "write", ("a.txt",), True),
    ("claude", "Read", {"file_path": "/a"}, "Read", "read", ("/a",), False),
    ("claude", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "Edit", "write", ("/a",), True),
    ("claude", "MultiEdit", {"file_path": "/a", "edits": []}, "MultiEdit", "write", ("/a",), True),
    ("claude", "NotebookEdit", {"notebook_path": "/a.ipynb"}, "NotebookEdit", "write", ("/a.ipynb",), True),
    ("claude", "Agent", {"prompt": "x"}, "Task", "plan", (), False),
    ("claude", "Grep", {"pattern": "x", "path": "/a"}, "Grep", "search", (), False),
    ("claude", "AskUserQuestion", {"questions": []}, "AskUserQuestion", "ask", (), False),
    ("claude", "TodoWrite", {"todos": []}, "TodoWrite", "plan", (), False),
    ("claude", "BashOutput", {"bash_id": "1"}, "BashOutput", "execute", (), False),
    ("copilot", "view", {"path": "/a"}, "Read", "read", ("/a",), False),
    ("copilot", "create", {"path": "/a", "file_text": "x"}, "Write", "write", ("/a",), True),
    ("copilot", "edit", {"path": "/a", "old_str": "x"}, "Edit", "write", ("/a",), True),
    ("copilot", "str_replace_editor", {"command": "view", "path": "/a"}, "Read", "read", ("/a",), False),
    ("copilot", "str_replace_editor", {"command": "create", "path": "/a"}, "Write", "write", ("/a",), True),
    ("copilot", "str_replace_editor", {"command": "odd", "path": "/a"}, "Edit", "write", ("/a",), True),
    ("copilot", "str_replace_editor", {"command": "view"}, "Read", "read", (), False),
    ("copilot", "Viewing /a b.ts", {}, "Read", "read", ("/a b.ts",), False),
    ("copilot", "Viewing /a b.ts", None, "Read", "read", ("/a b.ts",), False),
    ("copilot", "Using skill: fix", {}, "Skill", "execute", (), False),
    ("copilot", "apply_patch", PATCH, "Edit", "write", ("a.txt", "b.txt", "c.txt"), True),
    ("gemini", "replace", {"file_path": "/a", "old_string": "x"}, "Edit", "write", ("/a",), True),
    ("gemini", "read_file", {"absolute_path": "/a"}, "Read", "read", ("/a",), False),
    ("gemini", "read_many_files", {"include": ["a", "b"]}, "Read", "read", ("a", "b"), False),
    ("gemini", "read_many_files", {"include": ["a", 5, {"x": 1}]}, "Read", "read", ("a",), False),
    ("gemini", "invoke_agent", {"agent_name": "x"}, "Task", "plan", (), False),
    ("qwen", "agent", {"prompt": "x"}, "Task", "plan", (), False),
    ("pi", "write", {"path": "/a", "content": "x"}, "Write", "write", ("/a",), True),
    ("pi", "find", {"pattern": "*.py"}, "Glob", "search", (), False),
    ("opencode", "edit", {"filePath": "/a"}, "Edit", "write", ("/a",), True),
    ("opencode", "apply_patch", {"patchText": ADD}, "Write", "write", ("a.txt",), True),
    ("cursor", "editToolCall", {"path": "/a"}, "Edit", "write", ("/a",), True),
    ("cursor", "deleteToolCall", {"path": "/a"}, "Delete", "write", ("/a",), False),
    ("vscode", "copilot_readFile", {"filePath": "/a"}, "Read", "read", ("/a",), False),
    (
        "vscode",
        "copilot_multiReplaceString",
        {"replacements": [{"filePath": "a"}, {"filePath": "b"}, {"filePath": "a"}]},
        "MultiEdit",
        "write",
        ("a", "b"),
        True,
    ),
    ("codex", "apply_patch", PATCH, "Edit", "write", ("a.txt", "b.txt", "c.txt"), True),
    ("codex", "apply_patch", {"input": ADD}, "Write", "write", ("a.txt",), True),
    ("codex", "apply_patch", {"command": ["apply_patch", ADD]}, "Write", "write", ("a.txt",), True),
    ("codex", "file_change", {"changes": [{"path": "a", "kind": "add"}]}, "Write", "write", ("a",), True),
    ("codex", "file_change", [{"path": "a", "kind": "add"}, {"path": "b"}], "Edit", "write", ("a", "b"), True),
    ("codex", "file_change", {"changes": {"a": {"type": "add", "content": ""}}}, "Write", "write", ("a",), True),
    ("codex", "file_change", {"changes": {"a": {"update": {"unified_diff": ""}}}}, "Edit", "write", ("a",), True),
    ("codex", "file_change", {"changes": []}, "Edit", "write", (), True),
    ("codex", "view_image", {"path": "/a.png"}, "Read", "read", ("/a.png",), False),
    ("codex", "exec_command", {"cmd": "cat a"}, "Read", "read", ("a",), False),
    ("codex", "exec_command", {"cmd": "grep -rn x ."}, "Grep", "search", (), False),
    ("codex", "exec_command", {"cmd": "find . -name x"}, "Glob", "search", (), False),
    ("codex", "exec_command", {"cmd": "ls"}, "LS", "read", (), False),
    ("codex", "exec_command", {"cmd": "pytest -q"}, "Bash", "execute", (), False),
    ("codex", "shell", {"command": ["bash", "-lc", "cat a"]}, "Read", "read", ("a",), False),
    ("codex", "shell", {"command": ["apply_patch", ADD]}, "Write", "write", ("a.txt",), True),
    ("codex", "shell", {"command": f"@'\n{ADD}\n'@ | apply_patch"}, "Write", "write", ("a.txt",), True),
    (
        "codex",
        "shell",
        {"command": f"P=$(cat <<'X'\n{PATCH}\nX\n)\napply_patch \"$P\""},
        "Edit",
        "write",
        ("a.txt", "b.txt", "c.txt"),
        True,
    ),
    (
        "codex",
        "exec_command",
        {"cmd": f"apply_patch <<'X'\n{PATCH}\nX"},
        "Edit",
        "write",
        ("a.txt", "b.txt", "c.txt"),
        True,
    ),
    ("codex", "command_execution", {"command": "/bin/bash -lc 'cat a'"}, "Read", "read", ("a",), False),
    ("pi", "bash", {"command": "cat a"}, "Bash", "read", ("a",), False),
    ("claude", "Bash", {"command": "find . -name x"}, "Bash", "search", (), False),
    ("generic", "Bash", {"command": "ls"}, "Bash", "read", (), False),
    ("generic", "custom_search", {"query": "x"}, "custom_search", "search", (), False),
    ("acp", "read", {"path": "/a"}, "Read", "read", ("/a",), False),
]


@pytest.mark.parametrize(("provider", "name", "arguments", "tool", "kind", "files", "edit"), EVERY)
def test_native_calls_become_canonical(
    provider: str, name: str, arguments: Any, tool: str, kind: str, files: tuple[str, ...], edit: bool
) -> None:
    call = normal(provider, name, arguments)
    assert (call.tool, call.kind, call.files, call.edit) == (tool, kind, files, edit)
    assert (call.name, call.call_id, call.source, call.origin) == (name, "c1", SOURCE, "system")


@pytest.mark.parametrize(
    ("provider", "name", "arguments", "added"),
    [
        ("pi", "read", {"path": "/a"}, {"file_path": "/a"}),
        ("opencode", "read", {"filePath": "/a"}, {"file_path": "/a"}),
        ("opencode", "read", {"path": "/a", "filePath": "/b"}, {"file_path": "/a"}),
        ("pi", "read", {"path": None}, {"file_path": None}),
        ("pi", "read", {"path": 5}, {"file_path": 5}),
        ("pi", "read", {"file_path": None, "path": "/a"}, {}),
        ("pi", "read", {"bogus": True}, {}),
        ("pi", "read", {}, {}),
        ("pi", "write", {"path": "/a"}, {}),
        ("gemini", "activate_skill", {"name": "fix"}, {"skill": "fix"}),
        ("claude", "Skill", {"command": "pdf"}, {"skill": "pdf"}),
        ("claude", "Skill", {"skill": "a", "name": "b"}, {}),
        ("copilot", "Using skill: fix", {}, {"skill": "fix"}),
        ("copilot", "Using skill: fix", {"name": "other"}, {"skill": "fix"}),
        ("copilot", "Using skill: ", {}, {}),
        ("copilot", "Viewing /a b.ts", {}, {"file_path": "/a b.ts"}),
        ("copilot", "Viewing /a", {"path": "/b"}, {"file_path": "/b"}),
        ("codex", "mcp:srv/t", {"q": 1}, {"skill": "srv/t"}),
        ("codex", "exec_command", {"cmd": "cat a", "workdir": "/w"}, {"file_path": "a"}),
        ("codex", "exec_command", {"cmd": "rg foo src"}, {"pattern": "foo"}),
        ("codex", "exec_command", {"cmd": "rg foo src", "pattern": 1}, {}),
        ("codex", "exec_command", {"cmd": "ls src"}, {}),
        ("pi", "bash", {"command": "cat a"}, {}),
    ],
)
def test_input_keys_are_only_added(provider: str, name: str, arguments: dict[str, Any], added: dict[str, Any]) -> None:
    raw = json.dumps(arguments).encode()
    call = STAGES[provider].call(call_of(name, raw=raw))
    assert call.input == arguments | added
    if not added:
        assert bytes(call.input_json) == raw
    else:
        assert raw[1:] in bytes(call.input_json)


def test_a_prefix_without_input_brings_its_own() -> None:
    call = normal("copilot", "Using skill: fix", None)
    assert (call.input, call.tool) == ({"skill": "fix"}, "Skill")
    assert bytes(normal("copilot", "Using skill: fix", [1]).input_json) == b"[1]"


@pytest.mark.parametrize(
    ("arguments", "command", "shell_edit"),
    [
        ({"command": "/bin/bash -lc 'echo hi > f'"}, "echo hi > f", True),
        ({"command": ["bash", "-lc", "rm x"]}, "rm x", True),
        ({"command": "python a.py"}, "python a.py", False),
        ({"command": f"apply_patch <<X\n{ADD}\nX"}, f"apply_patch <<X\n{ADD}\nX", False),
        ({"command": 5}, None, False),
        ({"command": []}, None, False),
        ({}, None, False),
        ("ls", "ls", False),
        (["cat", "a b"], "cat a b", False),
    ],
)
def test_shell_calls_keep_their_command_and_say_whether_it_writes(
    arguments: Any, command: str | None, shell_edit: bool
) -> None:
    call = normal("codex", "shell", arguments)
    assert (call.command, call.shell_edit) == (command, shell_edit)


def test_a_decoder_that_knows_a_kind_is_believed_for_names_in_no_table() -> None:
    call = STAGES["acp"].call(replace(call_of("strange", {}), kind="write"))
    assert (call.tool, call.kind) == ("strange", "write")
    assert STAGES["acp"].call(replace(call_of("mcp__srv__strange", {}), kind="write")).kind == "other"


def test_other_events_and_the_batch_stay() -> None:
    text = UserText(SOURCE, "", Raw(b'"hi"'))
    batch = Batch(events=[text, call_of("read", {"path": "/a"})])
    stage = Normalize(TABLES["pi"])
    assert list(stage.push(batch)) == [batch]
    assert batch.events[0] is text
    assert isinstance(batch.events[1], ToolCall) and batch.events[1].tool == "Read"
    assert list(stage.flush()) == []
    with pytest.raises(RuntimeError):
        stage.flush()


def test_names_that_never_repeat_do_not_grow_the_stage() -> None:
    stage = Normalize(TABLES["claude"])
    for i in range(10_000):
        stage.call(call_of(f"tool_{i}", {}))
    assert len(stage._plans) <= 4_096  # pyright: ignore[reportPrivateUsage] - the bound is the point


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["path", "file_path", "command", "cmd", "changes", "input", "name", "skill", "kind", "x"]),
            inner,
        )
    ),
    max_leaves=12,
)
NATIVE = [*sorted({one.native for name in NAMES for one in TABLES[name].rows}), "unknown", "mcp__a__b"]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), st.sampled_from(NATIVE), JSON)
def test_inputs_of_any_shape_pass_with_their_keys_unchanged(provider: str, name: str, arguments: Any) -> None:
    call = normal(provider, name, arguments)
    assert call.tool and call.kind
    if isinstance(arguments, dict):
        got = call.input
        assert {key: got[key] for key in arguments} == arguments  # pyright: ignore[reportUnknownVariableType] - JSON
    again = STAGES[provider].call(call)
    assert bytes(again.input_json) == bytes(call.input_json)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b'{"path":', b"\xff\xfe", b'{"path":"\xff"}', b'{"path":"\\ud800"}', b'{"command":"\\ud800 x"}'),
        *(
            b"[" * 5_000 + b"]" * 5_000,
            b'{"path":1e400}',
            b'{"path":NaN}',
            b' {"path" : "/a" } ',
            b'{"path":"a","path":"b"}',
        ),
        b'{"path":' + b"[" * 3_000 + b"]" * 3_000 + b"}",
    ],
)
@pytest.mark.parametrize("name", ["read", "bash", "apply_patch", "Using skill: x", "Viewing x", "str_replace_editor"])
def test_bytes_that_no_parser_likes_pass(raw: bytes, name: str) -> None:
    for stage in STAGES.values():
        assert stage.call(call_of(name, raw=raw)).tool


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_shell_that_reads_several_files_names_them_all(name: str) -> None:
    made = STAGES[name].call(call_of("Bash" if name == "claude" else "shell", {"command": "cat a b; head -3 c"}))
    assert made.files == ("a", "b", "c")


def test_a_patch_after_cd_is_of_files_there() -> None:
    script = f"cd /w && cd d && apply_patch <<'EOF'\n{PATCH}\nEOF"
    made = STAGES["codex"].call(call_of("shell", {"command": ["bash", "-lc", script]}))
    assert (made.tool, made.files) == ("Edit", ("/w/d/a.txt", "/w/d/b.txt", "/w/d/c.txt"))


def test_a_read_after_cd_is_of_a_file_there() -> None:
    made = STAGES["codex"].call(call_of("shell", {"command": ["bash", "-lc", "cd d && cat a.txt"]}))
    assert (made.tool, made.files, made.input["file_path"]) == ("Read", ("d/a.txt",), "d/a.txt")

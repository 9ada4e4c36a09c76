"""Names, inputs and results of the tool calls in VS Code's chats."""

from typing import Any

import pytest

from agentv_stages.model.event import ToolResult
from agentv_stages.providers.vscode import PROVIDER
from support.decoding import document, events_of, results
from support.vscode_chats import DOCUMENT, asks, only, request, rounds, session, tool


def told(part: dict[str, Any], result: dict[str, Any] | None = None) -> ToolResult:
    [one] = results(events_of(DOCUMENT, document(session(request("r", part, result=result)))))
    return one


def test_a_part_alone_shows_what_it_can() -> None:
    terminal = {"kind": "terminal", "commandLine": {"original": "ls", "userEdited": "ls -l"},
                "terminalCommandState": {"exitCode": 2}, "terminalCommandOutput": {"text": "no"}}  # fmt: skip
    assert only(tool("c", toolSpecificData=terminal)) == ("run_in_terminal", {"command": "ls -l"}, "error", 2, "no")
    shown = {"input": "pytest", "output": [{"type": "embed", "value": "3 passed"}]}
    plain = {"kind": "terminal", "commandLine": {"original": "pytest"}}
    assert only(tool("c", resultDetails=shown, toolSpecificData=plain))[1] == {"command": "pytest"}
    details = {"input": '{"key": 1}', "output": [{"type": "embed", "value": "v"}], "isError": True}
    assert only(tool("c", "mcp_demo_look", resultDetails=details))[:3] == ("mcp_demo_look", {"key": 1}, "error")
    assert only(tool("c", "copilot_readFile")) == ("copilot_readFile", {}, None, None, None)


def test_a_call_that_has_not_ended_has_no_result() -> None:
    assert only(tool("c", isComplete=False))[2:] == ("open",)


def test_refusals() -> None:
    assert only(tool("c", isConfirmed={"type": 0}))[2] == "denied"
    assert only(tool("c", isConfirmed={"type": 5}))[2] == "denied"
    assert only(tool("c", isConfirmed=False))[2] == "denied"
    assert only(tool("c", isConfirmed=True))[2] is None


def test_arguments_that_are_no_json_stay_a_string() -> None:
    broken = {"id": "c", "name": "read_file", "arguments": '{"a'}
    assert only(tool("c", "copilot_readFile"), rounds(("", [broken])))[1] == '{"a'


def test_arguments_that_only_a_lenient_reader_takes_become_json_on_one_line() -> None:
    odd = {"id": "c", "name": "read_file", "arguments": '{\n"a": NaN}'}
    assert only(tool("c", "copilot_readFile"), rounds(("", [odd])))[1] == {"a": None}


def tree(*texts: tuple[str, bool]) -> dict[str, Any]:
    """What the model read, as a tree of prompt elements: texts, and whether each begins a line."""
    leaves = [{"type": 2, "text": text, "lineBreakBefore": new} for text, new in texts]
    return {"$mid": 23, "value": {"node": {"type": 1, "ctor": 2, "children": [
        {"type": 1, "ctor": 2, "children": leaves[:1]}, *leaves[1:]]}}}  # fmt: skip


def read(*content: Any) -> dict[str, Any]:
    return {"metadata": {"toolCallRounds": [{"toolCalls": [asks("c", "run_in_terminal", command="ls")]}],
                         "toolCallResults": {"c": {"content": list(content)}}}}  # fmt: skip


def test_what_the_model_read_is_a_text_or_a_tree_of_prompt_elements() -> None:
    text = {"$mid": 21, "value": "one"}
    assert told(tool("c"), read(text)).output == "one"
    assert told(tool("c"), read(tree(("a", False), ("b", True), ("c", False)))).output == "a\nbc"
    assert told(tool("c"), read(text, tree(("two", False)))).output == "onetwo"
    image = {"mimeType": "image/png", "value": {"$mid": 24}}
    assert told(tool("c"), read(text, image)).output == [text, image]
    odd = {"value": {"node": {"type": 1, "children": [7]}}}
    assert told(tool("c"), read(odd)).output == [odd]


def test_the_exit_code_is_found_in_what_the_model_read() -> None:
    one = told(tool("c"), read(tree(("boom", False), ("Command exited with code 2", True))))
    assert (one.outcome, one.exit_code) == ("error", 2)


def test_a_terminals_end_has_its_duration() -> None:
    data = {"kind": "terminal", "commandLine": {"original": "ls"},
            "terminalCommandState": {"exitCode": 0, "timestamp": 1772359200000, "duration": 1520}}  # fmt: skip
    one = told(tool("c", toolSpecificData=data))
    assert (one.outcome, one.exit_code, one.duration_ms) == ("ok", 0, 1520)


@pytest.mark.parametrize(("error", "outcome", "output"), [("no file", "error", "no file"), (True, "error", None),
                                                          (False, None, None), ("", None, None)])  # fmt: skip
def test_an_error_of_the_tool(error: Any, outcome: str | None, output: str | None) -> None:
    one = told(tool("c", "copilot_readFile", resultError=error))
    assert (one.outcome, one.output) == (outcome, output)


def test_a_sub_agents_answer_and_a_simple_tools_output() -> None:
    agent = {"kind": "subagent", "description": "look", "prompt": "Look.", "agentName": "Explore", "result": "Found.",
             "duration": 90}  # fmt: skip
    one = told(tool("c", "runSubagent", toolSpecificData=agent))
    assert (one.output, one.duration_ms) == ("Found.", 90)
    assert only(tool("c", "runSubagent", toolSpecificData=agent))[1] == {
        "description": "look",
        "prompt": "Look.",
        "agentName": "Explore",
    }
    simple = {"kind": "simpleToolInvocation", "input": "q", "output": "a"}
    assert only(tool("c", "vscode_tool", toolSpecificData=simple)) == ("vscode_tool", "q", None, None, "a")


def test_found_files_are_the_output_where_nothing_else_is() -> None:
    found = [{"$mid": 1, "path": "/w/x.py", "scheme": "file"}]
    assert only(tool("c", "copilot_findFiles", resultDetails=found))[4] == found
    assert only(tool("c", "copilot_findFiles", resultDetails=[]))[4] is None


def test_a_call_that_was_never_allowed_to_run_has_no_result() -> None:
    """VS Code 1.104 and later call such a part complete, and write no confirmation."""
    waiting = {key: value for key, value in tool("c", source={"type": "internal"}).items() if key != "isConfirmed"}
    assert only(waiting)[2:] == ("open",)
    assert only({**waiting, "source": {"type": "external"}})[2:] == (None, None, None)
    assert only({**waiting, "resultDetails": {"output": [], "isError": False}})[2:] == ("open",)


@pytest.mark.parametrize(
    ("name", "label", "told_as"),
    [
        ("mcp_demo_look_up", "demo", "mcp__demo__look_up"),
        ("mcp_my_server_look_up", "My Server", "mcp__My_Server__look_up"),
        ("mcp_io.github.ups_get-docs", "io.github.upstash/context7", "mcp__io.github.upstash_context7__get-docs"),
        ("mcp_demo2_look_up", "demo", "mcp__demo__look_up"),
        ("mcp_other_look_up", "demo", "mcp_other_look_up"),
    ],
)
def test_the_server_of_an_mcp_tool_is_that_of_its_source(name: str, label: str, told_as: str) -> None:
    source = {"type": "mcp", "label": label, "serverLabel": "x", "definitionId": "d"}
    assert only(tool("c", name, source=source))[0] == told_as


def test_without_a_source_the_server_ends_at_the_first_underscore() -> None:
    assert PROVIDER.tools.resolve("mcp_demo_look_up").tool == "mcp__demo__look_up"


def test_the_file_that_a_message_links_to() -> None:
    link = {"value": "Reading [](file:///w/my%20app/x.py#3-9), lines 3 to 9"}
    assert only(tool("c", "copilot_readFile", invocationMessage=link))[1] == {"filePath": "/w/my app/x.py"}
    assert only(tool("c", "copilot_readFile", pastTenseMessage="Read [](file:///w/y.py)"))[1] == {"filePath": "/w/y.py"}
    two = {"value": "Edited [](file:///a) and [](file:///b)"}
    assert only(tool("c", "copilot_multiReplaceString", invocationMessage=two))[1] == {}
    asked = rounds(("", [asks("c", "read_file", filePath="/z")]))
    assert only(tool("c", "copilot_readFile", invocationMessage=link), asked)[1] == {"filePath": "/z"}

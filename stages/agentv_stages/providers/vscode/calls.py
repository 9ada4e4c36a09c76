"""Tool calls of one request: what the response shows (parts) joined with what the model asked for (rounds).

The ids of the two can differ by a suffix `__vscode-<n>`; where they do not meet, the order decides within one name.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from agentv_stages.event import EMPTY_OBJECT, Outcome
from agentv_stages.payload import decode_json, text_of, to_raw
from agentv_stages.providers.vscode.wire import (
    CommandLine,
    Metadata,
    ModelCall,
    Part,
    ResultDetails,
    ToolData,
    ToolOutput,
    decode_confirmed,
    decode_details,
    decode_tool_data,
    decode_values,
)

TOOL_PART = "toolInvocationSerialized"
TERMINALS = frozenset(("run_in_terminal", "copilot_runInTerminal", "runInTerminal"))
DENIED, SKIPPED = 0, 5
_EXIT = re.compile(rb"[Cc]ommand exited with code:? (-?\d+)")
_FAILED = re.compile(rb'^"(?:ERROR\b|Error:|ERROR while calling tool)')
_NAMES = {"copilot_multiReplaceString": "multi_replace_string_in_file", "copilot_findTextInFiles": "grep_search",
          "copilot_findFiles": "file_search", "copilot_searchCodebase": "semantic_search",
          "copilot_listDirectory": "list_dir", "copilot_fetchWebPage": "fetch_webpage",
          "vscode_fetchWebPage_internal": "fetch_webpage", "copilot_replaceString": "replace_string_in_file",
          "copilot_insertEdit": "insert_edit_into_file", "copilot_createFile": "create_file"}  # fmt: skip


class JoinedCall(Struct):
    """One call: the round's side, the part's side, or both; `output` is what the model read."""

    call_id: str
    asked: ModelCall | None = None
    part: Part | None = None
    output: ToolOutput | None = None
    round: int = -1


def plain_id(call_id: str) -> str:
    return call_id.partition("__vscode-")[0]


def join_calls(parts: Sequence[Part], metadata: Metadata | None) -> tuple[list[JoinedCall], dict[int, JoinedCall]]:
    """The calls of the rounds in their order, and the call of each tool part by the part's position."""
    asked: list[JoinedCall] = []
    outputs = {plain_id(k): v for k, v in (metadata.toolCallResults or {}).items()} if metadata else {}
    for number, one in enumerate((metadata.toolCallRounds if metadata else None) or ()):
        for call in one.toolCalls or ():
            call_id = plain_id(call.id or f"round-{number}-{len(asked)}")
            asked.append(JoinedCall(call_id, call, None, outputs.get(call_id), number))
    by_id = {call.call_id: call for call in asked}
    shown: dict[int, JoinedCall] = {}
    left: list[tuple[int, Part]] = []
    for at, part in enumerate(parts):
        if part.kind != TOOL_PART:
            continue
        found = by_id.get(plain_id(part.toolCallId or part.toolId or ""))
        if found is None or found.part is not None:
            left.append((at, part))
        else:
            found.part = part
            shown[at] = found
    for at, part in left:
        match = None
        if part.subAgentInvocationId is None:
            match = next((call for call in asked if call.part is None and _same_tool(part, call)), None)
        if match is None:
            call_id = plain_id(part.toolCallId or "") or f"part-{at}"
            match = JoinedCall(call_id, None, None, outputs.get(call_id))
        match.part = part
        shown[at] = match
    return asked, shown


def _same_tool(part: Part, call: JoinedCall) -> bool:
    name = call.asked.name if call.asked else None
    tool = part.toolId or ""
    if name is None or not tool:
        return False
    squeezed = re.sub(r"(?<!^)(?=[A-Z])", "_", tool.removeprefix("copilot_")).lower()
    return name in (tool, _NAMES.get(tool), squeezed)


def call_name(call: JoinedCall) -> str:
    if call.asked is not None and call.asked.name:
        return call.asked.name
    return (call.part.toolId if call.part else None) or "unknown"


def call_input(call: JoinedCall) -> Raw:
    """The model's arguments, unwrapped; else what the part shows of them."""
    if call.asked is not None and call.asked.arguments:
        return unwrap(call.asked.arguments)
    part = call.part
    if part is None:
        return EMPTY_OBJECT
    data = tool_data(part)
    command = _command(data.commandLine) or data.command
    if command is not None:
        return to_raw({"command": command})
    if data.rawInput:
        return data.rawInput
    details = _details(part)
    if details is not None and details.input:
        return unwrap(details.input)
    if data.todoList:
        return Raw(b'{"todoList":' + bytes(data.todoList) + b"}")
    shown = {"description": data.description, "prompt": data.prompt, "agentName": data.agentName}
    known = {key: value for key, value in shown.items() if value is not None}
    return to_raw(known) if known else EMPTY_OBJECT


def _command(line: CommandLine | None) -> str | None:
    return None if line is None else line.userEdited or line.toolEdited or line.original


def unwrap(raw: Raw) -> Raw:
    """Arguments given as a JSON string become the object; a string that holds none stays a string."""
    data = bytes(raw)
    if data[:1] != b'"':
        return raw
    text = text_of(raw)
    if not text.strip():
        return EMPTY_OBJECT
    try:
        decode_json(text.encode("utf-8", "replace"))
    except ValueError:
        return raw
    return Raw(text.encode("utf-8", "replace"))


def call_result(call: JoinedCall) -> tuple[Raw | None, Outcome | None, int | None] | None:
    """Output, outcome, exit code; None while the call is open."""
    part = call.part
    output = _output(call.output)
    if part is None:
        if output is None:
            return None
        outcome, code = _judge(output, call_name(call))
        return output, outcome, code
    if _refused(part):
        return output, "denied", None
    if part.isComplete is False and output is None:
        return None
    details = _details(part)
    data = tool_data(part)
    if output is None and details is not None and details.output:
        output = details.output
    if output is None and data.terminalCommandOutput is not None and data.terminalCommandOutput.text:
        output = data.terminalCommandOutput.text
    if output is None and part.isComplete is None:
        return None
    code = data.terminalCommandState.exitCode if data.terminalCommandState else None
    if code is not None:
        return output, "error" if code else "ok", code
    if details is not None and details.isError is not None:
        return output, "error" if details.isError else "ok", None
    outcome, code = _judge(output, call_name(call))
    return output, outcome, code


def _judge(output: Raw | None, name: str) -> tuple[Outcome | None, int | None]:
    data = bytes(output) if output is not None else b""
    if name in TERMINALS:
        found = _EXIT.search(data[-300:]) or _EXIT.search(data[:300])
        if found:
            code = int(found[1])
            return ("error" if code else "ok"), code
    return ("error" if _FAILED.match(data[:40]) else None), None


def _output(output: ToolOutput | None) -> Raw | None:
    """The texts of a result, joined; the content as it is where it holds anything else."""
    if output is None or bytes(output.content) in (b"", b"null", b"[]"):
        return None
    try:
        values = [value.value for value in decode_values(output.content)]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return output.content
    if not values or any(bytes(value)[:1] != b'"' for value in values):
        return output.content
    return values[0] if len(values) == 1 else to_raw("".join(map(text_of, values)))


def _refused(part: Part) -> bool:
    data = bytes(part.isConfirmed)
    if data == b"false":
        return part.isComplete is not False
    if data[:1] == b"{":
        try:
            return decode_confirmed(data).type in (DENIED, SKIPPED)
        except msgspec.MsgspecError:
            return False
    return False


def tool_data(part: Part) -> ToolData:
    if bytes(part.toolSpecificData)[:1] == b"{":
        try:
            return decode_tool_data(part.toolSpecificData)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
    return ToolData()


def _details(part: Part) -> ResultDetails | None:
    """Input and output of an MCP call; other tools list files there."""
    if bytes(part.resultDetails)[:1] == b"{":
        try:
            return decode_details(part.resultDetails)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
    return None

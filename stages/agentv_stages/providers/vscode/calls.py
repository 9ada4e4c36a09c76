"""Tool calls of one request: the parts shown in the response, joined with the calls that the model made (rounds).

The ids of the two can differ by a suffix `__vscode-<n>`; if they do not match, calls of one name are matched by order.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Raw, Struct

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import decode_json, json_in, text_of, to_raw
from agentv_stages.providers.vscode.lenient import markdown, read_details, read_output, read_source, read_tool_data
from agentv_stages.providers.vscode.wire import CommandLine, Metadata, ModelCall, Part, ToolOutput

TOOL_PART = "toolInvocationSerialized"
_MCP_LABEL = 13  # characters of a server's label in its tools' names
_LINK = re.compile(r"\]\((file://(?:[^)\s\]]|\](?!\(file://))++)\)")
_NAMES = {"copilot_multiReplaceString": "multi_replace_string_in_file", "copilot_findTextInFiles": "grep_search",
          "copilot_findFiles": "file_search", "copilot_searchCodebase": "semantic_search",
          "copilot_listDirectory": "list_dir", "copilot_fetchWebPage": "fetch_webpage",
          "vscode_fetchWebPage_internal": "fetch_webpage", "copilot_replaceString": "replace_string_in_file",
          "copilot_insertEdit": "insert_edit_into_file", "copilot_createFile": "create_file"}  # fmt: skip


class JoinedCall(Struct):
    """One call: the round's side, the part's side, or both; `output` is the output that the model read."""

    call_id: str
    model_call: ModelCall | None = None
    part: Part | None = None
    output: ToolOutput | None = None
    round: int = -1


def plain_id(call_id: str) -> str:
    return call_id.partition("__vscode-")[0]


def join_calls(parts: Sequence[Part], metadata: Metadata | None) -> tuple[list[JoinedCall], dict[int, JoinedCall]]:
    """The calls of the rounds in their order, and the call of each tool part by the part's position."""
    joined: list[JoinedCall] = []
    read = (metadata.toolCallResults or {}).items() if metadata else ()
    outputs = {plain_id(key): read_output(value) for key, value in read}
    for number, model_round in enumerate((metadata.toolCallRounds if metadata else None) or ()):
        for call in model_round.toolCalls or ():
            call_id = plain_id(call.id or f"round-{number}-{len(joined)}")
            joined.append(JoinedCall(call_id, call, None, outputs.get(call_id), number))
    by_id = {call.call_id: call for call in joined}
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
            match = next((call for call in joined if call.part is None and _same_tool(part, call)), None)
        if match is None:
            call_id = plain_id(part.toolCallId or "") or f"part-{at}"
            match = JoinedCall(call_id, None, None, outputs.get(call_id))
        match.part = part
        shown[at] = match
    return joined, shown


def _same_tool(part: Part, call: JoinedCall) -> bool:
    name = call.model_call.name if call.model_call else None
    tool = part.toolId or ""
    if name is None or not tool:
        return False
    squeezed = re.sub(r"(?<!^)(?=[A-Z])", "_", tool.removeprefix("copilot_")).lower()
    return name in (tool, _NAMES.get(tool), squeezed)


def call_name(call: JoinedCall) -> str:
    """The name that the model used, or the part's name; `mcp__server__tool` if the part names the server."""
    part = call.part
    name = call.model_call.name if call.model_call is not None else None
    name = name or (part.toolId if part is not None else None) or "unknown"
    if part is not None and name.startswith("mcp_"):
        source = read_source(part)
        if source.type == "mcp" and source.label:
            return _mcp_name(name, source.label)
    return name


def _mcp_name(name: str, label: str) -> str:
    """VS Code makes the name `mcp_<beginning of the server's label>[number]_<tool>`."""
    slug = re.sub(r"[^a-z0-9_.-]+", "_", label.lower())[:_MCP_LABEL]
    rest = re.match(r"\d*_(.+)", name.removeprefix(f"mcp_{slug}"))
    if rest is None or not name.startswith(f"mcp_{slug}"):
        return name
    return f"mcp__{re.sub(r'[^A-Za-z0-9_.-]+', '_', label)}__{rest[1]}"


def call_input(call: JoinedCall) -> Raw:
    """The model's arguments, unwrapped; else those that the part shows."""
    if call.model_call is not None and call.model_call.arguments:
        return unwrap(call.model_call.arguments)
    part = call.part
    if part is None:
        return EMPTY_OBJECT
    data = read_tool_data(part)
    command = _command(data.commandLine) or data.command
    if command is not None:
        return to_raw({"command": command})
    if data.rawInput:
        return data.rawInput
    details = read_details(part)
    for shown in (details.input if details is not None else None, data.input):
        if shown:
            return unwrap(shown)
    if data.todoList:
        return Raw(b'{"todoList":' + bytes(data.todoList) + b"}")
    named = {"description": data.description, "prompt": data.prompt, "agentName": data.agentName}
    known = {key: value for key, value in named.items() if value is not None}
    return to_raw(known or _linked(part))


def _linked(part: Part) -> dict[str, str]:
    """The one file that the message to the user links to: `Read [](file:///w/x.py#1-1), lines 1 to 9`."""
    for message in (part.pastTenseMessage, part.invocationMessage):
        found = _LINK.findall(markdown(message))
        links = {unquote(link.partition("#")[0].removeprefix("file://")) for link in found}
        if len(links) == 1:
            return {"filePath": links.pop()}
    return {}


def _command(line: CommandLine | None) -> str | None:
    return None if line is None else line.userEdited or line.toolEdited or line.original


def unwrap(raw: Raw) -> Raw:
    """Arguments given as a JSON string become the object in it; a string without an object stays a string."""
    data = bytes(raw)
    if data[:1] != b'"':
        return raw
    text = text_of(raw)
    if not text.strip():
        return EMPTY_OBJECT
    whole = json_in(text)
    if whole is not None:
        return whole
    try:
        return to_raw(decode_json(text.encode("utf-8", "replace")))
    except ValueError:
        return raw

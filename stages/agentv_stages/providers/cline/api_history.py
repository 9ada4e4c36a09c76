"""The calls in a task's `api_conversation_history.json`: their ids, outcomes and outputs, which the task's own file
lacks.

Calls of newer versions are blocks with ids; older versions wrote them as XML within texts, which are not read.
"""

import re

from msgspec import Raw, Struct

from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import has_value, text_of
from agentv_stages.model.provider import REFUSED
from agentv_stages.providers.cline.task_wire import Arguments, Block, decode_arguments, decode_messages

FILE = "api_conversation_history.json"
DENIED = re.compile(r"(?:\A|\] Result:)\s*(?:The user denied this operation|\{\"status\": ?\"denied\")")
"""The beginning of the result of a denied call, in the request after it behind the name of the call."""
INTERRUPTED = "Task was interrupted before this tool call could be completed."
"""The result that a task that is resumed gives to its open calls. Source: Roo Code's published source."""
MOST_SKIPPED = 16
_ROOS_MCP = "mcp--"
_EDITS = frozenset(
    (
        *("replace_in_file", "apply_diff", "edit", "search_and_replace", "search_replace", "edit_file"),
        *("apply_patch", "insert_content", "write_to_file"),
    )
)
_NATIVE: dict[str, frozenset[str]] = {
    "readFile": frozenset(("read_file",)),
    "readCommandOutput": frozenset(("read_command_output",)),
    "newFileCreated": frozenset(("write_to_file", "apply_patch")),
    **dict.fromkeys(("editedExistingFile", "appliedDiff", "searchAndReplace", "insertContent"), _EDITS),
    **dict.fromkeys(("listFilesTopLevel", "listFilesRecursive"), frozenset(("list_files",))),
    "searchFiles": frozenset(("search_files",)),
    "listCodeDefinitionNames": frozenset(("list_code_definition_names",)),
    "codebaseSearch": frozenset(("codebase_search",)),
    "webFetch": frozenset(("web_fetch",)),
    "webSearch": frozenset(("web_search",)),
    "newTask": frozenset(("new_task",)),
    "updateTodoList": frozenset(("update_todo_list",)),
    "execute_command": frozenset(("execute_command",)),
    "ask_followup_question": frozenset(("ask_followup_question",)),
}
"""The name of a tool in the task's file -> its names in requests."""


class Answered(Struct, frozen=True):
    """A call with its result; `outcome` is None for a call without one."""

    call_id: str
    name: str
    path: str | None
    outcome: Outcome | None
    output: Raw | None


def read_history(data: bytes) -> list[Answered]:
    """The calls in the order of their requests. A file that cannot be read has none.

    Condensed messages stay in Roo's file, and the summary repeats the calls whose results are behind it.
    """
    try:
        messages = decode_messages(data)
    except REFUSED:
        return []
    blocks = [block for message in messages if not isinstance(message.content, str) for block in message.content]
    results = {block.tool_use_id: block for block in blocks if block.type == "tool_result" and block.tool_use_id}
    calls: dict[str, Block] = {}
    for block in blocks:
        if block.type == "tool_use" and block.id:
            calls.setdefault(block.id, block)
    return [_answered(call, results.get(call_id)) for call_id, call in calls.items()]


def find(calls: list[Answered], at: int, name: str, path: str | None) -> int | None:
    """The index of the next call of this tool from `at` on, on this file as far as both say it; None without one."""
    names = _NATIVE.get(name, frozenset((name,)))
    for index in range(at, min(at + MOST_SKIPPED, len(calls))):
        call = calls[index]
        if call.name in names and (path is None or call.path is None or call.path == path):
            return index
    return None


def _answered(call: Block, result: Block | None) -> Answered:
    try:
        arguments = decode_arguments(call.input)
    except REFUSED:
        arguments = Arguments()
    name, path = call.name or "", arguments.path
    if arguments.server_name and arguments.tool_name:
        name = f"{arguments.server_name}__{arguments.tool_name}"
    elif name.startswith(_ROOS_MCP):
        name = name.removeprefix(_ROOS_MCP).replace("--", "__", 1)
    if result is None or (has_value(result.content) and text_of(result.content) == INTERRUPTED):
        return Answered(call.id or "", name, path, None, None)
    output = result.content if has_value(result.content) else None
    denied = output is not None and DENIED.search(text_of(output)) is not None
    outcome: Outcome = "denied" if denied else "error" if result.is_error else "ok"
    return Answered(call.id or "", name, path, outcome, output)

"""The calls in a task's `api_conversation_history.json`: their ids, outcomes and outputs, which the task's own file
lacks.

Calls of newer versions are blocks with ids; older versions wrote them as XML within texts, which are not read.
"""

import re

from msgspec import Raw, Struct

from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import has_value, text_of
from agentv_stages.model.provider import REFUSED
from agentv_stages.providers.cline.task_wire import Block, decode_arguments, decode_messages

FILE = "api_conversation_history.json"
DENIED = re.compile(r"(?:\A|\] Result:)\s*(?:The user denied this operation|\{\"status\": ?\"denied\")")
"""The beginning of the result of a denied call, in the request after it behind the name of the call."""
MOST_SKIPPED = 16
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
    """The calls in the order of their requests. A file that cannot be read has none."""
    try:
        messages = decode_messages(data)
    except REFUSED:
        return []
    blocks = [block for message in messages if not isinstance(message.content, str) for block in message.content]
    results = {block.tool_use_id: block for block in blocks if block.type == "tool_result" and block.tool_use_id}
    calls = [(block.id, block) for block in blocks if block.type == "tool_use" and block.id]
    return [_answered(call, results.get(call_id)) for call_id, call in calls]


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
        path = decode_arguments(call.input).path
    except REFUSED:
        path = None
    if result is None:
        return Answered(call.id or "", call.name or "", path, None, None)
    output = result.content if has_value(result.content) else None
    denied = output is not None and DENIED.search(text_of(output)) is not None
    outcome: Outcome = "denied" if denied else "error" if result.is_error else "ok"
    return Answered(call.id or "", call.name or "", path, outcome, output)

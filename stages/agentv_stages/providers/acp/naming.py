"""The native name and the arguments of an ACP tool call, from whatever evidence its messages give."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.event import Kind
from agentv_stages.model.payload import decode_json, to_raw
from agentv_stages.model.tools import PATH_KEYS, TITLES, ToolRow
from agentv_stages.providers.acp import wire
from agentv_stages.providers.acp.state import Call

KINDS: dict[str, Kind] = {
    "read": "read", "edit": "write", "delete": "write", "move": "write", "search": "search", "fetch": "search",
    "execute": "execute", "switch_mode": "plan",
}  # fmt: skip
"""What an unknown tool does, by the protocol's kinds."""
TOUCHES_FILES = ("read", "edit", "delete", "move")
NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}\Z")
ARGUMENT_OF = {"Skill": ("skill", "name"), "Read": PATH_KEYS}
"""The keys of the argument that a title contains, by canonical tool."""
NO_PATH = "Viewing file"  # Copilot's title for a call whose arguments have no path
WRITERS = ("write_file", "write", "create")
QUOTED = re.compile(r"'(.*)'\Z", re.DOTALL)


def arguments(raw: Raw) -> dict[str, Any]:
    if bytes(raw)[:1] != b"{":
        return {}
    try:
        value = decode_json(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - decoded JSON


def asks_the_same(call: Call, update: wire.CallMembers) -> bool:
    """Whether two messages ask for one call: the same arguments, or the same title and file (an edit whose arguments
    have another form in each).
    """
    own, other = arguments(call.input), arguments(update.rawInput)
    if own and own == other:
        return True
    title = call.first_title or call.title
    named = [*call.paths, own.get("path"), own.get("file_path")]
    return bool(title) and title == update.title and any(path and path in other.values() for path in named)


def native_name(
    habits: AcpHabits,
    known: bool,
    call_id: str,
    name: str | None,
    title: str,
    kind: str | None,
    arguments: Mapping[str, Any],
    new_files: bool = False,
) -> str:
    """The best name available; `name` is the tool's name in the message itself.

    By kind alone, an edit of `new_files` only is a write.
    """
    if name:
        return name
    if habits.name_in_id is not None and (found := habits.name_in_id(call_id)):
        return found
    spoken = titled(title)
    if habits.name_in_arguments is not None:
        found = habits.name_in_arguments(arguments)
        if found or spoken is None:
            return found or kind or "other"
    if habits.name_in_words is not None and arguments:
        if kind == "execute" and title in _commands(arguments):  # `pwd` as the title of a call that runs it
            return "bash"
        found = habits.name_in_words(title, kind or "", arguments)
        if found and (spoken is None or not spoken.prefix or any(key in arguments for key in ARGUMENT_OF[spoken.tool])):
            return found
    if spoken is not None:
        return title
    if NAME.match(title) and (known or "." not in title or kind not in KINDS):  # else it is a file's name
        return (habits.mcp_title and habits.mcp_title(title, arguments)) or title
    if kind == "edit" and new_files:
        return "write"
    return kind or title or "other"


def titled(title: str) -> ToolRow | None:
    """The tool that a title names in words: `Using skill: X`, `Viewing X`, `Read File`."""
    if title == NO_PATH:
        return None
    return next((row for row in TITLES if title.startswith(row.native) and (row.prefix or title == row.native)), None)


def _commands(arguments: Mapping[str, Any]) -> tuple[object, ...]:
    """The command in a call's arguments; of a list of words (`["bash", "-lc", "pwd"]`) the last one."""
    command: object = arguments.get("command")
    return tuple(command[-1:]) if isinstance(command, list) else (command,)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - decoded JSON


def shown_arguments(name: str, title: str, kind: str | None, path: str | None, diff: wire.Piece | None) -> Raw:
    """The arguments for an agent that sends none (Gemini), as far as its title, locations and diffs show them.

    A diff has whole files: it gives the content of a written file, but not the strings of an edit; the title has their
    beginnings.
    """
    shown: dict[str, Any] = {}
    target = path or (diff.path if diff else None)
    if kind == "execute" or name == "run_shell_command":
        shown["command"] = title
    elif kind == "search" and name not in ("google_web_search", "list_directory"):
        found = QUOTED.match(title)
        shown["pattern"] = found[1] if found else title
    elif name == "google_web_search" or kind == "fetch":
        shown["prompt"] = title
    elif target:
        shown["file_path"] = target
        if name in WRITERS and diff is not None and diff.newText not in wire.NOTHING:
            shown["content"] = diff.newText
        elif kind == "edit":
            shown["title"] = title
    return to_raw(shown)

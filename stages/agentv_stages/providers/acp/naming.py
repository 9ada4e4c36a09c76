"""The native name and the arguments of an ACP tool call, from whatever evidence its messages give.

Source: recordings of Copilot 1.0.102, Gemini 0.29 to 0.61, Qwen 0.10 to 0.24, OpenCode 1.2 to 1.18, Kilo 7.7, OpenHands
1.16, Kimi Code 2.1, Claude's adapter; `wire.py`.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from agentv_stages.model.event import Kind
from agentv_stages.model.payload import decode_json, to_raw
from agentv_stages.model.tools import PATH_KEYS, TITLES, ToolRow
from agentv_stages.providers.acp import wire
from agentv_stages.providers.acp.state import Call
from agentv_stages.providers.kilo.tools import TABLE as OPENCODE

AGENTS = (
    ("copilot", "copilot"),
    ("gemini", "gemini"),
    ("qwen", "qwen"),
    ("opencode", "opencode"),
    ("kilo", "opencode"),  # a fork with the same messages
    ("claude", "claude"),
    ("openhands", "openhands"),
    ("kimi", "kimi"),
)
KINDS: dict[str, Kind] = {
    "read": "read", "edit": "write", "delete": "write", "move": "write", "search": "search", "fetch": "search",
    "execute": "execute", "switch_mode": "plan",
}  # fmt: skip
"""What an unknown tool does, by the protocol's kinds."""
TOUCHES_FILES = ("read", "edit", "delete", "move")
NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}\Z")
GEMINI_ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,127}?)__(?P=name)_\d+_(?P<part>\d+)\Z")
OLD_GEMINI_ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]*?)-\d{11,}(?:-\d+)?\Z")  # with a counter behind it in 0.41
OPENHANDS_KIND = re.compile(r"(?!MCPTool)(?P<name>[A-Za-z]+)Action\Z")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
QWEN_MODEL = re.compile(r"(?:\$runtime\|[^|]+\|)?(?P<name>.+)\([\w-]+\)\Z")
PLAN_TOOLS = {"qwen": "todo_write", "claude": "TodoWrite"}
ARGUMENT_OF = {"Skill": ("skill", "name"), "Read": PATH_KEYS}
"""The keys of the argument that a title contains, by canonical tool."""
NO_PATH = "Viewing file"  # Copilot's title for a call whose arguments have no path
WRITERS = ("write_file", "write", "create")
QUOTED = re.compile(r"'(.*)'\Z", re.DOTALL)


def agent_of(name: str | None, auth: tuple[str, ...] = ()) -> str:
    """Which agent speaks: from `agentInfo.name`, or from the login methods that it offers."""
    for text in (name or "", *auth):
        low = text.lower()
        for mark, agent in AGENTS:
            if mark in low:
                return agent
    return ""


def model_name(agent: str, model: str | None) -> str | None:
    """A model's own name, as the agent's log on disk has it: Qwen puts the login method around it
    (`$runtime|openai|m(openai)`), OpenCode the provider before it.
    """
    if model and agent == "qwen" and (found := QWEN_MODEL.match(model)):
        return found["name"]
    if model and agent == "opencode":
        return model.partition("/")[2] or model
    return model


def part_of_answer(call_id: str) -> int:
    """The position of a call among the calls of its answer, if its id contains it (Gemini); else 0."""
    found = GEMINI_ID.match(call_id) if "__" in call_id else None
    return int(found["part"]) if found else 0


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
    agent: str, call_id: str, name: str | None, title: str, kind: str | None, given: Mapping[str, Any]
) -> str:
    """The best name available; `name` is what the message itself calls the tool."""
    if name:
        return name
    if agent in ("gemini", ""):
        found = GEMINI_ID.match(call_id) or OLD_GEMINI_ID.match(call_id)
        if found:
            return found["name"]
    spoken = titled(title)
    if agent == "openhands":  # its arguments name their own class: `FileEditorAction`
        made = OPENHANDS_KIND.match(str(given.get("kind")))
        if made or spoken is None:
            return HUMP.sub("_", made["name"]).lower() if made else kind or "other"
    if agent in ("copilot", "") and given:
        if kind == "execute" and title in _commands(given):  # `pwd` as the title of a call that runs it
            return "bash"
        guessed = _copilot(title, kind or "", given)
        if guessed and (spoken is None or not spoken.prefix or any(key in given for key in ARGUMENT_OF[spoken.tool])):
            return guessed
    if spoken is not None:
        return title
    if NAME.match(title) and (agent or "." not in title or kind not in KINDS):  # else it is a file's name
        server, mark, tool = "", "", ""
        if agent == "copilot":
            server, mark, tool = title.rpartition("-")
        elif agent == "opencode" and title not in OPENCODE.by_name and given.get("tool") != title:
            # else a tool that does not exist: `invalid` was called instead, and names it
            server, mark, tool = title.partition("_")
        return f"mcp__{server}__{tool}" if mark and server and tool else title
    return kind or title or "other"


def titled(title: str) -> ToolRow | None:
    """The tool that a title names in words: `Using skill: X`, `Viewing X`, `Read File`."""
    if title == NO_PATH:
        return None
    return next((row for row in TITLES if title.startswith(row.native) and (row.prefix or title == row.native)), None)


def _commands(given: Mapping[str, Any]) -> tuple[object, ...]:
    """The command in a call's arguments; of a list of words (`["bash", "-lc", "pwd"]`) the last one."""
    command: object = given.get("command")
    return tuple(command[-1:]) if isinstance(command, list) else (command,)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - decoded JSON


def _copilot(title: str, kind: str, given: Mapping[str, Any]) -> str | None:
    """Copilot's titles are sentences; the arguments reveal the tool."""
    if title.startswith("Using skill: ") or ("skill" in given and len(given) == 1):
        return "skill"
    if NAME.match(title) and title.lower() == title:
        return None
    if isinstance(given.get("command"), str) and kind == "execute":
        return "bash"
    if "agent_type" in given and "prompt" in given:
        return "task"
    if kind == "edit" or "old_str" in given or "file_text" in given:
        if "old_str" in given:
            return "edit"
        if "file_text" in given:
            return "create"
        return "apply_patch" if "patch" in given or "input" in given else None
    if title.startswith("Viewing"):
        return "view"
    if title.startswith("Searching for"):
        return "grep"
    if title.startswith("Finding files"):
        return "glob"
    if kind == "read" and "pattern" in given:
        return "grep" if "output_mode" in given else "glob"
    if kind == "read" and "path" in given:
        return "view"
    if isinstance(given.get("query"), str) and kind == "other" and "description" in given:
        return "sql"
    if "url" in given and kind in ("fetch", "read", "other"):
        return "web_fetch"
    if "query" in given and kind in ("fetch", "search"):
        return "web_search"
    if "shellId" in given and kind == "execute":
        return "read_bash"
    return None


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

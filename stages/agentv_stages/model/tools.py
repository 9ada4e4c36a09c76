"""Tables of tools: native name -> canonical name, kind, origin, input fields. Data and look-up, no agent-specific code.

The rows of a provider are in `providers/<name>/tools.py`. The canonical names are those of AgentV (Skill, Read, Write,
Edit, Bash) and otherwise those of Claude Code; names in no table are kept, with a kind guessed from their words.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from agentv_stages.model.event import Kind, Origin

CANONICAL: Mapping[str, tuple[Kind, bool]] = {
    "Read": ("read", False),
    "LS": ("read", False),
    "NotebookRead": ("read", False),
    "Grep": ("search", False),
    "Glob": ("search", False),
    "WebFetch": ("search", False),
    "WebSearch": ("search", False),
    "ToolSearch": ("search", False),
    "LSP": ("search", False),
    "Edit": ("write", True),
    "MultiEdit": ("write", True),
    "Write": ("write", True),
    "NotebookEdit": ("write", True),
    "Delete": ("write", False),
    "Bash": ("execute", False),
    "BashOutput": ("execute", False),
    "KillShell": ("execute", False),
    "Skill": ("execute", False),
    "SlashCommand": ("execute", False),
    "Task": ("plan", False),
    "TaskCreate": ("plan", False),
    "TaskUpdate": ("plan", False),
    "TaskGet": ("plan", False),
    "TaskList": ("plan", False),
    "TaskStop": ("plan", False),
    "TaskOutput": ("plan", False),
    "TodoWrite": ("plan", False),
    "TodoRead": ("plan", False),
    "EnterPlanMode": ("plan", False),
    "ExitPlanMode": ("plan", False),
    "AskUserQuestion": ("ask", False),
}
"""Canonical name -> what such a call does, and whether it is an edit (docs/metrics.md)."""

PATH_KEYS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path", "uri")
"""Input keys under which a call names the file that it touches; the first one present wins."""

TOUCHES_FILES = frozenset(("Read", "NotebookRead", "Edit", "MultiEdit", "Write", "NotebookEdit", "Delete"))
"""Canonical tools whose calls name the files that they touch under `PATH_KEYS`."""

KEYS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "Read": (("file_path", ("path", "filePath", "absolute_path", "notebook_path")),),
    "Skill": (("skill", ("name", "command")),),
}
"""Canonical name -> the input keys that every such call has, and the native keys from which they are copied."""


class ToolRow(Struct, frozen=True):
    """One native tool.

    `keys` maps a canonical input key to the native keys from which it is copied; the first one present wins
    (`file_path` from `path`). `prefix`: `native` is the beginning of the name; the rest goes into the input under
    `rest_key`. `shell`: the call runs a shell text, found in the input under `command_key`. `source`: where the name
    was seen. `paths` are the input keys that may name touched files. `patch`: the input is a patch or a list of changed
    files, which decides between Write and Edit. `variants` maps values of the input key `variant_key` to canonical
    names; `list[].key` is a key of the only object in a list.
    """

    native: str
    tool: str
    kind: Kind
    source: str
    origin: Origin = "system"
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    prefix: bool = False
    rest_key: str | None = None
    edit: bool = False
    shell: bool = False
    command_key: str = "command"
    paths: tuple[str, ...] = ()
    patch: bool = False
    variant_key: str | None = None
    variants: tuple[tuple[str, str], ...] = ()


class McpForm(NamedTuple):
    """How an agent writes the name of an MCP tool: `prefix`, server, `separator`, tool; split at the first separator,
    with `last` at the last one."""

    prefix: str
    separator: str
    last: bool = False


MCP = McpForm("mcp__", "__")


class ToolTable:
    """The tools of one provider. `finer_shell`: it has no tools of its own for reading and searching, so its shell
    calls get a finer name than Bash (docs/metrics.md, "tool, kind"). `mcp`: more forms of MCP names, if no row fits.
    """

    def __init__(self, rows: tuple[ToolRow, ...], finer_shell: bool = False, mcp: tuple[McpForm, ...] = ()) -> None:
        self.rows, self.finer_shell, self.mcp = rows, finer_shell, mcp
        self.by_name = {row.native: row for row in rows if not row.prefix}
        self.prefixes = tuple(row for row in rows if row.prefix)

    def find(self, name: str) -> ToolRow | None:
        """The row of a native name, by the whole name or its beginning; a canonical name means the same everywhere."""
        row = self.by_name.get(name)
        if row is None:
            for candidate in self.prefixes:
                if name.startswith(candidate.native):
                    return candidate
        return row or COMMON.get(name)

    def resolve(self, name: str) -> "Resolved":
        """Canonical name, kind, origin, server of any name; the input may still refine them."""
        row = self.find(name)
        if row is not None:
            return Resolved(row, row.tool, row.kind, row.origin, None, name[len(row.native) :] if row.prefix else "")
        nameless = False
        for form in (MCP, *self.mcp):
            split = split_mcp(name, form)
            if split is None or (nameless and form.prefix != MCP.prefix):
                continue
            server, tool = split
            if server:
                return Resolved(None, f"mcp__{server}__{tool}", "other", "mcp", server, "")
            nameless = True  # another form with this prefix may find the server
        if nameless:
            return Resolved(None, name, "other", "mcp", None, "")
        return Resolved(None, name, guess_kind(name), "system", None, "")


class Resolved(NamedTuple):
    """The facts that follow from a name alone. `rest` is the part after a prefix; `row` is None for names in no
    table.
    """

    row: ToolRow | None
    tool: str
    kind: Kind
    origin: Origin
    server: str | None
    rest: str


def split_mcp(name: str, form: McpForm = MCP) -> tuple[str, str] | None:
    """Server and tool of an MCP name in `form`, None if it is not one; `mcp__only` has neither.

    Codex joins namespace and name with a dot (`mcp__demo.lookup`) in place of the separator.
    """
    if not name.startswith(form.prefix):
        return None
    rest = name[len(form.prefix) :]
    server, found, tool = rest.rpartition(form.separator) if form.last else rest.partition(form.separator)
    if not found and form is MCP:
        server, found, tool = rest.partition(".")
    if found and server and tool:
        return server, tool
    return ("", "") if form is MCP else None


WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

GUESSES: tuple[tuple[frozenset[str], Kind], ...] = (
    (frozenset(("todo", "todos", "plan", "plans", "task", "tasks", "agent", "subagent")), "plan"),
    (frozenset(("search", "grep", "find", "glob", "rg", "lookup")), "search"),
    (frozenset(("ask", "prompt", "question", "questions")), "ask"),
    (frozenset(("read", "get", "fetch", "view", "list", "ls", "cat", "show")), "read"),
    (frozenset(("write", "edit", "update", "patch", "create", "delete", "remove", "replace", "insert")), "write"),
    (frozenset(("shell", "bash", "exec", "execute", "run", "command", "commands", "terminal")), "execute"),
)


def guess_kind(name: str) -> Kind:
    """The kind of a tool in no table, from the whole words of its name; the first rule that matches wins.

    The rules are agtrace's, with whole words in place of substrings (`ask` is not in `mask`) and some more words.
    """
    words = {word.lower() for word in WORDS.findall(name[:200])}
    for known, kind in GUESSES:
        if words & known:
            return kind
    return "other"


def rows(source: str, names: Mapping[str, str]) -> tuple[ToolRow, ...]:
    """Rows of native name -> canonical name; kind, edit, keys and paths are those of the canonical name."""
    return tuple(row(native, tool, source) for native, tool in names.items())


def row(
    native: str,
    tool: str,
    source: str,
    kind: Kind | None = None,
    *,
    prefix: bool = False,
    rest_key: str | None = None,
    paths: tuple[str, ...] | None = None,
    keys: tuple[tuple[str, tuple[str, ...]], ...] | None = None,
    patch: bool = False,
    shell: bool | None = None,
    command_key: str = "command",
    variant_key: str | None = None,
    variants: tuple[tuple[str, str], ...] = (),
) -> ToolRow:
    """One row; arguments that are not given follow from the canonical name."""
    usual, edit = CANONICAL.get(tool, (None, False))
    kind = kind or usual or guess_kind(tool)
    return ToolRow(
        native,
        tool,
        kind,
        source,
        "system",
        () if rest_key == "skill" else KEYS.get(tool, ()) if keys is None else keys,  # the name already has the skill
        prefix,
        rest_key,
        edit,
        tool == "Bash" if shell is None else shell,
        command_key,
        PATH_KEYS if paths is None and not patch and tool in TOUCHES_FILES else paths or (),
        patch,
        variant_key,
        variants,
    )


def plain(source: str, kind: Kind, *names: str) -> tuple[ToolRow, ...]:
    """Rows of tools that keep their names."""
    return tuple(row(name, name, source, kind) for name in names)


TITLES = (
    *rows("AgentV, Copilot kinds", {"Read File": "Read", "Write File": "Write", "Edit File": "Edit"}),
    row("Using skill: ", "Skill", "AgentV, Copilot kinds", prefix=True, rest_key="skill"),
    row("Viewing ", "Read", "AgentV, Copilot kinds", prefix=True, rest_key="file_path"),
)
"""Names in words, some with an argument behind them: what Copilot shows, and some agents send in place of a name."""

COMMON: Mapping[str, ToolRow] = {
    **{name: row(name, name, "canonical name", keys=()) for name in CANONICAL},
    "apply_patch": row("apply_patch", "Edit", "docs/metrics.md, edit", patch=True),
}
"""Rows of names that mean the same for every agent: a plug-in's `Edit` counts with all others in `by_tool`.

The input of such a call is left unchanged, as in AgentV."""

"""The calls that a rule such as `forbid` names, in the form of a permission rule: `Bash(rm *)`, `Edit(src/**)`.

Shell texts are judged by the programs at their command positions (`agentv_stages.shell`): `cd x && sudo rm -rf y` runs
`rm`, `echo "rm x"` does not.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from agentv_stages.model.event import ToolCall
from agentv_stages.shell import ShellTrace, known_path, may_contain, path_in, trace_shell, without_options
from agentv_stages.trajectory.calls import arguments_of, named, string_member
from agentv_stages.trajectory.json_values import is_object
from agentv_stages.trajectory.paths import covers, home_of, seen_from, whole_path, with_tilde
from agentv_stages.trajectory.wildcards import folder_test, host_of, text_test

FORM = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
SHELL_TOOLS = frozenset(("Bash", "Shell", "bash", "shell"))
QUOTES = re.compile(r"[\"'\\]")
TAKES_FOLDERS = frozenset(
    (
        *("rm", "rmdir", "mv", "trash", "git", "remove-item", "ri", "move-item", "mi"),
        *("cp", "install", "copy-item", "cpi", "find", "rsync", "tar", "unzip"),
    )
)
"""Programs that delete or move a folder with all that is in it, or copy into one."""
REMOVES = frozenset(("rm", "trash", "remove-item", "ri"))
FILE_TOOLS = frozenset(("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Delete", "LS"))
READS = frozenset(("kind:read", "Read", "NotebookRead"))
SEARCHES = frozenset(("kind:search", "Grep", "Glob"))
WRITES = frozenset(("kind:write", "Edit", "Write", "MultiEdit", "NotebookEdit", "Delete"))
"""What a form can name of a shell text: the files that it reads, searches and writes."""
START_KEYS = ("workdir", "dir_path", "directory", "cwd", "working_directory", "workingDirectory")
"""Keys of shell tools for the folder in which a text is run."""
PATH_KEYS = ("file_path", "path", "filePath", "notebook_path")
HOMES = "/home/NAME, /Users/NAME, /root or C:\\Users\\NAME"


def command_texts(command: str) -> list[str]:
    """The texts against which a pattern for a shell call is matched: the whole, and each program that it runs, as
    written, by its bare name, unquoted, and without the options before its sub-command."""
    found = trace_shell(command)
    texts = [command.strip()]
    for (name, text), words in zip(found.programs, found.calls, strict=True):
        text = text.strip()
        first, gap, rest = text.partition(" ")
        line = [name, *words[1:]]
        texts += [text, posixpath.basename(first.strip("'\"\\")) + gap + rest, " ".join(line)]
        plain = without_options(name, line)
        if plain is not line:
            texts.append(" ".join(plain))
    return list(dict.fromkeys(texts))


class CallForm:
    """A call in the form of a permission rule: `Bash(rm *)`, `Edit(src/**)`, `WebFetch(domain:example.com)`,
    `mcp__server`, `mcp__server__*`, `kind:write`, a bare tool name or glob.

    Raises: ValueError for anything else.
    """

    def __init__(self, form: str) -> None:
        found = FORM.fullmatch(form)
        if found is None:
            raise ValueError(f"{form!r} is not the form of a call, such as Bash(rm *)")
        self.form = form
        self.tool: str = found.group(1)
        inner: str | None = found.group(2)
        self.inner = inner.strip() if inner is not None and inner.strip() not in ("", "*") else None
        self._home = known_path(self.inner or "")[:1] == "~"
        # A word that every matching command must contain, once quotes are gone: most commands need no closer look.
        words = [
            word
            for word in re.split(r"[*\s]+", (self.inner or "").removesuffix(":*"))
            if word.isascii() and word[:1] not in ("", "-")
        ]
        self._word = QUOTES.sub("", max(words, key=len)) if words else ""

    def unknown(self, folder: str | None) -> str | None:
        """Why paths of a session in `folder` cannot match; None where nothing is in the way."""
        if self.tool in SHELL_TOOLS or self.inner is None:
            return None
        if self._home and home_of(folder) is None and folder is not None:
            return f"it cannot match a home other than {HOMES}, because {folder} is in none"
        if folder is None and self._home:
            return f"it cannot match unless the log shows the home folder: {HOMES}"
        if folder is None and self.inner.startswith(".."):
            return "it cannot match, because the session's folder is not known"
        return None

    def fits(self, call: ToolCall, folder: str | None = None) -> bool:
        """Whether the call is of this form; `folder` is that of the session, from where relative paths are meant."""
        tool, inner = self.tool, self.inner
        if tool in SHELL_TOOLS:
            return self._runs(call, folder)
        if inner is not None and call.command is not None and self._touches(call, inner, folder):
            return True
        if tool.startswith("kind:"):
            fits = call.kind == tool[5:] or (tool == "kind:read" and inner is not None and call.tool == "Grep")
        elif tool.startswith("mcp__"):
            whole = "__" not in tool[5:] and call.tool.startswith(tool + "__")
            fits = call.server == tool[5:] or whole or named(tool, call)
        else:
            fits = named(tool, call)
        return fits and (inner is None or self._inside(call, inner, folder))

    def _runs(self, call: ToolCall, folder: str | None) -> bool:
        """Whether a shell call runs a program that the form names."""
        # Calls of a shell that have a finer name (Read, Grep) still ran a shell.
        if call.command is None and call.tool != "Bash":
            return False
        if self.inner is None:
            return True
        command = call.command or ""
        pattern = with_tilde(self.inner, folder)
        if "~" in pattern:
            test = text_test(pattern)
            return any(test(with_tilde(text, folder)) for text in command_texts(command))
        if not may_contain(command, self._word):
            return False
        test = text_test(self.inner)
        return any(map(test, command_texts(command)))

    def _touches(self, call: ToolCall, pattern: str, folder: str | None) -> bool:
        """Whether a shell text reads, searches or writes a file that the form names, whatever its kind is."""
        of_kind = self.tool.startswith("kind:")
        if not (of_kind or named(self.tool, call)) or self.tool not in READS | SEARCHES | WRITES:
            return False
        trace = trace_shell(call.command or "")
        start = path_in(folder, string_member(arguments_of(call), *START_KEYS))
        if self.tool in WRITES:
            return _writes(call, trace, pattern, start, folder)
        named_paths = trace.searched if self.tool in SEARCHES else trace.reads
        found = [*named_paths, *(trace.listed if self.tool == "kind:read" else ())]
        found += [f"{path}/\0" for path in trace.searched if path in named_paths]  # whatever a folder holds
        return any(covers(pattern, path_in(start, path), folder) for path in found)

    def _inside(self, call: ToolCall, inner: str, folder: str | None) -> bool:
        value = arguments_of(call)
        if inner.startswith("domain:"):
            host, domain = (
                host_of(string_member(value, "url", "uri", "href")),
                inner[7:].strip().lower().removeprefix("*."),
            )
            return host == domain or host.endswith("." + domain)
        if call.command is None:
            target = string_member(value, *PATH_KEYS)
            found = [*call.files, target, f"{target}/\0" if target and call.kind == "search" else ""]
            if any(covers(inner, path, folder) for path in found):
                return True
            if call.tool in FILE_TOOLS or call.files or (call.kind == "search" and self.tool == "kind:read"):
                return False
        test = text_test(inner)
        members: Mapping[str, Any] = value if is_object(value) else {"": value}
        return any(isinstance(member, str) and test(member) for member in members.values())


def _writes(call: ToolCall, trace: ShellTrace, pattern: str, start: str | None, folder: str | None) -> bool:
    """Whether a shell text writes, moves or deletes a file that fits a pattern."""
    found = [path_in(start, path) for path in (*trace.written, *(call.files if call.edit else ()))]
    if any(covers(pattern, path, folder) for path in found):
        return True
    names = [name for name, _ in trace.programs]
    if not TAKES_FOLDERS.isdisjoint(names):
        if any(covers(pattern, f"{path}/\0", folder) for path in found):  # whatever a folder holds, is gone as well
            return True
    if any(name in REMOVES or text.startswith("git rm ") for name, text in trace.programs):
        home = home_of(folder)
        whole = pattern if pattern[:1] == "/" else whole_path(pattern, folder, home) if pattern[:1] in "~." else ""
        there = [whole_path(path, folder, home) for path in found]
        if not whole:
            there = [seen_from(folder and whole_path(folder, None, home), path) for path in there]
        return any(map(folder_test(whole or pattern), there))
    return False

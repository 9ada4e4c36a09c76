"""What a rule such as `forbid` names: calls in the form of a permission rule, `Bash(rm *)`, `Edit(src/**)`.

Shell texts are judged by the programs at their command positions (`agentv_stages.shell`): `cd x && sudo rm -rf y` runs
`rm`, `echo "rm x"` does not.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from agentv_stages.model.event import ToolCall
from agentv_stages.shell import classify_shell, path_in, split_shell
from agentv_stages.trajectory.calls import arguments_of, named, string_member
from agentv_stages.trajectory.json_values import is_object
from agentv_stages.trajectory.wildcards import folder_test, host_of, path_test, text_test

FORM = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
SHELL_TOOLS = frozenset(("Bash", "Shell", "bash", "shell"))
QUOTES = re.compile(r"[\"'\\]")
FIND_RUNS = re.compile(r"\s-(?:exec|execdir|ok|okdir)\s+")
TAKES_FOLDERS = frozenset(
    (
        *("rm", "rmdir", "mv", "trash", "git", "remove-item", "ri", "move-item", "mi"),
        *("cp", "install", "copy-item", "cpi", "find", "rsync", "tar", "unzip"),
    )
)
"""Programs that delete or move a folder with all that is in it, or copy into one."""
REMOVES = frozenset(("rm", "trash", "remove-item", "ri"))
FILE_TOOLS = frozenset(("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Delete", "LS"))
START_KEYS = ("workdir", "dir_path", "directory", "cwd", "working_directory", "workingDirectory")
"""Keys of shell tools for the folder in which a text is run."""
PATH_KEYS = ("file_path", "path", "filePath", "notebook_path")


def command_texts(command: str) -> list[str]:
    """The texts against which a pattern for a shell call is matched: the whole, and each program that it runs, as
    written, by its bare name, and unquoted."""
    texts = [command.strip()]
    for name, text in classify_shell(command).programs:
        found = [text]
        if name in ("find", "fd", "fdfind"):
            found.extend(FIND_RUNS.split(text)[1:])
        for one in found:
            one = one.strip()
            first, gap, rest = one.partition(" ")
            texts += [one, posixpath.basename(first.strip("'\"\\")) + gap + rest]
            for pipeline in split_shell(one):
                for part in pipeline:
                    if part.words:
                        texts.append(" ".join((posixpath.basename(part.words[0]), *part.words[1:])))
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
        # A word that every matching command must contain, once quotes are gone: most commands need no closer look.
        words = [
            word
            for word in re.split(r"[*\s]+", (self.inner or "").removesuffix(":*"))
            if word.isascii() and word[:1] not in ("", "-")
        ]
        self._word = QUOTES.sub("", max(words, key=len)) if words else ""

    def fits(self, call: ToolCall, folder: str | None = None) -> bool:
        """Whether the call is of this form; `folder` is that of the session, from where relative paths are meant."""
        tool, inner = self.tool, self.inner
        if tool in SHELL_TOOLS:
            # Calls of a shell that have a finer name (Read, Grep) still ran a shell.
            if call.command is None and call.tool != "Bash":
                return False
            if inner is None:
                return True
            if self._word not in QUOTES.sub("", call.command or ""):
                return False
            test = text_test(inner)
            return any(test(text) for text in command_texts(call.command or ""))
        if tool.startswith("kind:"):
            fits = call.kind == tool[5:]
        elif tool.startswith("mcp__"):
            whole = "__" not in tool[5:] and call.tool.startswith(tool + "__")
            fits = call.server == tool[5:] or whole or named(tool, call)
        else:
            fits = named(tool, call)
        return fits and (inner is None or self._inside(call, inner, folder))

    def _inside(self, call: ToolCall, inner: str, folder: str | None) -> bool:
        value = arguments_of(call)
        if inner.startswith("domain:"):
            host, domain = (
                host_of(string_member(value, "url", "uri", "href")),
                inner[7:].strip().lower().removeprefix("*."),
            )
            return host == domain or host.endswith("." + domain)
        if call.tool in FILE_TOOLS or call.files:
            start = path_in(folder, string_member(value, *START_KEYS)) if call.command is not None else folder
            from_there = None if inner.startswith(("/", "~")) else folder
            files = [seen_from(from_there, path_in(start, path)) for path in call.files]
            told = string_member(value, *PATH_KEYS)
            paths = [*files, seen_from(from_there, path_in(folder, told))] if told else [*files]
            if call.command is not None and call.kind == "write":
                programs = classify_shell(call.command).programs
                if not TAKES_FOLDERS.isdisjoint(name for name, _ in programs):
                    paths += [f"{path}/\0" for path in files]  # whatever a folder holds, is gone as well
                if any(name in REMOVES or text.startswith("git rm ") for name, text in programs):
                    if any(map(folder_test(inner), files)):
                        return True
            test = path_test(inner)
            return any(path and test(path) for path in paths)
        test = text_test(inner)
        members: Mapping[str, Any] = value if is_object(value) else {"": value}
        return any(isinstance(member, str) and test(member) for member in members.values())


def seen_from(folder: str | None, path: str) -> str:
    """A path in `folder` from there on, "." for a folder that contains it; another path as it is."""
    path = path.replace("\\", "/")
    if not folder or not path or path.startswith("~"):
        return path
    folder, path = posixpath.normpath(folder.replace("\\", "/")), posixpath.normpath(path)
    if f"{folder}/".startswith(f"{path.rstrip('/')}/"):
        return "."
    return path.removeprefix(f"{folder.rstrip('/')}/")

"""Classifies a shell call by its text. In: shell text. Out: kind, finer name, path, pattern and programs.

The rules are those of docs/metrics.md, "Kinds of shell text", the same for every agent. They cover at least what
agtrace and Codex's own parser know, and also quoting, `bash -lc`, prefixes, pipes, redirections and here-documents.
A text that cannot be decided is `execute`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from agentv_stages.model.event import Kind
from agentv_stages.shell.arguments import ShellTool
from agentv_stages.shell.judge import Judge, Programs
from agentv_stages.shell.reader import Command
from agentv_stages.shell.scripts import program_name, script_of
from agentv_stages.shell.tables import SHELLS, TYPES

_CACHED_TEXT = 2_048
_QUOTES = re.compile(r"[\"'\\]")
_EXPANDED = re.compile(r"[$`{%]|\\[0-7x]")  # marks of text that the shell or `printf` turns into other words


class ShellFacts(NamedTuple):
    """The facts about a shell text.

    `tool_name` is its finer name (`Bash` if it has none). `path` is the path that a reading or listing command reads,
    `files` all paths that reading commands name, `pattern` the pattern of a search. `writes_file`: a file is changed
    other than by a patch; `written` are those that the text names: targets of redirections, operands of `rm`, `sed -i`
    and the like, sources and destinations of `mv`. A folder to which the text goes is part of these names (`cd a && cat
    b` reads `a/b`). `patch` is the body of an `apply_patch`, whose files are in `folder`. `programs` are the programs
    that it runs, each as (last part of its name, text): wrappers (`sudo`, `npx`) and the wrapped programs. `script` is
    the text without an enclosing `bash -lc`.
    """

    kind: Kind
    tool_name: ShellTool = "Bash"
    path: str | None = None
    pattern: str | None = None
    writes_file: bool = False
    programs: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    patch: str | None = None
    script: str = ""
    files: tuple[str, ...] = ()
    folder: str = ""


class ShellTrace(NamedTuple):
    """All actions of a shell text, whichever of them decides its kind: for rules.

    `programs` and `written` are those of `ShellFacts`; `calls` are the words of each program. `reads` are the files
    whose contents the text prints, loads or copies, `searched` those that it searches, in their contents or by name,
    `listed` those that it lists. Files of another machine (`ssh`, `docker exec`) are not among them.
    """

    programs: tuple[tuple[str, str], ...]
    calls: tuple[tuple[str, ...], ...]
    reads: tuple[str, ...]
    searched: tuple[str, ...]
    listed: tuple[str, ...]
    written: tuple[str, ...]


def classify_shell(command: str | Sequence[str]) -> ShellFacts:
    """Decides the kind of a shell text, or of an array of words as in Codex."""
    if isinstance(command, str):
        return _cached(command) if len(command) <= _CACHED_TEXT else _classify(command)
    words = [str(word) for word in command]
    if len(words) > 1:
        name = program_name(words[0])
        script = script_of(name, words) if name in SHELLS else None
        if script is not None and name not in TYPES:
            return classify_shell(script)
        if script is not None:
            judge = Judge(Programs(len(script)))
            judge.types = True
            return _facts(judge, judge.text(script, 0))
    text = " ".join(words)
    judge = Judge(Programs(len(text)))
    judge.pipelines([[Command(words, text=text)]], 0)
    return _facts(judge, text)


def run_commands(command: str | Sequence[str], name: str) -> list[str]:
    """The commands of a shell text that run the program `name`, each with its arguments, as in the text.

    Only command positions count: `/usr/bin/name`, `npx name` and `sudo name` do, a path or an argument that merely
    contains the word does not.
    """
    if isinstance(command, str) and not may_contain(command, name):
        return []
    return [text for program, text in classify_shell(command).programs if program == name]


def may_contain(command: str, word: str) -> bool:
    """Whether a program that a shell text runs can have a word in it: False for most, without a closer look."""
    return word in command or _EXPANDED.search(command) is not None or word in _QUOTES.sub("", command)


def runs_program(command: str | Sequence[str], name: str) -> bool:
    """Whether a shell text runs the program `name`, as `run_commands` decides it."""
    return bool(run_commands(command, name))


def _classify(text: str) -> ShellFacts:
    judge = Judge(Programs(len(text)))
    return _facts(judge, judge.text(text, 0))


def _facts(judge: Judge, script: str) -> ShellFacts:
    best = judge.strongest()
    path = best.path
    return ShellFacts(
        best.kind or "execute",
        best.tool,
        None if path is None or "$" in path or "`" in path else path,  # the path in a variable is unknown
        best.pattern,
        judge.wrote,
        tuple(judge.programs.found),
        tuple(dict.fromkeys(judge.written)),
        best.patch,
        script,
        judge.files() if best.tool == "Read" else (),
        best.folder,
    )


_cached = lru_cache(maxsize=1024)(_classify)


@lru_cache(maxsize=16)
def trace_shell(text: str) -> ShellTrace:
    """The facts that rules need about a shell text. It costs more than `classify_shell`, which every call goes
    through.
    """
    calls: list[tuple[str, ...]] = []
    judge = Judge(Programs(len(text), calls))
    judge.text(text, 0)
    kept = (judge.reads, judge.searched, judge.listed, judge.written)
    return ShellTrace(tuple(judge.programs.found), tuple(calls), *(tuple(dict.fromkeys(paths)) for paths in kept))

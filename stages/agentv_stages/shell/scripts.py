"""The scripts that shells and their like run: those on the command line, and those that come through a pipe."""

import re
from collections.abc import Sequence

from agentv_stages.shell.arguments import bundles, is_file
from agentv_stages.shell.options import is_assignment
from agentv_stages.shell.reader import Command
from agentv_stages.shell.tables import KEYWORDS

_MOST_PRINTED = 100_000
_MOST_ARGUMENTS = 100


def program_name(word: str) -> str:
    """The last part of a program's path; on Windows without its `.exe`."""
    if "/" in word:
        word = word.rpartition("/")[2]
    if "\\" in word:
        word = word.rpartition("\\")[2]
    return word[:-4] if word.endswith((".exe", ".EXE")) else word


def reads_script(words: list[str]) -> bool:
    """Whether a shell takes its script from standard input: it is given none, or `-s` and arguments for it."""
    for word in words[1:]:
        if word[:1] not in ("-", "+"):
            return not word or word == "/dev/stdin"
        if word != "--" and bundles(word, "s"):
            return True
    return True


def feed(shell: Command, before: Sequence[Command]) -> None:
    """Sets the script of a shell after a pipe, if the text contains it (`echo TEXT | sh`); `before` are the commands
    ahead of it."""
    source = next((c for c in reversed(before) if not _passes_on(c)), None)
    if source is None:
        return
    words = without_heads(source.words)
    name = program_name(words[0]) if words else ""
    if name == "cat" and source.script is not None and len(words) == 1:
        shell.input_text = source.script
    elif name in ("echo", "printf") and not any(map(is_file, source.writes)):
        shell.input_text = _printed(name, words[1:])
    else:
        return
    if source.expanded:
        shell.expanded = {*(shell.expanded or ()), shell.input_text}


def without_heads(words: list[str]) -> list[str]:
    """The words from the program on: without variables, keywords and the head of a function before it."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "function" or words[at + 1 : at + 2] == ["{"]:
            at += 2
        elif word in KEYWORDS or ("=" in word and is_assignment(word)):
            at += 1
        else:
            break
    return words[at:]


def _passes_on(command: Command) -> bool:
    """Whether a command prints its input (`cat`, `tee FILE`)."""
    words = without_heads(command.words)
    name = program_name(words[0]) if words else ""
    alone = name == "cat" and all(word.startswith("-") for word in words[1:])
    return (
        (alone or name == "tee")
        and command.script is None
        and command.input_text is None
        and not any(map(is_file, command.writes))
    )


_PLACE = re.compile(r"%%|%[-+0-9.]*[a-zA-Z]|\\(?:[nt\\]|0?[0-7]{1,3}|x[0-9a-fA-F]{1,2})")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}


def _escape(found: str) -> str:
    """The text that an escape of `printf` or `echo -e` prints."""
    if found in _ESCAPES:
        return _ESCAPES[found]
    return chr(int(found[2:], 16) if found[1] == "x" else int(found[1:], 8) & 255)


def _printed(name: str, words: list[str]) -> str:
    """The output of `echo` or `printf`."""
    options = 0
    while options < len(words) and words[options] in ("-n", "-e", "-ne", "-en", "-E", "--"):
        options += 1
    rest = words[options:]
    if name == "echo":
        text = " ".join(rest)
        escaped = any("e" in word for word in words[:options])
        return (
            _PLACE.sub(lambda found: _escape(found[0]) if found[0][0] == "\\" else found[0], text) if escaped else text
        )
    if not rest:
        return ""
    values = iter(rest[1:])
    again = max(1, len(rest) - 1) if "%" in rest[0] else 1

    def put(found: re.Match[str]) -> str:
        if found[0][0] == "\\":
            return _escape(found[0])
        return "%" if found[0] == "%%" else next(values, "")

    again = min(again, 1 + _MOST_PRINTED // (len(rest[0]) + 1))
    return "".join([_PLACE.sub(put, rest[0]) for _ in range(again)])


def was_expanded(script: str | None, words: list[str], command: Command) -> bool:
    """Whether substitutions of a script were already read as commands of the surrounding text (`eval "$(…)"`).

    Reading them again would count them twice, and double the time with each level of nesting.
    """
    expanded = command.expanded
    if expanded is None or script is None:
        return False
    return script in expanded or (script != command.script and not expanded.isdisjoint(words) and script not in words)


def head_of_function(words: list[str], at: int, text: str) -> int:
    """How many words the head of a function has that begins at a place (`f() {`, `function f {`); 0 if none does."""
    if words[at] == "function":
        return 3 if words[at + 2 : at + 3] == ["{"] else 2
    inside = words[at + 1 : at + 2] == ["{"]
    if not inside and text[-1:] != ")":
        return 0
    head = re.search(rf"(?:^|(?<=[\s;{{(])){re.escape(words[at])}\s*\(\s*\)", text)
    return 0 if head is None else 2 if inside else 1


def with_arguments(words: list[str], mark: str, text: str) -> list[str]:
    """The words of a program that `xargs` runs with its input: a line in the place of `mark`, otherwise all words."""
    if not mark:
        return [*words, *text.replace("\0", " ").split()[:_MOST_ARGUMENTS]]
    return [word.replace(mark, text.strip("\n").partition("\n")[0]) for word in words]


_SCHEDULE = re.compile(r"^[ \t]*(?:@\w+|(?:[\d*,/-]+[ \t]+){4}[\w*,/-]+)[ \t]+", re.M)


def jobs_of(name: str, table: str) -> str:
    """The shell text of a program's standard input: without the times of a table of `crontab`."""
    return _SCHEDULE.sub("", table) if name == "crontab" else table


def script_of(name: str, words: list[str]) -> str | None:
    """The script on the command line of a shell (`bash -lc TEXT`); None if there is none."""
    value = False
    for i, word in enumerate(words[1:], 1):
        if value:
            value = False
            continue
        low = word.lower()
        rest = words[i + 1 :]
        if name.startswith(("powershell", "pwsh")):
            if low in ("-c", "-command", "-commandwithargs"):
                return " ".join(rest) or None
            if i == 1 and name == "powershell" and word[:1] not in ("-", "/"):  # for `pwsh` it is a file
                return " ".join(words[1:])
        elif name.startswith("cmd"):
            if low in ("/c", "/k", "/s/c"):
                return " ".join(rest) or None
        elif word == "--command" or (word.startswith("-") and not word.startswith("--") and "c" in word):
            if "o" in word and not word.startswith("--"):
                rest = rest[1:]  # `-euoc pipefail TEXT`
            if not rest:
                return None
            # `bash -lc cat file` comes from arrays joined with spaces (agtrace); a real script is one word
            return " ".join(rest) if len(rest) > 1 and not set(rest[0]) & set(" \t\n;|&$") else rest[0]
        elif word in ("--rcfile", "--init-file") or (word[:1] in "-+" and word[:2] != "--" and word[-1:] in ("o", "O")):
            value = True  # `-euo pipefail -c TEXT`
        elif not word.startswith(("-", "+")):
            return None
    return None

"""What a command runs in turn: the scripts that are given to a shell, the programs that wrappers and runners start."""

import re

from agentv_stages.shell.arguments import bundles
from agentv_stages.shell.reader import Command
from agentv_stages.shell.tables import RUNNER_VALUES, RUNNERS, WRAPPERS


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


def feed(shell: Command, before: Command) -> None:
    """Sets the script of a shell after a pipe, if the text contains it (`echo TEXT | sh`)."""
    words = before.words
    name = program_name(words[0]) if words else ""
    if name == "cat" and before.script is not None and len(words) == 1:
        shell.given = before.script
    elif name in ("echo", "printf") and not before.writes:
        shell.given = " ".join(word for word in words[1:] if word not in ("-n", "-e", "-ne", "--"))
    else:
        return
    if before.expanded:
        shell.expanded = {*(shell.expanded or ()), shell.given}


def was_expanded(script: str | None, words: list[str], command: Command) -> bool:
    """Whether substitutions of a script were already read as commands of the surrounding text (`eval "$(…)"`).

    Reading them again would count them twice, and double the time with each level of nesting.
    """
    expanded = command.expanded
    if expanded is None or script is None:
        return False
    return script in expanded or (script != command.script and not expanded.isdisjoint(words) and script not in words)


_FUNCTION = re.compile(r"\s*(?:function\s+)?[\w.:-]+\s*\(\s*\)")


def without_head(words: list[str], text: str) -> list[str]:
    """The words after the head of a function (`f() {`, `function f {`) whose body begins on the same line, or in
    parentheses; `words` itself if there is no head."""
    if words[0] == "function":
        return words[3:] if words[2:3] == ["{"] else []
    return words[2:] if _FUNCTION.match(text) else words


def is_assignment(word: str) -> bool:
    """Whether a word sets a variable (`NAME=value`, `NAME+=value`)."""
    name = word.partition("=")[0].rstrip("+")
    return name.replace("_", "a").isalnum() and not name[0].isdigit()


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
            return " ".join(rest) if len(rest) > 1 and not set(rest[0]) & set(" \t\n;|&") else rest[0]
        elif word in ("--rcfile", "--init-file") or (word[:1] in "-+" and word[:2] != "--" and word[-1:] in ("o", "O")):
            value = True  # `-euo pipefail -c TEXT`
        elif not word.startswith(("-", "+")) and name != "su":
            return None
    return None


def after_options(name: str, words: list[str]) -> list[str]:
    """What a wrapper runs: the words after its options, its variables and, for `timeout`, its duration."""
    values = WRAPPERS[name]
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
        elif "=" in word and name in ("env", "sudo", "doas") and is_assignment(word):
            at += 1
        else:
            break
    return words[at + 1 :] if name in ("timeout", "gtimeout") else words[at:]


def after_runner(name: str, words: list[str]) -> list[str]:
    """What a runner (`npx`, `uv run`) runs: the words after its options and its sub-command; empty if no program."""
    commands = RUNNERS[name].split()
    seen = not commands
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            at += 2 if word in RUNNER_VALUES else 1
        elif seen:
            break
        elif word in commands:
            seen = True
            at += 1
        else:
            return []
    if not seen or at >= len(words):
        return []
    program = words[at]
    return [program if program.startswith("@") else program.partition("@")[0], *words[at + 1 :]]

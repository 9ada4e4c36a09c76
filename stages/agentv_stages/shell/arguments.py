"""Functions to judge one program: its options, their values, its operands; and `Part`, the effect of a command."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from agentv_stages.model.event import Kind
from agentv_stages.shell.tables import NO_FILE, NO_FILES, PAIRS, VALUES

ShellTool: TypeAlias = Literal["Bash", "Read", "LS", "Grep", "Glob", "Edit", "Write"]


class Part(NamedTuple):
    """The effect of a command. `kind` None: nothing of interest (cd, echo). `patch`: the body of an `apply_patch`.
    `inner`: the words of the commands that it runs for its findings (`find -exec`), which may do more. `more`: files
    that it reads after `path`, or those that it writes. `folder`: where the files of a patch are. `loads`: files whose
    contents it reads besides those that its kind and tool imply (`cp`, `curl -d @FILE`)."""

    kind: Kind | None
    tool: ShellTool = "Bash"
    path: str | None = None
    pattern: str | None = None
    patch: str | None = None
    inner: tuple[tuple[str, ...], ...] = ()
    more: tuple[str, ...] = ()
    folder: str = ""
    loads: tuple[str, ...] = ()


NOTHING = Part(None)
EXECUTE = Part("execute")
WRITES = Part("write")
_NO_VALUES = frozenset[str]()


def writes(files: Sequence[str]) -> Part:
    """The effect of a command that writes these files, and perhaps others."""
    return Part("write", more=tuple(files))


def is_file(target: str) -> bool:
    """Whether the target of a redirection is a real file (not `/dev/fd/…`, `&1` and the like)."""
    return target.lower() not in NO_FILE and not target.startswith(NO_FILES)


def has(words: list[str], *options: str) -> bool:
    """Whether the words contain an option: by itself, with a value (`--x=y`), or with a suffix (`-i.bak`)."""
    for word in words[1:]:
        for option in options:
            if word.startswith(option) and (len(word) == len(option) or not word[len(option)].isalnum()):
                return True
    return False


def value(family: str, words: list[str], *options: str) -> str | None:
    """The value of the first of the options that is present; a short one may be the last of a bundle (`-ne`)."""
    for i, word in enumerate(words):
        if word[:1] != "-":
            continue
        for option in options:
            if word == option or (len(word) > 2 and word[-1] == option[1:] and _takes_next(family, word)):
                return words[i + 1] if i + 1 < len(words) else None
            if option.startswith("--") and word.startswith(option + "="):
                return word[len(option) + 1 :]
    return None


def operands(family: str, words: list[str]) -> list[str]:
    """The words that are neither options nor their values."""
    values, pairs = VALUES.get(family, _NO_VALUES), PAIRS.get(family, _NO_VALUES)
    found: list[str] = []
    at, size = 1, len(words)
    while at < size:
        word = words[at]
        if word == "--":
            found.extend(words[at + 1 :])
            break
        if word.startswith("-") and len(word) > 1:
            if word in values or (len(word) > 2 and "-" + word[-1] in values and _takes_next(family, word)):
                at += 2
            else:
                at += 3 if word in pairs else 1
            continue
        found.append(word)
        at += 1
    return found


def _takes_next(family: str, word: str) -> bool:
    """Whether a word is a bundle of short options (`-nA`) of which the last one alone takes a value: the next word."""
    if not word.startswith("-") or not word[1:].isalpha() or family == "xxd":
        return False
    values = VALUES.get(family, _NO_VALUES)
    return not any("-" + letter in values for letter in word[1:-1])


def first(values: Sequence[str], position: int = 0) -> str | None:
    return values[position] if len(values) > position else None


def bundles(word: str, letter: str) -> bool:
    """Whether a bundle of short options (`-uo`) contains `letter`."""
    return word.startswith("-") and word[1:].isalpha() and letter in word

"""What one program does with its arguments: words of a simple command in, kind, finer name, path and pattern out."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from agentv_stages.event import Kind
from agentv_stages.shell_tables import FAMILY, FIND, FIND_NAMES, GREP, LIST, NEUTRAL, NO_FILE, READ, VALUES, WRITE
from agentv_stages.shell_words import Command

ShellTool: TypeAlias = Literal["Bash", "Read", "LS", "Grep", "Glob", "Edit", "Write"]


class Part(NamedTuple):
    """What a command does. `kind` None: nothing worth telling (cd, echo). `patch`: the body of an `apply_patch`.
    `inner`: the words of a command that it runs for what it finds (`find -exec`), which may do more."""

    kind: Kind | None
    tool: ShellTool = "Bash"
    path: str | None = None
    pattern: str | None = None
    patch: str | None = None
    inner: tuple[str, ...] = ()


NOTHING = Part(None)
EXECUTE = Part("execute")
WRITES = Part("write")
_NO_VALUES = frozenset[str]()

_Judge: TypeAlias = Callable[[str, list[str], Command], Part]


def judge_program(name: str, words: list[str], command: Command) -> Part:
    """What the program `name` (lower case, without its folder) does; `words[0]` is the program."""
    judge = _JUDGES.get(name)
    return EXECUTE if judge is None else judge(FAMILY.get(name, name), words, command)


def is_file(target: str) -> bool:
    """Whether the target of a redirection is a file that keeps what is written."""
    return target.lower() not in NO_FILE and not target.startswith(("/dev/fd/", "&"))


def _has(words: list[str], *options: str) -> bool:
    """Whether an option stands in the words: as such, with a value behind it, or (`-i.bak`) with a suffix."""
    for word in words[1:]:
        for option in options:
            if word.startswith(option) and (len(word) == len(option) or not word[len(option)].isalnum()):
                return True
    return False


def _value(words: list[str], *options: str) -> str | None:
    """The value of the first of the options that is there."""
    for i, word in enumerate(words[1:], 1):
        for option in options:
            if word == option:
                return words[i + 1] if i + 1 < len(words) else None
            if option.startswith("--") and word.startswith(option + "="):
                return word[len(option) + 1 :]
    return None


def _operands(family: str, words: list[str]) -> list[str]:
    """The words that are neither options nor their values."""
    values = VALUES.get(family, _NO_VALUES)
    found: list[str] = []
    at, size = 1, len(words)
    while at < size:
        word = words[at]
        if word == "--":
            found.extend(words[at + 1 :])
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
            continue
        found.append(word)
        at += 1
    return found


def _first(values: Sequence[str], position: int = 0) -> str | None:
    return values[position] if len(values) > position else None


def _bundles_i(words: list[str]) -> bool:
    """Whether the leading short options hold an `i` (`sed -ni`, `perl -pi`); what follows an `e` is a script."""
    for word in words[1:]:
        if not word.startswith("-") or word == "--":
            return False
        if not word.startswith("--") and word[1:2] not in ("e", "f", "I", "M", "m") and "i" in word.partition("e")[0]:
            return True
    return False


def _nothing(family: str, words: list[str], command: Command) -> Part:
    return NOTHING


def _writes(family: str, words: list[str], command: Command) -> Part:
    return WRITES


def _patch(family: str, words: list[str], command: Command) -> Part:
    body = command.script if command.script is not None else _first(words, 1)
    return Part("write", "Edit", None, None, body or "")


def _list(family: str, words: list[str], command: Command) -> Part:
    return Part("read", "LS", _first(_operands(family, words)))


def _read(family: str, words: list[str], command: Command) -> Part:
    path = _first(_operands(family, words)) if family != "tr" else None
    if path is None:
        if command.script is not None and not command.reads:
            return NOTHING  # prints its here-document, as echo does
        path = _first(command.reads)
    return Part("read", "Read", path)


def _get_content(family: str, words: list[str], command: Command) -> Part:
    path = _value(words, "-Path", "-LiteralPath", "-path", "-literalpath")
    return Part("read", "Read", path if path is not None else _first(_operands(family, words)))


def _sort(family: str, words: list[str], command: Command) -> Part:
    return WRITES if _value(words, "-o", "--output") is not None else _read(family, words, command)


def _scripted(own: tuple[str, ...]) -> _Judge:
    """A filter whose first operand is its script, unless one of the options `own` gives it."""

    def judge(family: str, words: list[str], command: Command) -> Part:
        path = _first(_operands(family, words), 0 if _value(words, *own) is not None else 1)
        return Part("read", "Read", path if path is not None else _first(command.reads))

    return judge


_read_sed = _scripted(("-e", "-f", "--expression", "--file"))
_read_awk = _scripted(("-f", "--file"))
_read_jq = _scripted(("-f", "--from-file"))


def _sed(family: str, words: list[str], command: Command) -> Part:
    if _has(words, "-i", "--in-place") or _bundles_i(words):
        return WRITES
    return _read_sed(family, words, command)


def _yq(family: str, words: list[str], command: Command) -> Part:
    return WRITES if _has(words, "-i", "--inplace") else _read_jq(family, words, command)


def _awk(family: str, words: list[str], command: Command) -> Part:
    if "inplace" in words:
        return WRITES
    script = _first(_operands(family, words)) or ""
    if "system(" in script or '"' in script.partition(">")[2]:
        return EXECUTE  # may print into a file, or only compare with a text
    return _read_awk(family, words, command)


def _in_place(family: str, words: list[str], command: Command) -> Part:
    return WRITES if _bundles_i(words) else EXECUTE


def _tee(family: str, words: list[str], command: Command) -> Part:
    return WRITES if any(is_file(word) for word in _operands(family, words)) else NOTHING


def _dd(family: str, words: list[str], command: Command) -> Part:
    return WRITES if any(word.startswith("of=") and is_file(word[3:]) for word in words) else EXECUTE


def _grep(family: str, words: list[str], command: Command) -> Part:
    operands = _operands(family, words)
    if family == "rg" and _has(words, "--files"):
        return Part("search", "Glob", _first(operands), _value(words, "-g", "--glob", "--iglob"))
    pattern = _value(words, "-e", "--regexp", "-Pattern", "-pattern")
    if pattern is not None:
        return Part("search", "Grep", _first(operands), pattern)
    return Part("search", "Grep", _first(operands, 1), _first(operands))


def _git(family: str, words: list[str], command: Command) -> Part:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return _grep("grep", words[at:], command) if _first(words, at) == "grep" else EXECUTE


def _find(family: str, words: list[str], command: Command) -> Part:
    inner: tuple[str, ...] = ()
    pattern = path = None
    for i, word in enumerate(words[1:], 1):
        if word in ("-delete", "-fprint", "-fprintf", "-fls"):
            return WRITES
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = tuple(words[i + 1 :])
            break
        if pattern is None and word in FIND_NAMES:
            pattern = _first(words, i + 1)
        if i == 1 and not word.startswith(("-", "(", "!")):
            path = word
    return Part("search", "Glob", path, pattern, None, inner)


def _fd(family: str, words: list[str], command: Command) -> Part:
    inner: tuple[str, ...] = ()
    for i, word in enumerate(words):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            inner = tuple(words[i + 1 :])
            words = words[:i]
            break
    operands = _operands(family, words)
    return Part("search", "Glob", _first(operands, 1), _first(operands), None, inner)


_JUDGES: dict[str, _Judge] = {
    **dict.fromkeys(NEUTRAL, _nothing),
    **dict.fromkeys(READ, _read),
    **dict.fromkeys(LIST, _list),
    **dict.fromkeys(GREP, _grep),
    **dict.fromkeys(WRITE, _writes),
    **dict.fromkeys(FIND, _fd),
    **dict.fromkeys(("apply_patch", "applypatch"), _patch),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("jq", "xq"), _read_jq),
    **dict.fromkeys(("perl", "ruby"), _in_place),
    **dict.fromkeys(("get-content", "gc"), _get_content),
    "yq": _yq,
    "sort": _sort,
    "tee": _tee,
    "dd": _dd,
    "git": _git,
    "find": _find,
}

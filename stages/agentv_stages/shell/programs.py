"""Judges one program by its arguments. In: words of a simple command. Out: kind, finer name, path and pattern."""

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeAlias

from agentv_stages.shell import transfers
from agentv_stages.shell.arguments import (
    EXECUTE,
    NOTHING,
    WRITES,
    Part,
    bundles,
    first,
    has,
    is_file,
    operands,
    value,
    writes,
)
from agentv_stages.shell.folders import part_in, path_in
from agentv_stages.shell.reader import Command
from agentv_stages.shell.subcommands import without_options
from agentv_stages.shell.tables import CONTENT, FAMILY, FIND, FIND_NAMES, GREP, LIST, NEUTRAL, PACK, READ, WRITE
from agentv_stages.shell.targets import edited_by_script, targets

_MOST_PATHS = 100
_NO_BUNDLES = frozenset("efFIMmrx")  # options of sed, perl and ruby whose rest is a value: `-Mutf8`, `-rdigest`
_ONE_INPUT = frozenset(("uniq", "xxd"))  # their second file is the output
_AWK_TOKEN = re.compile(
    r"""
    "(?:[^"\\\n]|\\.)*" | (?<![\w)\]$])/(?=[^\s/])(?:[^/\\\n]|\\.)*/ | \#.*  # texts, patterns, comments
    | \bprintf?\b | [(){};\n] | \|\| | \|&?\s*getline | \| | >= | >>?[ \t]*(?:"[^"\n]*")?
    """,
    re.X,
)
_Judge: TypeAlias = Callable[[str, list[str], Command], Part]


def judge_program(name: str, words: list[str], command: Command) -> Part:
    """The effect of the program `name` (lower case, without its folder); `words[0]` is the program."""
    judge = _JUDGES.get(name)
    if judge is None:
        return _net(name) if name[0] == "[" else EXECUTE
    if len(words) == 2 and words[1] in ("--version", "--help"):
        return EXECUTE
    return judge(FAMILY.get(name, name), words, command)


def _bundles_i(words: list[str]) -> bool:
    """Whether the leading short options contain `i` (`sed -ni`, `perl -pi`); what follows an `e` is a script."""
    for word in words[1:]:
        if not word.startswith("-") or word == "--":
            return False
        if not word.startswith("--") and word[1:2] not in _NO_BUNDLES and "i" in word.partition("e")[0]:
            return True
    return False


_NET = re.compile(r"\[(?:system\.)?io\.(?:file|directory)\]::(read|exists|get|enumerate)?")


def _net(name: str) -> Part:
    """The effect of a PowerShell call `[System.IO.File]::ReadAllText(…)`, whose arguments are elsewhere."""
    call = _NET.match(name)
    if call is None:
        return EXECUTE
    if call[1] in ("read", None):
        return WRITES if call[1] is None else Part("read", "Read")
    return NOTHING if call[1] == "exists" else Part("read", "LS")


def _nothing(family: str, words: list[str], command: Command) -> Part:
    return NOTHING


def _writes(family: str, words: list[str], command: Command) -> Part:
    """A script of a project's own may have the same name (`./install`)."""
    return EXECUTE if "/" in words[0] and words[0][0] != "/" else writes(targets(family, words))


def _patch(family: str, words: list[str], command: Command) -> Part:
    body = next((text for text in (command.script, first(words, 1), command.input_text) if text is not None), None)
    return Part("write", "Edit", None, None, body or "")


def _list(family: str, words: list[str], command: Command) -> Part:
    args = operands(family, words)
    return Part("read", "LS", first(args), more=tuple(args[1:_MOST_PATHS]))


def _read(family: str, words: list[str], command: Command) -> Part:
    if family != "tr":
        args = operands(family, words)
        if args:
            return writes(args[1:2]) if family in _ONE_INPUT and is_file(first(args, 1) or "") else _reads(args)
    return _reads(command.reads)


def _reads(paths: Sequence[str]) -> Part:
    return Part("read", "Read", first(paths), more=tuple(paths[1:_MOST_PATHS]))


def _get_content(family: str, words: list[str], command: Command) -> Part:
    """Its operands may be a list (`a.txt, b.txt`)."""
    words = [word.lower() if word.startswith("-") else word for word in words]
    begin = next((i for i, word in enumerate(words) if word in ("-path", "-literalpath")), 0)
    args = operands(family, words)
    if begin:
        args = words[begin + 1 : begin + 2]
        while args and args[-1].endswith(",") and begin + len(args) + 1 < len(words):
            args.append(words[begin + len(args) + 1])
    return _reads([path for word in args for path in word.split(",") if path])


def _type(family: str, words: list[str], command: Command) -> Part:
    """`type a.txt` (Windows) reads a file; `type ls` asks a shell for the meaning of a word, as `command -v` does."""
    path = first(operands(family, words))
    return Part("read", "Read", path) if path is not None and set(path) & set("./\\") else NOTHING


def _sort(family: str, words: list[str], command: Command) -> Part:
    output = value(family, words, "-o", "--output")
    if output is not None:
        return writes((output,))
    return _read(family, words, command)


def _scripted(own: tuple[str, ...]) -> _Judge:
    """The judge of a filter whose first operand is its script, unless one of the options `own` gives the script."""

    def judge(family: str, words: list[str], command: Command) -> Part:
        args = [word for word in operands(family, words) if word]  # BSD's `sed -i ''` has an empty one
        return _reads(args[0 if value(family, words, *own) is not None else 1 :] or command.reads)

    return judge


_read_sed = _scripted(("-e", "-f", "--expression", "--file"))
_read_awk = _scripted(("-f", "--file"))
_read_jq = _scripted(("-f", "--from-file"))


def _sed(family: str, words: list[str], command: Command) -> Part:
    if has(words, "-i", "--in-place") or _bundles_i(words):
        return _changes(_read_sed(family, words, command))
    return _read_sed(family, words, command)


def _changes(reads: Part) -> Part:
    """The effect of a command that writes the files that it reads."""
    return writes(() if reads.path is None else (reads.path, *reads.more))


def _yq(family: str, words: list[str], command: Command) -> Part:
    in_place = has(words, "-i", "--inplace", "--in-place")
    if first(words, 1) in ("e", "ea", "eval", "eval-all"):
        words = words[1:]
    reads = _read_jq(family, words, command)
    return _changes(reads) if in_place else reads


def _awk(family: str, words: list[str], command: Command) -> Part:
    if "inplace" in words:
        return WRITES
    return _awk_prints(first(operands(family, words)) or "") or _read_awk(family, words, command)


def _awk_prints(script: str) -> Part | None:
    """The effect of an awk script beside reading: it prints into a file or to a command, or reads from a command."""
    if "system(" in script:
        return EXECUTE
    if ">" not in script and "|" not in script:
        return None
    prints = False
    depth = 0
    for token in _AWK_TOKEN.finditer(script):
        text = token[0]
        if text in ("print", "printf"):
            prints, depth = True, 0
        elif text in ("\n", ";", "{", "}"):
            prints = False
        elif text in ("(", ")"):
            depth += 1 if text == "(" else -1
        elif text[0] == "|" and text != "||":
            if prints or text[-1] == "e":
                return EXECUTE
        elif text[0] == ">" and text != ">=" and prints and not depth:  # in parentheses it compares
            if text[-1] != '"' or is_file(text.lstrip("> \t").strip('"')):
                return WRITES
    return None


def _pack(family: str, words: list[str], command: Command) -> Part:
    """Replaces files by packed or unpacked ones, unless it only prints (`-c`), tests or lists them."""
    if any(word in ("--stdout", "--to-stdout") or bundles(word, "c") for word in words[1:]):
        return _read(family, words, command)
    looks = any(word in ("--list", "--test") or bundles(word, "l") or bundles(word, "t") for word in words[1:])
    return EXECUTE if looks or not operands(family, words) else writes(operands(family, words))


def _in_place(family: str, words: list[str], command: Command) -> Part:
    return writes(edited_by_script(words)) if _bundles_i(words) else EXECUTE


def _tee(family: str, words: list[str], command: Command) -> Part:
    files = [word for word in operands(family, words) if is_file(word)]
    return writes(files) if files else NOTHING


def _tee_object(family: str, words: list[str], command: Command) -> Part:
    return NOTHING if any(word.lower() == "-variable" for word in words) else writes(targets(family, words))


def _web(family: str, words: list[str], command: Command) -> Part:
    return WRITES if any(word.lower() == "-outfile" for word in words) else EXECUTE


def _dd(family: str, words: list[str], command: Command) -> Part:
    files = [word[3:] for word in words if word.startswith("of=") and is_file(word[3:])]
    return writes(files) if files else EXECUTE


def _grep(family: str, words: list[str], command: Command) -> Part:
    if family == "findstr":
        pattern = next((word[3:] for word in words if word[:3].lower() == "/c:"), None)
        words = [word for word in words if not word.startswith("/")]
    elif family == "select-string":
        pattern = value(family, words, "-Pattern", "-pattern")
    else:
        pattern = value(family, words, "-e", "--regexp")
    args = operands(family, words)
    if family == "rg" and "--files" in words:
        return Part("search", "Glob", first(args), value(family, words, "-g", "--glob", "--iglob"))
    if pattern is None and not (family in ("grep", "rg") and value(family, words, "-f", "--file") is not None):
        pattern, args = first(args), args[1:]
    return Part("search", "Grep", first(args), pattern, more=tuple(args[1:_MOST_PATHS]))


def _git(family: str, words: list[str], command: Command) -> Part:
    plain = without_options("git", words)
    folder = ""
    for at in range(1, len(words) - len(plain) + 1):
        if words[at] == "-C":
            folder = path_in(folder, words[at + 1])
    words = plain[1:]
    part = _grep("grep", words, command) if first(words) == "grep" else transfers.git(words)
    return part_in(folder, part)


def _ast_grep(family: str, words: list[str], command: Command) -> Part:
    """Searches with a pattern (`run` may be left out), and with `-U` rewrites the matches; scans execute."""
    at = 2 if first(words, 1) == "run" else 1
    words = words[at - 1 :]
    pattern = value(family, words, "-p", "--pattern")
    if pattern is None:
        return EXECUTE
    if has(words, "-U", "--update-all"):
        return WRITES
    return Part("search", "Grep", first(operands(family, words)), pattern)


def _end_of_exec(words: list[str], at: int) -> int:
    """The end of the command of `find -exec`: at `;`, or at `{} +`."""
    while at < len(words) and words[at] != ";" and words[at - 1 : at + 1] != ["{}", "+"]:
        at += 1
    return at


def _find(family: str, words: list[str], command: Command) -> Part:
    inner: list[tuple[str, ...]] = []
    pattern = path = None
    begin = 1
    while begin < len(words) and words[begin] in ("-L", "-H", "-P"):
        begin += 1
    end = 0
    for i, word in enumerate(words[1:], 1):
        if i < end:
            continue
        if word == "-delete":
            return writes(list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words[begin:])))
        if word in ("-fprint", "-fprintf", "-fls"):
            return WRITES
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = _end_of_exec(words, i + 1)
            inner.append(tuple(words[i + 1 : end]))
        if pattern is None and word in FIND_NAMES:
            pattern = first(words, i + 1)
        if i == begin and not word.startswith(("-", "(", "!")):
            path = word
    return Part("search", "Glob", path, pattern, None, tuple([line for line in inner if line]))


def _fd(family: str, words: list[str], command: Command) -> Part:
    inner: tuple[tuple[str, ...], ...] = ()
    for i, word in enumerate(words):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            inner = (tuple(words[i + 1 :]),) if words[i + 1 :] else ()
            words = words[:i]
            break
    args = operands(family, words)
    return Part("search", "Glob", first(args, 1), first(args), None, inner)


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
    **dict.fromkeys(CONTENT, _get_content),
    "yq": _yq,
    "type": _type,
    "sort": _sort,
    "curl": transfers.curl,
    "wget": transfers.wget,
    "unzip": transfers.unzip,
    **dict.fromkeys(("tar", "gtar", "bsdtar"), transfers.tar),
    **dict.fromkeys(PACK, _pack),
    **dict.fromkeys(("7z", "7za", "7zz"), transfers.seven_zip),
    **dict.fromkeys(("ast-grep", "sg"), _ast_grep),
    "patch": transfers.patch,
    "rsync": transfers.rsync,
    "tee": _tee,
    "tee-object": _tee_object,
    **dict.fromkeys(("invoke-webrequest", "iwr", "invoke-restmethod", "irm"), _web),
    "dd": _dd,
    "git": _git,
    "find": _find,
}

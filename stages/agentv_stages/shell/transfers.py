"""Judges programs that fetch, pack, unpack or apply files: the words of a simple command in, write or execute out."""

from agentv_stages.shell.arguments import EXECUTE, WRITES, Part, bundles, first, is_file, operands, value, writes
from agentv_stages.shell.reader import Command
from agentv_stages.shell.targets import targets

GIT_WRITES = {
    "apply": frozenset(("--check", "--stat", "--numstat", "--summary", "--cached")),
    "mv": frozenset(("-n", "--dry-run")),
    "rm": frozenset(("-n", "--dry-run", "--cached")),
    "restore": frozenset(("--staged", "-S")),
    "clean": frozenset(("-n", "--dry-run")),
}
"""Sub-commands that change files of the working tree -> the options with which they do not."""

_GIT_WRITES_STILL = {"apply": "--apply", "restore": "--worktree"}
"""Options with which they change them nevertheless."""
_OF_BRANCHES = frozenset(("--track", "--orphan", "--detach"))
_OF_FILES = frozenset(("--", "--ours", "--theirs"))
"""Options of `git checkout`."""


def patch(family: str, words: list[str], command: Command) -> Part:
    """Its first operand or `-o` names the file that it writes; otherwise only the patch does."""
    if "--dry-run" in words:
        return EXECUTE
    out = value(family, words, "-o", "--output")
    return writes((out,) if out is not None else operands(family, words)[:1])


def rsync(family: str, words: list[str], command: Command) -> Part:
    """It writes into its last operand, which may be on another machine (`host:folder`)."""
    if "--dry-run" in words or any(bundles(word, "n") for word in words):
        return EXECUTE
    into = operands(family, words)[1:][-1:]
    return WRITES if any(":" in place.partition("/")[0] for place in into) else writes(into)


def curl(family: str, words: list[str], command: Command) -> Part:
    for i, word in enumerate(words[1:], 1):
        after = first(words, i + 1) or ""
        if word in ("--remote-name", "--remote-name-all"):
            return WRITES
        if word == "--output" and is_file(after):
            return writes((after,))
        if word.startswith("--") or not word.startswith("-"):
            continue
        for at, letter in enumerate(word[1:], 2):
            if letter == "O":
                return WRITES
            if letter == "o" and is_file(word[at:] or after):
                return writes((word[at:] or after,))
            if letter in "oXHduAebcFTmxwrKEUCQtPyYz":
                break  # what follows is its value
    return EXECUTE


def wget(family: str, words: list[str], command: Command) -> Part:
    """Writes, unless to standard output (`-qO-`) or nowhere (`--spider`)."""
    for i, word in enumerate(words[1:], 1):
        if word in ("--spider", "--version", "--help"):
            return EXECUTE
        name, _, target = word.partition("=" if word.startswith("--") else "O")
        if name == "--output-document" or (word.startswith("-") and name != word and not name.startswith("--")):
            target = target or first(words, i + 1) or ""
            return writes((target,)) if is_file(target) else EXECUTE
    return WRITES if len(words) > 1 else EXECUTE


def tar(family: str, words: list[str], command: Command) -> Part:
    """Packing and unpacking write, unless to standard output; listing executes."""
    long = [word for word in words[1:] if word.startswith("--")]
    short = "".join([word for word in words[1:] if word.startswith("-") and word not in long])
    short += words[1] if len(words) > 1 and not words[1].startswith("-") else ""
    if "x" in short or "--extract" in long or "--get" in long:
        return EXECUTE if "O" in short or "--to-stdout" in long else _into(value(family, words, "-C", "--directory"))
    if "c" in short or "--create" in long:
        to_file = "f" in short or any(word.startswith("--file") for word in long)
        return WRITES if to_file and "-" not in words else EXECUTE
    return EXECUTE


def seven_zip(family: str, words: list[str], command: Command) -> Part:
    """Its first word is the action: add, delete, extract (two ways), rename, update; others look."""
    return WRITES if first(words, 1) in ("a", "d", "e", "x", "rn", "u") and "-so" not in words else EXECUTE


def unzip(family: str, words: list[str], command: Command) -> Part:
    looks = any(bundles(word, letter) for word in words[1:] for letter in "lptvzZ")
    return EXECUTE if looks or len(words) < 2 else _into(value(family, words, "-d"))


def _into(folder: str | None) -> Part:
    """The effect of unpacking into a folder, or into the current one."""
    return WRITES if folder is None else writes((folder,))


def git(words: list[str]) -> Part:
    """`words` begin with the sub-command."""
    name, options = first(words), words[1:]
    if name == "checkout":
        return writes(_after_dashes(options)) if _checks_out_files(options) else EXECUTE
    only_looks = GIT_WRITES.get(name or "")
    if only_looks is None:
        return EXECUTE
    if not only_looks.isdisjoint(options):
        return WRITES if _GIT_WRITES_STILL.get(name or "") in options else EXECUTE
    if name == "clean":
        flags = "".join([word for word in options if bundles(word, "f") or word == "--force"])
        return WRITES if "f" in flags and "n" not in flags else EXECUTE
    if name in ("rm", "mv"):
        return writes(targets(name, words))
    if name == "restore":
        return writes(_after_dashes(options) or operands("git-restore", words))
    return WRITES


def _after_dashes(options: list[str]) -> list[str]:
    return options[options.index("--") + 1 :] if "--" in options else []


def _checks_out_files(options: list[str]) -> bool:
    """Whether the options and operands of `git checkout` name files: after `--`, after a commit, or by a dot."""
    if not _OF_FILES.isdisjoint(options):
        return True
    if not _OF_BRANCHES.isdisjoint(options) or any(bundles(word, letter) for word in options for letter in "bBt"):
        return False
    args = [word for word in options if not word.startswith("-")]
    return len(args) > 1 or any(word == "." or word.startswith(("./", "../")) for word in args)

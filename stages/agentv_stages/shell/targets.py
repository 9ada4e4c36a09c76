"""The files that a program writes, moves or deletes, as far as its words name them: words in, paths out.

Options with values are those of GNU and BSD; PowerShell's cmdlets have theirs. A folder stands for its contents.
"""

import posixpath
import re

from agentv_stages.shell.arguments import operands, value

MOST_TARGETS = 100
_ALL = frozenset(("rm", "unlink", "rmdir", "mkdir", "touch", "truncate", "shred", "sponge", "trash"))
_INTO = frozenset(("cp", "mv", "ln", "install"))
_CMDLETS = frozenset(
    ("set-content", "add-content", "clear-content", "out-file", "new-item", "ni", "remove-item", "ri", "tee-object")
)
_TRANSFERS = {"copy-item": False, "cpi": False, "move-item": True, "mi": True}
"""PowerShell's cmdlets with a destination -> whether the source is gone afterwards."""
_ALIASES = {"rm": "remove-item", "rmdir": "remove-item", "mkdir": "new-item", "cp": "copy-item", "mv": "move-item"}
_PATHS = frozenset(("-path", "-literalpath", "-lp", "-pspath", "-filepath"))
_VALUES = frozenset(
    (
        *("-value", "-encoding", "-itemtype", "-type", "-name", "-filter", "-include", "-exclude", "-stream"),
        *("-inputobject", "-erroraction", "-ea", "-warningaction", "-width", "-delimiter", "-credential"),
    )
)
_OPTIONS = _PATHS | _VALUES | {"-recurse", "-force", "-destination", "-confirm", "-whatif"}
"""Options of the cmdlets, by which an alias is told from the program of the same name."""
_SCRIPT = re.compile(r"-[\w.]*[eE]")  # a bundle of perl's or ruby's options whose next word is a script


def targets(name: str, words: list[str]) -> list[str]:
    """The paths of one call of the program `name`, whose words begin with it; none where they do not say."""
    if name in _ALIASES and any(word.lower() in _OPTIONS for word in words):
        name = _ALIASES[name]
    if name in _CMDLETS or name in _TRANSFERS:
        return _of_cmdlet(name, words)
    if name in _INTO:
        return _into(name, words)
    return operands(name, words) if name in _ALL else []


def _into(name: str, words: list[str]) -> list[str]:
    """The destinations of `cp` and its like; `mv` also takes the sources away."""
    args = operands(name, words)
    if name == "install" and any(word in ("-d", "--directory") for word in words):
        return args
    folder = value(name, words, "-t", "--target-directory")
    if folder is not None:
        sources, into = args, folder
    else:
        sources, into = args[:-1], args[-1] if args else ""
    if "--parents" in words:
        targets = [posixpath.join(into, source) for source in sources]
    elif folder is not None or len(sources) > 1 or posixpath.basename(into) in ("", ".", ".."):
        targets = [_inside(into, source) for source in sources]
    else:
        targets = [into] if sources else []
    return sources + targets if name == "mv" else targets


def _inside(folder: str, source: str) -> str:
    """The path of a source once it is in a folder; the folder itself for all files in the source (`cp -r a/. b`)."""
    name = posixpath.basename(source.rstrip("/"))
    return folder if name in ("", ".", "..") else posixpath.join(folder, name)


def _of_cmdlet(name: str, words: list[str]) -> list[str]:
    """A list (`a, b`) or a name apart from its folder (`-Name`) is not taken apart."""
    paths: list[str] = []
    named: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        low = word.lower()
        if low in _PATHS:
            paths.append(next(rest, ""))
        elif low == "-destination":
            named.append(next(rest, ""))
        elif low in _VALUES:
            if low == "-name":
                return []
            next(rest, None)
        elif not word.startswith("-"):
            named.append(word)
    found = paths + named
    if any("," in word for word in found):
        return []
    removes_source = _TRANSFERS.get(name)
    if removes_source is None:
        return found[:1]
    return (found[:2] if removes_source else found[1:2]) if len(found) > 1 else []


def edited_by_script(words: list[str]) -> list[str]:
    """The files that `perl -i` or `ruby -i` edits: what follows its script."""
    scripted = False
    rest = iter(words[1:])
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-"):
            return [word, *rest] if scripted else list(rest)
        if _SCRIPT.fullmatch(word):
            scripted = True
            next(rest, None)
    return list(rest) if scripted else list(rest)[1:]

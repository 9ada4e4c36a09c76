"""Where the commands of a shell text run: `cd` and its like, and what a path means after them."""

import posixpath
import re

from agentv_stages.shell.arguments import Part
from agentv_stages.shell.scripts import is_assignment, program_name
from agentv_stages.shell.tables import KEYWORDS

_GOES = frozenset(("cd", "chdir", "pushd", "set-location", "sl", "push-location"))
_GOES_BACK = frozenset(("popd", "pop-location"))
_WHOLE = re.compile(r"[/~]|[A-Za-z]:[/\\]|\\\\")  # how a path begins that is the same from every folder
_UNKNOWN = re.compile(r".*[$`*?]|-\Z|\+\d", re.S)  # what a variable or a glob stands for, the folder before


def folder_after(folder: str | None, words: list[str]) -> str | None:
    """The folder after a command that ran in `folder`; None if the text does not say which one that is."""
    at = 0
    while at < len(words) and (words[at] in KEYWORDS or ("=" in words[at] and is_assignment(words[at]))):
        at += 1
    name = program_name(words[at]).lower() if at < len(words) else ""
    if name in _GOES_BACK:
        return None
    if name not in _GOES:
        return folder
    given = [word for word in words[at + 1 :] if word == "-" or not word.startswith("-")]
    if not given and name in ("cd", "chdir"):
        return "~"
    if len(given) != 1 or _UNKNOWN.match(given[0]):
        return None
    if folder is None and not _WHOLE.match(given[0]):
        return None
    there = path_in(folder, given[0])
    if there[0] == "~":
        return None if ".." in there else there
    there = posixpath.normpath(there)
    return "" if there == "." else there


def path_in(folder: str | None, path: str) -> str:
    """A path that is meant from `folder`; as it is if that is not known or the path does not depend on it."""
    return posixpath.join(folder, path) if folder and not _WHOLE.match(path) else path


def part_in(folder: str | None, part: Part) -> Part:
    """What a command does, done in a folder."""
    if not folder:
        return part
    path = part.path and path_in(folder, part.path)
    more = tuple([path_in(folder, path) for path in part.more])
    return part._replace(path=path, more=more, folder=path_in(folder, part.folder) if part.patch is not None else "")

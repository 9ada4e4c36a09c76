"""Follows `cd` and its like through a shell text: the folder in which its commands run, and paths after them."""

import posixpath
import re

from agentv_stages.shell.arguments import Part
from agentv_stages.shell.scripts import program_name, without_heads

_GOES = frozenset(("cd", "chdir", "pushd", "set-location", "sl", "push-location"))
_GOES_BACK = frozenset(("popd", "pop-location"))
_WHOLE = re.compile(r"[/~]|[A-Za-z]:[/\\]|\\\\")  # how a path begins that is the same from every folder
_NAMED = re.compile(
    r"(?:\$\{HOME\}|\$HOME(?!\w)|(?i:\$env:|\$\{env:|%)(?i:USERPROFILE|HOME)(?:[}%]|(?!\w)))"
    r"|(?:\$\{PWD\}|\$PWD(?!\w)|~\+(?=/|\Z))(?P<here>)"
)
"""The variables for the home folder, for which `~` stands, and for the current one."""
_UNKNOWN = re.compile(r".*[$`*?]|-\Z|\+\d", re.S)  # the value of a variable or a glob, the folder before


def folder_after(folder: str | None, words: list[str]) -> str | None:
    """The folder after a command that ran in `folder`; None if the text does not determine it."""
    words = without_heads(words)
    name = program_name(words[0]).lower() if words else ""
    if name in _GOES_BACK:
        return None
    if name not in _GOES:
        return folder
    args = [word for word in words[1:] if word == "-" or not word.startswith("-")]
    if not args and name in ("cd", "chdir"):
        return "~"
    target = known_path(args[0]) if len(args) == 1 else ""
    if not target or _UNKNOWN.match(target) or (folder is None and not _WHOLE.match(target)):
        return None
    there = path_in(folder, target)
    if there[0] == "~":
        return there
    there = posixpath.normpath(there)
    return "" if there == "." else there


def known_path(path: str) -> str:
    """A path with `~` for the home folder and `.` for the current one, where it begins with a variable for them."""
    named = _NAMED.match(path)
    if named is None:
        return path
    return ("." if named["here"] is not None else "~") + path[named.end() :]


def path_in(folder: str | None, path: str) -> str:
    """A path that is meant from `folder`; as it is if that is not known or the path does not depend on it."""
    if path[:1] in "$%~":
        path = known_path(path)
    return posixpath.join(folder, path) if folder and not _WHOLE.match(path) else path


def part_in(folder: str | None, part: Part) -> Part:
    """The effect of a command that runs in a folder."""
    if part.path is None and not part.more and not part.loads and part.patch is None:
        return part
    path = part.path and path_in(folder, part.path)
    more = tuple([path_in(folder, path) for path in part.more])
    loads = tuple([path_in(folder, path) for path in part.loads])
    return part._replace(
        path=path, more=more, loads=loads, folder=path_in(folder, part.folder) if part.patch is not None else ""
    )

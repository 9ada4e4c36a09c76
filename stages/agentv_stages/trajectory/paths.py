"""One normal form for the paths of rules and of logs: a path as written, the session's folder in, a whole path out.

`~`, `$HOME`, `..`, `file://`, Windows drives (`C:\\x`, `/mnt/c/x`) and relative paths mean the same place when they
lead there. No file system is asked: the home folder is the home folder around the session's folder.
"""

import posixpath
import re
from fnmatch import fnmatchcase

from agentv_stages.shell import known_path
from agentv_stages.trajectory.wildcards import path_test

_HOME = re.compile(r"(?:(?:/var)?/home/[^/]+|/Users/[^/]+|/root|[a-z]:/users/[^/]+)(?=/|\Z)")
_DRIVE = re.compile(r"(?:/mnt/|/cygdrive/|/(?=[A-Za-z]/[Uu]sers/))([A-Za-z])(?=/|\Z)|([A-Za-z]):(?=/|\Z)")
_OF_HOME = re.compile(r"\$\{HOME\}|\$HOME(?!\w)")
_WILD = frozenset("*?[")


def home_of(path: str | None) -> str | None:
    """The home folder in which a path lies, if it is where systems keep them."""
    found = _HOME.match(_slashed(path)) if path else None
    return found[0] if found else None


def _slashed(path: str) -> str:
    """With `/` only, and a drive as `c:/`; names on a drive are in lower case, because their case does not matter."""
    path = path.removeprefix("file://").replace("\\", "/")
    drive = _DRIVE.match(path)
    return path if drive is None else f"{drive[1] or drive[2]}:{path[drive.end() :] or '/'}".lower()


def whole_path(path: str, folder: str | None, home: str | None) -> str:
    """The path in its normal form. What cannot be known stays: `~` without a home, a relative path without a folder."""
    path = known_path(_slashed(path))
    if not path:
        return ""
    if path[:1] == "~":
        user, slash, rest = path[1:].partition("/")
        if user:
            place = "/root" if user == "root" else posixpath.join(posixpath.dirname(home or "/home/x") or "/", user)
            path = (place if place != f"/{user}" or user == "root" else f"/home/{user}") + slash + rest
        elif home is not None:
            path = home + slash + rest
        else:
            return posixpath.normpath(path)
    elif folder and not path.startswith("/") and path[1:2] != ":":
        folder = known_path(_slashed(folder))
        path = posixpath.join(home + folder[1:] if home and folder[:1] == "~" else folder, path)
    return posixpath.normpath(re.sub("^/+", "/", path))


def covers(pattern: str, path: str, folder: str | None) -> bool:
    """Whether a path of a log is among those that a rule's pattern names.

    A pattern that begins with `/`, `~`, `..` or a drive is a whole path. Another one is a path in the session's folder,
    at any depth; of a path elsewhere, the end counts.
    """
    if not path:
        return False
    pattern = known_path(_slashed(pattern))
    home = home_of(folder) or home_of(path) or home_of(pattern)
    there = whole_path(path, folder, home)
    if pattern.startswith(("/", "~", "..")) or pattern[1:2] == ":":
        ending = "/**" if pattern.endswith("/") else ""
        pattern = whole_path(pattern, folder, home) + ending
    else:
        if "/../" in pattern:
            pattern = posixpath.normpath(pattern) + "/" * pattern.endswith("/")
        there = seen_from(folder and whole_path(folder, None, home), there)
    if there[1:2] == ":" or (folder and _slashed(folder)[1:2] == ":"):
        pattern, there = pattern.lower(), there.lower()
    if path_test(pattern)(there) or (not _WILD.isdisjoint(there) and _expands_to(there, pattern)):
        return True
    return "\\" in path and covers(pattern, path.replace("\\", ""), folder)  # `a\b` of a shell is `ab`


def _expands_to(path: str, pattern: str) -> bool:
    """Whether a path with wildcards, as the shell expands them, can become the one path that a pattern names."""
    if not _WILD.isdisjoint(pattern):
        return False
    names, wild = pattern.strip("/").split("/"), path.strip("/").split("/")
    if len(names) > len(wild) or (pattern[:1] == "/" and len(names) != len(wild)):
        return False
    pairs = zip(reversed(names), reversed(wild), strict=False)
    return all(fnmatchcase(n, w) and (n[:1] != "." or w[:1] == ".") for n, w in pairs)


def seen_from(folder: str | None, path: str) -> str:
    """A whole path in `folder` from there on, "." for a folder that contains it; another path as it is."""
    if not folder or not path or path.startswith("~"):
        return path
    if f"{folder}/".startswith(f"{path.rstrip('/')}/"):
        return "."
    return path.removeprefix(f"{folder.rstrip('/')}/")


def with_tilde(text: str, folder: str | None) -> str:
    """A shell text or a rule, as a text in which the home folder is written as `~`."""
    text = _OF_HOME.sub("~", text)
    home = home_of(folder)
    return text if home is None else re.sub(rf"{re.escape(home)}(?=[/\s\"']|\Z)", "~", text)

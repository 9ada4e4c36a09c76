"""The wildcards of specs: a pattern in, a test for names, command texts or paths out.

The texts come from agents, so no test may take more than time in proportion to the text: `.*x.*y.*z` as a plain
regular expression took minutes for a command of 2,000 characters. After `*`, a piece is therefore looked for where it
comes first, and never again (an atomic group), which finds whatever can be found.

Both sides are compared as NFC: macOS gives file names in NFD, where an é is two characters.
"""

import posixpath
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

OPTIONS = re.compile(r"(?<=\s)-[A-Za-z]+(?:\s+-[A-Za-z]+)*(?=\s|$)")
"""Options of one letter, together or one after the other."""


def composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _ordered(text: str) -> str:
    """A command text whose options of one letter are joined and sorted: `-r -f` and `-fr` are `-fr`."""
    return OPTIONS.sub(lambda found: "-" + "".join(sorted(set(found[0]) - {"-", " ", "\t", "\n"})), text)


def _pattern(pattern: str, question: bool, flags: re.RegexFlag) -> re.Pattern[str]:
    """`*` is any text; `?` is any character if `question` is set, and itself otherwise."""
    pieces = [re.escape(piece) for piece in re.sub(r"\*+", "*", pattern).split("*")]
    if question:
        pieces = [piece.replace(r"\?", ".") for piece in pieces]
    if len(pieces) == 1:
        return re.compile(pieces[0], flags | re.DOTALL)
    first, *middle, last = pieces
    found = "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(f"{first}{found}.*{last}", flags | re.DOTALL)


@lru_cache(maxsize=1024)
def glob(pattern: str) -> Callable[[str], bool]:
    """A test for whole names: `*` and `?` are wildcards, no other character is special, case does not matter."""
    compiled = _pattern(composed(pattern), True, re.IGNORECASE)
    return lambda text: compiled.fullmatch(composed(text)) is not None


@lru_cache(maxsize=1024)
def text_test(pattern: str) -> Callable[[str], bool]:
    """A test for command texts: `*` is any text, `rm:*` and `rm *` also match the bare `rm`. Case matters, the order of
    options of one letter does not: `rm -rf *` matches `rm -fr x` and `rm -r -f x`."""
    pattern = composed(pattern)
    if pattern.endswith(":*"):
        pattern = pattern[:-2] + " *"
    bare = pattern[:-2] if pattern.endswith(" *") else None
    compiled = _pattern(pattern, False, re.NOFLAG)
    if OPTIONS.search(pattern) is None:
        return lambda text: compiled.fullmatch(composed(text)) is not None or composed(text) == bare
    ordered, short = _pattern(_ordered(pattern), False, re.NOFLAG), None if bare is None else _ordered(bare)

    def test(text: str) -> bool:
        text = composed(text)
        if compiled.fullmatch(text) is not None or text == bare:
            return True
        text = _ordered(text)
        return ordered.fullmatch(text) is not None or text == short

    return test


@lru_cache(maxsize=1024)
def path_test(pattern: str) -> Callable[[str], bool]:
    """A test for paths: `**` crosses folders, `*` does not. A pattern without a leading `/` or `~` matches the end of a
    path, a pattern that ends with `/` every path in the folder."""
    pattern = _plain(composed(pattern))
    if pattern.endswith("/"):
        pattern += "**"
    parts = [part for part in re.split(r"(\*\*/?|\*|\?)", pattern) if part]
    if not pattern.startswith(("/", "~")):
        parts.insert(0, "**/")

    def test(path: str) -> bool:
        path = posixpath.normpath(
            re.sub("^/+", "/", composed(path).replace("\\", "/"))
        )  # it keeps two slashes at the head
        ends = {0}  # where in the path the parts so far can end
        for part in parts:
            ends = _ends(part, path, ends)
            if not ends:
                return False
        return len(path) in ends

    return test


@lru_cache(maxsize=1024)
def folder_test(pattern: str) -> Callable[[str], bool]:
    """A test for folders: whether the paths of a pattern are in the folder, or below, because the pattern goes through
    it by name (`src/a/**` through `src` and `src/a`) or the folder is where everything is (`.`, `/`)."""
    folders = _plain(pattern).split("/")[:-1]
    through = ["/".join(folders[: end + 1]) for end, name in enumerate(folders) if name and not set(name) & set("*?")]
    tests = [path_test(folder) for folder in through]
    whole = "/" if pattern.startswith("/") else "."

    def test(path: str) -> bool:
        path = posixpath.normpath(path.replace("\\", "/").removesuffix("*") or ".")  # `src/*` is all of src
        return path == whole or any(below(path) for below in tests)

    return test


def _plain(pattern: str) -> str:
    return re.sub("/+", "/", pattern.replace("\\", "/")).removeprefix("./")


def host_of(url: str) -> str:
    """The host of an address as a browser reads it, in lower case, without user and port."""
    rest = re.sub(r"^(?:https?:|[a-z][a-z0-9+.-]*:(?=[/\\]))", "", url.strip().lower()).lstrip("/\\")
    host = re.split(r"[/\\?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return host.partition(":")[0].rstrip(".")


def _ends(part: str, path: str, starts: set[int]) -> set[int]:
    """The positions where a part of a pattern that begins at one of `starts` can end."""
    if part == "**":
        return set(range(min(starts), len(path) + 1))
    if part == "**/":  # nothing, or folders
        return starts | {i + 1 for i in range(min(starts), len(path)) if path[i] == "/"}
    if part == "?":
        return {i + 1 for i in starts if i < len(path) and path[i] != "/"}
    if part != "*":
        return {i + len(part) for i in starts if path.startswith(part, i)}
    ends: set[int] = set()
    for start in starts:
        while start not in ends:
            ends.add(start)
            if start < len(path) and path[start] != "/":
                start += 1
    return ends

"""Globs of case files, `file://cases/*.yaml`. In: a folder and a pattern. Out: the files, sorted by path.

Source: AgentV's loader (fast-glob): `*`, `?`, `[…]`, `**` across folders, `{a,b}`; a hidden file only by a dot of
the pattern.
"""

import glob
import re
from pathlib import Path

from agentv_stream.sources.files import is_file

IS_GLOB = re.compile(r"[*?{]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MOST_PATTERNS = 1_000


def files_of(folder: Path, pattern: str) -> list[Path]:
    """The files that a pattern names, each once; relative patterns are meant from the folder."""
    found = {(folder / name).resolve() for way in _alternatives(pattern) for name in _names(folder, way)}
    return sorted(path for path in found if is_file(path))


def _names(folder: Path, pattern: str) -> list[str]:
    # `Path.glob` takes no absolute pattern, and finds hidden files.
    return glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207


def _alternatives(pattern: str) -> list[str]:
    """The pattern without braces, once for each of its alternatives; innermost braces first."""
    patterns = [pattern]
    while len(patterns) <= MOST_PATTERNS:
        at = next((i for i, way in enumerate(patterns) if _BRACES.search(way)), None)
        if at is None:
            break
        found = _BRACES.search(patterns[at])
        assert found is not None
        head, tail = patterns[at][: found.start()], patterns[at][found.end() :]
        patterns[at : at + 1] = [f"{head}{choice}{tail}" for choice in found[1].split(",")]
    return patterns

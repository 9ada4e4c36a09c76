"""The version of this release, and how versions compare."""

import re
from importlib.metadata import PackageNotFoundError, version


def running_version() -> str:
    try:
        return version("agentv-stream")
    except PackageNotFoundError:
        return "0"


def release(text: str) -> tuple[int, ...]:
    """A version as numbers, for comparison; a suffix (`rc1`, `.dev0`) is ignored."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else (0,)

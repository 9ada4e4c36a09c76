"""Which release this is, and how releases compare."""

import re
from importlib.metadata import PackageNotFoundError, version


def running_version() -> str:
    try:
        return version("agentv-stream")
    except PackageNotFoundError:
        return "0"


def release(text: str) -> tuple[int, ...]:
    """A version as numbers, for comparison; what follows them (`rc1`, `.dev0`) does not matter."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else (0,)

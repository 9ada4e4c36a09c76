"""The version of this release, and how versions compare."""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agentv_stages.providers import GROUP


@cache
def installed(distribution: str) -> str | None:
    """The version of an installed distribution, by the name of its metadata folder; None if there is none.

    `importlib.metadata` takes 20 ms to import, and is asked only if no folder has such a name.
    """
    prefix, suffix = f"{distribution.replace('-', '_')}-", ".dist-info"
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib takes longer
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix) and name.endswith(suffix):
                return name.removeprefix(prefix).removesuffix(suffix)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def running_version() -> str:
    return installed("agentv-stream") or "0"


@cache
def reading_version() -> str:
    """This release and the plug-ins that read logs, with their versions: caches of anything read depend on both."""
    return " ".join((running_version(), *sorted(_plugins())))


@cache
def has_plugins() -> bool:
    """Whether a distribution with providers of its own is installed."""
    return any(True for _ in _plugins())


def _plugins() -> Iterator[str]:
    """The names of the metadata folders (`abacus_agent-0.3.dist-info`) of installed plug-ins, with the times of their
    installation, because an author installs one version often; without `importlib.metadata`, as above."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - as above
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                file = Path(folder or ".", name, "entry_points.txt")
                try:
                    if f"[{GROUP}]".encode() in file.read_bytes():
                        yield f"{name} {file.stat().st_mtime_ns}"
                except OSError:
                    continue


def release(text: str) -> tuple[int, ...]:
    """A version as numbers, for comparison; a suffix (`rc1`, `.dev0`) is ignored."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else (0,)

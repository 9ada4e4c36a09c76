"""Outputs that an agent keeps in files beside its log: the path of a log in, a function that reads them by name out.

A log may name any path, so a path is never followed: the name is looked up in the one folder that belongs to the log,
and only a regular file that lies there itself is read, no link and no pipe. Nothing above the log's own folder may be
a way out of it: the folder must be where its path says.
"""

import os
import re
import stat
from collections.abc import Callable
from functools import partial

from agentv_stages.model.provider import Provider

MOST_BYTES = 16 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}\.(?:txt|json)\Z")


def kept_outputs(provider: Provider, log: str) -> Callable[[str], bytes] | None:
    """Reads an output by its name; None for an agent that keeps none, or a log that has no folder for them."""
    folder = provider.kept_outputs(log) if provider.kept_outputs is not None else None
    return partial(_read, os.path.dirname(log), folder) if folder is not None else None  # noqa: PTH120 - any text


def _read(home: str, folder: str, name: str) -> bytes:
    """The content of a file in `folder`, which lies below `home`; empty for anything else."""
    if _NAME.match(name) is None:
        return b""
    try:
        below = os.path.relpath(folder, home)
        if os.path.realpath(folder) != os.path.normpath(os.path.join(os.path.realpath(home), below)):  # noqa: PTH118
            return b""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.path.join(folder, name), "rb", opener=partial(_open, flags)) as file:  # noqa: PTH118
            status = os.fstat(file.fileno())
            whole = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
            return file.read(MOST_BYTES) if whole else b""
    except (OSError, ValueError):
        return b""


def _open(flags: int, path: str, _: int) -> int:
    return os.open(path, flags)

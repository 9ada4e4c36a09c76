"""Where a command looks for sessions: `--root` before `AGENTV_STREAM_ROOTS` before `roots` in pyproject.toml."""

import os
from collections.abc import Sequence
from contextlib import suppress

from agentv_stages.payload import told_path
from agentv_stream.discovery.places import Root, find_roots
from agentv_stream.errors import SourceError
from agentv_stream.settings import from_process


def told_roots(options: Sequence[str], provider: str | None) -> list[Root]:
    """The roots for a command's `--root` options and its provider. Raises: UsageError."""
    return find_roots(options, provider=provider, configured=from_process({}).roots)


def roots_there(options: Sequence[str], provider: str | None) -> list[Root]:
    """As `told_roots`, for who does not wait for anything: an option's place that is not there is a slip of the pen.

    Raises: UsageError, SourceError.
    """
    roots = told_roots(options, provider)
    for root in roots if options else ():
        with suppress(PermissionError):
            try:
                os.lstat(root.path)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise SourceError(f"--root: cannot read {told_path(root.path)}: no such folder") from error
    return roots

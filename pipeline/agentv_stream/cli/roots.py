"""The places where a command looks for sessions: `--root`, `AGENTV_STREAM_ROOTS`, or `roots` in pyproject.toml."""

from collections.abc import Sequence
from pathlib import Path

from agentv_stages.model.payload import printable_path
from agentv_stream.discovery.places import Root, find_roots
from agentv_stream.errors import SourceError
from agentv_stream.settings import from_process
from agentv_stream.sources.files import is_file, is_gone


def told_roots(options: Sequence[str], provider: str | None, configured: Sequence[str] | None = None) -> list[Root]:
    """The roots for a command's `--root` options and its provider. A folder may appear later; a file (other than a
    database, which stands for its folder) is an error.

    Raises: UsageError, SourceError.
    """
    configured = from_process({}).roots if configured is None else configured
    roots = find_roots(options, provider=provider, configured=configured)
    for root in roots if options else ():
        if is_file(root.path):
            path = printable_path(root.path)
            raise SourceError(f"--root: {path} is a file, not a folder; show, watch and tail take files without --root")
    return roots


def roots_there(options: Sequence[str], provider: str | None) -> list[Root]:
    """As `told_roots`, for commands that do not wait for a folder to appear: a missing `--root` is then an error.

    Raises: UsageError, SourceError.
    """
    roots = told_roots(options, provider)
    for root in roots if options else ():
        if is_gone(root.path) and not Path(root.path).is_symlink():
            raise SourceError(f"--root: cannot read {printable_path(root.path)}: no such folder")
    return roots

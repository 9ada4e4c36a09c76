"""Where a command looks for sessions: `--root` before `AGENTV_STREAM_ROOTS` before `roots` in pyproject.toml."""

from collections.abc import Sequence

from agentv_stream.discovery.places import Root, find_roots
from agentv_stream.settings import from_process


def told_roots(options: Sequence[str], provider: str | None) -> list[Root]:
    """The roots for a command's `--root` options and its provider. Raises: UsageError."""
    return find_roots(options, provider=provider, configured=from_process({}).roots)

"""Libraries that are extras: imported when they are used, and a clear word where one is missing.

They come as `Any`: their types are partial, absent, or in packages of their own that a user may not have.
"""

from importlib import import_module
from typing import Any

from agentv_stream.errors import UsageError


def extra(module: str, name: str, what: str) -> Any:
    """The module. `name` is the extra that brings it, `what` opens the message.

    Raises: UsageError where it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise UsageError(f"{what} needs an extra: pip install 'agentv-stream[{name}]'") from None


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or a module of it. Raises: UsageError where it is not installed."""
    return extra(module, "parquet", "the Parquet data set")

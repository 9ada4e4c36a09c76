"""Optional libraries (extras): imported on first use, with a clear error message if one is missing.

They are typed as `Any`: their types are partial, absent, or in separate packages that a user may not have.
"""

from importlib import import_module
from typing import Any

from agentv_stream.errors import UsageError


def extra(module: str, name: str, what: str) -> Any:
    """The imported module. `name` is the extra that installs it, `what` begins the error message.

    Raises: UsageError where it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise UsageError(f"{what} needs an extra: pip install 'agentv-stream[{name}]'") from None


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or a module of it. Raises: UsageError where it is not installed."""
    return extra(module, "parquet", "the Parquet data set")

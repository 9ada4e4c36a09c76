"""Optional libraries (extras): imported on first use, with a clear error message if one is missing.

They are typed as `Any`: their types are partial, absent, or in separate packages that a user may not have.
"""

from importlib import import_module
from typing import Any

from agentv_stream.errors import UsageError


def extra(module: str, name: str, feature: str) -> Any:
    """The imported module. `name` is the extra that installs it, `feature` begins the error message.

    Raises: UsageError where it is not installed, or cannot be loaded (a system library is missing).
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise UsageError(f"{feature} needs an extra: pip install 'agentv-stream[{name}]'") from None
    except ImportError as error:
        raise UsageError(f"{feature} needs {module}, which cannot be loaded: {error}") from error


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or a module of it. Raises: UsageError where it is not installed."""
    return extra(module, "parquet", "the Parquet data set")

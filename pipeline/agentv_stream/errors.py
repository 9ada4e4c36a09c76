"""The failures, and the exit code of each.

    AgentvStreamError
    ├── UsageError          2  the call or the configuration is wrong
    ├── SourceError         4  an input cannot be read
    │   ├── NotALog         4  it was read, but is no log of a known agent
    │   └── DamagedArchive  4  compressed data that are truncated or damaged
    ├── SinkError           4  an output cannot be written
    └── EmptyInput          3  there was nothing to read
Records that cannot be used are not exceptions but faults (`agentv_stages.model.fault`).
"""

from collections.abc import Sequence

EXIT_FINE = 0
EXIT_VERDICT = 1
EXIT_USAGE = 2
EXIT_RUN = 3
EXIT_IO = 4


def worst(codes: Sequence[int]) -> int:
    """The exit code to report out of several: 2 before 4 before 3 before 1 before 0."""
    order = (EXIT_USAGE, EXIT_IO, EXIT_RUN, EXIT_VERDICT, EXIT_FINE)
    return min(codes, key=order.index, default=EXIT_FINE)


class AgentvStreamError(Exception):
    """Anything that ends the work on one input. `exit_code` is the exit code of a command that fails with it; `below`
    are lines shown under the message."""

    exit_code = EXIT_IO
    below = ""


class UsageError(AgentvStreamError):
    """The call or the configuration is wrong."""

    exit_code = EXIT_USAGE


class SourceError(AgentvStreamError):
    """An input cannot be read: missing, a directory, no permission."""


class NotALog(SourceError):
    """The input is no log of a known agent; the message names the finding and the agents that were tried."""


class DamagedArchive(SourceError):
    """A compressed input that is truncated or damaged; what precedes the damage has already been delivered."""


class SinkError(AgentvStreamError):
    """An output cannot be written. `path` names it, `error` says why."""

    def __init__(self, path: str, error: OSError) -> None:
        self.path = path
        self.error = error
        super().__init__(f"cannot write {path}: {error.strerror or str(error) or type(error).__name__}")

    def __reduce__(self) -> tuple[type["SinkError"], tuple[str, OSError]]:
        """For worker processes, whose errors are pickled: the default would call `__init__` with the message alone."""
        return type(self), (self.path, self.error)


class EmptyInput(AgentvStreamError):
    """The input ended before its first record."""

    exit_code = EXIT_RUN

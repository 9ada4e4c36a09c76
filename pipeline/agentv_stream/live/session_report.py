"""The outcome of running a stream: its result, what failed, and warnings for people."""

from msgspec import Struct

from agentv_stages.figures.result import Result
from agentv_stream.errors import EmptyInput, SourceError
from agentv_stream.live.exception_groups import leaves


class Report(Struct):
    """The outcome of a session. `failures` are exceptions of errors.py, in order; `warnings` are for people."""

    result: Result | None = None
    failures: list[Exception] = []
    warnings: list[str] = []
    signalled: int | None = None

    def fail(self, group: BaseExceptionGroup[Exception]) -> None:
        """Adds exceptions of failed tasks, without `EmptyInput` if the input is empty because it could not be read."""
        unread = any(isinstance(failure, SourceError) for failure in self.failures)
        self.failures += [error for error in leaves(group) if not (unread and isinstance(error, EmptyInput))]

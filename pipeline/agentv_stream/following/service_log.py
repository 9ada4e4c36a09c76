"""A follower's output: events to standard output, reports to standard error. Neither can block it forever."""

import os
import select
import stat
import time
from collections.abc import Callable

from agentv_stages.model.visible import escaped, visible
from agentv_stream.logs import Log, StandardError

Say = Callable[..., None]  # writes to the service's log: a message, and facts by name

LOOK_SECONDS = 0.2  # between checks whether to stop, while nothing is taken


class StandardOutput:
    """Takes lines of events; they have reached the kernel when the call returns. A slow reader is waited for. In a
    terminal, control sequences in them have no effect.

    `given_up`: we were to stop, and nothing was taken any more.
    """

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        # A pipe that is ready takes PIPE_BUF without waiting; a file takes anything.
        self._piece = 1 << 30 if stat.S_ISREG(os.fstat(descriptor).st_mode) else select.PIPE_BUF
        self._is_terminal = os.isatty(descriptor)
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)
        self._deadline: float | None = None
        self.given_up = False

    def __call__(self, data: bytes) -> None:
        """Raises: BrokenPipeError without a reader, or if nothing was taken before the deadline of `end`."""
        view = memoryview(escaped(data) if self._is_terminal else data)
        while view:
            while not self._ready.poll(LOOK_SECONDS * 1000):
                self._wait()
            view = view[os.write(self._descriptor, view[: self._piece]) :]

    def end(self, seconds: float) -> None:
        """From now on a reader is waited for at most `seconds`."""
        self._deadline = time.monotonic() + seconds

    def _wait(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.given_up = True
            raise BrokenPipeError("standard output is not read")


def make_say(log: Log | None, quiet: bool = False) -> Say:
    """Returns a function that reports to a log, or without one to standard error, a line for each event.

    If standard error accepts nothing the follower continues: the line is lost.
    """
    if log is not None:
        return log
    out = StandardError()

    def say_text(event: str, level: str = "", **facts: object) -> None:
        if not quiet:
            members = " ".join(f"{name}={visible(str(value), 200)}" for name, value in facts.items())
            out.write(f"agentv-stream: {visible(event, 200)} {members}\n")

    return say_text

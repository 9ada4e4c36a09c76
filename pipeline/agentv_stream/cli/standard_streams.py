"""Standard output and error of a command: any text can be written, failures are reported, neither is another file."""

import io
import os
import select
import sys
from contextlib import suppress

from agentv_stages.model.visible import escaped
from agentv_stream.cli.telling import quiet_stdout, say
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_USAGE, SinkError


class _StandardOutput(io.FileIO):
    """Descriptor 1. Its failure is an error of ours, to distinguish it from bugs; it is reported once.

    Output to a terminal is text for people, already free of control sequences, or JSON, which is escaped here.
    """

    def __init__(self) -> None:
        super().__init__(1, "w", closefd=False)
        self.failed = False
        self._is_terminal = os.isatty(1)

    def write(self, data: object, /) -> int:
        """Raises: BrokenPipeError without an error number, for which typer would exit with 1; SinkError."""
        whole = memoryview(data)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - a buffer
        try:
            rest = memoryview(escaped(bytes(whole))) if self._is_terminal else whole
            while rest:
                written: int | None = super().write(rest)
                if written is None:  # an agent left it in non-blocking mode
                    select.select((), (1,), ())
                rest = rest[written or 0 :]
            return whole.nbytes
        except BrokenPipeError:
            raise BrokenPipeError("the reader of standard output left") from None
        except OSError as error:
            if self.failed:
                return whole.nbytes
            self.failed = True
            raise SinkError("standard output", error) from error


class _StandardError(io.FileIO):
    """Descriptor 2. What it does not accept is lost, without an error: a closed terminal, or a log on a full disk, must
    not end a run and with it the agent."""

    def __init__(self) -> None:
        super().__init__(2, "w", closefd=False)

    def write(self, data: object, /) -> int:
        """Always reports success; waits briefly if it would block, because an agent left the terminal non-blocking."""
        whole = memoryview(data).nbytes  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - a buffer
        with suppress(OSError, ValueError):  # ValueError: a descriptor that select does not support
            written: int | None = super().write(data)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - as above
            if written is None and select.select((), (2,), (), 0.25)[1]:
                written = super().write(data)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - as above
            return written or whole
        return whole


def open_standard_streams() -> None:
    """Sets up the streams as commands expect them, however we were started.

    Closed descriptors are filled: else the next file opened gets that number, and standard output is written into it.
    Text that the stream's encoding cannot represent is escaped.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free number; in the wrong mode, so that using it fails
    if sys.stderr is None or sys.stderr is sys.__stderr__:  # pyright: ignore[reportUnnecessaryComparison] - closed
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_StandardError()),
            encoding=getattr(sys.stderr, "encoding", "utf-8"),
            errors="backslashreplace",
            line_buffering=True,
        )
    if sys.stdout is None or sys.stdout is sys.__stdout__:  # pyright: ignore[reportUnnecessaryComparison] - as above
        encoding = getattr(sys.stdout, "encoding", "utf-8")
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_StandardOutput()),
            encoding=encoding,
            errors="backslashreplace",
            line_buffering=os.isatty(1),
        )


def flushed(code: int) -> int:
    """Flushes standard output; returns the exit code. A reader that has left is an end, not a failure."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, SinkError) as error:
        return exit_code_of(error, code)
    return code


def exit_code_of(error: BrokenPipeError | SinkError, code: int = EXIT_FINE) -> int:
    """The exit code for a failure of standard output after a command that had `code`."""
    quiet_stdout()
    if isinstance(error, BrokenPipeError):
        return code
    say(error)
    return code if code == EXIT_USAGE else EXIT_IO

"""What every command says the same way; imports next to nothing, because start-up time counts."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from agentv_stages.visible import visible
from agentv_stream.errors import SinkError, UsageError


def quiet_stdout() -> None:
    """The reader of standard output has left: what Python would flush at exit goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, below: str = "") -> None:
    """One message to standard error, on one line, whatever names stand in it: it acts neither on the terminal nor on
    a build server, which acts on lines that begin in its own way. `below` are lines of ours, to be shown under it.
    """
    lines = ["agentv-stream: " + visible(text, 2000), *(visible(line, 2000) for line in below.split("\n") if below)]
    sys.stderr.write("\n".join(lines) + "\n")


@contextmanager
def to_stdout() -> Generator[None]:
    """Writes to standard output stand in it: a reader who left is no error, a full disk is.

    Raises: SinkError.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich makes an exit of it
        quiet_stdout()
    except OSError as error:
        quiet_stdout()  # what is still held would fail once more at exit
        raise SinkError("standard output", error) from error


def print_bytes(data: bytes) -> None:
    """Bytes to standard output. Raises: SinkError."""
    with to_stdout():
        sys.stdout.buffer.write(data)


def check_one_user(options: Iterable[tuple[str, bool]]) -> None:
    """Standard output has one user. `options`: each that may want it, and whether it does. Raises: UsageError."""
    users = [name for name, wants in options if wants]
    if len(users) > 1:
        raise UsageError(f"{users[0]} and {users[1]} both want standard output; give {users[1].split()[0]} a file")

"""Messages that all commands print in the same way; imports next to nothing, because start-up time counts."""

import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from agentv_stages.model.visible import visible
from agentv_stream.colour import palette
from agentv_stream.errors import AgentvStreamError, SinkError, UsageError

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor
    from agentv_stream.logs import Log, LogFormat


def quiet_stdout() -> None:
    """After the reader of standard output has left: discards what Python would flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_redact: "list[Redactor]" = []


def redact_messages(redactor: "Redactor | None") -> None:
    """From now on messages of this process are without secrets; None changes nothing."""
    if redactor is not None:
        _redact[:] = [redactor]


_log: "list[Log]" = []


def start_log(shape: "LogFormat") -> "Log | None":
    """From now on messages of this process are entries of a log, which is returned; None if they stay plain."""
    if shape == "plain":
        return None
    from agentv_stream.logs import make_log

    log = make_log(shape)
    _log[:] = [log]
    return log


def tell_warnings() -> None:
    """From now on our own warnings, such as those about plug-ins, are messages; those of other packages stay as they
    are."""
    show = warnings.showwarning

    def tell(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if category.__module__.startswith("agentv_stages.") and file is None:
            say(f"warning: {message}")
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = tell


def say(message: str | AgentvStreamError, below: str = "") -> None:
    """Prints one message to standard error, on one line, such that names in it affect neither the terminal nor a build
    server, which interprets certain line beginnings. An error is in colour. `below` are lines of ours to show under
    it."""
    text = str(message)
    for redactor in _redact:
        text = redactor.hide(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    if _log:
        level = "error" if not isinstance(message, str) else "warning" if text.startswith("warning: ") else "info"
        _log[0](text.removeprefix("warning: "), level=level, **({"hint": below} if below else {}))
        return
    name = palette(sys.stderr)("bold" if isinstance(message, str) else "error", "agentv-stream:")
    lines = [f"{name} {visible(text, 2000)}", *(visible(line, 2000) for line in below.split("\n") if below)]
    sys.stderr.write("\n".join(lines) + "\n")


@contextmanager
def to_stdout() -> Generator[None]:
    """Context for writes to standard output: a reader that leaves is not an error, a full disk is.

    Raises: SinkError.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns it into an exit
        quiet_stdout()
    except OSError as error:
        quiet_stdout()  # buffered output would fail again at exit
        raise SinkError("standard output", error) from error


def print_bytes(data: bytes) -> None:
    """Bytes to standard output. Raises: SinkError."""
    with to_stdout():
        sys.stdout.buffer.write(data)


def print_made(make: Callable[[], Iterable[str]]) -> None:
    """Prints what `make` returns, piece by piece. If that fails, prints the message, and exits with its
    code."""
    try:
        sys.stdout.writelines(make())
        sys.stdout.flush()
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error


def check_one_user(options: Iterable[tuple[str, bool]]) -> None:
    """Only one option may use standard output. `options`: each that may, and whether it does. Raises: UsageError."""
    users = [name for name, wants in options if wants]
    if len(users) > 1:
        raise UsageError(f"{users[0]} and {users[1]} both want standard output; give {users[1].split()[0]} a file")

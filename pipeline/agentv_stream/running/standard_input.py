"""Standard input of `run`: read once, kept on disk, and given to each attempt from its beginning.

A terminal and other devices are left alone, and so is the input of a shell that runs us without a redirection of our
own: in `… | while read t; do agentv-stream run …; done` it belongs to the loop.
"""

import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from agentv_stream.errors import SourceError
from agentv_stream.sources.files import CHUNK_BYTES

PATIENCE_SECONDS = 3.0
"""How long the first byte of a pipe is waited for. Source: Claude Code waits as long."""

SHELLS = frozenset(("sh", "ash", "bash", "dash", "zsh", "ksh", "mksh", "fish", "busybox"))


class StandardInput:
    """Bytes on disk, in a file without a name, until `close`. Each `open` gives a descriptor of its own, at the
    beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = file.seek(0, os.SEEK_END)

    @classmethod
    def of(cls, data: bytes) -> "StandardInput":
        file = tempfile.TemporaryFile()  # noqa: SIM115 - until `close`
        file.write(data)
        return cls(file)

    def open(self) -> int:
        """A descriptor of a copy: what one attempt does with it does not reach the next one."""
        with tempfile.TemporaryFile() as copy:
            self._file.seek(0)
            shutil.copyfileobj(self._file, copy)
            copy.seek(0)
            return os.dup(copy.fileno())

    def read(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        self._file.close()


def take_input(
    say: Callable[[str], None], wanted: bool = False, patience: float = PATIENCE_SECONDS
) -> StandardInput | None:
    """Our own standard input up to its end; None if it is none of ours, or empty.

    Unless it is `wanted`, a pipe that is silent for `patience` seconds is left alone: build servers and ssh leave one
    open. Raises: SourceError if it cannot be read or kept.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None  # it is closed
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    if not wanted and _is_of_a_shell(descriptor):
        if _has_more(descriptor):
            say("warning: standard input is that of the shell (a loop?): the agent gets none of it; --stdin gives it")
        return None
    try:
        return _read(descriptor, say, wanted, patience)
    except OSError as error:
        raise SourceError(f"cannot read or keep standard input: {error.strerror or error}") from error


def _read(descriptor: int, say: Callable[[str], None], wanted: bool, patience: float) -> StandardInput | None:
    if not wanted and not _readable(descriptor, patience):
        say("warning: standard input is open, but silent: the agent gets none; --no-stdin does not wait for it")
        return None
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        silent = False
        while True:
            if not silent and not _readable(descriptor, patience):
                say("reading standard input to its end; --no-stdin leaves it alone")
                silent = True
            piece = os.read(descriptor, CHUNK_BYTES)
            if not piece:
                break
            file.write(piece)
        if not file.tell():
            return None
        stack.pop_all()
    return StandardInput(file)


def _readable(descriptor: int, seconds: float) -> bool:
    """Whether a read would not wait, at the latest after that time; at the end of the input it does not."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(seconds * 1000))


def _has_more(descriptor: int) -> bool:
    """Whether there is something that could be read now."""
    with suppress(OSError):  # a pipe has no position
        return os.lseek(descriptor, 0, os.SEEK_CUR) < os.fstat(descriptor).st_size
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return any(found & select.POLLIN for _, found in waiting.poll(0))


def _is_of_a_shell(descriptor: int) -> bool:
    """Whether a shell among our ancestors has the same standard input, so that it was inherited. False where the system
    does not say."""
    own = os.fstat(descriptor)
    for process in _ancestors():
        try:
            if not os.path.samestat(own, (process / "fd" / "0").stat()):
                return False
            if (process / "comm").read_text().strip() in SHELLS:
                return True
        except OSError:
            return False
    return False


def _ancestors() -> Iterator[Path]:
    process = Path("/proc", str(os.getppid()))
    with suppress(OSError, ValueError, IndexError):
        while process.name != "0":
            yield process
            # After the name, which is in parentheses and may contain anything: state, parent.
            parent = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            process = Path("/proc", str(int(parent)))

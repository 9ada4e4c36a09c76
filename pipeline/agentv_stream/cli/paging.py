"""Shows long text in a pager, as Git does: `PAGER`, else `less`, which leaves at once what fits on the screen."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress

NOT_FOUND = 127  # a shell's exit code for a command that does not exist


def pager_command(environment: Mapping[str, str]) -> str | None:
    """The command; None where there is none, or where `PAGER` is empty or `cat`."""
    named = environment.get("PAGER")
    if named is None:
        return "less" if shutil.which("less") else None
    return named if named.strip() not in ("", "cat") else None


def print_lines(lines: Iterable[str], paged: bool) -> None:
    """Writes lines to standard output; with `paged`, on a terminal, through a pager if they fill the screen.

    Raises: BrokenPipeError, OSError.
    """
    command = pager_command(os.environ) if paged and sys.stdout.isatty() else None
    if command is None:
        sys.stdout.writelines(line + "\n" for line in lines)
        sys.stdout.flush()
        return
    every = list(lines)
    if len(every) < shutil.get_terminal_size().lines or _page(command, every) == NOT_FOUND:
        print_lines(every, False)


def _page(command: str, lines: list[str]) -> int:
    """Runs the pager, which Ctrl-C does not end, and returns its exit code."""
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
        assert pager.stdin is not None  # a pipe
        with suppress(BrokenPipeError):  # it was left before its end
            pager.stdin.writelines((line + "\n").encode("utf-8", "backslashreplace") for line in lines)
            pager.stdin.close()
        return pager.wait()
    finally:
        signal.signal(signal.SIGINT, before)

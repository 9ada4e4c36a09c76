"""Runs the program in a pseudo-terminal of a given width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from support.consuming import LIMIT_SECONDS, command, environment

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_terminal(
    folder: Path, columns: int, *arguments: str | Path, raw: bool = False, lines: int = 50, **more: str
) -> list[str]:
    """What `agentv-stream ARGUMENTS` shows, as lines; standard output and error are the terminal. With `raw`, escapes
    are kept."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    kept = {k: v for k, v in environment().items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm", **more},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # on Linux the end of output is an error (EIO)
            break
        if not data:
            break
        shown += data
    os.close(ours)
    process.wait(LIMIT_SECONDS)
    text = shown.decode().replace("\r\n", "\n")
    found = (text if raw else _CONTROL.sub("", text)).split("\n")
    return [line.rpartition("\r")[2] for line in found if line]  # progress bars overwrite their line

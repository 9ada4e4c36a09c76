"""Whether a stream is a terminal that takes escape sequences, and whether it takes more at all."""

import os
import select
from typing import TextIO


def takes_escapes(stream: TextIO) -> bool:
    """Whether text can be erased and emphasised: only in a terminal, and not in one declared as incapable of it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def takes_more(stream: TextIO) -> bool:
    """Whether a short text can be written without waiting: not to a paused terminal, or a pipe without a reader."""
    try:
        return bool(select.select((), (stream.fileno(),), (), 0)[1])
    except (OSError, ValueError):  # no descriptor, or a descriptor that `select` does not support
        return True

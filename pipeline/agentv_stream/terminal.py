"""Whether a stream is a terminal that takes escape sequences."""

import os
from typing import TextIO


def takes_escapes(stream: TextIO) -> bool:
    """Whether text can be erased and emphasised: only in a terminal, and not in one declared as incapable of it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"

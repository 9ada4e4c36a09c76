"""What every command says the same way; imports next to nothing, because start-up time counts."""

import os
import sys

from agentv_stages.visible import visible


def quiet_stdout() -> None:
    """The reader of standard output has left: what Python would flush at exit goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """One message to standard error; nothing in it acts on the terminal."""
    lines = text.split("\n")
    sys.stderr.write("agentv-stream: " + "\n".join(visible(line, 2000) for line in lines) + "\n")

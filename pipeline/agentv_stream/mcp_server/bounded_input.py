"""Standard input with lines of a bounded length, for a server that reads whole lines."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from agentv_stream.mcp_server.flow import Flow

MOST_REQUEST = 4 * 1024 * 1024  # bytes of a line
_CHUNK = 64 * 1024


def bound_input(say: Callable[[str], None], flow: Flow, most: int = MOST_REQUEST) -> None:
    """From now on descriptor 0 gives the lines of standard input that `flow` lets in, but for those longer than `most`
    bytes. `say` gets a message for each of these."""
    source = os.dup(0)
    read_end, write_end = os.pipe()
    os.dup2(read_end, 0)
    os.close(read_end)
    threading.Thread(target=_copy, args=(source, write_end, say, flow, most), daemon=True).start()


def _copy(source: int, target: int, say: Callable[[str], None], flow: Flow, most: int) -> None:
    line = bytearray()
    too_long = False
    with suppress(OSError):  # the server no longer reads
        while chunk := os.read(source, _CHUNK):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                if too_long or len(line) + len(end) > most:
                    say(f"a request of more than {most:,} bytes was dropped")
                else:
                    line += end + b"\n"
                    flow.let_in(line)
                    _write(target, line)
                line.clear()
                too_long = False
            if too_long or len(line) + len(rest) > most:
                line.clear()
                too_long = True
            else:
                line += rest
        if line and not too_long:
            _write(target, line)
    os.close(target)


def _write(target: int, line: bytearray) -> None:
    with memoryview(line) as view:
        done = 0
        while done < len(view):
            done += os.write(target, view[done : done + _CHUNK])

"""A JSON object that is printed over several lines, among other lines: from a lone `{` to a lone `}`.

Long strings may be broken at the width of a terminal, anywhere, or begin on the next line: the pieces are joined
without anything between them. A space that stood behind the last column is lost.
Source: OpenHands CLI 1.10.0 (80 columns where there is no terminal) and 1.14.0.
"""

import re

from msgspec import Struct

_PAIR = re.compile(rb"\\.", re.DOTALL)


class Printed(Struct):
    """The lines so far. `inside`: the last of them ends within a string; `escaped`: behind a backslash."""

    lines: list[bytes]
    size: int = 0
    inside: bool = False
    escaped: bool = False

    def takes(self, line: bytes) -> bool:
        """Whether a line is the object's; others come between its lines."""
        if line[:1] == b'"':
            return self.inside or self.lines[-1].endswith(b'": ')
        return self.inside or line[:1] in (b" ", b"}")

    def add(self, line: bytes) -> bool:
        """Adds a line of the object; returns whether it was the last."""
        last = line == b"}" and not self.inside
        self.lines.append(line)
        self.size += len(line) + 1
        rest = _PAIR.sub(b"", b"\\" + line if self.escaped else line)
        self.escaped = rest.endswith(b"\\")
        self.inside ^= rest.count(b'"') % 2 == 1
        return last

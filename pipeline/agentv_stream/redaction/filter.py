"""The filter `redact`: the bytes of a file or of standard input in, redacted bytes or a list of places out."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from agentv_stages.model.visible import visible
from agentv_stages.redaction.redact_stream import Place, RedactStream
from agentv_stages.redaction.redactor import Redactor
from agentv_stream.errors import SourceError
from agentv_stream.redaction.redaction import redacted_copy
from agentv_stream.sources.files import CHUNK_BYTES, check_readable, read_pieces


def redact_file(source: Path, output: BinaryIO, redactor: Redactor) -> None:
    """Writes the redacted bytes of a file (`-`: standard input), each line as soon as it has arrived.

    Raises: SourceError, DamagedArchive after what precedes the damage was written.
    """
    stream = redacted_copy(redactor)
    try:
        for piece in _pieces(source):
            if redacted := stream.push(piece):
                output.write(redacted)
                output.flush()
    finally:
        output.write(stream.flush())
        output.flush()


def list_secrets(source: Path, output: TextIO, redactor: Redactor) -> int:
    """Prints the place and the kind of each secret, with its last characters; returns their number.

    Raises: SourceError, DamagedArchive.
    """
    count = 0

    def note(place: Place) -> None:
        nonlocal count
        count += 1
        ending = visible("…" + place.ending.decode("utf-8", "replace")) if place.ending else ""
        name = visible(str(source))
        output.write(
            f"{name}:{place.line}: {place.kind} at byte {place.offset}, {place.length} bytes {ending}".rstrip() + "\n"
        )

    stream = RedactStream(redactor, note)
    for piece in _pieces(source):
        stream.push(piece)
    stream.flush()
    return count


def _pieces(source: Path) -> Iterator[bytes]:
    if str(source) != "-":
        check_readable(source)
        yield from read_pieces(source)
        return
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed
        raise SourceError("cannot read standard input: it is closed")
    while data := os.read(sys.stdin.fileno(), CHUNK_BYTES):
        yield data

"""Dead letters: faults as JSON lines, with reason, file, offset, length and the bytes.

Bytes under 64 KiB are in the line: as `text` if they are UTF-8, otherwise as `base64`. Longer ones go to a file of
their own, named in `blob`. A fault with the place of a record but without its bytes has none of these, because `text`
would be "".
"""

from base64 import b64encode
from hashlib import blake2b
from typing import Any

import msgspec

from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import printable_path

MOST_INLINE = 64 * 1024
SCHEMA = "agentv_stream.dead_letter.v1"
_encode = msgspec.json.Encoder().encode


def stands_in_line(fault: Fault) -> bool:
    """Whether the bytes need no file of their own."""
    return fault.part == "whole" and len(fault.data) < MOST_INLINE


def blob_name(fault: Fault) -> str:
    """The name of the file for bytes that are not in the line: the same whenever the log is read again.

    It contains a hash, as faults of several files, or of several objects on one line, may share an offset.
    """
    own = fault.data if fault.part == "whole" else fault.file.encode("utf-8", "surrogatepass")
    return f"{fault.offset}-{blake2b(own, digest_size=4).hexdigest()}.bin"


def render(fault: Fault, blob: str | None, length: int | None = None) -> bytes:
    """One line; `blob` names the file with the bytes, `length` is the total of a record that came in pieces."""
    row: dict[str, Any] = {
        "schema_version": SCHEMA,
        "reason": fault.reason,
        "file": printable_path(fault.file),
        "row": fault.row,
        "offset": fault.offset,
        "length": fault.length if length is None else length,
        "detail": fault.detail,
    }
    if blob is not None:
        row["blob"] = printable_path(blob)
    elif stands_in_line(fault) and (fault.data or not fault.length):
        try:
            row["text"] = fault.data.decode()
        except UnicodeDecodeError:
            row["base64"] = b64encode(fault.data).decode()
    return _encode(row) + b"\n"

"""Dead letters: faults as JSON lines, with reason, file, offset, length and the bytes.

Bytes that are UTF-8 and under 64 KiB stand in the line as `text`; others go to a file of their own, named in `blob`.
"""

from typing import Any

import msgspec

from agentv_stages.fault import Fault
from agentv_stages.payload import told_path

MOST_INLINE = 64 * 1024
SCHEMA = "agentv_stream.dead_letter.v1"
_encode = msgspec.json.Encoder().encode


def inline_text(fault: Fault) -> str | None:
    """The bytes as text, where they can stand in the line."""
    if fault.part != "whole" or len(fault.data) >= MOST_INLINE:
        return None
    try:
        return fault.data.decode()
    except UnicodeDecodeError:
        return None


def render(fault: Fault, blob: str | None, length: int | None = None) -> bytes:
    """One line; `blob` names the file that holds the bytes, `length` counts those of a record that came in pieces."""
    row: dict[str, Any] = {
        "schema_version": SCHEMA,
        "reason": fault.reason,
        "file": told_path(fault.file),
        "row": fault.row,
        "offset": fault.offset,
        "length": fault.length if length is None else length,
        "detail": fault.detail,
    }
    if blob is not None:
        row["blob"] = blob
    else:
        row["text"] = inline_text(fault)
    return _encode(row) + b"\n"

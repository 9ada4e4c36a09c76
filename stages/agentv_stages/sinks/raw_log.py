"""The raw stream log: every record verbatim, with its arrival, offset and file, as valid JSON lines.

A record that is valid JSON in UTF-8 is in `record`; anything else in `record_base64`.
"""

import base64

import msgspec
from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.payload import printable_path
from agentv_stages.model.times import iso_bytes

_check = msgspec.json.Decoder(Raw).decode
_encode = msgspec.json.Encoder().encode


def render(batch: Batch) -> bytes:
    """One line per record."""
    if not batch.records:
        return b""
    arrived = b'"arrived":"%b",' % iso_bytes(batch.arrived_ms) if batch.arrived_ms is not None else b""
    file = b',"file":%b,' % _encode(printable_path(batch.file))
    parts: list[bytes] = []
    for record in batch.records:
        parts += (b"{", arrived, b'"offset":%d' % record.offset, file)
        if _is_json(record.data):
            parts += (b'"record":', record.data, b"}\n")
        else:
            parts += (b'"record_base64":"', base64.b64encode(record.data), b'"}\n')
    return b"".join(parts)


def _is_json(data: bytes) -> bool:
    """Whether any strict parser reads the bytes as one JSON value on one line; surrounding blanks would be lost."""
    try:
        _check(data)
        if not data.isascii():
            data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return b"\n" not in data and data.strip() == data

"""The JSON of a stored row, so that it can be read: bytes in, bytes out.

JavaScript counts texts in halves of letters and cuts them so; `JSON.stringify` writes the half that is left as an
escape (`\\ud83d`), which other readers refuse. Source: the standard (ECMA-262, well-formed `JSON.stringify`).
"""

from agentv_stages.payload import decode_json, to_raw

_HALVES = (b"\\ud", b"\\uD")


def readable(data: bytes) -> bytes:
    """The same bytes; where halves of letters stand in them, the value with U+FFFD for each. No JSON stays as it is."""
    if not any(half in data for half in _HALVES):
        return data
    try:
        return bytes(to_raw(decode_json(data)))
    except (ValueError, RecursionError):
        return data

"""The JSON of a stored row, made readable: bytes in, bytes out.

JavaScript counts text in UTF-16 units and may cut between surrogates; `JSON.stringify` writes the lone half as an
escape (`\\ud83d`), which other readers refuse. Source: the standard (ECMA-262, well-formed `JSON.stringify`).
"""

from agentv_stages.model.payload import decode_json, to_raw

_HALVES = (b"\\ud", b"\\uD")


def readable(data: bytes) -> bytes:
    """The same bytes, with U+FFFD for each lone surrogate. Anything but JSON is returned unchanged."""
    if not any(half in data for half in _HALVES):
        return data
    try:
        return bytes(to_raw(decode_json(data)))
    except (ValueError, RecursionError):
        return data

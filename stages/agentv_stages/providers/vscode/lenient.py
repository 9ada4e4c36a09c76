"""Reads requests of which some members have shapes that nobody has seen; the rest of the request is used.

A request of the log is put together from many lines and read when it has ended, too late to repair a line.
"""

from typing import Any, cast

import msgspec
from msgspec import Raw

from agentv_stages.payload import decode_json, to_raw
from agentv_stages.providers.vscode.wire import Reference, Request, decode_reference, decode_request

REFUSED = (msgspec.MsgspecError, UnicodeDecodeError)


def read_request(raw: Raw) -> tuple[Request, str | None]:
    """The request, and what was wrong with it. Parts of the response are left out one by one, other members whole."""
    try:
        return decode_request(raw), None
    except REFUSED as error:
        problem = str(error)
    value = decode_json(raw)
    if not isinstance(value, dict):
        return Request(), problem
    known = cast(dict[str, Any], value)
    if isinstance(known.get("response"), list):
        known["response"] = [part for part in known["response"] if _fits({"response": [part]})]
    kept = {key: member for key, member in known.items() if _fits({key: member})}
    return decode_request(to_raw(kept)), problem


def _fits(members: dict[str, Any]) -> bool:
    try:
        decode_request(to_raw(members))
    except REFUSED:
        return False
    return True


def read_reference(data: bytes) -> Reference:
    try:
        return decode_reference(data)
    except REFUSED:
        return Reference()

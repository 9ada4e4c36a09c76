"""Decodes requests in which some members have unknown shapes; the rest of the request is used.

A request of the log is assembled from many lines and decoded when it has ended, too late to repair a line.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw

from agentv_stages.chain.pruning import prune
from agentv_stages.model.payload import decode_json, text_of, to_raw
from agentv_stages.providers.vscode.wire import (
    Confirmed,
    Part,
    Reference,
    Request,
    ResultDetails,
    Thinking,
    ToolData,
    ToolOutput,
    ToolSource,
    Value,
    decode_confirmed,
    decode_details,
    decode_output,
    decode_reference,
    decode_request,
    decode_source,
    decode_thinking,
    decode_tool_data,
    decode_value,
)

T = TypeVar("T")
REFUSED = (msgspec.MsgspecError, UnicodeDecodeError)
_MOST_PRUNED = 64


def read_request(raw: Raw) -> tuple[Request, str | None]:
    """The request, and its first problem: members that do not fit are left out one by one."""
    try:
        return decode_request(raw), None
    except REFUSED as error:
        problem = str(error)
    value = decode_json(raw)
    if not isinstance(value, dict):
        return Request(), problem
    known = cast(dict[str, Any], value)
    _keep(known, lambda part: isinstance(part, dict))
    for _ in range(_MOST_PRUNED):
        try:
            return decode_request(to_raw(known)), problem
        except REFUSED as error:
            if not prune(known, str(error)):
                break
    _keep(known, lambda part: _fits({"response": [part]}))
    kept = {key: member for key, member in known.items() if _fits({key: member})}
    return decode_request(to_raw(kept)), problem


def _keep(request: dict[str, Any], fits: Callable[[Any], bool]) -> None:
    """Leaves out the parts of a response that do not fit."""
    parts: Any = request.get("response")
    if isinstance(parts, list):
        request["response"] = [part for part in parts if fits(part)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON


def _fits(members: dict[str, Any]) -> bool:
    try:
        decode_request(to_raw(members))
    except REFUSED:
        return False
    return True


def _read(data: Raw | bytes, decode: Callable[[Raw | bytes], T], nothing: Callable[[], T]) -> T:
    """Decodes an object; `nothing` if there is none, or one of another shape."""
    if bytes(data)[:1] == b"{":
        try:
            return decode(data)
        except REFUSED:
            pass
    return nothing()


def markdown(raw: Raw) -> str:
    """The text of a markdown member: a string, or an object with its `value`."""
    data = bytes(raw)
    if data[:1] == b'"':
        return text_of(raw)
    value = _read(data, decode_value, Value).value
    return text_of(value) if value else ""


def read_reference(data: bytes) -> Reference:
    return _read(data, decode_reference, Reference)


def read_tool_data(part: Part) -> ToolData:
    return _read(part.toolSpecificData, decode_tool_data, ToolData)


def read_details(part: Part) -> ResultDetails | None:
    """Input and output of an MCP call; in other tools the member lists files."""
    data = part.resultDetails
    return _read(data, decode_details, ResultDetails) if bytes(data)[:1] == b"{" else None


def read_confirmed(part: Part) -> Confirmed:
    return _read(part.isConfirmed, decode_confirmed, Confirmed)


def read_source(part: Part) -> ToolSource:
    return _read(part.source, decode_source, ToolSource)


def read_output(data: Raw) -> ToolOutput:
    return _read(data, decode_output, ToolOutput)


def read_thinking(data: Raw) -> Thinking:
    return _read(data, decode_thinking, Thinking)

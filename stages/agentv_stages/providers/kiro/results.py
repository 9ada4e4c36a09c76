"""Inputs and results of calls, as Kiro CLI and Amazon Q CLI keep them."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from agentv_stages.model.event import EMPTY_OBJECT, Outcome
from agentv_stages.model.payload import join_array, to_raw
from agentv_stages.model.provider import REFUSED
from agentv_stages.providers.kiro.wire import decode_exit

_PURPOSE = "__tool_use_purpose"
_EXIT = re.compile(r"(?:exit status: )?(-?\d{1,10})\Z|(?:exit status|signal): ")
_members = msgspec.json.Decoder(dict[str, Raw]).decode


def arguments(request: Raw) -> Raw:
    """The input of a call without the sentence for the user that describes it."""
    if _PURPOSE.encode() not in bytes(request):
        return request or EMPTY_OBJECT
    try:
        members = _members(request)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return request
    members.pop(_PURPOSE, None)
    return to_raw(members)


def ending(parts: Sequence[Raw], status: str | None) -> tuple[Raw | None, Outcome, int | None]:
    """Output, outcome and exit code. A failed shell call has the status success; only its part has
    the exit status."""
    output = None if not parts else parts[0] if len(parts) == 1 else join_array(parts)
    if status is not None and status.lower() != "success":
        return output, "error", None
    for part in parts:
        ended = _exit(part)
        if ended is not None:
            code = int(ended[1]) if ended[1] is not None else None
            return output, "ok" if code == 0 else "error", code
    return output, "ok", None


def _exit(part: Raw) -> re.Match[str] | None:
    """How a command exited, by a number or by a signal."""
    if b'"exit_status"' not in bytes(part):
        return None
    try:
        status = decode_exit(part).exit_status
    except REFUSED:
        return None
    return None if status is None else _EXIT.match(str(status))

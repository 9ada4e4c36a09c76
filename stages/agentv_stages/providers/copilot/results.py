"""Parts of Copilot's events: names and arguments of calls, and what calls returned."""

import re

import msgspec
from msgspec import Raw

from agentv_stages.model.event import EMPTY_OBJECT, Outcome
from agentv_stages.model.payload import ABSENT, decode_json, text_of, to_raw
from agentv_stages.providers.copilot import wire

# On a line of its own; in a viewed file, or a match in one, a number or a path precedes it.
EXIT_CODE = re.compile(r"(?:\A|\n)<[^<>\n]*exit(?:ed)?(?: with)?(?: exit)? code:? (-?\d+)>\s*$")
DENIED = frozenset(("denied", "rejected", "permission_denied"))
CANCELLED = frozenset(("cancelled", "canceled", "aborted", "interrupted"))


def mcp_name(server: str | None, tool: str | None) -> str | None:
    return f"mcp__{server}__{tool}" if server and tool else None


def arguments(raw: Raw) -> Raw:
    """Arguments are an object; custom tools get a string, which is unwrapped if it holds an object."""
    data = bytes(raw)
    if data == b"null":
        return EMPTY_OBJECT
    if data[:1] != b'"':
        return raw
    text = text_of(raw).strip()
    if text[:1] != "{":
        return raw
    try:
        value = decode_json(text.encode())
    except (ValueError, RecursionError):
        return raw
    return to_raw(value) if isinstance(value, dict) else raw


def ended(data: wire.ToolComplete) -> tuple[Raw | None, int | None, Outcome | None]:
    """Output, exit code and outcome. A failed shell command is a success to Copilot; its code is given elsewhere."""
    code: int | None = None
    if data.error is not ABSENT and data.error not in wire.NOTHING:
        try:
            error = wire.decode_error(data.error)
        except msgspec.MsgspecError:
            return data.error, None, "error"
        name = error.code or ""
        outcome: Outcome = "denied" if name in DENIED else "cancelled" if name in CANCELLED else "error"
        message = error.message if error.message not in wire.NOTHING else data.error
        return message, data.shellExecution.exitCode if data.shellExecution else None, outcome
    output = data.result if data.result not in wire.NOTHING else None
    exits: list[wire.ShellExit] | None = None
    if output is not None:
        try:
            result = wire.decode_output(output)
            if len(result.content) > 4 or result.content not in wire.NOTHING:
                output = result.content
            exits = result.contents
        except msgspec.MsgspecError:
            pass  # a result of another shape is passed on unchanged
    if data.shellExecution is not None:
        code = data.shellExecution.exitCode
    if code is None and exits:
        code = next((entry.exitCode for entry in exits if entry.exitCode is not None), None)
    if code is None and output is not None and b" code" in bytes(memoryview(output)[-48:]):
        found = EXIT_CODE.search(text_of(output)[-200:])
        code = int(found[1]) if found else None
    if data.success is False or code:
        return output, code, "error"
    return output, code, "ok" if data.success else None

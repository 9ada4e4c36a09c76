"""How a call of 1.x and 2.x ended: the log only has the text that the model got. Which tools are an MCP server's.

Source: Mistral Vibe 1.0.0 to 2.26.1, `agent.py`, `agent_loop.py`, `utils/tags.py`, `tools/builtins/bash.py`.
"""

import re

from msgspec import Raw

from agentv_stages.model.event import Outcome

SHELL = "bash"
DELEGATES = "task"
GOODBYE = b"Bye!"
"""What `vibe -p` prints when Ctrl-C ends it."""
_ERROR, _CANCELLATION = b'"<tool_error>', b'"<user_cancellation>'
_REFUSED = re.compile(
    rb'"(?:Tool execution not permitted\.|<user_cancellation>Tool execution skipped by user\.|'
    rb"<tool_error>Tool '[^']{1,200}' was denied by |"
    rb"Tool '[^']{1,200}' (?:blocked by denylist: |is permanently disabled))"
)
_FAILED_CODE = re.compile(rb"\\nReturn code: (-?\d{1,9})(?:\\n|</tool_error>)")
_FAILED = re.compile(r"\nReturn code: (-?\d{1,9})(?:\n|\Z)")
_CODE = re.compile(rb'\\nreturncode: (-?\d{1,9})"\Z')
_UNFINISHED = re.compile(rb'\\ncompleted: False"\Z')
_TAIL = 40
_CALLING_MCP = "Calling MCP tool "


def ending(name: str | None, text: Raw) -> tuple[Outcome | None, int | None]:
    """Outcome and exit code from the JSON string `text`; None if it only shows that the call ended."""
    data = bytes(text)
    if _REFUSED.match(data):
        return "denied", None
    if data.startswith(_CANCELLATION):
        return "cancelled", None
    if data.startswith(_ERROR):
        found = _FAILED_CODE.search(data) if name == SHELL else None
        return "error", int(found[1]) if found else None
    if name == SHELL:
        found = _CODE.search(data, max(0, len(data) - _TAIL))
        if found:
            code = int(found[1])
            return "error" if code else "ok", code
    if name == DELEGATES and _UNFINISHED.search(data, max(0, len(data) - _TAIL)):
        return "error", None
    return None, None


def failed_code(message: str | None) -> int | None:
    """The exit code in the message of a failed command."""
    found = _FAILED.search(message) if message else None
    return int(found[1]) if found else None


def full_name(name: str, status: str | None) -> str:
    """The name of a tool. The name of an MCP tool (`<server>_<tool>` up to 2.26) is recognised by the text in the
    terminal while it runs, and gets the form of later versions.
    """
    if not status or not status.startswith(_CALLING_MCP):
        return name
    tool = status.removeprefix(_CALLING_MCP)
    server = name.removesuffix(f"_{tool}")
    return name if server == name else f"mcp_{server}.{tool}"

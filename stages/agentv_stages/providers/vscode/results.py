"""Results of tool calls in VS Code's chat sessions: output, outcome, exit code, duration.

Source: VS Code 1.9x to 1.10x with Copilot chat. The text that the model read is in the request's metadata, as texts or
as a tree of prompt elements. The text that the user saw is in the part: a terminal's end, an MCP call's output, found
files.
"""

import re
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Raw

from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import ABSENT, decode_json, text_of, to_raw
from agentv_stages.providers.vscode.lenient import (
    REFUSED,
    read_confirmed,
    read_details,
    read_source,
    read_tool_data,
)
from agentv_stages.providers.vscode.wire import Part, ToolData, ToolOutput, decode_values

TERMINALS = frozenset(("run_in_terminal", "copilot_runInTerminal", "runInTerminal"))
DENIED, SKIPPED = 0, 5
TEXT = 2  # the type of text nodes among prompt elements
_NOTHING = (b"", b"null", b"[]")
_DEEPEST = 200
_EXIT = re.compile(rb"[Cc]ommand exited with code:? (-?\d+)")
_FAILED = re.compile(rb'^"(?:ERROR\b|Error:|ERROR while calling tool)')


class Ended(NamedTuple):
    """How a call ended; None for facts that the log does not have."""

    output: Raw | None = None
    outcome: Outcome | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


def call_result(name: str, part: Part | None, answer: ToolOutput | None) -> Ended | None:
    """The end of a call, from its part and from the output that the model read; None while the call is open."""
    output = output_of(answer)
    if part is None:
        return None if output is None else _judged(output, name)
    if _refused(part):
        return Ended(output, "denied")
    if part.isComplete is False and output is None:
        return None
    data = read_tool_data(part)
    shown = output if output is not None else _shown(part, data)
    if shown is None and _never_ran(part):
        return None
    time = data.terminalCommandState.duration if data.terminalCommandState else data.duration
    duration = round(time) if time is not None and 0 <= time < 1e15 else None
    code = data.terminalCommandState.exitCode if data.terminalCommandState else None
    if code is not None:
        return Ended(shown, "error" if code else "ok", code, duration)
    failed = bytes(part.resultError)
    if failed not in (b"", b"null", b"false", b'""'):
        text = part.resultError if shown is None and failed[:1] == b'"' else shown
        return Ended(text, "error", None, duration)
    details = read_details(part)
    if details is not None and details.isError is not None:
        return Ended(shown, "error" if details.isError else "ok", None, duration)
    return _judged(shown, name)._replace(duration_ms=duration)


def _shown(part: Part, data: ToolData) -> Raw | None:
    """The output that the user saw."""
    details = read_details(part)
    found = part.resultDetails if details is None else details.output
    printed = data.terminalCommandOutput.text if data.terminalCommandOutput is not None else ABSENT
    for candidate in (found, printed, data.result, data.output):
        if bytes(candidate) not in _NOTHING:
            return candidate
    return None


def _never_ran(part: Part) -> bool:
    """Whether the session was saved before the call was allowed to run: newer versions mark such a part as complete,
    but write no confirmation. Parts of other programs (source `external`) have none either.
    """
    if part.isComplete is None:
        return True
    return bytes(part.isConfirmed) in (b"", b"null") and read_source(part).type not in (None, "external")


def _refused(part: Part) -> bool:
    if bytes(part.isConfirmed) == b"false":
        return part.isComplete is not False
    return read_confirmed(part).type in (DENIED, SKIPPED)


def _judged(output: Raw | None, name: str) -> Ended:
    data = bytes(output) if output is not None else b""
    if name in TERMINALS:
        found = _EXIT.search(data[-300:]) or _EXIT.search(data[:300])
        if found:
            code = int(found[1])
            return Ended(output, "error" if code else "ok", code)
    return Ended(output, "error" if _FAILED.match(data[:40]) else None)


def output_of(output: ToolOutput | None) -> Raw | None:
    """The texts of a result, joined; if it has anything else, the content unchanged."""
    if output is None or bytes(output.content) in _NOTHING:
        return None
    try:
        values = [value.value for value in decode_values(output.content)]
    except REFUSED:
        return output.content
    texts = [_text(value) for value in values]
    if not texts or None in texts:
        return output.content
    if len(values) == 1 and bytes(values[0])[:1] == b'"':
        return values[0]
    return to_raw("".join(text or "" for text in texts))


def _text(value: Raw) -> str | None:
    """A text, or the texts of a tree of prompt elements; None for anything else."""
    data = bytes(value)
    if data[:1] == b'"':
        return text_of(value)
    if data[:1] != b"{":
        return None
    try:
        tree: Any = decode_json(value)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    pieces: list[str] = []
    return "".join(pieces) if _gather(tree.get("node"), pieces, 0) else None


def _gather(node: Any, pieces: list[str], depth: int) -> bool:
    """Collects the texts below a node in order; False if something is not a node."""
    if not isinstance(node, dict) or depth > _DEEPEST:
        return False
    known = cast(dict[str, Any], node)
    if known.get("type") == TEXT:
        text = known.get("text")
        if not isinstance(text, str):
            return False
        pieces.append("\n" + text if known.get("lineBreakBefore") and pieces else text)
        return True
    children: Any = known.get("children")
    return isinstance(children, list) and all(_gather(child, pieces, depth + 1) for child in children)  # pyright: ignore[reportUnknownVariableType] - decoded JSON

"""Code mode, Pi's and by the same rule Qwen's: the calls that a script makes count; the script does if it made none.

A script is held when the answer asks for it, and is handed on as a call when it has ended without calling a tool.
The stream shows each inner call as it runs (`parentToolCallId`); a session file lists them in the script's result
(`nestedCalls`), without what they gave back. What the script printed is told beside them, for no call has it.
Source: pi 0.99 to 1.5.2, `--mode json` and session files.
"""

from msgspec import Raw, Struct

from agentv_stages.batch import Batch
from agentv_stages.event import EMPTY_OBJECT, Notification, Outcome, Source, ToolCall, ToolResult
from agentv_stages.payload import text_of, to_raw
from agentv_stages.providers.pi.wire import Nested, given

TOOL = "codemode"
_OUTCOMES: dict[str, Outcome] = {"ok": "ok", "error": "error", "unfinished": "cancelled"}
_MOST = 1000


class Script(Struct, gc=False):
    """A script that may still make calls, and the tool that runs it. `made`: it made one, so it is no call itself."""

    name: str
    source: Source
    part: str
    message_id: str
    input: Raw
    parent_call: str | None
    model: str | None
    made: bool = False


def hold(scripts: dict[str, Script], call_id: str, script: Script, batch: Batch) -> None:
    """Keeps a script until it has ended; past 1,000 the oldest is let go."""
    if len(scripts) >= _MOST:
        let_go(scripts, next(iter(scripts)), batch)
    scripts[call_id] = script


def let_go(scripts: dict[str, Script], call_id: str, batch: Batch) -> bool:
    """Forgets a script; one that made no call is handed on as one. Gives whether it was."""
    script = scripts.pop(call_id)
    if not script.made:
        batch.events.append(
            ToolCall(
                script.source,
                script.part,
                script.message_id,
                call_id,
                script.name,
                script.input,
                script.parent_call,
                script.model,
            )
        )
    return not script.made


def let_all_go(scripts: dict[str, Script], batch: Batch) -> None:
    """The input or the run has ended."""
    for call_id in list(scripts):
        let_go(scripts, call_id, batch)


def told(name: str, source: Source, call_id: str, content: Raw, is_error: bool | None, batch: Batch) -> None:
    """What a script that made calls has printed."""
    text = text_of(content) if given(content) else ""
    batch.events.append(Notification(source, "-script", name, text, "warning" if is_error else "info", call_id))


def listed(script: Script, call_id: str, nested: list[Nested], source: Source, batch: Batch) -> None:
    """The calls that a script's result lists, each with its outcome; of a failed one the error is its output."""
    script.made = True
    for i, call in enumerate(nested):
        inner = call.id or f"{call_id}/{i + 1}"
        arguments = call.arguments if given(call.arguments) else EMPTY_OBJECT
        part = f"-n{i}"
        batch.events.append(
            ToolCall(source, part, script.message_id, inner, call.name or "unknown", arguments, call_id, script.model)
        )
        outcome = _OUTCOMES.get(call.status or "")
        output = None if call.error is None else to_raw(call.error)
        duration = None if call.duration_ms is None else round(call.duration_ms)
        batch.events.append(ToolResult(source, part, inner, output, outcome, None, duration))

"""Code mode of Pi and Qwen: the calls that a script makes count; the script counts as a call only if it made none.

A script is held when the answer requests it, and passed on as a call if it ends without having called a tool. The
output of a script with calls becomes a notification, because it is the output of none of them.
"""

from msgspec import Raw, Struct, field

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Level, Notification, Source, ToolCall
from agentv_stages.model.payload import text_of

_MOST = 1000


class Script(Struct, gc=False):
    """A script that may still make calls, and the tool that runs it. `made_calls`: if so, it is no call itself."""

    name: str
    source: Source
    part: str
    message_id: str
    input: Raw
    parent_call: str | None
    model: str | None
    made_calls: bool = field(default=False, name="made")


def hold(scripts: dict[str, Script], call_id: str, script: Script, batch: Batch) -> None:
    """Keeps a script until it has ended; past 1,000 the oldest is released by `let_go`."""
    if len(scripts) >= _MOST:
        let_go(scripts, next(iter(scripts)), batch)
    scripts[call_id] = script


def let_go(scripts: dict[str, Script], call_id: str, batch: Batch) -> bool:
    """Forgets a script; if it made no call, it is passed on as one. Returns whether it was."""
    script = scripts.pop(call_id)
    if not script.made_calls:
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
    return not script.made_calls


def let_all_go(scripts: dict[str, Script], batch: Batch) -> None:
    """Releases all scripts, at the end of the input or of a run."""
    for call_id in list(scripts):
        let_go(scripts, call_id, batch)


def emit_output(
    name: str, source: Source, call_id: str, content: Raw | None, is_error: bool | None, batch: Batch
) -> None:
    """Passes on, as a notification, the printed output of a script that made calls."""
    level: Level = "warning" if is_error else "info"
    batch.events.append(Notification(source, "-script", name, text_of(content), level, call_id))

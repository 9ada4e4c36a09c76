"""Reads calls that agentv-stream wrote. In: a call by its canonical name, and its facts. Out: a normalised call.

`Normalize` leaves such a call as it is: a spec or a statistic sees the same call as in the log.
"""

from msgspec import Struct

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import Kind, Origin, ToolCall
from agentv_stages.providers.generic.tools import TABLE
from agentv_stages.shell import classify_shell

_normalized = Normalize(TABLE).call


class OwnFacts(Struct, gc=False):
    """The facts of a call in transcripts and trajectories that we wrote; with a `kind` its name is canonical."""

    kind: Kind | None = None
    origin: Origin = "system"
    name: str | None = None
    server: str | None = None
    files: tuple[str, ...] = ()
    command: str | None = None


def own_call(call: ToolCall, facts: OwnFacts) -> ToolCall:
    """The call as it was written; a call that we did not write is left to `Normalize`."""
    kind = facts.kind
    if kind is None:
        return call
    # Facts that the input shows are not written: the canonical table finds them there.
    found = _normalized(call)
    shell_edit = found.shell_edit
    if facts.command is not None and kind == "write" and not found.edit:
        shell_edit = classify_shell(facts.command).writes_file
    return ToolCall(
        call.source,
        call.part,
        call.message_id,
        call.call_id,
        facts.name or call.name,
        call.input_json,
        call.parent_call,
        call.model,
        call.name,
        kind,
        facts.origin,
        facts.server,
        found.command if facts.command is None else facts.command,
        facts.files or found.files,
        found.edit,
        shell_edit,
    )

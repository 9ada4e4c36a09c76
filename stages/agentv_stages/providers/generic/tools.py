"""The tools and calls of transcripts that are already canonical: canonical names stand for themselves.

Early transcripts have names that AgentV normalised only later: `mcp:<server>/<skill>`, `Using skill: X`.
"""

from msgspec import Struct

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import Kind, Origin, ToolCall
from agentv_stages.model.tools import CANONICAL, TITLES, ToolTable, row, rows
from agentv_stages.shell import classify_shell

SOURCE = "agentv.transcript.v1 rows and AgentV trace events"

TABLE = ToolTable(
    rows=(
        *rows(SOURCE, {name: name for name in CANONICAL}),
        *rows(SOURCE, {"Agent": "Task"}),
        row("apply_patch", "Edit", SOURCE, patch=True),
        row("file_change", "Edit", SOURCE, patch=True),
        row("mcp:", "Skill", SOURCE, prefix=True, rest_key="skill"),
        *TITLES,
    )
)


# Reads calls that agentv-stream wrote. In: a call by its canonical name, and its facts. Out: a normalised call.
#
# `Normalize` leaves such a call as it is: a spec or a statistic sees the same call as in the log.

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

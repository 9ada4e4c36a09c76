"""The tools behind the Agent Client Protocol: the names of the agents that speak it, then the protocol's own kinds.

The protocol itself has only titles and kinds; the decoder gives the native name if the agent sends it, else the kind.
"""

from agentv_stages.model.tools import McpForm, ToolRow, ToolTable, row, rows
from agentv_stages.providers.claude.tools import TABLE as CLAUDE
from agentv_stages.providers.copilot.tools import ROWS as COPILOT
from agentv_stages.providers.gemini.tools import ROWS as GEMINI
from agentv_stages.providers.kilo.tools import ROWS as KILO  # includes OpenCode's
from agentv_stages.providers.kimi.tools import ROWS as KIMI
from agentv_stages.providers.openhands.tools import ROWS as OPENHANDS
from agentv_stages.providers.qwen.tools import ROWS as QWEN
from agentv_stages.providers.vibe.tools import ROWS as VIBE

KIND = "ACP v1, ToolKind"

KINDS = (
    *rows(KIND, {"read": "Read", "edit": "Edit", "delete": "Delete", "execute": "Bash"}),
    *rows(KIND, {"search": "Grep", "fetch": "WebFetch"}),
    row("move", "move", KIND, "write"),
    row("think", "think", KIND, "other"),
    row("switch_mode", "EnterPlanMode", KIND),
    row("other", "other", KIND, "other"),
)


def _first_wins(*tables: tuple[ToolRow, ...]) -> tuple[ToolRow, ...]:
    found: dict[tuple[str, bool], ToolRow] = {}
    for table in tables:
        for one in table:
            found.setdefault((one.native, one.prefix), one)
    return tuple(found.values())


TABLE = ToolTable(
    rows=_first_wins(COPILOT, GEMINI, QWEN, KILO, OPENHANDS, VIBE, CLAUDE.rows, KIMI, KINDS),
    mcp=(McpForm("mcp_", "_"),),
)

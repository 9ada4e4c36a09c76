"""The tools behind the Agent Client Protocol: the names of the agents that speak it, then the protocol's own kinds.

The protocol itself has only titles and kinds. The decoder uses the native name if the agent sends it, and otherwise
the kind.
"""

from collections.abc import Iterable

from agentv_stages.model.tools import McpForm, ToolRow, ToolTable, row, rows

KIND = "ACP v1, ToolKind"

KINDS = (
    *rows(KIND, {"read": "Read", "edit": "Edit", "delete": "Delete", "execute": "Bash"}),
    *rows(KIND, {"search": "Grep", "fetch": "WebFetch"}),
    row("move", "move", KIND, "write"),
    row("think", "think", KIND, "other"),
    row("switch_mode", "EnterPlanMode", KIND),
    row("other", "other", KIND, "other"),
)


def table_of(tables: Iterable[ToolTable]) -> ToolTable:
    """The tables of several agents and the kinds as one table; the first row of a name wins."""
    found: dict[tuple[str, bool], ToolRow] = {}
    for tool in [*(tool for table in tables for tool in table.rows), *KINDS]:
        found.setdefault((tool.native, tool.prefix), tool)
    return ToolTable(rows=tuple(found.values()), mcp=(McpForm("mcp_", "_"),))

"""The tools of Droid. Source: public logs of October 2025; parsers and documentation of 2026."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

SEEN = "Droid, public logs of October 2025"
NAMED = "Droid, parsers and documentation of 2026"

ROWS = (
    row("Execute", "Bash", SEEN),
    *rows(NAMED, {"ApplyPatch": "Edit", "Create": "Write", "FetchUrl": "WebFetch"}),
    *rows(NAMED, {"AskUser": "AskUserQuestion", "ExitSpecMode": "ExitPlanMode"}),
    *plain(NAMED, "other", "GenerateDroid"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "___"),))
"""All other tools have canonical names. MCP tools are named `server___tool`."""

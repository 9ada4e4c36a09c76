"""The tools of transcripts that are already canonical: canonical names stand for themselves; others are kept.

Early transcripts have names that AgentV normalised only later: `mcp:<server>/<skill>`, `Using skill: X`.
"""

from agentv_stages.model.tools import CANONICAL, TITLES, ToolTable, row, rows

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

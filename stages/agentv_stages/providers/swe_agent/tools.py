"""The commands of SWE-agent, by the first word of an action. Source: SWE-agent 0.6 to 1.x, its own trajectories."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

SEEN = "SWE-agent, demonstrations and test data of its repository"

ROWS = (
    row("bash", "Bash", SEEN),
    *rows(SEEN, {"open": "Read", "goto": "Read", "scroll_up": "Read", "scroll_down": "Read", "create": "Write"}),
    *rows(SEEN, {"edit": "Edit", "insert": "Edit", "search_file": "Grep", "search_dir": "Grep", "find_file": "Glob"}),
    row("str_replace_editor", "Edit", SEEN, variant_key="command", variants=(("view", "Read"), ("create", "Write"))),
    *plain(SEEN, "other", "submit", "exit_forfeit"),
)

TABLE = ToolTable(rows=ROWS)

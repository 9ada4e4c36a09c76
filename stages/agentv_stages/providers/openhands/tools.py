"""The tools of OpenHands: those of its CLI, and others that its SDK provides."""

from agentv_stages.model.tools import PATH_KEYS, ToolTable, plain, row, rows

NOW = "OpenHands CLI 1.16.0, openhands-sdk 1.21.0, recorded runs"
DECLARED = "openhands-tools 1.21.0 and 1.58.2, its declarations; never called in a recording"
_EDITS = (("view", "Read"), ("create", "Write"), ("str_replace", "Edit"), ("insert", "Edit"), ("undo_edit", "Edit"))
SPAWNS = frozenset(("task", "delegate"))
"""Tools whose calls start sub-agents."""

ROWS = (
    row("terminal", "Bash", NOW),
    row("file_editor", "Edit", NOW, variant_key="command", variants=_EDITS),
    row("task_tracker", "TodoWrite", NOW, variant_key="command", variants=(("view", "TodoRead"),)),
    *rows(NOW, {"task": "Task", "read_file": "Read", "write_file": "Write", "edit": "Edit"}),
    row("list_directory", "LS", NOW, paths=PATH_KEYS),
    *rows(NOW, {"glob": "Glob", "grep": "Grep"}),
    row("apply_patch", "Edit", NOW, patch=True),
    *rows(NOW, {"delegate": "Task"}),
    *plain(NOW, "other", "think", "finish"),
    row("planning_file_editor", "Edit", DECLARED, variant_key="command", variants=_EDITS),
    *rows(DECLARED, {"invoke_skill": "Skill"}),
    *plain(DECLARED, "search", "browser_navigate", "browser_get_state", "browser_get_content", "browser_list_tabs"),
    *plain(DECLARED, "other", "browser_click", "browser_type", "browser_scroll", "browser_go_back"),
    *plain(DECLARED, "other", "browser_switch_tab", "browser_close_tab", "browser_get_storage", "browser_set_storage"),
    *plain(DECLARED, "other", "browser_start_recording", "browser_stop_recording"),
    *plain(DECLARED, "other", "tom_consult", "sleeptime_compute", "switch_llm", "route_task_to_model", "ask_oracle"),
    *plain(DECLARED, "plan", "start_child_conversation", "workflow"),
    *plain(DECLARED, "read", "inspect_image_with_vision"),
)
TABLE = ToolTable(ROWS)

"""The tools of Codex, 0.2x to 0.171, in its rollouts and in the items of `exec --json`.

Its only tool for reading and searching is the shell, so shell calls get finer names.
"""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

ITEMS = "Codex 0.50 to 0.171, items of exec --json"
ROLLOUT = "Codex 0.46 to 0.169, rollouts and documentation"
TRIAL = "Codex, experimental; documentation only"
AGENTS = "Codex to 0.169, rollouts and documentation, sub-agents"

AGENT_TOOLS = ("send_input", "send_message", "wait_agent", "close_agent", "resume_agent", "list_agents",
               "followup_task", "interrupt_agent")  # fmt: skip
LISTS = ("list_mcp_resources", "list_mcp_resource_templates")
"""Codex's own tools; their items name it as the MCP server."""
NAMESPACES = ("", "collaboration.", "multi_agent_v1.")
"""The namespaces of sub-agent tools in rollouts; items of exec --json have their bare names."""

TABLE = ToolTable(
    rows=(
        row("command_execution", "Bash", ITEMS),
        row("file_change", "Edit", ITEMS, patch=True),
        row("mcp:", "Skill", "AgentV, Codex SDK", prefix=True, rest_key="skill"),
        row("apply_patch", "Edit", ROLLOUT, patch=True),
        row("functions.apply_patch", "Edit", ROLLOUT, patch=True),
        row("shell", "Bash", ROLLOUT),
        row("shell_command", "Bash", ROLLOUT),
        row("local_shell", "Bash", ROLLOUT),
        row("local_shell_call", "Bash", ROLLOUT),
        row("container.exec", "Bash", ROLLOUT),
        row("exec_command", "Bash", ROLLOUT, command_key="cmd"),
        row("functions.exec_command", "Bash", ROLLOUT, command_key="cmd"),
        row("unified_exec", "Bash", TRIAL, command_key="input"),
        row("user_shell", "Bash", "Codex rollouts, the person's own ! commands"),
        *plain(ROLLOUT, "execute", "exec", "functions.exec", "write_stdin", "js_repl"),
        row("functions.wait", "wait", ROLLOUT, "execute"),
        *rows(ROLLOUT, {"update_plan": "TodoWrite", "functions.update_plan": "TodoWrite"}),
        *rows(ITEMS, {"todo_list": "TodoWrite", "web_search": "WebSearch"}),
        *rows(ROLLOUT, {"web_search_call": "WebSearch", "view_image": "Read", "functions.view_image": "Read"}),
        *rows(ROLLOUT, {"request_user_input": "AskUserQuestion", "tool_search": "ToolSearch"}),
        *rows(ROLLOUT, {"tool_search_call": "ToolSearch"}),
        *rows(TRIAL, {"read_file": "Read", "list_dir": "LS", "grep_files": "Grep"}),
        *rows(AGENTS, {f"{space}spawn_agent": "Task" for space in NAMESPACES}),
        *rows(ITEMS, {"collab_tool_call": "Task"}),
        *(row(space + name, name, AGENTS, "plan") for space in NAMESPACES for name in AGENT_TOOLS),
        *(row(f"{space}wait", "wait_agent", AGENTS, "plan") for space in NAMESPACES),
        *plain(ROLLOUT, "plan", "get_goal", "create_goal", "update_goal"),
        *plain(ROLLOUT, "other", *LISTS, "image_generation_call"),
        *(row(f"mcp__codex__{name}", name, ITEMS, "other") for name in LISTS),
        *(row(f"{space}read_mcp_resource", "read_mcp_resource", ITEMS, "read") for space in ("", "mcp__codex__")),
        *plain(ROLLOUT, "ask", "request_permissions"),
    ),
    finer_shell=True,
    mcp=(McpForm("", "__"),),
)

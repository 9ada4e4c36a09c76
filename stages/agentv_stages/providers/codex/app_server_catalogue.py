"""The methods and item types of `codex app-server`: the matching exec-stream items, and what each method reports.

Source: recordings of Codex 0.110, 0.142 and 0.171 against a scripted model server; AgentV's of 0.142; the schema that
0.171 generates (`codex app-server generate-json-schema`).
"""

KINDS = {
    "agentMessage": "agent_message",
    "reasoning": "reasoning",
    "commandExecution": "command_execution",
    "fileChange": "file_change",
    "mcpToolCall": "mcp_tool_call",
    "dynamicToolCall": "dynamic_tool_call",
    "collabToolCall": "collab_tool_call",
    "collabAgentToolCall": "collab_tool_call",
    "webSearch": "web_search",
    "imageView": "image_view",
    "todoList": "todo_list",
    "userMessage": "user_message",
    "contextCompaction": "context_compaction",
    "enteredReviewMode": "entered_review_mode",
    "exitedReviewMode": "exited_review_mode",
    "plan": "plan",
    "sleep": "sleep",
    "subAgentActivity": "sub_agent_activity",
    "imageGeneration": "image_generation",
    "hookPrompt": "plan",
    "functionCallOutput": "plan",
}
BEGUN_QUIETLY = {
    name: f"item.started:{KINDS[name]}" for name in ("agentMessage", "reasoning", "plan", "contextCompaction")
}
BEGUN_QUIETLY["userMessage"] = "item/started:userMessage"
AREAS = frozenset(
    {
        *("account", "app", "autoApprovalReview", "externalAgentConfig", "fs", "fuzzyFileSearch", "hook", "mcpServer"),
        *("model", "modelProvider", "project", "remoteControl", "skills", "windows"),
        *("attestation", "config", "configRequirements", "experimentalFeature", "feedback", "hooks", "marketplace"),
        *("mcpServerStatus", "permissionProfile", "plugin", "review", "threadSection"),
    }
)
QUIET = frozenset({"thread", "turn", "item", "rawResponseItem", "command", "windowsSandbox", "process"}) | AREAS
QUIET_METHODS = frozenset({"initialize", "initialized", "serverRequest/resolved"})
COPIES = "codex/event/"
"""What 0.110 prints of each notification once more, in the older form."""
COLLABORATION = {
    "spawnAgent": "spawn_agent",
    "sendInput": "send_input",
    "sendMessage": "send_message",
    "resumeAgent": "resume_agent",
    "closeAgent": "close_agent",
    "followupTask": "followup_task",
    "interruptAgent": "interrupt_agent",
    "listAgents": "list_agents",
}
"""The tools of `collabAgentToolCall`, as the exec stream and the rollouts name them; `wait` has one name."""
REVIEWS = frozenset({"entered_review_mode", "exited_review_mode"})
NOTICES = frozenset({"configWarning", "deprecationNotice", "guardianWarning", "warning"})
PIECE = "item/agentMessage/delta"
REVERT = "thread/revert"
REVERTED = "thread/reverted"
"""The client's request to take turns back, which names the first of them, and what the server reports of it."""
APPROVALS = frozenset({"execCommandApproval", "applyPatchApproval"})
DECODED = (NOTICES | APPROVALS) | {
    "error",
    "item/completed",
    "item/started",
    "model/rerouted",
    "thread/started",
    "thread/tokenUsage/updated",
    "turn/completed",
    "turn/plan/updated",
    PIECE,
    REVERT,
    REVERTED,
}
OFTEN_TOLD = ("item/completed", "item/started", "thread/started", "thread/tokenUsage/updated", "turn/completed")
OFTEN_QUIET = (
    *("account/rateLimits/updated", "hook/completed", "hook/started", "mcpServer/startupStatus/updated"),
    *("item/commandExecution/outputDelta", "item/reasoning/summaryTextDelta", "item/reasoning/textDelta"),
    *("remoteControl/status/changed", "thread/status/changed", "turn/diff/updated", "turn/started"),
)

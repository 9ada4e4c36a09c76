"""The tools of Claude Code, 0.x to 2.1."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

NOW = "Claude Code 2.1, recordings and documentation"
DECLARED = "Claude Code 2.1.330, the types of its tools' inputs"
LISTED = "Claude Code 2.1.332, the list of tools in its program"
EARLIER = "Claude Code 1.x and 2.0, recordings and documentation"
FIRST = "Claude Code, first names; documentation only"

TABLE = ToolTable(
    rows=(
        *rows(
            NOW,
            {
                name: name
                for name in (
                    *("Skill", "Read", "Write", "Edit", "Bash"),
                    *("Grep", "Glob", "WebFetch", "WebSearch", "NotebookEdit", "ToolSearch", "LSP"),
                    *("TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "TaskStop", "TaskOutput", "TodoWrite", "Task"),
                    *("EnterPlanMode", "ExitPlanMode", "AskUserQuestion"),
                )
            },
        ),
        *rows(NOW, {"Agent": "Task", "PowerShell": "Bash"}),
        *rows(EARLIER, {name: name for name in ("LS", "MultiEdit", "NotebookRead", "TodoRead")}),
        *rows(EARLIER, {"BashOutput": "BashOutput", "KillShell": "KillShell", "SlashCommand": "SlashCommand"}),
        *rows(EARLIER, {"KillBash": "KillShell", "exit_plan_mode": "ExitPlanMode", "BashOutputTool": "BashOutput"}),
        *rows(EARLIER, {"AgentOutputTool": "TaskOutput"}),
        *rows(
            FIRST, {"View": "Read", "ReadTool": "Read", "Replace": "Write", "LSTool": "LS", "BatchTool": "BatchTool"}
        ),
        *rows(FIRST, {"GlobTool": "Glob", "GrepTool": "Grep", "dispatch_agent": "Task", "WebFetchTool": "WebFetch"}),
        *rows(FIRST, {"NotebookEditCell": "NotebookEdit", "ReadNotebook": "NotebookRead"}),
        *plain(NOW, "plan", "Workflow", "SendMessage", "ListAgents", "EnterWorktree", "ExitWorktree"),
        *plain(NOW, "plan", "TeamCreate", "TeamDelete", "VerifyPlanExecution"),
        *plain(NOW, "execute", "Monitor", "RemoteTrigger", "REPL"),
        *plain(NOW, "other", "CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "ReportFindings", "Artifact"),
        *plain(NOW, "other", "StructuredOutput", "ListMcpResourcesTool", "Config", "Sleep", "PushNotification"),
        row("ReadMcpResourceTool", "ReadMcpResourceTool", NOW, "read"),
        *plain(DECLARED, "read", "ReadMcpResourceDirTool", "ReadNotifications"),
        *plain(DECLARED, "plan", "ProposeGoal", "ProposeSkills"),
        *plain(DECLARED, "ask", "ShowOnboardingRolePicker", "OfferChromeSetup"),
        *plain(DECLARED, "other", "RefreshMcpTools", "SendFeedback", "ClaudeDesign", "Projects"),
        row("propose_skills", "ProposeSkills", LISTED, "plan"),
        *plain(LISTED, "plan", "SetGoal", "SubagentHandback"),
        *plain(LISTED, "other", "SendUserMessage", "SendUserFile", "ShareOnboardingGuide"),
        *plain(LISTED, "other", "WaitForMcpServers", "EndConversation"),
    )
)

"""The tools of Kimi Code, and of the older Kimi CLI whose sessions it migrates."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, rows

NOW = "Kimi Code 2.1.0, recordings and the tools that it sends to the model"
NAMED = "Kimi Code 2.1.0, names in a session's profile; never offered in a recording"
OLDER = "Kimi CLI (Python), names in migrated sessions; documentation only"

ROWS = (
    *rows(NOW, {"Bash": "Bash", "Read": "Read", "ReadMediaFile": "Read", "Write": "Write", "Edit": "Edit"}),
    *rows(NOW, {"Grep": "Grep", "Glob": "Glob", "FetchURL": "WebFetch", "WebSearch": "WebSearch"}),
    *rows(NOW, {"Agent": "Task", "AgentSwarm": "Task", "TodoList": "TodoWrite", "Skill": "Skill"}),
    *rows(NOW, {"TaskList": "TaskList", "TaskOutput": "TaskOutput", "TaskStop": "TaskStop"}),
    *rows(NOW, {"EnterPlanMode": "EnterPlanMode", "ExitPlanMode": "ExitPlanMode"}),
    *rows(NOW, {"AskUserQuestion": "AskUserQuestion"}),
    *plain(NOW, "plan", "WaitFor", "CreateGoal", "GetGoal", "UpdateGoal", "SetGoalBudget"),
    *plain(NOW, "other", "CronCreate", "CronList", "CronDelete"),
    *plain(NAMED, "plan", "TowerInit", "TowerStatus", "TowerTeardown"),
    *plain(NAMED, "other", "NotifyUser"),
    *rows(OLDER, {"Shell": "Bash", "ReadFile": "Read", "WriteFile": "Write", "StrReplaceFile": "Edit"}),
    *rows(OLDER, {"SearchWeb": "WebSearch", "SetTodoList": "TodoWrite", "Task": "Task"}),
    *plain(OLDER, "plan", "Think"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("mcp__", "__"),))
SHELLS = frozenset(("Bash", "Shell"))
MEDIA = "ReadMediaFile"

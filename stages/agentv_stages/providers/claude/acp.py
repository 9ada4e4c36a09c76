"""The habits of Claude Code's adapter over ACP: a plan stands for the todo tool."""

from agentv_stages.model.acp import AcpHabits

HABITS = AcpHabits(marks=("claude",), plan_tool="TodoWrite")

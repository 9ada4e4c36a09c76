"""The one tool of mini-swe-agent. It reads and searches only with the shell, so its calls get finer names."""

from agentv_stages.model.tools import ToolTable, row

TOOL = "bash"
TABLE = ToolTable((row(TOOL, "Bash", "mini-swe-agent 1.1.0 to 2.4.6, recorded runs"),), finer_shell=True)

"""Converts the names of MCP tools in Gemini CLI to the form `mcp__server__tool`.

Source: Gemini CLI 0.61 (`mcp_<server>_<tool>`, display name `lookup (demo MCP Server)`), 0.1 to 0.3x (bare names).
"""

import re

_DISPLAY = re.compile(r"\(([^()]*) MCP Server\)\Z")


def tool_name(name: str, display: str | None = None) -> str:
    """The name to emit: the one in the log, but `mcp__server__tool` for MCP tools.

    The display name is reliable; without it the server is taken to end at the first underscore.
    """
    if display is not None and display.endswith(" MCP Server)"):
        shown = _DISPLAY.search(display)
        if shown and shown[1].strip():
            server = shown[1].strip()
            tool = name
            for prefix in (f"mcp_{server}_", f"{server}__"):
                if name.startswith(prefix):
                    tool = name[len(prefix) :]
            if tool.startswith("mcp__"):
                return name
            return f"mcp__{server}__{tool}"
    if name.startswith("mcp_") and not name.startswith("mcp__"):
        server, found, tool = name[4:].partition("_")
        if found and server and tool:
            return f"mcp__{server}__{tool}"
    return name

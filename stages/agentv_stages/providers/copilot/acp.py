"""Copilot's habits over ACP: titles are sentences, arguments reveal the tool. Source: recordings of 1.0.102."""

import re

from agentv_stages.model.acp import AcpHabits, Arguments
from agentv_stages.model.event import Level

NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}\Z")
FAILURE_TEXT = re.compile(r"\AError: (?:\d{3} |Failed to get response )")
INFO_TEXT = re.compile(r"\A(?:Info|Warning): (?:/|[A-Za-z]:\\).*\Z")  # sent while the call that wrote the file runs


def name_in_words(title: str, kind: str, arguments: Arguments) -> str | None:
    """Copilot's titles are sentences; the arguments reveal the tool."""
    if title.startswith("Using skill: ") or ("skill" in arguments and len(arguments) == 1):
        return "skill"
    if NAME.match(title) and title.lower() == title:
        return None
    if isinstance(arguments.get("command"), str) and kind == "execute":
        return "bash"
    if "agent_type" in arguments and "prompt" in arguments:
        return "task"
    if kind == "edit" or "old_str" in arguments or "file_text" in arguments:
        if "old_str" in arguments:
            return "edit"
        if "file_text" in arguments:
            return "create"
        return "apply_patch" if "patch" in arguments or "input" in arguments else None
    if title.startswith("Viewing"):
        return "view"
    if title.startswith("Searching for"):
        return "grep"
    if title.startswith("Finding files"):
        return "glob"
    if kind == "read" and "pattern" in arguments:
        return "grep" if "output_mode" in arguments else "glob"
    if kind == "read" and "path" in arguments:
        return "view"
    if isinstance(arguments.get("query"), str) and kind == "other" and "description" in arguments:
        return "sql"
    if "url" in arguments and kind in ("fetch", "read", "other"):
        return "web_fetch"
    if "query" in arguments and kind in ("fetch", "search"):
        return "web_search"
    if "shellId" in arguments and kind == "execute":
        return "read_bash"
    return None


def mcp_title(title: str, arguments: Arguments) -> str | None:
    """`server-tool` as a canonical name."""
    server, mark, tool = title.rpartition("-")
    return f"mcp__{server}__{tool}" if mark and server and tool else None


def note(text: str) -> tuple[Level, str] | None:
    """A message of the program about a file that a call wrote, and its level."""
    if not INFO_TEXT.match(text):
        return None
    name, _, notice = text.partition(": ")
    return "warning" if name == "Warning" else "info", notice


def failed(text: str) -> bool:
    """Whether a text says that the request failed: the prompt then ends like a good one."""
    return text.startswith("Error: ") and FAILURE_TEXT.match(text) is not None


HABITS = AcpHabits(marks=("copilot",), name_in_words=name_in_words, mcp_title=mcp_title, note=note, failed=failed)

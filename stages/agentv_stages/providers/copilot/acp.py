"""What Copilot does over ACP: titles are sentences, arguments reveal the tool. Source: recordings of 1.0.102."""

import re

from agentv_stages.model.acp import AcpHabits, Given
from agentv_stages.model.event import Level

NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}\Z")
FAILURE_TEXT = re.compile(r"\AError: (?:\d{3} |Failed to get response )")
INFO_TEXT = re.compile(r"\A(?:Info|Warning): (?:/|[A-Za-z]:\\).*\Z")  # sent while the call that wrote the file runs


def name_in_words(title: str, kind: str, given: Given) -> str | None:
    """Copilot's titles are sentences; the arguments reveal the tool."""
    if title.startswith("Using skill: ") or ("skill" in given and len(given) == 1):
        return "skill"
    if NAME.match(title) and title.lower() == title:
        return None
    if isinstance(given.get("command"), str) and kind == "execute":
        return "bash"
    if "agent_type" in given and "prompt" in given:
        return "task"
    if kind == "edit" or "old_str" in given or "file_text" in given:
        if "old_str" in given:
            return "edit"
        if "file_text" in given:
            return "create"
        return "apply_patch" if "patch" in given or "input" in given else None
    if title.startswith("Viewing"):
        return "view"
    if title.startswith("Searching for"):
        return "grep"
    if title.startswith("Finding files"):
        return "glob"
    if kind == "read" and "pattern" in given:
        return "grep" if "output_mode" in given else "glob"
    if kind == "read" and "path" in given:
        return "view"
    if isinstance(given.get("query"), str) and kind == "other" and "description" in given:
        return "sql"
    if "url" in given and kind in ("fetch", "read", "other"):
        return "web_fetch"
    if "query" in given and kind in ("fetch", "search"):
        return "web_search"
    if "shellId" in given and kind == "execute":
        return "read_bash"
    return None


def mcp_title(title: str, given: Given) -> str | None:
    """`server-tool` as a canonical name."""
    server, mark, tool = title.rpartition("-")
    return f"mcp__{server}__{tool}" if mark and server and tool else None


def note(text: str) -> tuple[Level, str] | None:
    """A message of the program about a file that a call wrote, and its level."""
    if not INFO_TEXT.match(text):
        return None
    name, _, told = text.partition(": ")
    return "warning" if name == "Warning" else "info", told


def failed(text: str) -> bool:
    """Whether a text says that the request failed: the prompt then ends like a good one."""
    return text.startswith("Error: ") and FAILURE_TEXT.match(text) is not None


HABITS = AcpHabits(marks=("copilot",), name_in_words=name_in_words, mcp_title=mcp_title, note=note, failed=failed)

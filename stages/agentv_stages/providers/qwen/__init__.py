"""Qwen Code: stream-json and chats on disk.

Source: Qwen Code 0.14 to 0.24.4. Before 0.5 it wrote Gemini CLI's chat documents, which are read as such.

Qwen Code's habits over ACP. Source: recordings of 0.10 to 0.24.
"""

import re
from typing import Any, cast

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.deltas import MESSAGES_DELTA
from agentv_stages.model.provider import (
    MODEL,
    PROMPT,
    About,
    Companion,
    DecodeContext,
    Dialect,
    Folder,
    Head,
    LogRoot,
    Provider,
    Start,
)
from agentv_stages.providers.qwen.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.qwen.session import SessionDecoder
from agentv_stages.providers.qwen.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.qwen.stream import StreamDecoder
from agentv_stages.providers.qwen.tools import TABLE

_MODEL = re.compile(r"(?:\$runtime\|[^|]+\|)?(?P<name>.+)\([\w-]+\)\Z")


def model_name(name: str) -> str | None:
    """A model without the login method around it (`$runtime|openai|m(openai)`), as on disk."""
    found = _MODEL.match(name)
    return found["name"] if found else None


HABITS = AcpHabits(marks=("qwen",), plan_tool="todo_write", model_name=model_name, shown_output=True)


# Finds the files of a Qwen session's sub-agents: `subagents/<session id>/agent-<id>.jsonl` beside its `chats`.
#
# Their calls, texts and tokens are already in the session's own telemetry; only the outputs of their tools are taken
# from these files, by call id. Read by itself, such a file gives everything.
# Source: Qwen Code 0.24.4.
def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files, in the order of their names."""
    place, _, name = path.replace("\\", "/").rpartition("/")
    project, _, chats = place.rpartition("/")
    session, _, suffix = name.rpartition(".")
    if chats != "chats" or suffix != "jsonl":
        return []
    base = f"{project}/" if project else ""
    out: list[Companion] = []
    for file in folder.glob(f"{base}subagents/{session}/agent-*.jsonl"):
        agent = file.replace("\\", "/").rpartition("/")[2].removeprefix("agent-").removesuffix(".jsonl")
        out.append(Companion(file, DecodeContext(file, f"subagent:{agent}", None, session)))
    return out


# Distinguishes Qwen Code's logs from others, above all from Claude's stream and Claude's sessions.
def is_stream(head: Head) -> float:
    """`init` has Qwen's version or `permission_mode` in snake case; a message's id is that of its line."""
    best = 0.0
    for line in head:
        kind = line.get("type")
        if kind == "system" and line.get("subtype") == "init":
            if "qwen_code_version" in line:
                return 1.0
            if "permission_mode" in line and "permissionMode" not in line and "claude_code_version" not in line:
                return 1.0
            return 0.0
        if kind == "assistant" and "session_id" in line and line.get("uuid") and isinstance(line.get("message"), dict):
            if cast(dict[str, Any], line["message"]).get("id") == line["uuid"]:
                best = 0.9
    return best


def is_session(head: Head) -> float:
    """Claude's envelope around Gemini's parts."""
    best = 0.0
    for line in head:
        if "sessionId" not in line or "uuid" not in line or ("isSidechain" in line and "agentName" not in line):
            continue
        kind, message = line.get("type"), line.get("message")
        if kind in ("user", "assistant", "tool_result") and isinstance(message, dict) and "parts" in message:
            return 1.0
        if kind == "system" and "systemPayload" in line:
            best = 1.0 if line.get("subtype") in ("ui_telemetry", "attribution_snapshot") else max(best, 0.9)
    return best


PROVIDER = Provider(
    name="qwen",
    title="Qwen Code",
    dialects=(
        Dialect(
            "qwen-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            deltas=(MESSAGES_DELTA,),
            about=About(
                made_by="qwen -p PROMPT --output-format stream-json",
                versions="0.5.0 to 0.24.4",
                end="`result`; a text `[API Error: …]` is an error whatever it says",
            ),
        ),
        Dialect(
            "qwen-session",
            is_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="0.5.0 to 0.24.4",
                end="none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(("qwen", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL), kinds=("qwen",)),
    aliases=("qwen-code", "qwen-cli"),
    roots=tuple(
        LogRoot("~/.qwen/projects", variable, "projects", ("*/chats/*.jsonl",))
        for variable in ("QWEN_RUNTIME_DIR", "QWEN_HOME")
    ),
    companions=companions,
)

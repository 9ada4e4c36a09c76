"""Claude Code: the stream of `claude -p --output-format stream-json` and the sessions on disk.

The habits of Claude Code's adapter over ACP: a plan stands for the todo tool.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.deltas import MESSAGES_DELTA
from agentv_stages.model.event import sidechain
from agentv_stages.model.provider import (
    PROMPT,
    About,
    Companion,
    DecodeContext,
    Dialect,
    Folder,
    Head,
    LogRoot,
    Provider,
    RecordDecoder,
    Start,
)
from agentv_stages.providers.claude import compaction, forks, sdk, session, stream
from agentv_stages.providers.claude.catalogue import QUIET_TYPES
from agentv_stages.providers.claude.tools import TABLE

HABITS = AcpHabits(marks=("claude",), plan_tool="TodoWrite")


_META_TYPES = QUIET_TYPES | {"queue-operation", "summary", "custom-title", "ai-title", "pr-link", "cost-state"}
_EARLY = frozenset(("rate_limit_event", "control_request", "control_response"))


def _is_init(line: Mapping[str, Any]) -> bool:
    if line.get("type") != "system" or line.get("subtype") != "init" or "qwen_code_version" in line:
        return False
    if "claude_code_version" in line:
        return True
    if not all(key in line for key in ("apiKeySource", "mcp_servers", "tools")) or "permission_mode" in line:
        return False
    return "skills" not in line or "output_style" in line  # else Grok Build, which omits both of Claude's marks


def _detect_stream(head: Head) -> float:
    best = 0.0
    for line in head:
        if _is_init(line):
            return 1.0
        kind, message = line.get("type"), line.get("message")
        if kind is not None and not isinstance(kind, str):
            continue
        if str(line.get("session_id")).startswith("T-"):
            return 0.0  # Amp, whose messages have Claude's shape
        if kind in ("assistant", "user", "stream_event") and "parent_tool_use_id" in line and "session_id" in line:
            model = str(message.get("id", "")) if isinstance(message, dict) else ""  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType] - decoded JSON
            best = max(best, 0.9 if model.startswith("msg_") else 0.6)
        elif kind == "result" and ("total_cost_usd" in line or "modelUsage" in line):
            best = max(best, 0.9 if "session_id" in line else 0.4)
        elif kind == "system" and "session_id" in line and "uuid" in line:
            best = max(best, 0.5)
        elif kind == "system" and line.get("subtype") == "init":
            best = max(best, 0.3)  # with few fields: of a wrapper or made by hand; Droid's looks the same
        elif kind in _EARLY:
            best = max(best, 0.2)
        elif kind is None and "total_cost_usd" in line and "num_turns" in line:
            best = max(best, 0.8)
        elif kind in ("assistant", "user") and isinstance(message, dict) and "content" in message:
            if "sessionId" not in line:
                best = max(best, 0.4)  # reduced streams, as found in tests and old recordings
    return best


def _detect_session(head: Head) -> float:
    best = 0.0
    for line in head:
        kind, message = line.get("type"), line.get("message")
        if kind == "tool_result" or "systemPayload" in line or (isinstance(message, dict) and "parts" in message):
            return 0.0  # Qwen, whose envelope is the same
        if not isinstance(kind, str) or ("data" in line and "parentId" in line):
            continue
        if "uuid" in line and "sessionId" in line and ("isSidechain" in line or "parentUuid" in line):
            if kind in ("user", "assistant", "system", "attachment", "progress"):
                best = 1.0
        if kind in _META_TYPES and ("sessionId" in line or "leafUuid" in line or "messageId" in line):
            best = max(best, 0.7)
    return best


class _Meta(Struct):
    """The metadata file beside a sub-agent's log."""

    toolUseId: str | None = None


_AGENT_FILE = re.compile(r"agent-([\w-]+)\.jsonl$")


def companions(path: str, folder: Folder) -> list[Companion]:
    """A session's sub-agent logs: `<session>/subagents/**/agent-<id>.jsonl`, or, in older versions, beside its log."""
    if not path.endswith(".jsonl") or _AGENT_FILE.search(path):
        return []
    found = folder.glob(f"{path[: -len('.jsonl')]}/subagents/**/agent-*.jsonl")
    parent, _, name = path.rpartition("/")
    session_id = name[: -len(".jsonl")]
    beside = folder.glob(f"{parent or '.'}/agent-*.jsonl")
    mark = f'"sessionId":"{session_id}"'.encode("utf-8", "surrogateescape")
    found += [p for p in beside if mark in folder.read(p, 4096)]
    names = frozenset(found)
    return [_companion(p, session_id, folder) for p in found if not _is_copy(p, names, folder)]


def _is_copy(path: str, names: frozenset[str], folder: Folder) -> bool:
    """Whether a file begins like another one, and has its name with something behind it (`agent-a1-backup.jsonl`)."""
    stem = path[: -len(".jsonl")].rpartition("-")[0]
    while "/agent-" in stem:
        if (original := f"{stem}.jsonl") in names:
            return folder.read(path, 4096) == folder.read(original, 4096)
        stem = stem.rpartition("-")[0]
    return False


def _companion(path: str, session_id: str, folder: Folder) -> Companion:
    match = _AGENT_FILE.search(path)
    agent = match[1] if match else "unknown"
    call = None
    data = folder.read(path[: -len(".jsonl")] + ".meta.json", 65536)
    if data:
        try:
            call = msgspec.json.decode(data, type=_Meta).toolUseId
        except (msgspec.MsgspecError, UnicodeDecodeError):
            call = None
    return Companion(path, DecodeContext(path, sidechain(agent), call, session_id))


def kept_outputs(path: str) -> str | None:
    """`<session>/tool-results`, from the path of the session's log or of a sub-agent's log."""
    session, sub, _ = path.partition("/subagents/")
    if not sub:
        session, end, _ = path.rpartition(".jsonl")
        if not end:
            return None
    return f"{session}/tool-results"


def _session_decoder(context: DecodeContext) -> RecordDecoder:
    if context.stream.startswith(compaction.STREAM):
        return compaction.CompactionDecoder(context)
    return session.SessionDecoder(context)


COWORK = ("*/*/local_*/.claude/projects/*/*.jsonl",)
"""Sessions of Claude Cowork (Claude Desktop's local agent mode), by organisation, account and task."""
DESKTOP_HOMES = ("~/.config", "~/Library/Application Support", "~/AppData/Roaming")

PROVIDER = Provider(
    name="claude",
    title="Claude Code",
    aliases=("claude-cli", "claude-sdk", "claude_code", "claude-code"),
    dialects=(
        Dialect(
            "claude-stream",
            _detect_stream,
            stream.StreamDecoder,
            live=True,
            has_end=True,
            losses=stream.LOSSES,
            has_prompt=False,
            ranges=True,
            deltas=(MESSAGES_DELTA,),
            about=About(
                made_by="claude -p PROMPT --output-format stream-json --verbose",
                versions="1.0.60 to 2.1.332",
                end="`result`; of several the last",
            ),
            lines=True,
        ),
        Dialect(
            "claude-session",
            _detect_session,
            _session_decoder,
            live=False,
            has_end=False,
            losses=session.LOSSES,
            ranges=True,
            about=About(
                made_by="every session",
                versions="1.0.0 to 2.1.332",
                end="none; complete when the last answer's `stop_reason` is final",
            ),
        ),
        Dialect(
            "claude-sdk",
            sdk.is_sdk,
            sdk.SdkDecoder,
            live=True,
            has_end=True,
            losses=sdk.LOSSES,
            has_prompt=False,
            about=About(
                made_by="python my_agent.py, with print(message) or json.dumps(asdict(message))",
                versions="0.2.189",
                end="`ResultMessage`; of several the last",
            ),
            lines=True,
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(
        ("claude", "-p", PROMPT, "--output-format", "stream-json", "--verbose"),
        piped=("claude", "-p", "--output-format", "stream-json", "--verbose"),
        kinds=("claude", "claude-cli", "claude-code", "claude-sdk", "cc-mirror"),
    ),
    telling_names=True,
    roots=(
        LogRoot("~/.claude/projects", "CLAUDE_CONFIG_DIR", "projects", ("*/*.jsonl",)),
        LogRoot("~/.config/claude/projects", "XDG_CONFIG_HOME", "claude/projects", ("*/*.jsonl",)),
        *(LogRoot(f"{home}/Claude/local-agent-mode-sessions", None, "", COWORK) for home in DESKTOP_HOMES),
    ),
    companions=companions,
    kept_outputs=kept_outputs,
    history=forks.history_of,
)

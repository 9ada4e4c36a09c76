"""Kimi Code (npm `@moonshot-ai/kimi-code`): stream-json and sessions on disk. Source: Kimi Code 0.10.0 to 2.1.0.

The older Kimi CLI, in Python, wrote another `wire.jsonl`, which is not read; its sessions that Kimi Code migrated are.

Kimi Code's habits over ACP. Source: recordings of 0.31 to 2.1.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.event import Outcome
from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.kimi.companions import companion_files, companions, main_context
from agentv_stages.providers.kimi.results import agent_named, failure
from agentv_stages.providers.kimi.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.kimi.session import SessionDecoder
from agentv_stages.providers.kimi.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.kimi.stream import StreamDecoder
from agentv_stages.providers.kimi.tools import ROWS, TABLE


def failed(output: Raw, marked: bool) -> tuple[Outcome, int | None]:
    return failure(bytes(output))


def child(output: Raw, raw: Raw) -> str | None:
    """The sub-agent, which its result names."""
    return agent_named(bytes(output))


HABITS = AcpHabits(
    marks=("kimi",),
    writes_visibly=True,
    hides_agents=True,
    searches=frozenset(row.native for row in ROWS if row.kind == "search"),
    failure=failed,
    child=child,
)


# Distinguishes Kimi Code's logs from others: its stream's lines have roles, its sessions dotted record types.
META = frozenset(("system.version", "session.resume_hint", "turn.step.retrying"))
GOAL = "goal.summary"
CERTAIN = frozenset(("context.append_loop_event", "context.append_message", "turn.prompt", "llm.tools_snapshot"))
LIKELY = frozenset(("profile.bind", "usage.record", "token_counting.measured", "runtime.set_binding", "llm.request"))


_KEYS = frozenset(("role", "content", "tool_calls", "tool_call_id"))


def is_stream(head: Head) -> float:
    """A line with the role `meta`, or a goal's summary; versions before 0.43 begin with an answer and nothing else."""
    best = 0.5 if head and all(map(_bare, head)) and any("tool_calls" in line for line in head) else 0.0
    for line in head:
        kind = line.get("type")
        if line.get("role") == "meta" and isinstance(kind, str) and kind in META:
            return 1.0
        if kind == GOAL and "goalId" in line:
            best = 0.9
    return best


def _bare(line: Mapping[str, Any]) -> bool:
    """Whether it may be a line of an old stream, which has only answers and tool results, in plain texts."""
    plain = isinstance(line.get("content", ""), str) and isinstance(line.get("tool_calls", []), list)
    return plain and line.get("role") in ("assistant", "tool") and _KEYS.issuperset(line)


def is_session(head: Head) -> float:
    """Records of the wire protocol; its first one, `metadata`, differs from the older Kimi CLI's only by its time."""
    return max(map(_session_line, head), default=0.0)


def _session_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if not isinstance(kind, str):
        return 0.0
    if kind in CERTAIN:
        return 1.0 if "event" in line or "message" in line or "origin" in line or "tools" in line else 0.0
    if kind == "metadata":
        return 1.0 if "protocol_version" in line and "created_at" in line else 0.0
    return 0.9 if kind in LIKELY and "agentId" in line else 0.0


PROVIDER = Provider(
    name="kimi",
    title="Kimi Code",
    dialects=(
        Dialect(
            "kimi-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            about=About(
                made_by="kimi -p PROMPT --output-format stream-json",
                versions="0.10.0 to 2.1.0",
                end="`session.resume_hint`, the last line",
            ),
        ),
        Dialect(
            "kimi-session",
            is_session,
            SessionDecoder,
            False,
            True,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="0.10.0 to 2.1.0",
                end="`turn.ended`, with its reason; before protocol 1.5 a last step with a final `finishReason`",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(("kimi", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL), kinds=("kimi",)),
    aliases=("kimi-code",),
    roots=(LogRoot("~/.kimi-code/sessions", "KIMI_CODE_HOME", "sessions", ("*/*/agents/main/wire.jsonl",)),),
    companions=companions,
    companion_files=companion_files,
    context=main_context,
)

"""oh-my-pi (can1357/oh-my-pi, `omp`): a fork of Pi. Pi's decoders, with its own entries, lines, tools and folders."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.deltas import DELTA_TEXT
from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.oh_my_pi.catalogue import ENTRIES, LINES, MARKERS
from agentv_stages.providers.oh_my_pi.companions import companion_files, companions
from agentv_stages.providers.oh_my_pi.session import SessionDecoder
from agentv_stages.providers.oh_my_pi.stream import StreamDecoder
from agentv_stages.providers.oh_my_pi.tools import TABLE
from agentv_stages.providers.pi.detect import detect_session as is_session
from agentv_stages.providers.pi.detect import detect_stream as is_stream
from agentv_stages.providers.pi.detect import is_header, kind_of


# Distinguishes oh-my-pi's logs from Pi's, whose shapes they have, by entries and lines that Pi never wrote.
#
# A session begins with a slot for its title, or names its model in one member (`mock/mock-model`); the stream begins
# with `advisor_cost_changed`, and each of its prompts says who it is from.
# Source: oh-my-pi 18.2.3; pi up to 1.5.2 has none of it.
def detect_stream(head: Head) -> float:
    if any(kind_of(line) in LINES for line in head):
        # its own first line precedes those that identify a stream of Pi
        return 1.0 if any(map(is_header, head)) or is_stream(head) else 0.0
    return is_stream(head) if any(map(_attributed, head)) else 0.0


def detect_session(head: Head) -> float:
    if not any(map(_own, head)):
        return 0.0
    if any(map(is_header, head)):
        return 0.0 if any(kind_of(line) in LINES for line in head) else 1.0
    return max(is_session(head), 0.7 if _slot(head[0]) else 0.0)


def _slot(record: Mapping[str, Any]) -> bool:
    return kind_of(record) == "title" and "v" in record and isinstance(record.get("updatedAt"), str)


def _own(record: Mapping[str, Any]) -> bool:
    kind = kind_of(record)
    if kind == "title":
        return _slot(record)
    if not isinstance(record.get("id"), str) or "parentId" not in record:
        return False
    if kind == "model_change":
        return isinstance(record.get("model"), str) and "modelId" not in record
    if kind == "custom":
        marker = record.get("customType")
        return isinstance(marker, str) and marker in MARKERS
    return kind in ENTRIES or (kind == "message" and _attributed(record))


def _attributed(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    if not isinstance(message, dict):
        return False
    members = cast("Mapping[str, Any]", message)
    return members.get("role") == "user" and members.get("attribution") in ("user", "agent")


_BELOW = ("*/*.jsonl",)
_SHARED = (
    "tokens of answers that were cut off, of retries inside the provider and of compactions",
    "whether the last call of an answer that was cut off was still being written (it counts, cancelled)",
    "that an extension refused a call with a reason of its own (it counts as an error)",
    "that a prompt was made from a template or by an extension",
    "the server of an MCP tool, if its name contains an underscore (the part before it is used)",
    "the agent's version",
)

PROVIDER = Provider(
    name="oh-my-pi",
    title="oh-my-pi",
    dialects=(
        Dialect(
            "oh-my-pi-stream",
            detect_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=(
                "durations of tool calls (results have no time)",
                "work of sub-agents and advisors (they have files of their own on disk)",
                "tokens of titles and other side calls",
                *_SHARED,
            ),
            deltas=(rb'"assistantMessageEvent":.{0,40}?_delta".{0,60}?"delta":' + DELTA_TEXT,),
            about=About(
                made_by="omp --mode json -p PROMPT",
                versions="13.19.0 to 18.2.3",
                end="`agent_end` that no retry and no work in the background follows",
            ),
        ),
        Dialect(
            "oh-my-pi-session",
            detect_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=("results that oh-my-pi removed to save context", *_SHARED),
            about=About(
                made_by="every session",
                versions="13.19.0 to 18.2.3",
                end="as `pi-session`; interrupted when a signal found calls open (`session_exit`)",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("omp", "-p", PROMPT, "--mode", "json"), kinds=("oh-my-pi", "omp")),
    aliases=("omp", "oh-my-pi-cli"),
    roots=(
        LogRoot("~/.omp/agent/sessions", "PI_CODING_AGENT_DIR", "sessions", _BELOW),
        LogRoot("~/.omp/profiles", None, "", ("*/agent/sessions/*/*.jsonl",)),
        LogRoot("~/.local/share/omp", "XDG_DATA_HOME", "omp", ("sessions/*/*.jsonl", "profiles/*/sessions/*/*.jsonl")),
    ),
    companions=companions,
    companion_files=companion_files,
)

"""Kilo: a fork of OpenCode with the same formats. OpenCode's decoders; its own detection and tools."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from agentv_stages.model.provider import PROMPT, About, Head, LogRoot, Provider, Start
from agentv_stages.providers.kilo.tools import TABLE
from agentv_stages.providers.opencode import EXPORT, ROWS, STREAM, member
from agentv_stages.providers.opencode import detect_export as is_export
from agentv_stages.providers.opencode import detect_rows as is_row
from agentv_stages.providers.opencode import detect_stream as is_stream
from agentv_stages.providers.opencode.acp import habits
from agentv_stages.providers.opencode.children import companions

# Distinguishes Kilo's logs from OpenCode's, whose shapes they have.
#
# Stored sessions name the version: Kilo's begin at 7 (its VS Code extension's number), OpenCode's are at 1. The stream
# does not; but newer versions add to the end of a step how fast it was, and to a tool what allowed it.
# Source: Kilo 7.0.33 (whose stream is OpenCode's, line for line) and 7.7.9; OpenCode 1.18.33 has none of it.
FIRST_VERSION = 7


def is_kilo(version: object) -> bool:
    """Whether a version that a stored session names is one of Kilo's."""
    first = version.partition(".")[0] if isinstance(version, str) else ""
    return first.isdecimal() and len(first) < 4 and int(first) >= FIRST_VERSION


def detect_stream(head: Head) -> float:
    return 1.0 if any(map(_says_more, head)) and is_stream(head) else 0.0


def detect_export(head: Head) -> float:
    return is_export(head) if any(map(_names_version, head)) else 0.0


def detect_rows(head: Head) -> float:
    return is_row(head) if any(map(_names_version, head)) else 0.0


def _says_more(line: Mapping[str, Any]) -> bool:
    part = member(line, "part")
    if part.get("type") == "step-finish":
        return "metrics" in part or "elapsed" in member(part, "time")
    return "approval" in member(member(part, "state"), "metadata")


def _names_version(record: Mapping[str, Any]) -> bool:
    return is_kilo((member(record, "info") or member(record, "session")).get("version"))


_END = "none; complete when the last answer's `finish` is final"

PROVIDER = Provider(
    name="kilo",
    title="Kilo",
    dialects=(
        replace(
            STREAM,
            name="kilo-stream",
            detect=detect_stream,
            about=About("kilo run --format json PROMPT", "7.7.2, 7.7.9", "`step_finish` with the reason `stop`"),
        ),
        replace(
            EXPORT,
            name="kilo-export",
            detect=detect_export,
            about=About("kilo export SESSION", "7.0.33, 7.7.2, 7.7.9", _END, places=()),
        ),
        replace(
            ROWS,
            name="kilo-rows",
            detect=detect_rows,
            about=About("agentv-stream consume kilo.db --session SESSION", "7.0.33, 7.7.2, 7.7.9", _END),
        ),
    ),
    tools=TABLE,
    acp=habits("kilo", TABLE),
    start=Start(("kilo", "run", "--format", "json", PROMPT), kinds=("kilo",)),
    owns_store=is_kilo,
    aliases=("kilocode", "kilo-cli"),
    roots=(LogRoot("~/.local/share/kilo", "XDG_DATA_HOME", "kilo", ("kilo*.db",), database=True),),
    companions=companions,
)

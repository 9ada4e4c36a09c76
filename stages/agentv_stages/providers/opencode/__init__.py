"""OpenCode: the stream of `run --format json`, exported sessions, and rows of its stores."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.opencode.acp import habits
from agentv_stages.providers.opencode.children import companions
from agentv_stages.providers.opencode.export import ExportDecoder
from agentv_stages.providers.opencode.stream import LINES, StreamDecoder
from agentv_stages.providers.opencode.tools import TABLE

# Recognises OpenCode's logs by their first records.

_LIKELY = 0.9


def detect_stream(head: Head) -> float:
    """Certain only at the end of a step, because Kilo differs there (`kilo`). The decoder also holds parts until
    then.
    """
    sure = 0.0
    for record in head:
        if "sessionID" not in record or not isinstance(record.get("timestamp"), int | float):
            continue
        part = record.get("part")
        if isinstance(part, dict) and "type" in part:
            if part["type"] == "step-finish":
                return 1.0
            sure = _LIKELY
        kind = record.get("type")
        if isinstance(kind, str) and kind in LINES and "error" in record:
            return 1.0
    return sure


def member(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty object if it is missing or something else."""
    value = record.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def detect_export(head: Head) -> float:
    for record in head:
        messages = record.get("messages")
        if isinstance(messages, list):
            info = member(record, "info") or member(record, "session")
            named = "directory" in info or "version" in info or "location" in info
            if str(info.get("id", "")).startswith("ses") and named:
                return 1.0
    return 0.0


def detect_rows(head: Head) -> float:
    sure = 0.0
    for record in head:
        if "messages" in record or "type" in record:
            continue
        info, new = member(record, "info"), member(record, "message")
        if "sessionID" in new and "type" in new and "id" in new:
            return 1.0
        if "sessionID" in info and info.get("role") in ("user", "assistant") and isinstance(record.get("parts"), list):
            return 1.0
        if str(info.get("id", "")).startswith("ses") and "directory" in info:
            sure = 1.0
        stored = "sessionID" in record and "created" in member(record, "time")
        if stored and record.get("role") in ("user", "assistant"):
            sure = max(sure, 0.95)
    return sure


_STORED_LOSSES = (
    "tokens of answers that were cut off",
    "outputs that the agent cut (the whole is in a file that metadata.outputPath names)",
    "the model calls that made titles",
)
_OWN_LOSSES = ("the arguments of a call to a tool that does not exist",)
_ALIKE = "whether Kilo 7.0 or older printed it, whose lines are the same"

STREAM = Dialect(
    "opencode-stream",
    detect_stream,
    StreamDecoder,
    live=True,
    has_end=True,
    losses=(
        "work of child sessions (their calls, texts and tokens); only the task call is printed",
        "prompts, the model, the working directory, the agent's version",
        "calls that had not ended, texts that were not finished",
        "the order of calls that ran in parallel (it is that of their ends)",
        *_STORED_LOSSES,
    ),
    has_prompt=False,
    about=About(
        made_by="opencode run --format json PROMPT",
        versions="1.2.27 to 1.18.33, 2.0 by its source, and others that the log does not name",
        end="`step_finish` with the reason `stop`",
    ),
)
EXPORT = Dialect(
    "opencode-export",
    detect_export,
    ExportDecoder,
    live=False,
    has_end=False,
    losses=(*_STORED_LOSSES, "messages that were undone before another prompt"),
    about=About(
        made_by="opencode export SESSION",
        versions="1.2.27 to 1.18.33, 2.0 by its source",
        end="`idle` (2.x); else complete when the last answer's `finish` is final",
        places=(),
    ),
)
ROWS = Dialect(
    "opencode-rows",
    detect_rows,
    ExportDecoder,
    live=False,
    has_end=False,
    losses=_STORED_LOSSES,
    stored=True,
    about=About(
        made_by="agentv-stream consume opencode.db --session SESSION",
        end="`idle` (2.x); else complete when the last answer's `finish` is final",
    ),
)

PROVIDER = Provider(
    name="opencode",
    title="OpenCode",
    dialects=(
        replace(STREAM, losses=(*STREAM.losses, *_OWN_LOSSES, _ALIKE)),
        replace(EXPORT, losses=(*EXPORT.losses, *_OWN_LOSSES)),
        replace(ROWS, losses=(*ROWS.losses, *_OWN_LOSSES)),
    ),
    tools=TABLE,
    acp=habits("opencode", TABLE),
    start=Start(("opencode", "run", "--format", "json", PROMPT), kinds=("opencode",)),
    owns_store=lambda version: True,
    roots=(LogRoot("~/.local/share/opencode", "XDG_DATA_HOME", "opencode", ("opencode*.db",), database=True),),
    companions=companions,
)

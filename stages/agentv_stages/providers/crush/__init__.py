"""Crush: the rows of its database."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, LogRoot, Provider, Registry
from agentv_stages.providers.crush.rows import RowsDecoder
from agentv_stages.providers.crush.store import STORE
from agentv_stages.providers.crush.tools import TABLE

LOSSES = (
    "tokens: the database keeps those of the last call only",
    "the exit code of a shell whose output does not end with it",
    "the time of a result, when calls of one answer ran one after the other",
    "the version of the program",
)
PROJECTS = Registry("projects.json", "projects", "data_dir", base="path")


def _member(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = line.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _detect(head: Head) -> float:
    best = 0.0
    for line in head:
        message, session = _member(line, "message"), _member(line, "session")
        if "session_id" in message and isinstance(message.get("parts"), list):
            if message.get("role") in ("user", "assistant", "tool", "system"):
                return 1.0
        if "parent_session_id" in session and "id" in session:
            best = 0.9
    return best


PROVIDER = Provider(
    name="crush",
    title="Crush",
    dialects=(
        Dialect(
            "crush-rows",
            _detect,
            RowsDecoder,
            live=False,
            has_end=False,
            losses=LOSSES,
            stored=True,
            about=About(
                "agentv-stream consume .crush/crush.db --session SESSION",
                "of September 2025; of August 2026 by its source (unverified)",
                "none; the last answer's `finish` says it",
            ),
        ),
    ),
    tools=TABLE,
    roots=tuple(
        LogRoot("~/.local/share/crush", variable, below, ("crush.db",), database=True, registry=PROJECTS)
        for variable, below in (("CRUSH_GLOBAL_DATA", ""), ("XDG_DATA_HOME", "crush"))
    ),
    store=STORE,
)

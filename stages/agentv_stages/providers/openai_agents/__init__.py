"""OpenAI's Agents SDK: its `SQLiteSession` databases, and objects of the Responses API.

Source: openai-agents 0.24.0, recorded, and its published source.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import About, Dialect, Head, Provider
from agentv_stages.model.store import StoreTable
from agentv_stages.model.tools import ToolTable, row, rows
from agentv_stages.providers.openai_agents.items import LOSSES, ItemsDecoder

SOURCE = "openai-agents 0.24.0, recorded and published source"
OPERATIONS = (("create_file", "Write"), ("delete_file", "Delete"))


def is_items(head: Head) -> float:
    """Bare items are Codex's as well; they are only read for a named provider."""
    return float(any(_is_response(line) or _is_row(line) for line in head))


def _is_response(line: Mapping[str, Any]) -> bool:
    return line.get("object") == "response" and isinstance(line.get("output"), list)


def _is_row(line: Mapping[str, Any]) -> bool:
    message = line.get("message")
    return isinstance(message, dict) and "message_data" in message and "session_id" in message


STORE = StoreTable(
    provider="openai-agents",
    sessions="agent_sessions",
    messages="agent_messages",
    facts={"id": "session_id", "created": "created_at", "updated": "updated_at"},
    session_columns=("session_id", "created_at"),
    message_columns=("id", "session_id", "message_data", "created_at"),
    payloads=("message_data",),
    totals=("updated_at",),
    session_of="session_id",
    order="id",
    changed="created_at",
)

PROVIDER = Provider(
    name="openai-agents",
    title="OpenAI Agents SDK",
    dialects=(
        Dialect(
            "openai-agents-items",
            is_items,
            ItemsDecoder,
            live=False,
            has_end=False,
            losses=LOSSES,
            stored=True,
            about=About(
                "SQLiteSession(ID, FILE); response.model_dump_json() of the Responses API, one a line",
                "openai-agents 0.24.0; response objects by its source (unverified)",
                "none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=ToolTable(
        (
            *rows(SOURCE, {"web_search": "WebSearch", "file_search": "Grep", "shell": "Bash", "local_shell": "Bash"}),
            row("apply_patch_call", "Edit", SOURCE, variant_key="type", variants=OPERATIONS),
        )
    ),
    store=STORE,
)

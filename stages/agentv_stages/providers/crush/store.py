"""Crush's database `crush.db`: a row for each session and each message. Source: crush, August 2026; a database of 2025.

The database of a project lies in its folder `.crush`. A sub-agent's session is named after the message and the call
that started it, `<message>$$<call>`; sessions `title-…` hold the calls that made a title.
"""

from collections.abc import Collection

from agentv_stages.model.store import Row, Stage, StoreTable

_SIGN = "$$"


def stage_of(message: Row) -> Stage:
    """An answer has ended when its last part says why."""
    if message.get("role") != "assistant":
        return "follows"
    parts = message.get("parts")
    done = message.get("finished_at") is not None or (isinstance(parts, str) and '"finish"' in parts)
    return "ended" if done else "open"


def started(message_id: str, children: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The child sessions that a message started, each with the id of the call."""
    head = message_id + _SIGN
    return tuple((child, child[len(head) :]) for child in sorted(children) if child.startswith(head))


def project(path: str) -> str | None:
    """The folder that holds `.crush/crush.db`."""
    folder, _, _ = path.rpartition("/")
    above, sign, name = folder.rpartition("/")
    return above if sign and name == ".crush" else None


STORE = StoreTable(
    provider="crush",
    sessions="sessions",
    messages="messages",
    facts={
        "id": "id",
        "parent_id": "parent_session_id",
        "title": "title",
        "created": "created_at",
        "updated": "updated_at",
    },
    session_columns=("id", "parent_session_id", "title", "created_at"),
    message_columns=(
        "id", "session_id", "role", "parts", "model", "provider", "created_at", "updated_at", "finished_at",
        "is_summary_message",
    ),
    payloads=("parts",),
    totals=("cost", "updated_at"),
    session_of="session_id",
    order="created_at, rowid",
    changed="updated_at",
    stage_of=stage_of,
    started=started,
    project=project,
    hidden=lambda name: name.startswith("title-"),
)  # fmt: skip

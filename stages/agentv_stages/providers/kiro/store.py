"""Kiro's and Amazon Q's database `data.sqlite3`: a conversation is one JSON document in a row.

Source: Amazon Q CLI, published source of April 2026: `conversations_v2` has an id and times, `conversations` only the
folder, of which it keeps one conversation.
"""

from agentv_stages.model.store import DocumentTable

STORE = DocumentTable(
    provider="kiro",
    tables=("conversations_v2", "conversations"),
    document="value",
    elements="history",
    id="conversation_id",
    directory="key",
    created="created_at",
    updated="updated_at",
)

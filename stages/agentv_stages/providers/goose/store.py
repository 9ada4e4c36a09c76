"""Goose's database `sessions.db`: a row for each session and each message. Source: published source of 2026.

Rows are in the order of the conversation; in some versions a response has an earlier time than its request.
"""

from agentv_stages.model.store import StoreTable

STORE = StoreTable(
    provider="goose",
    sessions="sessions",
    messages="messages",
    facts={
        "id": "id",
        "parent_id": "parent_session_id",
        "title": "name",
        "directory": "working_dir",
        "created": "created_at",
        "updated": "updated_at",
    },
    session_columns=("id", "parent_session_id", "name", "description", "working_dir", "created_at"),
    message_columns=("id", "message_id", "session_id", "role", "content_json", "created_timestamp", "metadata_json"),
    payloads=("content_json", "metadata_json"),
    totals=(
        "accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens",
        "accumulated_cache_write_tokens", "accumulated_cost", "updated_at",
    ),
    session_of="session_id",
    order="id",
    changed="created_timestamp",
)  # fmt: skip

"""Decoded parts of a line of Grok's log: texts, tokens, the session that wrote it first, a session's folder."""

from urllib.parse import unquote

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.payload import EMPTY_STRING, has_value, text_json
from agentv_stages.providers.grok.results import starts
from agentv_stages.providers.grok.wire import (
    Ledger,
    Spent,
    Text,
    Update,
    decode_ledger,
    decode_spent,
    decode_text,
)


def text_block(update: Update) -> Text:
    """The text of a chunk."""
    if not update.sessionUpdate.endswith("_chunk") or not has_value(update.content):
        return Text("", EMPTY_STRING)
    if not starts(update.content, b"{"):
        return Text("text", text_json(update.content))
    return decode_member(update.content, decode_text, "params.update.content")


def turn_ledger(update: Update) -> Ledger | None:
    """The tokens and cost of a turn."""
    if update.sessionUpdate != "turn_completed" or not has_value(update.usage):
        return None
    return decode_member(update.usage, decode_ledger, "params.update.usage")


def answer_spent(update: Update) -> Spent | None:
    """The tokens of an answer."""
    if update.sessionUpdate != "response_completed" or not has_value(update.usage):
        return None
    return decode_member(update.usage, decode_spent, "params.update.usage")


def author_of(event_id: str | None) -> str | None:
    """The session that wrote an event first: an event id is a session's id and a number."""
    session_id, dash, number = (event_id or "").rpartition("-")
    return session_id if dash and session_id and number.isdigit() else None


def working_folder(place: str) -> str | None:
    """The working directory: it names the folder that holds the session's, escaped as in a URL."""
    parts = place.replace("\\", "/").split("/")
    name = parts[-3] if len(parts) > 2 else ""
    return unquote(name) if name.startswith("%2F") or "%3A" in name[:8] else None

"""Wire shapes of Crush's database: only the columns that are used. Source: crush, September 2025 to August 2026."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class Data(Struct, gc=False):
    """The content of a part of any type."""

    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: str | None = None
    tool_call_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    reason: str | None = None
    message: str | None = None
    command: str | None = None
    url: str | None = None
    path: str | None = None
    mime_type: str | None = None


class Part(Struct, gc=False):
    type: str = ""
    data: Data | None = None


class Message(Struct, gc=False):
    """A row of `messages`; times are seconds."""

    id: str | None = None
    session_id: str | None = None
    role: str = ""
    parts: list[Part] | None = None
    model: str | None = None
    created_at: float | None = None
    updated_at: float | None = None
    finished_at: float | None = None
    is_summary_message: int | None = None


class Session(Struct, gc=False):
    """A row of `sessions`; `directory` is where the database lies."""

    id: str | None = None
    parent_session_id: str | None = None
    title: str | None = None
    created_at: float | None = None
    directory: str | None = None


class Totals(Struct, gc=False):
    session_id: str | None = None
    cost: float | None = None
    updated_at: float | None = None


class Line(Struct, gc=False):
    """A row of the store: a session, a message, or the session's usage so far."""

    session: Session | None = None
    message: Message | None = None
    totals: Totals | None = None
    parent_call: str | None = None


decode_line = Decoder(Line).decode

"""The description of an agent's SQLite database: the tables and columns of its sessions. The pipeline reads it.

An agent whose database has a row for each session and a row for each message needs no more than one `StoreTable`.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Stage: TypeAlias = Literal["ended", "follows", "open"]
"""How far a message is: whole, with all before it (an answer that has ended; each message, if the agent writes a row
when the message is whole); whole as soon as another one follows; or still being written."""

Row: TypeAlias = Mapping[str, object]
"""The columns of a row: texts as `str`, numbers as they are, None."""


def whole_row(message: Row) -> Stage:
    """The agent writes a row when its message is whole."""
    return "ended"


def no_children(message_id: str, children: Collection[str]) -> tuple[tuple[str, str], ...]:
    """No message is known to have started a child session."""
    return ()


class StoreTable(Struct, frozen=True):
    """The database of an agent. `facts` names the columns of `sessions` for `id`, `parent_id`, `title`, `version`,
    `directory`, `created`, `updated`; times are seconds, milliseconds or ISO texts in UTC.

    `message_columns` include `id`, a key of the table: a message without one is left out.
    A line of the dialect is `{"session": {…}}` or `{"message": {…}}` with the columns of the row, as far as they are in
    `session_columns` and `message_columns`; texts in `payloads` are JSON. `totals` are columns of the session that
    change until its end: they come in a last line, `{"totals": {…}}`. `order` sorts messages, `changed` is the column
    of messages that says when they were last written. `stage_of` says how far a message is, `started` which of the
    child sessions its calls started, with the ids of the calls. `project` returns the working folder from the path of
    the database, where no column says it. Sessions of which `hidden` is true are no sessions of a person.
    """

    provider: str
    sessions: str
    messages: str
    facts: Mapping[str, str]
    session_columns: tuple[str, ...]
    message_columns: tuple[str, ...]
    payloads: tuple[str, ...]
    totals: tuple[str, ...]
    session_of: str
    order: str
    changed: str
    stage_of: Callable[[Row], Stage] = whole_row
    started: Callable[[str, Collection[str]], tuple[tuple[str, str], ...]] = no_children
    project: Callable[[str], str | None] = lambda path: None
    hidden: Callable[[str], bool] = lambda name: False


class DocumentTable(Struct, frozen=True):
    """A database in which a row holds a whole session as a JSON document.

    `tables` are its versions, the newest first; a session in several of them is read from the newest. `document` is the
    column of the document, `elements` the name of the list in it, one element a message. `id` names both a column and a
    member of the document, for tables without the column. `created` and `updated` are columns with times, which a table
    may lack. A line of the dialect is `{"session": {"id": …, "directory": …}}` or `{"message": …}` with an element.
    """

    provider: str
    tables: tuple[str, ...]
    document: str
    elements: str
    id: str
    directory: str
    created: str
    updated: str

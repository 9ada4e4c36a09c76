"""A session to read. In: its log. Out: lines of printable text, without effect on the terminal, or JSON rows."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentv_stages.model.event import Notification
from agentv_stages.model.message import Message
from agentv_stages.model.reading_order import reading_order, spot_of
from agentv_stages.session.parts import NONE, Parts
from agentv_stages.sinks.transcript import TranscriptRows, closing_members
from agentv_stream.discovery.discover import named_session
from agentv_stream.discovery.places import Root
from agentv_stream.discovery.selection import Selection
from agentv_stream.discovery.show_lines import Look, foot_lines, head_lines, message_lines, note_lines, selection_foot
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.outputs.session_name import Log, changed_ms, identity_of
from agentv_stream.sources.files import check_readable, is_folder, is_there, read_pieces, unpacked
from agentv_stream.stores.source import stored_path
from agentv_stream.stores.store import split_stored
from agentv_stream.summary import SessionReader

COMPACTION = "compact_boundary"
EVERYTHING = Selection()


def show_session(
    name: str,
    provider: str | None,
    roots: Sequence[Root],
    look: Look,
    selection: Selection = EVERYTHING,
    parts: Parts = NONE,
) -> Iterator[str]:
    """Yields the lines. Raises: UsageError, SourceError, NotALog, EmptyInput."""
    path, reader, messages, notes = _read(name, provider, roots, parts)
    selection.check(messages.values())
    look = replace(look, query=selection.query, window=reader.observer.totals.state.context_window)
    result = reader.result()
    yield from head_lines(result, path, look)
    before = _placed(notes, messages.values())
    shown, turn = 0, 1
    for spot in reading_order(map(spot_of, messages.values())):
        turn = spot.turn or turn
        if selection.whole_messages and selection.has_turn(turn):
            for note in before.pop(spot.index, ()):
                yield from note_lines(note, look)
        chosen = selection.chosen(messages[spot.index], turn)
        if chosen is not None:
            shown += 1
            yield from message_lines(chosen, look)
    if selection.everything:
        for note in before.get(-1, ()):
            yield from note_lines(note, look)
        yield from foot_lines(result, look)
    else:
        if shown:
            yield ""
        yield from selection_foot(shown, len(messages), look)


def session_rows(
    name: str,
    provider: str | None,
    roots: Sequence[Root],
    selection: Selection = EVERYTHING,
    parts: Parts = NONE,
) -> Iterator[bytes]:
    """The rows of the session's transcript, in the messages' order, the totals in the first. Raises: as
    `show_session`."""
    path, reader, messages, _ = _read(name, provider, roots, parts)
    selection.check(messages.values())
    observer, now_ms = reader.observer, time.time_ns() // 1_000_000
    piped = name == "-"
    log = Log(None, None, now_ms) if piped else Log(path, path, changed_ms(path, now_ms))
    identity = identity_of(observer, log)
    rows = TranscriptRows(identity, gap=False)
    turns = {spot.index: spot.turn or 1 for spot in reading_order(map(spot_of, messages.values()))}
    for index in sorted(messages):
        chosen = selection.chosen(messages[index], turns[index])
        if chosen is not None:
            yield rows.row(messages[index], b"" if rows.rows else closing_members(observer))


def _read(
    name: str, provider: str | None, roots: Sequence[Root], parts: Parts
) -> tuple[str, SessionReader, dict[int, Message], list[Notification]]:
    """The log, its reader, its messages by index, and its compactions."""
    path, pieces = open_log(name, roots)
    reader = SessionReader(pieces, path, provider, messages=True, parts=parts)
    messages: dict[int, Message] = {}
    notes: list[Notification] = []
    for batch in reader.batches():
        messages |= {message.index: message for message in batch.messages}
        notes += [e for e in batch.events if isinstance(e, Notification) and e.name == COMPACTION]
    return path, reader, messages, notes


def _placed(notes: Iterable[Notification], messages: Iterable[Message]) -> dict[int, list[Notification]]:
    """Compactions by the index of the message that follows them in their log; -1 for the end."""
    placed: dict[int, list[Notification]] = {}
    ordered = sorted(messages, key=lambda message: message.index)
    for note in notes:
        own = (m for m in ordered if m.source.stream == note.source.stream and m.source.file == note.source.file)
        after = next((m.index for m in own if m.source.row > note.source.row), -1)
        placed.setdefault(after, []).append(note)
    return placed


def open_log(name: str, roots: Sequence[Root]) -> tuple[str, Iterable[bytes]]:
    """The path and the bytes of a session, named by its id, its beginning or its path; `-` is standard input.

    Raises: UsageError, SourceError.
    """
    if name == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("no input: standard input is a terminal")
        return "<stdin>", unpacked(sys.stdin.buffer, "standard input")
    path = name
    if not split_stored(name)[1] and not is_there(name):
        path = named_session(roots, name).path
    if not split_stored(path)[1] and is_folder(path):
        raise SourceError(
            f"cannot read {path}: it is a directory; `agentv-stream sessions --root {path}` lists the sessions in it"
        )
    path = readable_log(path)
    return path, session_pieces(path)


def readable_log(path: str) -> str:
    """A path that `session_pieces` reads; that of a database with one session becomes `STORE::SESSION`.

    Raises: UsageError, SourceError.
    """
    if split_stored(path)[1]:
        return path
    check_readable(Path(path))
    return stored_path(path)


def session_pieces(path: str) -> Iterator[bytes]:
    """The bytes of a log; of a session in a store (`STORE::SESSION`) its lines. Raises: SourceError."""
    store, session = split_stored(path)
    if not session:
        return read_pieces(Path(path))
    from agentv_stream.stores.rows import read_session

    return (row + b"\n" for row in read_session(store, session))

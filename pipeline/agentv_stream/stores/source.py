"""A session of an OpenCode store as a byte source: its rows, as JSON lines."""

from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from pathlib import Path

import anyio.to_thread

from agentv_stages.model.batch import Chunk
from agentv_stages.model.visible import visible
from agentv_stream.errors import UsageError
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.opening import list_store
from agentv_stream.stores.rows import read_session
from agentv_stream.stores.store import STORE_SIGN, StoredSession, split_stored, without_children

MOST_LISTED = 10


class StoreSource:
    """One session, with `children` also its child sessions. Without an id, the store must contain only one session.

    Raises: StoreError when the store cannot be read or has no such session; UsageError when an id is needed.
    """

    finished = True

    def __init__(self, path: str | Path, session_id: str | None = None, children: bool = True) -> None:
        self.path = Path(path)
        self.children = children
        self.session_id = session_id or _only(*list_store(self.path), str(path))
        self.name = f"{path}{STORE_SIGN}{self.session_id}"

    async def chunks(self) -> AsyncGenerator[Chunk]:
        with closing(_pieces(self.path, self.session_id, self.children)) as pieces:
            while data := await anyio.to_thread.run_sync(next, pieces, b""):
                yield Chunk(data, None, self.name)


def stored_path(path: str) -> str:
    """`STORE::SESSION` for the path of a database with one session; any other path unchanged.

    Raises: StoreError for a database that cannot be read, UsageError for one of several sessions.
    """
    from agentv_stream.discovery.places import is_database

    return StoreSource(path).name if not split_stored(path)[1] and is_database(path) else path


def _only(sessions: list[StoredSession], unread: str | None, name: str) -> str:
    roots = without_children(sessions)
    if not roots:
        raise StoreError(unread or f"no sessions in {name}")
    if len(roots) > 1 or unread is not None:
        newest = "".join(
            f"\n  {visible(s.id, 60)}  {visible(s.title or '', 60)}" for s in reversed(roots[-MOST_LISTED:])
        )
        more = f" ({unread})" if unread else ""
        raise UsageError(
            f"{name} holds {len(roots)} sessions{more}; name one (--session ID, or {name}::ID). The newest:{newest}"
        )
    return roots[0].id


def _pieces(path: Path, session_id: str, children: bool) -> Generator[bytes]:
    """The rows, joined into pieces of about the size of a read."""
    held: list[bytes] = []
    size = 0
    for row in read_session(path, session_id, children):
        held += (row, b"\n")
        size += len(row) + 1
        if size >= CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)

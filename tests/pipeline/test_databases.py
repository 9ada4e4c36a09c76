"""Databases that are being written, were copied in the middle of it, or are damaged: nothing is written beside them."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.changes import Changes
from agentv_stream.stores.database import StoreChanged, StoreError
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_rows, read_session
from agentv_stream.stores.store import StoredSession
from agentv_stream.stores.tables import TableStore
from support.crush_stores import Crush, part


def say(agent: Crush, session: str, n: int, size: int = 1) -> None:
    agent.answer(session, f"{session}-{n}", part("text", text=f"{n} " * size))


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(params=[False, True], ids=["rollback", "wal"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Crush]:
    (tmp_path / "live").mkdir()
    made = Crush(tmp_path / "live" / "crush.db", wal=request.param)
    made.session("s-1")
    for n in range(3):
        say(made, "s-1", n)
    yield made
    made.close()


def copied(agent: Crush, folder: Path, *ends: str) -> Path:
    folder.mkdir()
    (source,) = (Path(row[2]) for row in agent.database.execute("PRAGMA database_list"))
    for end in ends:
        shutil.copy(f"{source}{end}", folder)
    return folder / source.name


@pytest.mark.parametrize("agent", [True], indirect=True, ids=["wal"])
def test_a_copy_with_a_write_ahead_log_and_no_index_is_read_without_leaving_one(agent: Crush, tmp_path: Path) -> None:
    path = copied(agent, tmp_path / "copy", "", "-wal")
    before = listing(path.parent)
    assert len(list(read_session(path, "s-1"))) == 5
    assert len(Changes(path).revisions()) == 1
    assert listing(path.parent) == before


@pytest.mark.parametrize("agent", [False], indirect=True, ids=["rollback"])
def test_a_database_that_is_half_written_is_named_and_the_others_are_read(agent: Crush, tmp_path: Path) -> None:
    database = agent.database
    database.execute("PRAGMA cache_size = 1")
    for n in range(40):  # more than fits in memory: the file has pages of an open transaction
        values = (f"m-{n}", "s-1", "user", "x" * 5000, 1, 1)
        query = "INSERT INTO messages (id, session_id, role, parts, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
        database.execute(query, values)
    path = copied(agent, tmp_path / "copy", "", "-journal")
    agent.database.rollback()
    other = Crush(tmp_path / "other" / "crush.db")
    other.session("s-2")
    other.close()
    before, said = listing(path.parent), list[str]()
    found = find_sessions(
        find_roots([f"crush={folder}" for folder in (path.parent, tmp_path / "other")]), None, None, said.append
    )
    assert [session.id for session in found] == ["s-2"]
    assert said == [f"cannot read {path}: another program is writing it, or was killed meanwhile"]
    assert listing(path.parent) == before
    (path.parent / "crush.db-journal").write_bytes(bytes(512))  # as journal_mode=PERSIST leaves it
    assert list_sessions(path)


def test_a_writer_never_waits_for_a_reader(agent: Crush, tmp_path: Path) -> None:
    path = tmp_path / "live" / "crush.db"
    for n in range(3, 40):
        say(agent, "s-1", n, 500)
    agent.database.execute("PRAGMA busy_timeout = 0")
    rows = read_rows(path, "s-1")
    assert next(rows).id == "s-1 Fix it"
    say(agent, "s-1", 40)
    if agent.database.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        assert len(list(rows)) == 42
        return
    with pytest.raises(StoreChanged, match="it was written at the same moment"):
        next(rows)
    assert len(list(read_rows(path, "s-1"))) == 43


@pytest.mark.parametrize("agent", [False], indirect=True, ids=["rollback"])
def test_a_list_is_read_again_when_its_database_was_written_meanwhile(
    agent: Crush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, times = tmp_path / "live" / "crush.db", 0
    read = TableStore.sessions

    def sessions(store: TableStore) -> list[StoredSession]:
        nonlocal times
        times += 1
        found = read(store)
        if times < 3:
            agent.session(f"s-{times + 1}")
        return found

    monkeypatch.setattr(TableStore, "sessions", sessions)
    assert [session.id for session in list_sessions(path)] == ["s-1", "s-2", "s-3"]


@pytest.mark.parametrize("agent", [False], indirect=True, ids=["rollback"])
def test_a_damaged_page_hides_only_what_is_in_it(agent: Crush, tmp_path: Path) -> None:
    for name in ("s-2", "s-3"):
        agent.session(name)
        for n in range(30):
            say(agent, name, n, 400)
    path = tmp_path / "live" / "crush.db"
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'idx_messages_session_id'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    data[4096 * (page - 1) : 4096 * page] = bytes(4096)
    path.write_bytes(data)
    changes = Changes(path)
    assert [revision.session.id for revision in changes.revisions()] == ["s-1", "s-2", "s-3"]
    assert "malformed" in (changes.unread or "")


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "crush.db"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(StoreError, match=f"cannot read {path}: file is not a database"):
        list_sessions(path)

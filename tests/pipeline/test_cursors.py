"""Cursors: what was put is there after a restart, all of it or nothing, and belongs to one follower."""

import os
import sqlite3
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stages.model.provider import DecodeContext
from agentv_stream.discovery.places import Signature
from agentv_stream.following.cursor_database import FILE, CursorError, state_folder
from agentv_stream.following.cursors import CursorStore, SessionRow
from agentv_stream.following.growing import InputRow, Mark, digest

BIG = 2**64 - 1  # inodes are unsigned, SQLite's integers are not


def row(store: CursorStore, main: str = "/logs/a.jsonl") -> SessionRow:
    signature = Signature(BIG, BIG - 1, 500, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001)
    inputs = [
        InputRow(
            main, "live", 1, signature, Mark(480, 7, digest(b"h"), 100, digest(b"t"), 50), 2, DecodeContext(main), True
        ),
        InputRow("/logs/sub.jsonl", "done", 0, None, Mark(), 0, DecodeContext("/logs/sub.jsonl", "s", "call", "ses")),
    ]
    return SessionRow(
        store.new_id(), main, "claude", "claude-session", "n-1", False, 0, 12, b'{"a":1}' * 900, inputs=inputs
    )


def put(store: CursorStore, one: SessionRow, seen: Sequence[bytes] = (), anew: bool = False) -> None:
    with store.database.transaction():
        store.put(one)
        store.note_seen(one.id, seen, anew)


def test_a_session_comes_back_as_it_was_put(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    one = row(store)
    put(store, one)
    store.close()
    store = CursorStore(tmp_path, "here")
    back = store.load(one.id)
    assert back is not None
    one.committed_ms = back.committed_ms
    assert back == one
    (listed,) = store.sessions()
    assert (listed.inputs, listed.state) == (one.inputs, None)
    assert store.new_id() > one.id
    store.close()


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    one = row(store)
    with pytest.raises(ZeroDivisionError), store.database.transaction():
        store.put(one)
        store.note_seen(one.id, [b"12345678"])
        _ = 1 // 0
    assert store.load(one.id) is None
    assert store.seen(one.id) == {}
    store.check()  # and the next one can begin
    store.close()


def test_a_health_check_waits_for_a_commit_and_a_commit_for_it(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    with ThreadPoolExecutor(1) as other:
        with store.database.transaction():
            checked = other.submit(store.check)
            store.put(row(store))
            with pytest.raises(TimeoutError):
                checked.result(0.05)
        checked.result(10)
    assert len(store.sessions()) == 1
    store.close()


def test_hashes_are_counted_and_a_session_read_again_has_only_its_new_ones(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    one = row(store)
    put(store, one, [b"aaaaaaaa", b"bbbbbbbb"])
    put(store, one, [b"aaaaaaaa"])
    assert store.seen(one.id) == {b"aaaaaaaa": 2, b"bbbbbbbb": 1}
    put(store, one, [b"cccccccc"], anew=True)
    assert store.seen(one.id) == {b"cccccccc": 1}
    with store.database.transaction():
        store.note_delivered(one.id, [b"dddddddd", b"eeeeeeee"])
        store.note_delivered(one.id, [b"ffffffff"])
    assert list(store.delivered(one.id)) == [b"dddddddd", b"eeeeeeee", b"ffffffff"]
    with store.database.transaction():
        store.note_delivered(one.id, [b"ffffffff"], anew=True)
    assert list(store.delivered(one.id)) == [b"ffffffff"]
    store.forget([one.id])
    assert not list(store.delivered(one.id))
    assert (store.seen(one.id), store.load(one.id), store.sessions()) == ({}, None, [])
    store.close()


def test_consumers_share_the_database_and_nothing_else(tmp_path: Path) -> None:
    first, second = CursorStore(tmp_path, "first"), CursorStore(tmp_path, "second")
    put(first, row(first))
    assert second.sessions() == []
    assert len(second.sessions(every_consumer=True)) == 1
    assert list(first.consumers().values()) == ["first"]
    assert first.claims.claim("/out/x", take=True) is False
    assert first.claims.claim("/out/x", take=False) is True
    assert second.claims.claim("/out/x", take=False) is False
    first.close()
    second.close()


def test_one_consumer_has_one_follower_at_a_time(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    with pytest.raises(CursorError, match="another follower"):
        CursorStore(tmp_path, "here")
    CursorStore(tmp_path, "here", read_only=True).close()
    store.close()
    CursorStore(tmp_path, "here").close()


def test_the_database_is_private(tmp_path: Path) -> None:
    CursorStore(tmp_path / "state", "here").close()
    assert stat.S_IMODE((tmp_path / "state" / FILE).stat().st_mode) == 0o600


def test_another_version_and_a_file_that_is_no_database_are_told(tmp_path: Path) -> None:
    CursorStore(tmp_path, "here").close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("PRAGMA user_version=9")
    database.close()
    with pytest.raises(CursorError, match="version 9"):
        CursorStore(tmp_path, "here", read_only=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(CursorError, match="cannot use"):
        CursorStore(tmp_path / "other", "here", read_only=True)


def test_cursors_of_version_1_are_brought_to_this_one(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    one = row(store)
    put(store, one, [b"aaaaaaaa"])
    store.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("ALTER TABLE input DROP COLUMN repeating")
        database.execute("PRAGMA user_version=1")
    database.close()
    store = CursorStore(tmp_path, "here")
    back = store.load(one.id)
    assert back is not None
    assert [kept.repeating for kept in back.inputs] == [False, False]
    one.inputs[0].repeating, one.committed_ms = False, back.committed_ms
    assert (back, store.seen(one.id)) == (one, {b"aaaaaaaa": 1})
    put(store, one)
    store.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
    database.close()


def test_what_cannot_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as newer:
        newer.execute("PRAGMA user_version=99")
    with pytest.raises(CursorError, match="is of version 99"):
        CursorStore(tmp_path, "here")
    holder = CursorStore(tmp_path / "held", "here")
    with pytest.raises(CursorError, match="another follower"):
        CursorStore(tmp_path / "held", "here")
    holder.close()
    opened = Path("/proc/self/fd")
    if opened.is_dir():
        places = [str(one.readlink()) for one in opened.iterdir() if one.is_symlink()]
        assert not [place for place in places if place.startswith(str(tmp_path))]
    (tmp_path / FILE).unlink()
    CursorStore(tmp_path, "here").close()  # nor is its lock held


def test_a_commit_that_fails_does_not_hinder_the_next_one(tmp_path: Path) -> None:
    store = CursorStore(tmp_path, "here")
    one = row(store)
    reader = sqlite3.connect(tmp_path / FILE)
    pages = store.database.path.stat().st_size // 4096
    limits = store.database._db  # pyright: ignore[reportPrivateUsage] - SQLite's own limit stands in for a full disk
    limits.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(CursorError, match="full"), store.database.transaction():
        for n in range(200):
            store.put(row(store, f"/logs/{n}" * 400))
    limits.execute("PRAGMA max_page_count=1000000")
    put(store, one)
    assert [known.id for known in store.sessions()] == [one.id]
    reader.close()
    store.close()


def test_the_folder_is_the_own_variable_else_the_states_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "agentv-stream"
    monkeypatch.setenv("AGENTV_STREAM_STATE", str(tmp_path / "own"))
    assert state_folder() == tmp_path / "own"


def test_two_followers_at_once_never_give_one_id_to_two_sessions(tmp_path: Path) -> None:
    first, second = CursorStore(tmp_path, "first"), CursorStore(tmp_path, "second")
    for n in range(3):
        put(first, row(first, f"/logs/{n}"))
        put(second, row(second, f"/logs/{n}"))
    assert [len(first.sessions()), len(second.sessions()), len(first.sessions(every_consumer=True))] == [3, 3, 6]
    first.close()
    second.close()


def test_forgetting_most_gives_the_disk_its_room_back(tmp_path: Path) -> None:
    store, other = CursorStore(tmp_path, "here"), CursorStore(tmp_path, "other")
    kept = row(other, "/logs/kept")
    put(other, kept, [b"aaaaaaaa"])
    rows = [row(store, f"/logs/{n}") for n in range(20)]
    for one in rows:
        one.state = os.urandom(1_000_000)  # does not compress
        put(store, one)
    grown = store.database.path.stat().st_size
    store.forget(one.id for one in rows[1:])
    assert store.database.path.stat().st_size < grown / 5
    whole = store.load(rows[0].id)
    assert whole is not None
    assert whole.state == rows[0].state
    assert other.seen(kept.id) == {b"aaaaaaaa": 1}
    store.close()
    other.close()


def test_a_folder_that_is_a_file_is_told_once_and_in_words(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(CursorError) as told:
        CursorStore(tmp_path / "f", "a")
    assert str(told.value) == f"cannot use the cursors in {tmp_path}/f/cursors.db: Not a directory"

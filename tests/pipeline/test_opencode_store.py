"""OpenCode's stores: what they list, and what is none."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stream.opencode_store import StoreError, list_sessions
from support.opencode_stores import child, export, make_database, make_folder


def test_sessions_are_listed_oldest_first(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, child(), export()).close()
    assert [(s.id, s.parent_id, s.title) for s in list_sessions(path)] == [
        ("ses_1", None, "Fix it"),
        ("ses_2", "ses_1", "look"),
    ]
    assert [s.id for s in list_sessions(make_folder(tmp_path, child(), export()))] == ["ses_1", "ses_2"]


def test_what_is_no_store_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with pytest.raises(StoreError):
        list_sessions(path)
    path.write_bytes(b"no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError):
        list_sessions(path)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (id text)")
    with pytest.raises(StoreError):
        list_sessions(other)

"""OpenCode's stores: what they list, and what is none."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stream.stores.changes import revisions
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_rows
from support.opencode_stores import child, export, make_database, make_folder


def test_sessions_are_listed_oldest_first(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, child(), export()).close()
    assert [(s.id, s.parent_id, s.title) for s in list_sessions(path)] == [
        ("ses_1", None, "Fix it"),
        ("ses_2", "ses_1", "look"),
    ]
    assert [s.id for s in list_sessions(make_folder(tmp_path, child(), export()))] == ["ses_1", "ses_2"]


@pytest.mark.parametrize("time", ["9e999", "-9e999", "9223372036854775807", "-9223372036854775807", "'soon'", "NULL"])
def test_a_time_that_no_date_can_name_is_none(time: str, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export(), child())) as connection:
        connection.execute(f"UPDATE session SET time_created = {time}, time_updated = {time} WHERE id = 'ses_1'")
        connection.commit()
    first, other = list_sessions(path)
    assert (first.id, first.created_ms, first.updated_ms) == ("ses_1", None, None)
    assert other.created_ms == 1772359200010
    assert [r.session.id for r in revisions(path)] == ["ses_1"]


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


def test_a_file_of_a_folder_that_was_removed_is_left_out_and_an_unreadable_one_is_an_error(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, child(), export())
    whole = [row.data for row in read_rows(folder, "ses_1")]
    messages = folder / "storage" / "message" / "ses_1"
    for place in (folder / "storage" / "session" / "project", messages):
        (place / "ses_9.json").symlink_to(tmp_path / "gone")
    assert [session.id for session in list_sessions(folder)] == ["ses_1", "ses_2"]
    assert [row.data for row in read_rows(folder, "ses_1")] == whole
    (messages / "ses_8.json").mkdir()
    with pytest.raises(StoreError, match="ses_8"):
        list(read_rows(folder, "ses_1"))


def test_a_pipe_in_a_folder_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, export())
    pipe = folder / "storage" / "message" / "ses_1" / "ses_8.json"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b"from a pipe")
    try:
        with pytest.raises(StoreError, match="ses_8"):
            list(read_rows(folder, "ses_1"))
        assert os.read(held, 20) == b"from a pipe"
    finally:
        os.close(held)


@pytest.mark.parametrize(
    ("written", "model"),
    [('{"id":"m-1","providerID":"p"}', "m-1"), ("m-1", "m-1"), ("{", None), ('{"id":4}', None), (None, None)],
)
def test_the_model_of_a_session_is_its_id(tmp_path: Path, written: str | None, model: str | None) -> None:
    whole = export()
    connection = make_database(tmp_path / "opencode.db", whole)
    connection.execute("ALTER TABLE session ADD COLUMN model text")
    connection.execute("UPDATE session SET model = ?", (written,))
    connection.commit()
    connection.close()
    assert [session.model for session in list_sessions(tmp_path / "opencode.db")] == [model]

"""Changes of a store: what a look at the newest rows shows, what only a count shows, and what is read again."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentv_stream.stores.changes import NEWEST, Changes
from agentv_stream.stores.rows import ReadPart, read_rows

SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
  time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer,
  data text);
CREATE INDEX message_session ON message (session_id);
CREATE INDEX part_session ON part (session_id);
CREATE INDEX part_message ON part (message_id);
"""


class Database:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path)
        self.connection.executescript(SCHEMA)
        self.now = 1772359200000

    def session(self, name: str, parent: str | None = None) -> None:
        self.write("INSERT INTO session VALUES (?, ?, '/w', 't', '1.18.0', ?, ?)", name, parent, self.now, self.now)

    def message(self, session: str, n: int, text: str = "x", ended: bool = True) -> None:
        name = f"msg_{session}_{n:05}"
        info = {"role": "assistant", "time": {"created": 1} | ({"completed": 2} if ended else dict[str, int]())}
        self.write("INSERT INTO message VALUES (?, ?, ?, ?, ?)", name, session, self.now, self.now, json.dumps(info))
        self.part(name, session, {"type": "text", "text": text})

    def part(self, message: str, session: str, content: object) -> None:
        name = f"prt_{message}_{self.now}"
        self.write(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)",
            name,
            message,
            session,
            self.now,
            self.now,
            json.dumps(content),
        )

    def write(self, query: str, *values: object) -> None:
        self.now += 1000
        self.connection.execute(query, values)
        self.connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "opencode.db")
    for session in ("ses_1", "ses_2"):
        made.session(session)
        for n in range(3):
            made.message(session, n)
    yield made
    made.connection.close()


def changed(changes: Changes, before: dict[str, object], count: bool) -> list[str]:
    after = {revision.session.id: revision for revision in changes.revisions(count)}
    return [name for name, revision in after.items() if before.get(name) != revision]


def states(changes: Changes) -> dict[str, object]:
    return {revision.session.id: revision for revision in changes.revisions()}


def add_a_row(database: Database) -> None:
    database.message("ses_1", 9)


def write_a_row_again(database: Database) -> None:
    now = database.now
    database.write("UPDATE part SET data = '{}', time_updated = ? WHERE session_id = 'ses_1'", now)


def add_a_child(database: Database) -> None:
    database.session("ses_3", "ses_1")
    database.message("ses_3", 0)


def add_more_than_a_look_reads_again(database: Database) -> None:
    for n in range(100, 100 + 2 * NEWEST):
        database.message("ses_1", n)


@pytest.mark.parametrize("write", [add_a_row, write_a_row_again, add_a_child, add_more_than_a_look_reads_again])
def test_a_look_shows_what_a_count_shows(database: Database, write: Callable[[Database], None]) -> None:
    changes = Changes(database.path)
    before = states(changes)
    write(database)
    assert changed(changes, before, count=False) == ["ses_1"]
    looked = {revision.session.id: revision.rows for revision in changes.revisions(count=False)}
    assert looked == {revision.session.id: revision.rows for revision in Changes(database.path).revisions()}


def test_sessions_that_name_each_other_as_parent_are_looked_at(database: Database) -> None:
    changes = Changes(database.path)
    changes.revisions()
    database.write("UPDATE session SET parent_id = 'ses_2' WHERE id = 'ses_1'")
    database.write("UPDATE session SET parent_id = 'ses_1' WHERE id = 'ses_2'")
    add_a_row(database)
    looked = {revision.session.id: revision.rows for revision in changes.revisions(count=False)}
    assert looked == {revision.session.id: revision.rows for revision in Changes(database.path).revisions()}


def test_deleted_rows_show_at_the_next_count_and_the_last_one_at_once(database: Database) -> None:
    changes = Changes(database.path)
    before = states(changes)
    database.write("DELETE FROM message WHERE id = 'msg_ses_1_00001'")
    assert changed(changes, before, count=False) == []
    assert changed(changes, before, count=True) == ["ses_1"]
    before = states(changes)
    database.write("DELETE FROM part WHERE message_id = 'msg_ses_2_00002'")
    assert changed(changes, before, count=False) == ["ses_2"]


def ids(database: Database, read: dict[str, ReadPart]) -> list[str]:
    return [row.id for row in read_rows(database.path, "ses_1", read=read)][1:]


def test_final_rows_are_read_once(database: Database) -> None:
    read: dict[str, ReadPart] = {}
    assert len(ids(database, read)) == 3
    assert ids(database, read) == []
    database.message("ses_1", 3, ended=False)
    assert ids(database, read) == ids(database, read) == ["msg_ses_1_00003"]
    database.message("ses_1", 4)
    assert ids(database, read) == ["msg_ses_1_00003", "msg_ses_1_00004"]
    assert ids(database, read) == []


def test_a_message_that_takes_the_number_of_a_deleted_one_is_read(database: Database) -> None:
    database.message("ses_1", 3)
    read: dict[str, ReadPart] = {}
    ids(database, read)
    database.write("DELETE FROM message WHERE id = 'msg_ses_1_00003'")
    database.message("ses_1", 4)
    assert "msg_ses_1_00004" in ids(database, read)


def test_numbers_that_vacuum_gave_anew_are_not_trusted(database: Database) -> None:
    read: dict[str, ReadPart] = {}
    ids(database, read)
    database.write("DELETE FROM message WHERE session_id = 'ses_2' OR id = 'msg_ses_1_00000'")
    database.connection.execute("VACUUM")
    database.message("ses_1", 3)
    assert "msg_ses_1_00003" in ids(database, read)


def test_a_row_before_an_open_one_is_read_again_whatever_their_order(database: Database) -> None:
    """`msg_ses_1_00000a` comes after the first message and was written last."""
    read: dict[str, ReadPart] = {}
    database.message("ses_1", 9, ended=False)
    ids(database, read)
    data = json.dumps({"role": "assistant", "time": {"completed": 2}})
    database.write("INSERT INTO message VALUES ('msg_ses_1_00000a', 'ses_1', 1, 1, ?)", data)
    assert ids(database, read) == ["msg_ses_1_00000a", "msg_ses_1_00009"]
    assert ids(database, read) == ["msg_ses_1_00000a", "msg_ses_1_00009"]


def test_a_child_goes_on_after_the_call_that_started_it_was_read(database: Database) -> None:
    database.session("ses_3", "ses_1")
    database.message("ses_3", 0)
    task = {"type": "tool", "tool": "task", "callID": "c1", "state": {"metadata": {"sessionId": "ses_3"}}}
    database.part("msg_ses_1_00002", "ses_1", task)
    read: dict[str, ReadPart] = {}
    assert "msg_ses_3_00000" in ids(database, read)
    database.message("ses_3", 1)
    rows = [row for row in read_rows(database.path, "ses_1", read=read) if row.id == "msg_ses_3_00001"]
    assert [b'"parent_call":"c1"' in row.data for row in rows] == [True]

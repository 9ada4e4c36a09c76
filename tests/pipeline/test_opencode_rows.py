"""A session of an OpenCode store as rows: as the export has it, children behind the calls that started them."""

import copy
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import AnyEvent, Retract, SessionInfo
from agentv_stages.providers.opencode import PROVIDER
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.rows import read_rows, read_session
from support.decoding import best, calls, dialect, events_of, records, results, texts, total
from support.opencode_stores import child, export, make_database, make_folder, undo, without_ids


def events_from(path: Path, session_id: str = "ses_1") -> list[AnyEvent]:
    given = records(b"\n".join(read_session(path, session_id)))
    assert best(PROVIDER, given[:8]) == ("opencode-rows", 1.0)
    return events_of(dialect(PROVIDER, "opencode-rows"), given)


def summary(events: list[AnyEvent]) -> tuple[Any, ...]:
    own = [e for e in events if e.source.stream == "main"]
    return (
        texts(own),
        [(c.call_id, c.name, c.input, c.message_id, c.source.time_ms) for c in calls(own)],
        [(r.call_id, r.outcome, r.exit_code, r.output) for r in results(own)],
        total(own),
        next(e.session_id for e in own if isinstance(e, SessionInfo)),
    )


def test_the_database_gives_what_the_export_gives(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export()).close()
    exported = events_of(dialect(PROVIDER, "opencode-export"), records(msgspec.json.encode(export())))
    assert summary(events_from(path)) == summary(exported)


def test_the_folder_of_files_gives_what_the_export_gives(tmp_path: Path) -> None:
    exported = events_of(dialect(PROVIDER, "opencode-export"), records(msgspec.json.encode(export())))
    assert summary(events_from(make_folder(tmp_path, export(), child()))) == summary(exported)


def test_a_child_session_stands_behind_the_call_that_started_it(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    rows = [msgspec.json.decode(row) for row in read_session(path, "ses_1")]
    assert [(r["info"]["id"], r.get("parent_call")) for r in rows] == [
        ("ses_1", None),
        ("msg_1", None),
        ("msg_2", None),
        ("ses_2", "call_6"),
        ("msg_9", "call_6"),
        ("msg_3", None),
    ]
    assert [e.source.stream for e in events_from(path) if getattr(e, "text", "") == "seen"] == ["subagent:ses_2"]


def test_a_child_can_be_read_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    events = events_from(path, "ses_2")
    assert texts(events) == ["seen"]
    assert {e.source.stream for e in events} == {"main"}


def test_without_children_only_the_session_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    alone, with_child = list(read_session(path, "ses_1", children=False)), list(read_session(path, "ses_1"))
    assert alone == [row for row in with_child if b'"parent_call"' not in row] != with_child


def test_reading_leaves_nothing_beside_a_quiet_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), wal=True).close()
    assert list(tmp_path.iterdir()) == [path]
    before = path.read_bytes()
    assert list(read_session(path, "ses_1"))
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_what_the_agent_has_only_written_to_its_log_so_far_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export(), wal=True)) as writer:
        data = without_ids({"type": "text", "text": "just now"})
        writer.execute("INSERT INTO part VALUES ('prt_zz', 'msg_3', 'ses_1', 0, ?)", (data,))
        writer.commit()
        assert path.with_name("opencode.db-wal").stat().st_size > 0
        assert texts(events_from(path))[-1] == "just now"


def test_data_that_is_no_object_gives_a_part_without_facts(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export())) as connection:
        connection.execute("UPDATE part SET data = '{broken' WHERE id = 'prt_4'")
        connection.execute("UPDATE part SET data = NULL WHERE id = 'prt_b'")
        connection.commit()
    assert texts(events_from(path)) == []


def test_an_unknown_session_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export()).close()
    with pytest.raises(StoreError):
        list(read_session(path, "ses_404"))
    with pytest.raises(StoreError):
        list(read_session(make_folder(tmp_path, export()), "../../etc/ses_1"))


def test_sessions_that_are_each_others_children_end(tmp_path: Path) -> None:
    first, second = export(), child()
    first["info"]["parentID"] = "ses_2"
    path = tmp_path / "opencode.db"
    make_database(path, first, second).close()
    assert len(list(read_session(path, "ses_1"))) == 6


def test_what_undo_deleted_is_told_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export(), child())) as connection:
        before = events_from(path)
        undo(connection, "msg_2", "msg_3")
    rows = [msgspec.json.decode(row) for row in read_session(path, "ses_1")]
    assert [row.get("undone") or row["info"]["id"] for row in rows] == [
        "ses_1",
        "msg_1",
        "msg_2",
        "ses_2",
        "msg_9",
        "msg_2",
        "msg_3",
        "msg_3",
    ]
    events = events_from(path)
    assert summary(events) == summary(before)
    assert [e.message_ids for e in events if isinstance(e, Retract)] == [("msg_2",), ("msg_3",)]


def test_rows_that_were_taken_stand_where_they_were_after_an_undo(tmp_path: Path) -> None:
    """A follower has them already: what says that they were undone comes as rows of its own."""
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export())) as connection:
        before = [(row.id, row.data) for row in read_rows(path, "ses_1") if row.final]
        undo(connection, "msg_3")
    after = [(row.id, row.data) for row in read_rows(path, "ses_1") if row.final]
    assert after[: len(before)] == before
    assert [name for name, _ in after[len(before) :]] == ["msg_3-undone"]


def test_a_fork_counts_what_it_did_itself(tmp_path: Path) -> None:
    """OpenCode writes no parent for it; its copies bear the times of what they are copies of."""
    own = export()
    last = own["messages"][-1]["info"]["time"]["created"]
    fork = copy.deepcopy(own)
    fork["info"].update(id="ses_3", title="Fix it (fork #1)", time={"created": last, "updated": last})
    for message in fork["messages"]:
        message["info"].update(id=f"{message['info']['id']}-fork", sessionID="ses_3")
    path = tmp_path / "opencode.db"
    make_database(path, own, fork).close()
    events = events_from(path, "ses_3")
    assert texts(events) == texts(events_from(path))[-1:]
    assert calls(events) == []
    assert next(s.parent_session_id for s in events if isinstance(s, SessionInfo)) is None


@pytest.mark.parametrize("undone", [False, True])
def test_a_text_that_was_cut_within_a_letter_costs_that_letter_alone(tmp_path: Path, undone: bool) -> None:
    """JavaScript writes the half that is left as an escape; the whole part was lost, and with it a call."""
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export())) as connection:
        if undone:
            undo(connection, "msg_2", "msg_3")
        for table in ("part", "event") if undone else ("part",):
            connection.execute(rf"""UPDATE {table} SET data = replace(data, 'Starting.', 'Starting \ud83d')""")
        connection.execute(r"""UPDATE message SET data = replace(data, '"role":', '"note":"\uD83D","role":')""")
        connection.commit()
    assert texts(events_from(path)) == ["Starting \ufffd", "Done."]

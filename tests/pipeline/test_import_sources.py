"""Sources that are no plain files: packed ones, OpenCode's stores, pretty-printed documents, other agents' logs."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from agentv_stream import import_sessions, summarize, summarize_groups, summarize_many
from agentv_stream.bulk.find import find_units
from support.made_sessions import make_folder

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _store(path: Path, sessions: int) -> None:
    """A database of OpenCode: each session has one user message; the last one is a child of the first."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
                   time_created integer, time_updated integer);
               CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
               CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
                   data text);"""
        )
        for i in range(sessions):
            parent = "ses_0" if i == sessions - 1 else None
            facts = (f"ses_{i}", parent, "/w", "title", "1.18.0", 1772359200000 + i, 1772359200000 + i)
            connection.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?)", facts)
            role: dict[str, Any] = {"role": "user", "time": {"created": 1772359200000 + i}}
            data = msgspec.json.encode(role).decode()
            connection.execute("INSERT INTO message VALUES (?,?,?,?)", (f"msg_{i}", f"ses_{i}", 0, data))
            part = msgspec.json.encode({"type": "text", "text": f"task {i}"}).decode()
            connection.execute("INSERT INTO part VALUES (?,?,?,?,?)", (f"prt_{i}", f"msg_{i}", f"ses_{i}", 0, part))
        connection.commit()


def test_packed_files_are_as_plain_ones(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 4)
    expected = [summarize(path) for path in paths]
    packed: list[Path] = []
    for i, path in enumerate(paths):
        data = path.read_bytes()
        target = path.with_name(path.name + (".gz" if i % 2 else ".zst"))
        target.write_bytes(gzip.compress(data) if i % 2 else zstandard.compress(data))
        path.unlink()
        packed.append(target)
    assert len(find_units([str(tmp_path / "in")])) >= 4
    results = list(summarize_many(packed, engine="serial", subagents=False))
    assert [r.session.id for r in results] == [r.session.id for r in expected]
    assert [r.tool_use_summary["turns"] for r in results] == [r.tool_use_summary["turns"] for r in expected]


def test_every_session_of_a_store_is_a_unit_and_children_go_with_their_parents(tmp_path: Path) -> None:
    _store(tmp_path / "opencode.db", 4)
    units = find_units([str(tmp_path / "opencode.db")])
    assert [unit.session for unit in units] == ["ses_0", "ses_1", "ses_2"]
    lines = tmp_path / "s.jsonl"
    outcome = import_sessions([tmp_path / "opencode.db"], jsonl=lines, engine="serial")
    assert (outcome.done, outcome.failures) == (3, [])
    again = import_sessions([tmp_path / "opencode.db"], jsonl=lines, engine="serial", resume=True)
    assert (again.done, again.skipped) == (0, 3)


def test_a_session_of_a_store_that_changed_is_read_again_alone(tmp_path: Path) -> None:
    place = tmp_path / "opencode.db"
    _store(place, 4)
    lines = tmp_path / "s.jsonl"
    import_sessions([place], jsonl=lines, engine="serial")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE session SET time_updated = time_updated + 5 WHERE id = 'ses_1'")
        connection.commit()
    again = import_sessions([place], jsonl=lines, engine="serial", resume=True)
    assert (again.done, again.skipped) == (1, 2)


def test_logs_of_several_agents_are_told_apart_by_content() -> None:
    outcome = summarize_groups([FIXTURES], by="provider", engine="serial")
    assert {"claude", "opencode", "pi"} <= set(outcome.summary.groups)
    assert not [failure for failure in outcome.failures if failure.kind == "Bug"]

"""Stores as commands find them: each session once, whatever holds it, and nothing unread without a word."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stream.bulk.find import Trouble, find_units
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.errors import EXIT_IO, SourceError, UsageError
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.source import StoreSource
from support.consuming import finished_text
from support.opencode2_stores import Agent2, simple
from support.opencode_stores import child, export, make_database, make_folder


def named(place: Path | str) -> list[str]:
    """Names of the sessions that a source has, without its path."""
    return [unit.name.partition("#")[2] or unit.name for unit in find_units([str(place)])]


def test_a_tree_of_messages_is_one_session_whatever_part_of_it_is_named(tmp_path: Path) -> None:
    storage = make_folder(tmp_path, export(), child()) / "storage"
    message = next((storage / "message" / "ses_1").glob("*.json"))
    whole = (tmp_path, storage, storage / "message", tmp_path / "storage" / "message" / "ses_1", message)
    assert [named(place) for place in whole] == [["ses_1"]] * len(whole)
    assert named(storage / "session" / "project" / "ses_1.json") == ["ses_1"]
    assert named(f"{storage}/message/*/*.json") == ["ses_1"]
    above = tmp_path.parent / f"{tmp_path.name}-above"
    shutil.copytree(storage, above / "kept" / "of-kilo")
    assert named(above) == ["ses_1"]
    assert [s.id for s in find_sessions(find_roots([str(storage)]))] == ["ses_1", "ses_2"]


def test_a_tree_of_messages_without_the_sessions_own_files_is_one_session_for_each(tmp_path: Path) -> None:
    storage = make_folder(tmp_path, export(), child()) / "storage"
    shutil.rmtree(storage / "session")
    assert named(tmp_path) == named(storage) == ["ses_1", "ses_2"]


@pytest.mark.parametrize("newer", ["opencode.db", "opencode-next.db"])
def test_a_session_that_was_copied_into_another_database_counts_once(tmp_path: Path, newer: str) -> None:
    for name in ("opencode.db", "opencode-next.db"):
        with closing(Agent2(tmp_path / name)) as agent:
            agent.now += 10_000 * (name == newer)
            simple(agent)
    (unit,) = find_units([str(tmp_path)])
    assert unit.source == str(tmp_path / newer)
    (session,) = find_sessions(find_roots([f"opencode={tmp_path}"]))
    assert session.path == f"{tmp_path / newer}::ses_2"


def unknown(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE session_v3 (id text); CREATE TABLE session_message_v3 (id text)")


@pytest.mark.parametrize(
    "command",
    [
        "sessions",
        "show ses_1",
        "stats ses_1",
        "stats {folder}",
        "stats {folder}/opencode.db",
        "consume {folder}/opencode.db",
        "import {folder} --parquet {folder}/out",
        "watch --json --once",
        "tail --once --events --no-cursors",
    ],
)
def test_every_command_names_a_store_of_an_unknown_version(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "opencode"
    unknown(folder / "opencode.db")
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = finished_text(*command.format(folder=folder).split(), folder=tmp_path, environ=environment)
    assert done.returncode == EXIT_IO
    assert "unknown version: session_message_v3, session_v3" in done.stderr
    assert "no sessions" not in done.stdout


def test_a_store_that_is_read_in_part_is_named_beside_its_sessions(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(Agent2(path)) as agent:
        simple(agent)
        agent.database.execute("CREATE TABLE session_message_v3 (id text)")
        agent.database.execute("INSERT INTO session_message_v3 VALUES ('x')")
        agent.database.commit()
    for place in (tmp_path, path):
        trouble: Trouble = []
        assert [unit.session for unit in find_units([str(place)], trouble=trouble)] == ["ses_2"]
        assert [place for place, _ in trouble] == [str(path)]
    with pytest.raises(UsageError, match="session_message_v3"):
        StoreSource(path)
    unread: list[str] = []
    assert [s.id for s in find_sessions(find_roots([str(path)]), unread=unread.append)] == ["ses_2"]
    assert len(unread) == 1


def test_databases_of_other_programs_are_left_out_and_a_damaged_one_of_an_agent_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE sessions (id text, user text)")
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 100)
    make_database(tmp_path / "opencode-2.db", export()).close()
    trouble: Trouble = []
    assert len(find_units([str(tmp_path)], trouble=trouble)) == 1 and trouble == []
    (tmp_path / "kilo.db").write_bytes(b"no database at all" * 100)
    assert len(find_units([str(tmp_path)], trouble=trouble)) == 1
    assert [(Path(place).name, type(error)) for place, error in trouble] == [("kilo.db", type(trouble[0][1]))]
    assert isinstance(trouble[0][1], SourceError)


def test_checkpoints_of_langgraph_are_named_and_in_a_folder_left_out(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:  # the columns of langgraph-checkpoint-sqlite 3.1
        connection.executescript(
            "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,"
            " metadata);"
            "CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type,"
            " value);"
        )
    with pytest.raises(SourceError, match=r"checkpoints of LangGraph .* messages_to_dict"):
        list_sessions(path)
    make_database(tmp_path / "opencode.db", export()).close()
    trouble: Trouble = []
    assert len(find_units([str(tmp_path)], trouble=trouble)) == 1 and trouble == []


def test_a_database_that_an_agent_has_only_just_made_has_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").touch()
    unread: list[str] = []
    assert find_sessions(find_roots([f"opencode={tmp_path}"]), unread=unread.append) == [] and unread == []

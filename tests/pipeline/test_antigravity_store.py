"""Antigravity's conversations: protobuf by field numbers, the database, and the real ones against a naive decoder."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stages.providers.antigravity import PROVIDER
from agentv_stages.providers.antigravity.protobuf import STEP, read_message
from agentv_stream import summarize
from agentv_stream.bulk.find import find_units
from agentv_stream.stores.changes import revisions
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_rows, read_session
from support.decoding import FIXTURES, best, check_laws, check_odd_shapes, corpus, dialect, records
from support.newer_oracles import fields, rows
from support.protobuf import message

ID = "0a6f1c52-3d7e-4b19-8c40-5e9d2b7a1f63"
STEPS = dialect(PROVIDER, "antigravity-steps")
SCHEMA = """
CREATE TABLE trajectory_meta (trajectory_id text, cascade_id text, trajectory_type integer, source integer);
CREATE TABLE steps (idx integer, step_type integer, status integer, error_details blob, step_payload blob);
CREATE TABLE gen_metadata (idx integer, data blob, size integer);
"""


def call(name: str, tool: str, arguments: dict[str, Any]) -> bytes:
    return message((1, name), (2, tool), (3, msgspec.json.encode(arguments).decode()))


def step(kind: int, second: int, *fields: tuple[int, int | str | bytes], **metadata: bytes) -> bytes:
    """A step, begun at a second and completed a second later."""
    times = [(1, message((1, 1772443800 + second))), (8, message((1, 1772443801 + second)))]
    more = [({"call": 4, "usage": 9}[name], value) for name, value in metadata.items()]
    return message((1, kind), (4, 3), (5, message(*times, *more)), *fields)


USAGE = message((1, 7), (2, 100), (3, 30), (5, 40), (9, 20), (10, 10), (11, "r1"))
ROWS: list[tuple[int, int, bytes | None, bytes]] = [
    (14, 3, None, step(14, 0, (19, message((2, "Fix the failing test."))))),
    (90, 3, None, step(90, 0)),
    (
        15,
        3,
        None,
        step(
            15,
            1,
            (
                20,
                message(
                    (1, "I look."),
                    (3, "Reading first."),
                    (7, call("c1", "run_command", {"CommandLine": "false", "toolAction": "Run"})),
                    (7, call("c2", "view_file", {"AbsolutePath": "/w/a.py"})),
                    (7, call("c3", "replace_file_content", {"TargetFile": "/w/a.py"})),
                    (7, call("c4", "run_command", {"CommandLine": "ls"})),
                    (12, 10),
                ),
            ),
            usage=USAGE,
        ),
    ),
    (8, 3, None, step(8, 3, (14, message((4, "def slug"))), call=call("c2", "view_file", {}))),
    (21, 3, None, step(21, 2, (28, message((21, message((1, "no"))), (6, 1))), call=call("c1", "run_command", {}))),
    (5, 7, message((9, "the text is not there")), step(5, 4, call=call("c3", "replace_file_content", {}))),
    (21, 3, None, step(21, 5, (28, message((4, "a.py"))), call=call("c4", "run_command", {}))),
    (15, 3, None, step(15, 6, (20, message((1, "Fixed."), (12, 2))), usage=message((2, 5), (3, 2), (11, "r2")))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / f"{ID}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        connection.execute("INSERT INTO trajectory_meta VALUES ('t', ?, 4, 17)", (ID,))
        connection.execute("INSERT INTO gen_metadata VALUES (0, ?, 1)", (message((1, message((19, "pear-2")))),))
        for number, (kind, status, error, payload) in enumerate(ROWS):
            connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", (number, kind, status, error, payload))
        connection.commit()
    return path


def lines(path: Path) -> bytes:
    return b"".join(line + b"\n" for line in read_session(path, list_sessions(path)[0].id))


def test_a_conversation_has_its_calls_outcomes_tokens_and_end(path: Path) -> None:
    (listed,) = list_sessions(path)
    assert (listed.id, listed.created_ms, listed.model) == (ID, 1772443800000, "pear-2")
    found = summarize(lines(path))
    assert (found.session.dialect, found.session.id, found.status) == ("antigravity-steps", ID, "complete")
    assert found.tool_use_summary["by_tool"] == {"Bash": 2, "Read": 1, "Edit": 1}
    assert {k: v for k, v in found.tool_use_summary["by_outcome"].items() if v} == {"ok": 2, "error": 2}
    assert [found.tokens[name] for name in ("input", "cached", "output", "reasoning")] == [145, 40, 32, 20]
    assert (found.tool_use_summary["turns"], found.unknown, dict(found.faults)) == (2, {}, {})
    log = records(lines(path))
    assert best(PROVIDER, log) == ("antigravity-steps", 1.0)
    check_laws(STEPS, log)
    check_odd_shapes(PROVIDER, log)


def test_each_call_has_its_own_model_and_a_killed_command_its_exit_code(path: Path) -> None:
    killed = step(21, 7, (28, message((6, (1 << 64) - 9))), call=call("c4", "run_command", {}))
    with closing(sqlite3.connect(path)) as connection:
        for usage, model in ((USAGE, "pear-2"), (message((11, "r2")), "apple-1")):
            data = message((1, message((4, usage), (19, model))))
            connection.execute("INSERT INTO gen_metadata VALUES (1, ?, 1)", (data,))
        connection.execute("UPDATE steps SET step_payload = ? WHERE idx = 6", (killed,))
        connection.commit()
    rows = [msgspec.json.decode(line)["step"] for line in lines(path).splitlines()[1:]]
    assert [row["model"] for row in rows if "model" in row] == ["pear-2", "apple-1"]
    assert rows[6]["command"]["exit_code"] == -9


def test_below_a_folder_a_database_counts_only_without_a_transcript_of_its_session(path: Path, tmp_path: Path) -> None:
    home = tmp_path / "antigravity-cli"
    database = home / "conversations" / path.name
    database.parent.mkdir(parents=True)
    path.rename(database)
    assert [unit.name for unit in find_units([str(home)])] == [f"{database}#{ID}"]
    logs = home / "brain" / ID / ".system_generated" / "logs"
    logs.mkdir(parents=True)
    transcript = shutil.copy(FIXTURES / "antigravity" / "transcript.jsonl", logs)
    assert [unit.name for unit in find_units([str(home)])] == [str(transcript)]
    assert [unit.name for unit in find_units([str(database)])] == [f"{database}#{ID}"]


def test_a_step_that_goes_on_is_not_final(path: Path) -> None:
    (before,) = revisions(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE steps SET status = 1 WHERE idx = 7")
        connection.commit()
    assert [row.final for row in read_rows(path, ID)][-2:] == [True, False]
    (after,) = revisions(path)
    assert after != before


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.binary(max_size=200), st.integers(0, len(ROWS) - 1), st.integers(0, 400))
def test_a_damaged_payload_gives_the_fields_before_the_damage(noise: bytes, row: int, cut: int) -> None:
    payload = ROWS[row][3]
    whole, part = read_message(payload, STEP), read_message(payload[:cut], STEP)
    assert set(part) <= set(whole)
    read_message(payload[:cut] + noise, STEP)
    read_message(noise, STEP)


def test_a_message_within_itself_ends() -> None:
    fields: dict[int, Any] = {}
    fields[1] = ("inner", fields)
    deep = b""
    for _ in range(40):
        deep = message((1, deep))
    assert read_message(deep, fields)


def test_an_encrypted_conversation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "conversation.pb"
    path.write_bytes(bytes(range(200)) * 20)
    with pytest.raises(StoreError):
        list_sessions(path)


def test_real_conversations_have_the_turns_that_a_naive_decoder_counts() -> None:
    """Their calls and tokens are counted in test_oracles. An output is its thoughts and what is seen of it."""
    paths = sorted((corpus("new-agents") / "antigravity-cli").glob("*.db"))
    assert len(paths) == 2
    for path in paths:
        steps = rows(path, "SELECT step_type, step_payload FROM steps ORDER BY idx")
        metadata = [dict(fields(dict(fields(payload)).get(5, b""))) for _, payload in steps]
        used: list[dict[int, Any]] = [dict(fields(one[9])) for one in metadata if 9 in one]
        found = summarize(lines(path))
        assert found.tool_use_summary["turns"] == sum(kind == 15 for kind, _ in steps)
        assert used and all(usage[3] == usage.get(9, 0) + usage[10] for usage in used)
        assert (found.session.dialect, found.session.model, found.status) == (
            "antigravity-steps",
            "gemini-pro-default",
            "complete",
        )
        assert (found.unknown, dict(found.faults)) == ({}, {})

"""Databases of OpenCode 2: new, migrated, forked, followed, and of a version that nobody knows yet."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.figures.result import Result
from agentv_stream import summarize
from agentv_stream.errors import SourceError
from agentv_stream.stores.changes import revisions
from agentv_stream.stores.database import ForeignStore, StoreError
from agentv_stream.stores.opening import list_sessions, list_store
from agentv_stream.stores.rows import read_rows, read_session
from support.opencode2_stores import MODEL, T0, Agent2, call, simple, text
from support.opencode_stores import export, make_database


def read(path: Path, session: str, children: bool = True) -> Result:
    return summarize(b"".join(line + b"\n" for line in read_session(path, session, children)))


def figures(result: Result) -> tuple[object, ...]:
    summary, tokens = result.tool_use_summary, result.tokens
    outcomes = {name: count for name, count in summary["by_outcome"].items() if count}
    return (summary["turns"], summary["total_tool_calls"], outcomes, tokens["input"], tokens["output"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "opencode.db"


def test_a_session_of_version_2_has_its_turns_calls_tokens_and_end(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
    assert [(s.id, s.version, s.directory) for s in list_sessions(path)] == [("ses_2", "2.0.14", "/w")]
    result = read(path, "ses_2")
    assert (result.session.dialect, result.session.id, result.session.model) == ("opencode-rows", "ses_2", "m-2")
    assert figures(result) == (2, 1, {"error": 1}, 200, 14)
    assert result.tokens["cached"] == 40 and result.tokens["reasoning"] == 4
    assert result.cost_usd == pytest.approx(0.02)
    assert (result.status, result.evidence.reason) == ("complete", "succeeded")
    assert (result.unknown, dict(result.faults)) == ({}, {})


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ({"status": "error", "error": {"type": "tool.execution", "message": "no"}}, "error"),
        ({"status": "error", "error": {"type": "permission.rejected", "message": "Permission denied: edit"}}, "denied"),
        ({"status": "error", "error": {"type": "tool.stale", "message": "Tool execution interrupted"}}, "cancelled"),
        ({"status": "error", "error": {"type": "aborted", "message": "Stopped"}}, "cancelled"),
        ({"metadata": {"timeout": True}}, "error"),
        ({"metadata": {"exit": 0}}, "ok"),
        ({"structured": {"exit": 1}}, "error"),
        ({"status": "running", "metadata": {}}, "unpaired"),
    ],
)
def test_a_call_of_version_2_has_its_outcome(path: Path, state: dict[str, Any], outcome: str) -> None:
    with closing(Agent2(path)) as agent:
        agent.session("ses_2")
        agent.answer("ses_2", "msg_1", call("c1", "shell", {"command": "ls"}, **state))
    assert figures(read(path, "ses_2"))[2] == {outcome: 1}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("succeeded", "complete"), ("failed", "error"), ("interrupted", "interrupted"), ("x", "unknown")],
)
def test_a_session_of_version_2_ends_as_its_last_idle_says(path: Path, outcome: str, status: str) -> None:
    with closing(Agent2(path)) as agent:
        agent.session("ses_2")
        agent.message("ses_2", "msg_1", "user", text="Go.")
        failure = {} if outcome == "succeeded" else {"error": {"type": "provider.error", "message": "overloaded"}}
        agent.answer("ses_2", "msg_2", text("Well."), finish="error" if failure else "stop", **failure)
        agent.message("ses_2", "msg_3", "idle", outcome=outcome)
    result = read(path, "ses_2")
    assert result.status == status
    assert result.evidence.reason == ("overloaded" if failure else "succeeded")


def test_every_type_of_message_of_version_2_is_known(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        agent.session("ses_2")
        agent.message("ses_2", "msg_1", "agent-switched", agent="plan")
        agent.message("ses_2", "msg_2", "model-switched", model=MODEL)
        agent.message("ses_2", "msg_3", "location-switched", location={"directory": "/other"})
        files = [{"mime": "image/png", "name": "a.png", "data": "aGk=", "source": {"type": "inline"}}]
        agent.message("ses_2", "msg_4", "user", text="Go.", files=files)
        for n, kind in enumerate(("synthetic", "system", "skill"), 5):
            agent.message("ses_2", f"msg_{n}", kind, text="More.", skill="s")
        agent.message("ses_2", "msg_8", "shell", shellID="sh", command="ls", status="exited", exit=0)
        used = {"input": 10, "output": 3, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        agent.message(
            "ses_2", "msg_9", "compaction", status="completed", reason="auto", summary="s", recent="r", tokens=used
        )
        agent.answer("ses_2", "msg_a", text("Done."), finish="stop")
    result = read(path, "ses_2")
    assert result.unknown == {} and dict(result.faults) == {}
    assert figures(result)[0] == 1 and figures(result)[3:] == (110, 10)  # a compaction is a model call, not a turn


def test_a_sub_agent_of_version_2_follows_the_call_that_started_it(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        agent.session("ses_2")
        agent.session("ses_3", parent="ses_2")
        run = call("c1", "subagent", {"agent": "explore", "prompt": "look"}, metadata={"sessionID": "ses_3"})
        agent.answer("ses_2", "msg_1", run)
        agent.answer("ses_3", "msg_2", text("seen"), call("c2", "read", {"path": "a"}), finish="stop")
    lines = [msgspec.json.decode(line, type=dict[str, Any]) for line in read_session(path, "ses_2")]
    assert [line.get("parent_call") for line in lines] == [None, None, "c1", "c1"]
    streams = read(path, "ses_2").tool_use_summary["by_stream"]
    assert {name: s["tool_calls"] for name, s in streams.items()} == {"main": 1, "subagent:ses_3": 1}


def migrated(path: Path, times: bool) -> None:
    """A database of 1.x that 2.x has copied: the same session under the same ids. `times`: it says when it did."""
    with closing(make_database(path, export())) as old:
        old.execute("UPDATE message SET time_created = 1772359200000 + rowid")
        if times:
            old.execute(
                "CREATE TABLE kv (key text PRIMARY KEY, value text, time_created integer, time_updated integer)"
            )
            old.execute("INSERT INTO kv VALUES ('migration.v1-v2', '{\"phase\":\"completed\"}', 1, 1772359300000)")
        old.commit()
        names = [name for (name,) in old.execute("SELECT id FROM message ORDER BY id")]
    with closing(Agent2(path)) as agent:
        agent.session("ses_1", created=T0 - 10**9)
        for n, name in enumerate(names):
            created = 1772359200000 + n + 1
            facts: dict[str, Any] = {"created": created, "time": {"created": created, "completed": created}}
            if n % 2:
                agent.answer("ses_1", name, text(f"answer {n}"), finish="stop", **facts)
            else:
                agent.message("ses_1", name, "user", text=f"prompt {n}", **facts)


@pytest.mark.parametrize("times", [True, False])
def test_a_migrated_session_is_read_once_and_continues_where_either_version_does(path: Path, times: bool) -> None:
    migrated(path, times)
    assert [s.id for s in list_sessions(path)] == ["ses_1"]
    before = [row.id for row in read_rows(path, "ses_1")]
    assert len(before) == len(set(before))
    with closing(Agent2(path)) as agent:
        agent.seq = 100
        agent.answer("ses_1", "msg_zz1", text("of version 2"), finish="stop")
    assert [row.id for row in read_rows(path, "ses_1")] == [*before, "msg_zz1"]
    with closing(sqlite3.connect(path)) as old:  # 1.x is started again
        for name, at in (("msg_zz0", 1772359400000), ("msg_000", 1)):
            data = msgspec.json.encode({"role": "user", "time": {"created": at}}).decode()
            values = (name, "ses_1", at, data)
            old.execute("INSERT INTO message (id, session_id, time_created, data) VALUES (?,?,?,?)", values)
        old.commit()
    assert [row.id for row in read_rows(path, "ses_1")] == [*before, "msg_zz1", "msg_zz0"]


def test_sessions_of_version_1_stay_beside_those_of_version_2(path: Path) -> None:
    make_database(path, export()).close()
    first = figures(read(path, "ses_1"))
    with closing(Agent2(path)) as agent:
        simple(agent)
    assert [s.id for s in list_sessions(path)] == ["ses_1", "ses_2"]
    assert figures(read(path, "ses_1")) == first
    assert {r.session.id: r.rows for r in revisions(path)}["ses_2"] == 4


def test_the_last_versions_of_1_have_an_empty_table_of_version_2(path: Path) -> None:
    make_database(path, export()).close()
    first = [row.data for row in read_rows(path, "ses_1")]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE session_message (id text, session_id text, type text, seq integer, data text)")
        database.execute("INSERT INTO session_message VALUES ('m', 'ses_1', 'agent-switched', 1, '{}')")
        database.commit()
    assert [row.data for row in read_rows(path, "ses_1")] == first


def test_a_beta_kept_messages_of_version_2_beside_a_table_without_a_version(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
        agent.database.execute("ALTER TABLE session_v2 RENAME TO session")
        agent.database.commit()
    assert figures(read(path, "ses_2"))[:2] == (2, 1)


def test_a_fork_of_version_2_does_not_count_what_it_copied(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
        copies = agent.database.execute("SELECT type, time_created, data FROM session_message").fetchall()
        agent.session("ses_9", created=agent.now + 500, fork_session_id="ses_2")
        for n, (kind, created, data) in enumerate(copies):
            agent.message("ses_9", f"msg_fork_{n}", kind, created, **msgspec.json.decode(data, type=dict[str, Any]))
        agent.answer("ses_9", "msg_own", text("on"), finish="stop")
    assert figures(read(path, "ses_9"))[:2] == (1, 0)


def test_an_answer_of_version_2_is_final_when_it_is_completed_or_the_session_rests(path: Path) -> None:
    def final() -> list[bool]:
        return [row.final for row in read_rows(path, "ses_2")][1:]

    with closing(Agent2(path)) as agent:
        agent.session("ses_2")
        agent.message("ses_2", "msg_1", "user", text="Go.")
        assert final() == [False]
        agent.answer("ses_2", "msg_2", text("I"), time={"created": T0})
        assert final() == [True, False]
        failed = {"error": {"type": "provider.error", "message": "busy"}, "finish": "error"}
        agent.answer("ses_2", "msg_2", text("I"), **failed)
        assert final() == [True, False]  # it may be tried again under its id
        agent.message("ses_2", "msg_3", "idle", outcome="failed")
        assert final() == [True, True, True]
        agent.message("ses_2", "msg_4", "shell", shellID="s", command="ls", status="running")
        assert final()[-1] is False


@pytest.mark.parametrize(
    "changed", ["ALTER TABLE session_message RENAME COLUMN data TO body", "DROP TABLE session_message"]
)
def test_tables_of_version_2_in_an_unknown_form_are_an_error_and_not_an_empty_store(path: Path, changed: str) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
        agent.database.execute(changed)
        agent.database.commit()
    with pytest.raises(StoreError, match="OpenCode 2 have an unknown form") as error:
        list_sessions(path)
    assert not isinstance(error.value, ForeignStore)


def test_tables_of_version_3_are_named_beside_the_sessions_that_are_read(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
        agent.database.execute("CREATE TABLE session_v3 (id text)")
        assert list_store(path)[1] is None  # nothing is in it yet
        agent.database.execute("INSERT INTO session_v3 VALUES ('ses_9')")
        agent.database.commit()
    assert [s.id for s in list_sessions(path)] == ["ses_2"]
    assert "session_v3" in (list_store(path)[1] or "")
    with pytest.raises(SourceError, match="session_v3"):
        list(read_rows(path, "ses_9"))


def test_a_database_with_tables_of_version_3_alone_is_an_error(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE session_v3 (id text); CREATE TABLE session_message_v3 (id text)")
    with pytest.raises(StoreError, match=r"unknown version: session_message_v3, session_v3"):
        list_sessions(path)


def test_an_export_of_version_2_is_read_as_its_rows_are(path: Path) -> None:
    with closing(Agent2(path)) as agent:
        simple(agent)
        rows = agent.database.execute("SELECT id, type, data FROM session_message ORDER BY seq").fetchall()
    messages = [{"id": i, "type": t, **msgspec.json.decode(d, type=dict[str, Any])} for i, t, d in rows]
    info = {
        "id": "ses_2",
        "projectID": "p",
        "title": "Fix it",
        "location": {"directory": "/w"},
        "time": {"created": T0},
    }
    result = summarize(msgspec.json.encode({"info": info, "messages": messages}))
    assert result.session.dialect == "opencode-export" and result.session.cwd == "/w"
    assert figures(result) == figures(read(path, "ses_2"))
    assert result.status == "complete"


def test_the_stream_of_version_2_pairs_and_judges_its_calls() -> None:
    def line(kind: str, **part: Any) -> bytes:
        part = {"sessionID": "ses_2", "messageID": "msg_1", **part}
        return msgspec.json.encode({"type": kind, "timestamp": T0, "sessionID": "ses_2", "part": part}) + b"\n"

    state: dict[str, Any] = {"status": "completed", "input": {"command": "make"}, "output": "no"}
    state["metadata"] = {"metadata": {"exit": 2}, "content": [text("no")]}
    state["time"] = {"start": T0, "end": T0 + 5}
    used = {"input": 80, "output": 5, "reasoning": 2, "cache": {"read": 20, "write": 0}}
    result = summarize(
        line("step_start", id="prt_1", type="step-start")
        + line("text", id="prt_2", type="text", text="I run it.")
        + line("tool_use", partID="prt_3", id="call_1", type="tool", tool="shell", state=state)
        + line("step_finish", id="prt_4", type="step-finish", reason="stop", tokens=used, cost=0.01)
    )
    assert (result.session.dialect, result.status) == ("opencode-stream", "complete")
    assert figures(result) == (1, 1, {"error": 1}, 100, 7)
    assert result.tool_use_summary["tool_sequence"] == ["Bash"]

"""Crush's database: at rest, followed, with sub-agents, and in odd states."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.figures.result import Result
from agentv_stream import summarize
from agentv_stream.bulk.find import find_units
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.changes import counting, revisions
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.opening import list_sessions, open_store
from agentv_stream.stores.rows import read_rows, read_session
from agentv_stream.stores.tables import TableStore
from support.consumed_and_followed import both
from support.crush_stores import T0, Crush, call, part, result, simple
from support.decoding import corpus
from support.following import Desk, catch_up


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop" / ".crush" / "crush.db"


def read(path: Path, session: str = "s-1") -> Result:
    return summarize(b"".join(line + b"\n" for line in read_session(path, session)))


def outcomes(found: Result) -> dict[str, int]:
    return {name: count for name, count in found.tool_use_summary["by_outcome"].items() if count}


def test_a_session_has_its_turns_calls_outcomes_cost_and_end_and_no_tokens(path: Path) -> None:
    with closing(Crush(path)) as agent:
        simple(agent)
        agent.session("title-s-1")
    (listed,) = list_sessions(path)
    assert (listed.id, listed.title, listed.created_ms, listed.provider) == ("s-1", "Fix it", T0 * 1000, "crush")
    found = read(path)
    assert (found.session.dialect, found.session.cwd, found.session.model) == (
        "crush-rows",
        str(path.parents[1]),
        "m-1",
    )
    assert (found.tool_use_summary["turns"], found.tool_use_summary["by_tool"]) == (
        2,
        {"Bash": 1, "Read": 1, "Edit": 1},
    )
    assert outcomes(found) == {"ok": 1, "error": 1, "denied": 1}
    assert (found.cost_usd, found.tokens["input"], found.tokens["output"]) == (0.25, None, None)
    assert (found.status, found.evidence.reason) == ("complete", "end_turn")
    assert (found.unknown, dict(found.faults)) == ({}, {})


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("end_turn", "complete"),
        ("stop", "complete"),
        ("error", "error"),
        ("canceled", "interrupted"),
        ("max_tokens", "complete"),
        ("content_filter", "error"),
        ("later", "unknown"),
        ("tool_use", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_end_of_the_last_answer_is_that_of_the_session(path: Path, reason: str | None, status: str) -> None:
    with closing(Crush(path)) as agent:
        agent.session("s-1")
        agent.answer("s-1", "m-1", part("text", text="Well."), reason=reason)
    assert read(path).status == status


def test_the_table_of_its_migrations_is_not_another_agents(path: Path) -> None:
    """`goose_db_version` belongs to a tool that moves databases to a new version, not to Goose."""
    with closing(Crush(path)) as agent:
        simple(agent)
        agent.database.execute("CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER, is_applied INTEGER)")
        agent.database.commit()
    assert [session.provider for session in list_sessions(path)] == ["crush"]


def test_a_cost_of_0_is_none(path: Path) -> None:
    with closing(Crush(path)) as agent:
        agent.session("s-1")
        agent.answer("s-1", "m-1", part("text", text="Well."))
    assert read(path).cost_usd is None


def test_a_sub_agents_session_is_named_after_the_call_that_started_it(path: Path) -> None:
    with closing(Crush(path)) as agent:
        agent.session("s-1", cost=0.5)
        agent.session("m-1$$c1", parent="s-1", cost=0.2)
        agent.answer("s-1", "m-1", call("c1", "agent", prompt="look"), reason="tool_use")
        agent.answer("m-1$$c1", "m-2", call("c2", "ls", path="."), reason="tool_use")
        agent.message("m-1$$c1", "m-2b", "tool", result("c2", "a.py"))
        agent.message("s-1", "m-3", "tool", result("c1", "seen"))
        agent.answer("s-1", "m-4", part("text", text="Done."))
    found = read(path)
    streams = {name: one["tool_calls"] for name, one in found.tool_use_summary["by_stream"].items()}
    assert streams == {"main": 1, "subagent:m-1$$c1": 1}
    assert (found.cost_usd, found.status) == (0.5, "complete")
    rows = [msgspec.json.decode(row.data, type=dict[str, Any]) for row in read_rows(path, "s-1")]
    assert [row.get("parent_call") for row in rows] == [None, None, "c1", "c1", "c1", "c1", None, None, None]
    assert [unit.session for unit in find_units([str(path.parents[1])])] == ["s-1"]


def test_it_is_found_in_the_folder_of_a_project_and_named_by_its_path(path: Path) -> None:
    with closing(Crush(path)) as agent:
        simple(agent)
    (session,) = find_sessions(find_roots([str(path)]))
    assert (session.header.provider, session.header.dialect, session.header.cwd) == (
        "crush",
        "crush-rows",
        str(path.parents[1]),
    )


def _registry(folder: Path, *entries: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "projects.json").write_text(json.dumps({"projects": entries}))


@pytest.mark.parametrize("moved", [None, "XDG_DATA_HOME", "CRUSH_GLOBAL_DATA"])
def test_the_databases_of_projects_are_found_by_the_list_that_crush_keeps(
    path: Path, tmp_path: Path, moved: str | None
) -> None:
    place = {None: "home/.local/share/crush", "XDG_DATA_HOME": "xdg/crush", "CRUSH_GLOBAL_DATA": "global"}[moved]
    environment = {"HOME": str(tmp_path / "home")}
    if moved is not None:
        environment[moved] = str(tmp_path / place.partition("/")[0])
    project = str(path.parent.parent)
    wrong: list[object] = [None, 3, {}, {"path": project}, {"path": 1, "data_dir": 2}, {"path": "p", "data_dir": "q"}]
    relative, absolute = {"path": project, "data_dir": ".crush"}, {"path": "/else", "data_dir": str(path.parent)}
    _registry(tmp_path / place, *wrong, {"path": "/\0", "data_dir": "q"}, relative, absolute)
    with closing(Crush(path)) as agent:
        simple(agent)
    (session,) = find_sessions(find_roots(environment=environment, provider="crush"))
    assert session.path.startswith(str(path))
    for damaged in (b'{"projects": [{"path"', b"[]", b"\xff", b"[" * 5000, b'{"projects": {}}'):
        (tmp_path / place / "projects.json").write_bytes(damaged)
        assert find_sessions(find_roots(environment=environment, provider="crush")) == []


def test_a_project_that_is_new_to_crush_is_followed_from_its_start(path: Path, tmp_path: Path) -> None:
    desk, place = Desk(tmp_path), tmp_path / "share"
    _registry(place)
    follower = desk.follower(begin="end")
    follower.plan.roots = find_roots(environment={"CRUSH_GLOBAL_DATA": str(place)}, provider="crush")
    catch_up(follower)
    with closing(Crush(path)) as agent:
        simple(agent)
    _registry(place, {"path": str(path.parent.parent), "data_dir": str(path.parent)})
    catch_up(follower)
    follower.settle_all()
    (messages,) = desk.transcripts().values()
    assert messages[0]["role"] == "user"
    follower.close()


def test_a_session_is_followed_while_it_grows_and_over_restarts(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Crush(desk.logs / "crush.db", wal=True)
    agent.session("s-1")

    def follow() -> Any:
        follower = desk.follower()
        follower.stores.share = follower.stores.look_share = follower.stores.pause = 0.0
        return follower

    follower = follow()
    look, looked = call("c1", "view", file_path="a"), result("c1", "text")
    steps: list[Callable[[], object]] = [
        lambda: agent.message("s-1", "m-1", "user", part("text", text="Go.")),
        lambda: agent.answer("s-1", "m-2", part("text", text="I l"), reason=None),
        lambda: agent.answer("s-1", "m-2", part("text", text="I look."), look, reason="tool_use"),
        lambda: agent.message("s-1", "m-3", "tool", looked),
        lambda: agent.answer("s-1", "m-4", part("text", text="Done.")),
        lambda: agent.session("s-1", cost=0.5),
    ]
    for n, step in enumerate(steps):
        step()
        catch_up(follower)
        follower.settle_all()
        pair = both(f"{desk.logs / 'crush.db'}::s-1", tmp_path / f"consumed{n}")
        (name,), (transcript,) = pair.consumed, desk.out.glob("*.transcript.jsonl")
        assert transcript.read_bytes() == pair.consumed[name].read_bytes() == pair.followed[name].read_bytes(), n
        if n % 2:  # a crash
            follower.close()
            follower = follow()
    follower.close()
    agent.close()
    desk.close()


def test_an_answer_that_grows_within_a_second_changes_the_revision(path: Path) -> None:
    with closing(Crush(path)) as agent:
        agent.session("s-1")
        seen: set[int] = set()
        for text in ("I", "I look", "I look at it"):
            agent.now = T0
            agent.answer("s-1", "m-1", part("text", text=text), reason=None)
            seen.add(revisions(path)[0].state)
    assert len(seen) == 3


def test_a_prompt_is_final_when_something_follows_it(path: Path) -> None:
    """The totals counted as something that follows, so a row that was still written could be taken half-way."""
    with closing(Crush(path)) as agent:
        agent.session("s-1")
        agent.message("s-1", "m-1", "user", part("text", text="Fix"))
        assert [row.id for row in read_rows(path, "s-1") if row.final and row.id.startswith("m-")] == []
        agent.answer("s-1", "m-2", part("text", text="I look"), reason=None)
        assert [row.id for row in read_rows(path, "s-1") if row.final and row.id.startswith("m-")] == ["m-1"]


def test_a_change_of_any_column_changes_the_revision(path: Path) -> None:
    """Only the first payload counted, which is null in answers of Hermes that call no tool."""
    with closing(Crush(path)) as agent:
        simple(agent)
        before = revisions(path)[0].state
        agent.database.execute("UPDATE messages SET model = model || ' (fast)' WHERE model IS NOT NULL")
        agent.database.commit()
        assert revisions(path)[0].state != before


def test_messages_are_counted_without_reading_their_texts(path: Path) -> None:
    """A look at a database of 1 GB took 18 s; followers take one again and again."""
    with closing(Crush(path)) as agent:
        simple(agent)
    with open_store(path) as store:
        assert isinstance(store, TableStore)
        (table,) = store.row_tables
        plan = [row[3].decode() for row in store.connection.execute(f"EXPLAIN QUERY PLAN {counting(table)}")]
    scans = [step for step in plan if step.startswith("SCAN messages")]
    assert scans and all("USING COVERING INDEX" in step for step in scans)


@pytest.mark.parametrize(
    "parts", ["", "{", "null", "7", '[{"type":"text"}]', '[{"data":{"text":"a"}}]', '["a"]', "[" * 5000]
)
def test_parts_of_any_shape_are_used_or_refused(path: Path, parts: str) -> None:
    with closing(Crush(path)) as agent:
        simple(agent)
        agent.database.execute("UPDATE messages SET parts = ? WHERE id = 's-1-2'", (parts,))
        agent.database.commit()
    found = read(path)
    assert found.status == "complete" and found.tool_use_summary["turns"] >= 1


def test_columns_that_a_version_lacks_are_left_out_and_other_tables_are_another_programs(path: Path) -> None:
    with closing(Crush(path)) as agent:
        simple(agent)
        for table, column in (("messages", "is_summary_message"), ("messages", "finished_at"), ("sessions", "cost")):
            agent.database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        agent.database.commit()
        assert (read(path).status, read(path).cost_usd) == ("complete", None)
        agent.database.execute("ALTER TABLE messages DROP COLUMN parts")
        agent.database.commit()
    with pytest.raises(StoreError, match="unknown version"):
        list_sessions(path)


def test_a_real_database_gives_what_a_count_of_its_parts_gives() -> None:
    (path,) = (corpus("new-agents") / "crush").glob("*.db")
    (session,) = list_sessions(path)
    rows = [msgspec.json.decode(line, type=dict[str, Any]) for line in read_session(path, session.id)]
    messages = [row["message"] for row in rows if "message" in row]
    kinds = [part["type"] for message in messages for part in message["parts"]]
    found = read(path, session.id)
    assert found.tool_use_summary["total_tool_calls"] == kinds.count("tool_call") == 21
    assert sum(outcomes(found).values()) == kinds.count("tool_result") == 21
    assert found.tool_use_summary["turns"] == sum(message["role"] == "assistant" for message in messages)
    assert (found.unknown, dict(found.faults), found.tokens["input"]) == ({}, {}, None)

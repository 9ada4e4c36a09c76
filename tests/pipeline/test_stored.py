"""Sessions of OpenCode's database, followed while it writes them."""

import math
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentv_stream.cli.tailing import TailOptions
from agentv_stream.discovery.places import find_roots
from agentv_stream.following import follow as following
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.stored import Stores
from agentv_stream.live.session import StreamSession
from agentv_stream.settings import Settings
from agentv_stream.stores.source import StoreSource
from support.consumed_and_followed import both, difference, follow_into, transcripts
from support.following import Desk, catch_up
from support.opencode2_stores import Agent2, simple
from support.opencode2_stores import call as call2

T0 = 1772359200000
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
  time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer,
  data text);
"""


class Agent:
    """Writes as OpenCode does: rows are added, and updated in place until they are final. Each write is a commit."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.now = T0
        self.database = sqlite3.connect(path, check_same_thread=False)  # it is closed where the agent is let go
        weakref.finalize(self, self.database.close)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.executescript(SCHEMA)

    def put(self, table: str, **row: Any) -> None:
        self.now += 1000
        if "data" in row:
            row["data"] = msgspec.json.encode(row["data"]).decode()
        row = {"time_created": self.now, "time_updated": self.now} | row
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self.database.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        self.database.commit()

    def session(self, name: str, parent: str | None = None) -> None:
        self.put("session", id=name, parent_id=parent, directory="/w", title="t", version="1.18.0", time_created=T0)

    def prompt(self, session: str, n: int, **more: object) -> None:
        name = f"msg_{session}_{n:04}"
        self.put("message", id=name, session_id=session, data={"role": "user", "time": {"created": T0}} | more)
        self.put("part", id=f"prt_{name}_0", message_id=name, session_id=session, data=text(f"please {n}"))

    def answer(self, session: str, n: int, *parts: dict[str, Any], ended: bool = True) -> None:
        name = f"msg_{session}_{n:04}"
        times = {"created": T0 + n * 1000} | ({"completed": T0 + n * 1000 + 500} if ended else {})
        told: dict[str, Any] = {"role": "assistant", "modelID": "gpt-x", "time": times}
        self.put("message", id=name, session_id=session, data=told | ({"finish": "stop"} if ended else {}))
        for i, part in enumerate(parts):
            self.put("part", id=f"prt_{name}_{i}", message_id=name, session_id=session, data=part)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(name: str, status: str, tool: str = "bash", **metadata: str) -> dict[str, Any]:
    state: dict[str, Any] = {"status": status, "input": {"command": "ls"}, "metadata": metadata}
    if status == "completed":
        state |= {"output": "files", "time": {"start": T0, "end": T0 + 10}}
    return {"type": "tool", "tool": tool, "callID": name, "state": state}


def follow(desk: Desk, **plan: Any) -> Follower:
    """A follower that asks the store at every look."""
    follower = desk.follower(**plan)
    follower.stores.share = follower.stores.look_share = follower.stores.pause = 0.0
    return follower


def rest(desk: Desk) -> bytes:
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    return transcript.read_bytes()


def consumed(agent: Agent, folder: Path, session: str = "ses_1") -> bytes:
    pair = both(f"{agent.path}::{session}", folder)
    (name,) = pair.consumed
    assert difference(pair.consumed[name], pair.followed[name]) == ""
    return pair.consumed[name].read_bytes()


def result_of(agent: Agent, session: str) -> dict[str, Any]:
    """The result as `consume` gives it."""

    async def run() -> Any:
        source = StoreSource(str(agent.path), session)
        return (await StreamSession(source, Settings(quiet=True), transcript=False).run()).result

    return dict(msgspec.to_builtins(anyio.run(run)))


def test_a_session_is_followed_while_it_grows_and_over_restarts(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    follower = follow(desk)
    steps: list[Callable[[], object]] = [
        lambda: agent.prompt("ses_1", 1),
        lambda: agent.answer("ses_1", 2, text("looki"), ended=False),
        lambda: agent.answer("ses_1", 2, text("looking"), call("c1", "running"), ended=False),
        lambda: agent.answer("ses_1", 2, text("looking"), call("c1", "completed")),
        lambda: agent.prompt("ses_1", 1, summary={"title": "put in later"}),
        lambda: agent.answer("ses_1", 3, text("done")),
        lambda: agent.prompt("ses_1", 4),
        lambda: agent.answer("ses_1", 5, text("broke"), ended=False),
        lambda: agent.prompt("ses_1", 6),
        lambda: agent.answer("ses_1", 7, text("again")),
    ]
    for n, step in enumerate(steps):
        step()
        catch_up(follower)
        follower.settle_all()
        assert rest(desk) == consumed(agent, tmp_path / f"consumed{n}"), n
        if n % 3 == 2:  # a crash
            follower.close()
            follower = follow(desk)
    follower.close()
    desk.close()
    assert desk.catch_up().counts.records == 0


def test_a_title_that_comes_later_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    follower = follow(desk)
    catch_up(follower)
    agent.put("session", id="ses_1", directory="/w", title="Greeting", version="1.18.0", time_created=T0)
    agent.answer("ses_1", 2, text("done"))
    catch_up(follower)
    follower.settle_all()
    (told,) = desk.out.glob("*.result.json")
    result = msgspec.json.decode(told.read_bytes())
    assert result["session"]["title"] == "Greeting"
    once = result_of(agent, "ses_1")
    assert {name for name in once if once[name] != result[name]} <= {"outputs", "evidence"}
    follower.close()
    desk.close()
    assert desk.catch_up().counts.records == 0


def test_what_is_not_final_is_shown_but_not_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, text("half"), ended=False)
    desk.catch_up()
    assert b"half" in rest(desk)
    assert b"half" not in b"".join(desk.emitted)
    agent.answer("ses_1", 2, text("half and half"))
    desk.catch_up()
    assert b'"half"' not in rest(desk)
    assert b"half and half" in b"".join(desk.emitted)


def test_a_child_session_is_part_of_the_one_that_started_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, call("c1", "running", "task", sessionId="ses_2"), ended=False)
    agent.session("ses_2", "ses_1")
    agent.prompt("ses_2", 1)
    follower = follow(desk)
    catch_up(follower)
    agent.answer("ses_2", 2, text("seen"))
    catch_up(follower)
    agent.answer("ses_1", 2, call("c1", "completed", "task", sessionId="ses_2"))
    agent.answer("ses_1", 3, text("all done"))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    (rows,) = desk.transcripts().values()
    streams = {row["metadata"]["agentv_stream"]["stream"] for row in rows}
    assert streams == {"main", "subagent:ses_2"}
    live = sorted(str(row["content"]) for row in rows)
    again = follow_into(Plan(find_roots([str(agent.path)]), Settings(out=tmp_path / "again")), tmp_path / "state2")
    (path,) = transcripts(tmp_path / "again").values()
    assert live == sorted(str(msgspec.json.decode(line)["content"]) for line in path.read_bytes().splitlines()), again


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_from_the_end_only_what_comes_is_told(at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where what is old takes several rounds."""
    monkeypatch.setattr(following, "BUDGET", at_once)
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, text("old"))
    follower = follow(desk, begin="end")
    catch_up(follower)
    assert not desk.emitted
    agent.prompt("ses_1", 3)
    agent.answer("ses_1", 4, text("new"))
    catch_up(follower)
    follower.close()
    desk.close()
    told = b"".join(desk.emitted)
    assert b'"new"' in told
    assert b'"old"' not in told


def test_sessions_with_as_many_rows_are_no_copies_of_each_other(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    for session in ("ses_1", "ses_2", "ses_3"):
        agent.session(session)
        agent.prompt(session, 1)
    follower = follow(desk)
    catch_up(follower)
    follower.close()
    assert desk.said == []
    assert len(follower.entries) == 3


def test_a_session_that_was_at_rest_is_read_in_the_next_round_and_a_new_one_asks_for_a_scan(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    for session in ("ses_1", "ses_2"):
        agent.session(session)
        agent.answer(session, 1, text("old"))
    follower = follow(desk)
    follower.stores.look_share = 0.0
    catch_up(follower)
    follower.warm.clear()
    agent.answer("ses_1", 2, text("new"))
    assert follower.round(scan=False)
    assert b'"new"' in b"".join(desk.emitted)
    assert not follower.new_sessions
    agent.session("ses_3")
    follower.round(scan=False)
    assert follower.new_sessions
    follower.round()
    assert not follower.new_sessions
    follower.close()


def test_a_look_that_has_to_wait_says_how_long(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "opencode.db")
    agent.session("ses_1")
    agent.session("ses_2")
    now = 100.0

    def clock() -> float:  # every look takes a second
        nonlocal now
        now += 1.0
        return now

    found = Stores(Desk(tmp_path).say, clock)
    (root,) = [root for root in find_roots([f"opencode={tmp_path}"]) if root.database]
    assert len(list(found.found(root))) == 2
    agent.answer("ses_1", 1, text("a"))
    assert found.changed() == [f"{agent.path}::ses_1"]
    assert found.delay() == math.inf
    agent.answer("ses_2", 1, text("b"))
    assert found.changed() == []
    now += found.delay()
    assert found.changed() == [f"{agent.path}::ses_2"]


def test_a_store_that_cannot_be_read_is_told_and_recovered_from(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, text("one"))
    agent.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    agent.database.close()
    whole = agent.path.read_bytes()
    agent.path.write_bytes(b"no database at all" * 100)
    follower = follow(desk)
    catch_up(follower)
    assert follower.stores.troubles
    assert "a store cannot be read" in desk.said
    agent.path.write_bytes(whole)
    catch_up(follower)
    assert not follower.stores.troubles
    assert "a store can be read again" in desk.said
    follower.settle_all()
    follower.close()
    desk.close()
    assert b"one" in rest(desk)


def test_an_id_that_ends_like_the_name_of_a_rotated_log_is_another_session(tmp_path: Path) -> None:
    """`2-7` was taken for an older file of the session `2`, which was then reported as deleted."""
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    for name in ("2-7", "2-10", "2", "2-7.1"):
        agent.session(name)
        agent.prompt(name, 1)
        agent.answer(name, 2, text(f"of {name}"))
    follower = follow(desk)
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert "deleted" not in desk.said
    assert len(list(desk.out.glob("*.transcript.jsonl"))) == 4


@pytest.mark.parametrize("name", ["ses_1", "ses_", "{store}", "{store}::ses_1", "{folder}"])
def test_a_session_is_named_by_its_id_its_store_or_its_folder(name: str, tmp_path: Path) -> None:
    from agentv_stream.cli.tailing import run_tail

    agent = Agent(tmp_path / "data" / "opencode" / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, text("here"))
    target = name.format(store=agent.path, folder=agent.path.parent)
    roots = [] if "/" in target else [f"opencode={agent.path.parent}"]
    options = TailOptions(
        targets=[target], roots=roots, out=tmp_path / "out", state=tmp_path / "state", once=True, quiet=True
    )
    assert run_tail(options) == 0
    (path,) = transcripts(tmp_path / "out").values()
    assert b"here" in path.read_bytes()


def test_a_session_of_version_2_is_followed_while_it_grows_and_over_restarts(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent2(desk.logs / "opencode.db", wal=True)
    agent.session("ses_2")
    follower = follow(desk)
    running = call2("c1", "shell", {"command": "ls"}, status="running", metadata={})
    failed = {"error": {"type": "provider.error", "message": "busy"}, "finish": "error"}
    steps: list[Callable[[], object]] = [
        lambda: agent.message("ses_2", "msg_1", "user", text="Go."),
        lambda: agent.answer("ses_2", "msg_2", text("loo"), time={"created": agent.now}),
        lambda: agent.answer("ses_2", "msg_2", text("look"), running, time={"created": agent.now}),
        lambda: agent.answer("ses_2", "msg_2", text("look"), call2("c1", "shell", {"command": "ls"})),
        lambda: agent.answer("ses_2", "msg_3", text("I f"), **failed),
        lambda: agent.answer("ses_2", "msg_3", text("I find it."), finish="stop"),
        lambda: agent.message("ses_2", "msg_4", "idle", outcome="succeeded"),
        lambda: agent.message("ses_2", "msg_5", "user", text="And?"),
        lambda: agent.answer("ses_2", "msg_6", text("Stopped."), **failed),
        lambda: agent.message("ses_2", "msg_7", "idle", outcome="failed"),
    ]
    for n, step in enumerate(steps):
        step()
        catch_up(follower)
        follower.settle_all()
        pair = both(f"{desk.logs / 'opencode.db'}::ses_2", tmp_path / f"consumed{n}")
        (name,) = pair.consumed
        assert rest(desk) == pair.consumed[name].read_bytes() == pair.followed[name].read_bytes(), n
        if n % 3 == 2:  # a crash
            follower.close()
            follower = follow(desk)
    follower.close()
    agent.close()
    desk.close()
    assert desk.catch_up().counts.records == 0


def test_a_session_that_is_migrated_while_it_is_followed_is_told_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent(desk.logs / "opencode.db")
    agent.session("ses_1")
    agent.prompt("ses_1", 1)
    agent.answer("ses_1", 2, text("of version 1"))
    follower = follow(desk)
    catch_up(follower)
    later = Agent2(agent.path)
    later.session("ses_1", created=T0)
    later.message("ses_1", "msg_ses_1_0001", "user", created=T0, text="please 1")
    later.answer("ses_1", "msg_ses_1_0002", text("of version 1"), finish="stop", created=T0 + 2000)
    later.answer("ses_1", "msg_zz", text("of version 2"), finish="stop")
    catch_up(follower)
    follower.close()
    later.close()
    desk.close()
    told = b"".join(desk.emitted)
    assert (told.count(b"of version 1"), told.count(b"of version 2")) == (1, 1)


def test_tables_that_are_not_read_are_told_once_and_the_others_are_followed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = Agent2(desk.logs / "opencode.db", wal=True)
    simple(agent)
    agent.database.execute("CREATE TABLE session_v3 (id text)")
    agent.database.execute("INSERT INTO session_v3 VALUES ('ses_9')")
    agent.database.commit()
    follower = follow(desk)
    catch_up(follower)
    agent.message("ses_2", "msg_z", "user", text="More.")
    catch_up(follower)
    follower.settle_all()
    assert "session_v3" in follower.stores.troubles[str(desk.logs / "opencode.db")]
    assert desk.said.count("a store cannot be read") == 1
    assert b"It fails." in rest(desk)
    follower.close()
    agent.close()
    desk.close()

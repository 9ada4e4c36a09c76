"""Databases of OpenCode 2, with the columns of its published source (`session/sql.ts`, 2.0)."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

SCHEMA = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
  fork_session_id text, fork_boundary text, slug text NOT NULL, directory text NOT NULL, path text, title text,
  version text NOT NULL, share_url text, metadata text, cost real DEFAULT 0 NOT NULL,
  tokens_input integer DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text,
  time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer,
  time_suspended integer, resume_attempts integer DEFAULT 0 NOT NULL, time_idle integer, idle_outcome text);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
"""
T0 = 1789000000000
MODEL = {"id": "m-2", "providerID": "p"}


class Agent2:
    """Writes as OpenCode 2 does: a row for each message, updated in place while its answer streams."""

    def __init__(self, path: Path, wal: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(path, check_same_thread=False)
        if wal:
            self.database.execute("PRAGMA journal_mode=WAL")
        if not self.database.execute("SELECT 1 FROM sqlite_master WHERE name = 'session_v2'").fetchone():
            self.database.executescript(SCHEMA)
        self.now = T0
        self.seq = 0

    def close(self) -> None:
        self.database.close()

    def session(self, name: str, parent: str | None = None, created: int | None = None, **more: Any) -> None:
        row: dict[str, Any] = {
            "id": name,
            "project_id": "p",
            "parent_id": parent,
            "slug": "s",
            "directory": "/w",
            "title": "Fix it",
        }
        row |= {"version": "2.0.14", "time_created": created or self.now, "time_updated": self.now, **more}
        self._insert("session_v2", row)

    def message(self, session: str, name: str, kind: str, created: int | None = None, **data: Any) -> None:
        """Adds a message, or updates it in place."""
        self.now += 1000
        known = self.database.execute("SELECT seq, time_created FROM session_message WHERE id = ?", (name,)).fetchone()
        self.seq += 1
        seq, at = known or (self.seq, created or self.now)
        data.setdefault("time", {"created": at})
        row = {"id": name, "session_id": session, "type": kind, "seq": seq, "time_created": at}
        row |= {"time_updated": self.now, "data": msgspec.json.encode(data).decode()}
        self._insert("session_message", row)

    def answer(self, session: str, name: str, *content: dict[str, Any], **more: Any) -> None:
        """A whole answer. It has 100 tokens of input, 20 of them cached, and 7 of output, 2 of them for reasoning."""
        tokens = {"input": 80, "output": 5, "reasoning": 2, "cache": {"read": 20, "write": 0}}
        facts: dict[str, Any] = {
            "agent": "build",
            "model": MODEL,
            "content": list(content),
            "tokens": tokens,
            "cost": 0.01,
        } | more
        facts.setdefault("time", {"created": self.now + 1000, "completed": self.now + 1400})
        self.message(session, name, "assistant", **facts)

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self.database.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        self.database.commit()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(name: str, tool: str, arguments: dict[str, Any], **state: Any) -> dict[str, Any]:
    """A call, completed if `state` does not say otherwise."""
    state = {"status": "completed", "input": arguments, "content": [text("out")]} | state
    return {"type": "tool", "id": name, "name": tool, "state": state, "time": {"created": T0, "ran": T0 + 5}}


def simple(agent: Agent2, session: str = "ses_2", **more: Any) -> None:
    """Two answers, a shell call that fails with exit code 3, and the end."""
    agent.session(session, **more)
    agent.message(session, f"msg_{session}_1", "user", text="Go.")
    run = call("c1", "shell", {"command": "make"}, metadata={"exit": 3, "status": "completed"})
    agent.answer(session, f"msg_{session}_2", text("I run it."), run, finish="tool-calls")
    agent.answer(session, f"msg_{session}_3", text("It fails."), finish="stop")
    agent.message(session, f"msg_{session}_4", "idle", outcome="succeeded")

"""Databases as Crush writes them (tables of its published source, August 2026)."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
CREATE INDEX idx_messages_session_id ON messages (session_id);
"""
T0 = 1789000000  # seconds


class Crush:
    """Writes as Crush does: a row for each message, updated in place while its answer streams."""

    def __init__(self, path: Path, wal: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(path, check_same_thread=False)
        if wal:
            self.database.execute("PRAGMA journal_mode=WAL")
        self.database.executescript(SCHEMA)
        self.now = T0

    def close(self) -> None:
        self.database.close()

    def session(self, name: str, parent: str | None = None, cost: float = 0.0) -> None:
        self._put("sessions", id=name, parent_session_id=parent, title="Fix it", cost=cost, created_at=T0)

    def message(self, session: str, name: str, role: str, *parts: dict[str, Any], **columns: Any) -> None:
        self.now += 1
        old = self.database.execute("SELECT created_at FROM messages WHERE id = ?", (name,)).fetchone()
        created = old[0] if old else self.now
        data = msgspec.json.encode(list(parts)).decode()
        self._put("messages", id=name, session_id=session, role=role, parts=data, created_at=created, **columns)

    def answer(self, session: str, name: str, *parts: dict[str, Any], reason: str | None = "end_turn") -> None:
        """An answer; one without a reason still streams."""
        end = [part("finish", reason=reason, time=self.now)] if reason else []
        self.message(session, name, "assistant", *parts, *end, model="m-1", provider="p")

    def _put(self, table: str, **row: Any) -> None:
        row = {"updated_at": self.now} | row
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        sets = ", ".join(f"{name} = excluded.{name}" for name in row)
        query = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {sets}"
        self.database.execute(query, tuple(row.values()))
        self.database.commit()


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def call(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    given = msgspec.json.encode(arguments).decode()
    return part("tool_call", id=name, name=tool, input=given, finished=True)


def result(name: str, content: str, is_error: bool = False) -> dict[str, Any]:
    return part("tool_result", tool_call_id=name, name="", content=content, metadata="{}", is_error=is_error)


def simple(agent: Crush, session: str = "s-1") -> None:
    """Two answers, a shell call that fails, a read, an edit that was refused, and a good end."""
    agent.session(session, cost=0.25)
    agent.message(session, f"{session}-1", "user", part("text", text="Go."))
    calls = (
        call("c1", "bash", command="make"),
        call("c2", "view", file_path="a.py"),
        call("c3", "edit", file_path="a.py"),
    )
    agent.answer(
        session,
        f"{session}-2",
        part("reasoning", thinking="Hm."),
        part("text", text="I look."),
        *calls,
        reason="tool_use",
    )
    results = (result("c1", "no\nExit code 2"), result("c2", "text"), result("c3", "User denied permission", True))
    agent.message(session, f"{session}-3", "tool", *results)
    agent.answer(session, f"{session}-4", part("text", text="It fails."))

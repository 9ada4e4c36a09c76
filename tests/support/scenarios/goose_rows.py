"""A scenario as Goose keeps it: a SQLite database, in whose rows the contents of messages are JSON.

Shapes: its published source of 2026; no real database was seen. An answer is written when all its calls have ended: its
text, then each request as a message of its own, with a copy of the thoughts, and the response behind it. A response has
the time of its request. A sub-agent is a session with a parent; nothing says which call started it.
"""

import json
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.goose import VERBS, blocks, response
from support.scenarios.scenario import Answer, Scenario, all_answers, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    STARTED_MS,
    Writer,
    Written,
    by_last_answer,
    database,
    is_answered,
    no_empty_answers,
    takes,
)

SESSION = "20260302_1"
TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER,
    accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER, accumulated_cache_write_tokens INTEGER,
    accumulated_cost REAL, parent_session_id TEXT, goose_mode TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
    content_json TEXT, created_timestamp INTEGER, tokens INTEGER, metadata_json TEXT);
"""


class Store:
    def __init__(self) -> None:
        self.sessions: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.second = STARTED_MS // 1000

    def session(self, own: str, parent: str | None, answers: list[Answer]) -> None:
        used = expected.tokens([replace(one, calls=()) for one in answers])
        told = {"input": used["input"], "output": used["output"], "total": used["input"] + used["output"]}
        told |= {"cache_read": used["cached"], "cache_write": used["cache_write"]}
        about = {"id": own, "name": "demo", "session_type": "sub_agent" if parent else "user", "working_dir": CWD}
        about |= {"created_at": "2026-03-02 09:30:00", "updated_at": "2026-03-02 09:30:00", "goose_mode": "auto"}
        totals = {f"accumulated_{name}_tokens": count for name, count in told.items()} if answers else {}
        self.sessions.append({**about, **totals, "parent_session_id": parent})

    def message(self, session: str, role: str, own: str, *content: dict[str, Any]) -> None:
        about = {"message_id": own, "session_id": session, "role": role, "created_timestamp": self.second}
        metadata = json.dumps({"userVisible": True, "agentVisible": True})
        told = json.dumps(list(content), ensure_ascii=False)
        self.messages.append({**about, "content_json": told, "metadata_json": metadata})

    def made(self) -> str:
        """An id that Goose makes."""
        return f"msg_7b1e4d20-96c3-4f58-a1d7-{len(self.messages):012d}"

    def prompt(self, session: str, text: str) -> None:
        self.second += 1
        self.message(session, "user", self.made(), {"type": "text", "text": text})

    def answer(self, session: str, answer: Answer) -> None:
        self.second += 1
        said, requests = blocks(replace(answer, calls=())), blocks(replace(answer, text="", thinking=""))
        if said:
            self.message(session, "assistant", f"chatcmpl-{answer.number}", *said)
        thoughts = said if answer.thinking and not answer.text else []
        for call, request in zip(answer.calls, requests, strict=True):
            self.message(session, "assistant", self.made(), *thoughts, request)
            self.message(session, "user", self.made(), response(call))
        for call in answer.calls:
            if call.inner:
                self.child(f"20260302_{100 + call.number}", session, call.text, call.inner)

    def child(self, own: str, parent: str, prompt: str, answers: tuple[Answer, ...]) -> None:
        self.session(own, parent, list(answers))
        self.prompt(own, prompt)
        for answer in answers:
            self.answer(own, answer)

    def database(self) -> bytes:
        return database(TABLES, sessions=self.sessions, messages=self.messages)


def only_answered(scenario: Scenario) -> Scenario:
    """An answer is written when all its calls have ended."""
    return changed(scenario, lambda answer: answer if is_answered(answer) else None)


def write(scenario: Scenario) -> Written:
    store, scenario = Store(), only_answered(scenario)
    store.session(SESSION, None, scenario.answers)
    for prompt in scenario.prompts:
        store.prompt(SESSION, prompt.text)
        for answer in prompt.answers:
            store.answer(SESSION, answer)
    return Written("sessions.db", store.database(), session=SESSION)


def all_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of all sessions, sub-agents included."""
    found = [replace(one, calls=()) for one in all_answers(only_answered(written).answers)]
    return {**expected.tokens(found), "reasoning": None} if found else dict(NOTHING)


WRITERS = (
    Writer(
        "goose-rows",
        write,
        VERBS,
        losses=(only_answered, no_empty_answers),
        took=takes(None),
        tokens=all_tokens,
        status=by_last_answer,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

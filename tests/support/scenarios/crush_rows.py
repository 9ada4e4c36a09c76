"""A scenario as Crush keeps it: a SQLite database, in whose rows the parts of messages are JSON.

Shapes: a database of September 2025, and the published source of August 2026. All results of an answer are one row. A
sub-agent is a session that is named after the message and the call that started it.
"""

import json
from typing import Any

from support.crush_stores import SCHEMA, part
from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Scenario
from support.scenarios.writer import (
    Writer,
    Written,
    by_last_answer,
    database,
    is_answered,
    no_empty_answers,
    no_inner,
    no_tokens,
    results_together,
)

SESSION = "b5a51c0e-4d1f-4f0b-9a57-0f6f6a1d2c3e"
MODEL = {"model": "acme/pear-2", "provider": "openrouter"}


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """Crush's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("view", {"file_path": call.target}),
        "search": ("grep", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("ls", {"path": call.target}),
        "edit": ("edit", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("write", {"file_path": call.target, "content": call.text}),
        "run": ("bash", {"command": call.target}),
        "plan": ("todos", {"todos": [{"content": call.text, "status": "pending"}]}),
        "fetch": ("fetch", {"url": call.target, "format": "text"}),
        "mcp": (f"mcp_{call.target.replace('/', '_')}", {"x": call.text}),
        "delegate": ("agent", {"prompt": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def parts(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.thinking:
        found.append(part("reasoning", thinking=answer.thinking, signature="", started_at=0))
    if answer.text:
        found.append(part("text", text=answer.text))
    for call in answer.calls:
        name, arguments = asked(call)
        given = json.dumps(arguments, ensure_ascii=False)
        found.append(part("tool_call", id=f"call_{call.number:04d}", name=name, input=given, finished=answer.whole))
    return found


def result(call: Call) -> dict[str, Any]:
    content = f"User denied permission. {call.output}" if call.outcome == "denied" else call.output
    if call.exit_code:
        content = f"{content}\nExit code {call.exit_code}"
    failed = call.outcome != "ok" and call.exit_code is None
    own = f"call_{call.number:04d}"
    return part("tool_result", tool_call_id=own, name="", content=content, metadata="{}", is_error=failed)


class Store:
    """Rows in the order in which they were added; times are seconds."""

    def __init__(self) -> None:
        self.clock = Clock(0, unit=1000)
        self.sessions: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []

    def tick(self, says: bool = True) -> int:
        self.clock.tick(says)
        return self.clock.now // 1000

    def session(self, own: str, parent: str | None) -> dict[str, Any]:
        now = self.tick()
        about = {"id": own, "parent_session_id": parent, "title": "demo", "created_at": now, "updated_at": now}
        self.sessions.append(about)
        return about

    def message(self, session: str, role: str, parts: list[dict[str, Any]], now: int, **columns: Any) -> None:
        own, data = f"m{len(self.messages):04d}", json.dumps(parts, ensure_ascii=False)
        about = {"id": own, "session_id": session, "role": role, "parts": data}
        self.messages.append({**about, "created_at": now, "updated_at": now, **columns})

    def answer(self, session: str, answer: Answer) -> None:
        first = not any(row["session_id"] == session and "model" in row for row in self.messages)  # it tells the model
        now, found = self.tick(says=first or not answer.empty), parts(answer)
        if answer.whole:
            found.append(part("finish", reason="end_turn" if answer.final else "tool_use", time=now))
        own = f"m{len(self.messages):04d}"
        ended = {"finished_at": now} if answer.whole else {}
        self.message(session, "assistant", found, now, **MODEL, **ended)
        self.clock.asked |= dict.fromkeys((call.number for call in answer.calls), self.clock.now)
        for call in answer.working:
            if call.inner:
                child = f"{own}$$call_{call.number:04d}"
                self.session(child, session)
                self.message(child, "user", [part("text", text=call.text)], self.tick())
                for one in call.inner:
                    self.answer(child, one)
        if answer.calls and is_answered(answer):
            self.message(session, "tool", [result(call) for call in answer.results], self.tick())
            self.clock.ended |= dict.fromkeys((call.number for call in answer.calls), self.clock.now)

    def database(self) -> bytes:
        return database(SCHEMA, sessions=self.sessions, messages=self.messages)


def write(scenario: Scenario) -> Written:
    store = Store()
    session = store.session(SESSION, None)
    for prompt in scenario.prompts:
        store.message(SESSION, "user", [part("text", text=prompt.text)], store.tick())
        for answer in prompt.answers:
            store.answer(SESSION, answer)
            session |= {"updated_at": store.clock.now // 1000, "cost": 0.01}
            store.clock.last = store.clock.now  # the cost has the time of its session
    return Written("crush.db", store.database(), clock=store.clock, session=SESSION)


def by_main(written: Scenario, told: Scenario) -> str:
    """A sub-agent's open calls are those of the call that started it; an answer without a text also has an end."""
    return by_last_answer(written, results_together(no_inner(written)))


WRITERS = (
    Writer(
        "crush-rows",
        write,
        losses=(results_together, no_empty_answers),
        tokens=no_tokens,
        status=by_main,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

"""A scenario as OpenCode 1.18 and Kilo 7.7 keep it: a SQLite database, in whose rows messages and parts are JSON.

Shapes: databases of the real programs. A sub-agent is a session with a parent; the state of the `task` call that
started it names it. Ids grow with time, so they tell the order.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from support.scenarios import expected
from support.scenarios.mixing import Clock, in_some_order, run
from support.scenarios.opencode import COMMON, POSSIBLE, VERBS, named, state, tokens
from support.scenarios.scenario import Answer, Call, Scenario, all_answers
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Writer,
    Written,
    by_last_answer,
    is_answered,
    no_empty_answers,
    no_inner,
)

SESSION = "ses_e034d86dcffeeOuA2MXZt7PYjF"
TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text, revert text,
    time_created integer NOT NULL, time_updated integer NOT NULL, agent text, model text, cost real);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""


def child_of(call: Call) -> str:
    return f"ses_d{call.number:012d}child"


class Store:
    """Rows by their ids; a row that is written again takes the place of what it was."""

    def __init__(self, mixed: int, kilo: bool) -> None:
        self.kilo = kilo
        self.mixed = mixed
        self.clock = Clock(4 * mixed)  # never set back: ids grow with it
        self.sessions: dict[str, tuple[str | None, int]] = {}
        self.messages: dict[str, tuple[str, dict[str, Any]]] = {}
        self.parts: dict[str, tuple[str, str, dict[str, Any]]] = {}

    def tick(self, says: bool = True) -> int:
        self.clock.tick(says)
        return self.clock.now

    def session(self, own: str, parent: str | None) -> None:
        self.sessions[own] = (parent, self.tick())

    def message(self, session: str, data: dict[str, Any]) -> str:
        own = f"msg_{len(self.messages):08x}"
        self.messages[own] = (session, data)
        return own

    def part(self, session: str, message: str, kind: str, /, **data: Any) -> dict[str, Any]:
        value = {"type": kind, **data}
        self.parts[f"prt_{len(self.parts):08x}"] = (session, message, value)
        return value

    def prompt(self, session: str, text: str) -> str:
        model = {"providerID": "openai", "modelID": "gpt-5.1"}
        own = self.message(
            session, {"role": "user", "time": {"created": self.tick()}, "agent": "build", "model": model}
        )
        self.part(session, own, "text", text=text)
        return own

    def answer(self, session: str, asked: str, answer: Answer) -> Iterator[None]:
        nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        first = all(data["role"] == "user" for _, data in self.messages.values())  # it tells the model
        time = {"created": self.tick(says=first or not answer.empty)}
        data: dict[str, Any] = {"parentID": asked, "role": "assistant", "mode": "build", "agent": "build"}
        data |= {"path": {"cwd": CWD, "root": CWD}, "cost": 0, "tokens": nothing, "time": time}
        data |= {"modelID": "gpt-5.1", "providerID": "openai"}
        own = self.message(session, data)
        self.part(session, own, "step-start")
        for kind, text in (("reasoning", answer.thinking), ("text", answer.text)):
            if text:
                begun = self.tick()
                self.part(session, own, kind, text=text, time={"start": begun, "end": self.tick(says=False)})
                yield
        states: dict[int, dict[str, Any]] = {}
        works = {call.number: self.work(session, call, states) for call in answer.working}
        yield from in_some_order(self.mixed, self.begun(session, own, answer, states), works)
        if not is_answered(answer):
            return
        used, finish = tokens(answer), "stop" if answer.final else "tool-calls"
        speed: dict[str, Any] = {}
        if self.kilo:
            speed = {
                "metrics": {"generation": 20.5, "source": "computed"},
                "time": {"start": 0, "end": 1, "elapsed": 1},
            }
        self.part(session, own, "step-finish", reason=finish, **speed, tokens=used, cost=0.01)
        time["completed"] = self.tick()
        data |= {"cost": 0.01, "tokens": used, "finish": finish}
        yield

    def begun(self, session: str, message: str, answer: Answer, states: dict[int, dict[str, Any]]) -> Iterator[int]:
        for call in answer.calls:
            name, arguments = named(call, self.kilo)
            told = {"status": "running", "input": arguments, "time": {"start": self.tick()}}
            self.clock.asked[call.number] = self.clock.now
            own = f"call_{call.number:04d}"
            states[call.number] = self.part(session, message, "tool", tool=name, callID=own, state=told)
            yield call.number

    def work(self, session: str, call: Call, states: dict[int, dict[str, Any]]) -> Iterator[None]:
        part, about = states[call.number], dict[str, Any]()
        if call.inner:
            about = {"sessionId": child_of(call), "model": {"providerID": "openai", "modelID": "gpt-5.1"}}
            part["state"] = {**part["state"], "title": "Look", "metadata": about}
            self.session(child_of(call), session)
            yield
            asked = self.prompt(child_of(call), call.text)
            for answer in call.inner:
                yield from self.answer(child_of(call), asked, answer)
        if call.outcome == "unpaired":
            return
        told = state(call, self.kilo)
        told["time"] = {"start": self.clock.asked[call.number], "end": self.tick()}
        self.clock.ended[call.number] = self.clock.now
        if about:
            told["metadata"] = {**told.get("metadata", {}), **about}
        part["state"] = told
        yield

    def database(self) -> bytes:
        version = "7.7.9" if self.kilo else "1.18.33"
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(TABLES)
            for own, (parent, when) in self.sessions.items():
                facts = (own, "project", parent, "slug", CWD, "demo", version, None, None, when, when, "build", None, 0)
                connection.execute(f"INSERT INTO session VALUES ({','.join('?' * len(facts))})", facts)
            for own, (session, data) in self.messages.items():
                value = json.dumps(data, ensure_ascii=False)
                connection.execute("INSERT INTO message VALUES (?,?,0,0,?)", (own, session, value))
            for own, (session, message, data) in self.parts.items():
                value = json.dumps(data, ensure_ascii=False)
                connection.execute("INSERT INTO part VALUES (?,?,?,0,0,?)", (own, message, session, value))
            connection.commit()
            return connection.serialize()


def write(scenario: Scenario, kilo: bool = False) -> Written:
    store = Store(scenario.mixed, kilo)
    store.session(SESSION, None)
    for prompt in scenario.prompts:
        asked = store.prompt(SESSION, prompt.text)
        for answer in prompt.answers:
            run(store.answer(SESSION, asked, answer))
    name = "kilo.db" if kilo else "opencode.db"
    return Written(name, store.database(), clock=store.clock, session=SESSION)


def write_kilo(scenario: Scenario) -> Written:
    return write(scenario, True)


def all_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer that ended, sub-agents included."""
    found = [Answer("", "", (), one.usage, True) for one in all_answers(written.answers) if is_answered(one)]
    return {**expected.tokens(found)} if found else dict(NOTHING)


def by_main(written: Scenario, told: Scenario) -> str:
    """A sub-agent's open calls are those of the call that started it."""
    return by_last_answer(written, no_inner(written))


WRITERS = tuple(
    Writer(
        dialect,
        writes,
        VERBS,
        possible=POSSIBLE,
        losses=(no_empty_answers,),
        inputs=COMMON,
        outputs=COMMON,
        tokens=all_tokens,
        status=by_main,
        append_only=False,
        lines=False,
        resumes=True,
        mixes=True,
        nests=True,
    )
    for dialect, writes in (("opencode-rows", write), ("kilo-rows", write_kilo))
)

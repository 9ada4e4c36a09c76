"""A scenario as Antigravity keeps it in a database: a row for each step, whose payload is a protobuf message.

Shapes: two conversations of agy 1.0.x, the names of fields from the descriptors in agy 1.0.16. A call that goes on is a
row that has not ended. Protobuf leaves out zeros. What sub-agents do stands in databases of their own.
"""

import json
import sqlite3
from contextlib import closing
from typing import TypeAlias

from support.protobuf import message
from support.scenarios.antigravity import SESSION, VERBS, asked
from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Scenario
from support.scenarios.writer import Writer, Written, by_last_written, is_whole, no_empty_answers, no_inner, tokens_of

TABLES = """
CREATE TABLE trajectory_meta (trajectory_id text, cascade_id text, trajectory_type integer, source integer);
CREATE TABLE steps (idx integer, step_type integer, status integer, error_details blob, step_payload blob);
CREATE TABLE gen_metadata (idx integer, data blob, size integer);
"""
Field: TypeAlias = tuple[int, int | str | bytes]
TYPES = {"read": 8, "search": 7, "list": 9, "edit": 5, "create": 5, "run": 21, "mcp": 38}
GENERIC, USER_INPUT, PLANNER = 132, 14, 15
RUNNING, DONE, FAILED = 1, 3, 7
OUTPUTS = {8: (14, 4), 7: (13, 3), 5: (10, 2), 38: (47, 3)}
"""Where the result of a type stands in its step, and its output in that."""


def moment(time_ms: int) -> bytes:
    return numbers((1, time_ms // 1000), (2, time_ms % 1000 * 1_000_000))


def numbers(*fields: tuple[int, int]) -> bytes:
    return message(*((number, value) for number, value in fields if value))


def called(call: Call) -> bytes:
    name, arguments = asked(call)
    return message((1, f"call_{call.number:04d}"), (2, name), (3, json.dumps(arguments, ensure_ascii=False)))


def contents(call: Call) -> Field:
    """What came back, as the step of its type has it."""
    kind = TYPES.get(call.verb, GENERIC)
    if kind == 21:
        return 28, message((21, message((1, call.output)))) + numbers((6, call.exit_code or 0))
    if kind in OUTPUTS:
        member, output = OUTPUTS[kind]
        return member, message((output, call.output))
    return 140, message((2, message((1, call.output))))


class Store:
    """Steps in the order of their numbers."""

    def __init__(self) -> None:
        self.clock = Clock(0)
        self.steps: list[tuple[int, int, bytes | None, bytes]] = []

    def step(self, kind: int, status: int, about: tuple[Field, ...], *fields: Field, error: str = "") -> None:
        payload = message((1, kind), (4, status), (5, message(*about)), *fields)
        self.steps.append((kind, status, message((9, error)) if error else None, payload))

    def prompt(self, text: str) -> None:
        self.clock.tick()
        self.step(USER_INPUT, DONE, ((1, moment(self.clock.now)),), (19, message((2, text))))

    def answer(self, answer: Answer) -> None:
        said: list[Field] = [(1, answer.text)] if answer.text else []
        said += [(3, answer.thinking)] if answer.thinking else []
        said += [(7, called(call)) for call in answer.calls]
        self.clock.tick(says=not answer.empty or answer.whole)
        about: list[Field] = [(1, moment(self.clock.now))]
        if answer.whole:
            usage = answer.usage
            told = numbers((2, usage.fresh), (3, usage.output), (4, usage.written), (5, usage.cached))
            told += numbers((9, usage.reasoning), (10, usage.output - usage.reasoning))
            about.append((9, told + message((11, f"r{answer.number}"))))
            said.append((12, 2 if answer.final else 10))
        self.clock.asked |= dict.fromkeys((call.number for call in answer.calls), self.clock.now)
        self.step(PLANNER, DONE if answer.whole else RUNNING, tuple(about), (20, message(*said)))
        for call in answer.results:
            self.result(call)
        for call in answer.calls:
            if call.outcome == "unpaired":
                self.step(TYPES.get(call.verb, GENERIC), RUNNING, ((4, called(call)),))

    def result(self, call: Call) -> None:
        self.clock.tick()
        self.clock.begun[call.number] = self.clock.now
        begun = moment(self.clock.now)
        self.clock.tick()
        self.clock.ended[call.number] = self.clock.now
        about: tuple[Field, ...] = ((1, begun), (4, called(call)), (8, moment(self.clock.now)))
        kind = TYPES.get(call.verb, GENERIC)
        if call.outcome == "ok" or call.exit_code is not None:
            self.step(kind, DONE, about, contents(call))
        else:
            reason = "permission check failed: " if call.outcome == "denied" else ""
            self.step(kind, FAILED, about, error=reason + call.output)

    def database(self) -> bytes:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(TABLES)
            connection.execute("INSERT INTO trajectory_meta VALUES ('t', ?, 4, 17)", (SESSION,))
            connection.execute("INSERT INTO gen_metadata VALUES (0, ?, 1)", (message((1, message((19, "pear-2")))),))
            rows = ((number, *step) for number, step in enumerate(self.steps))
            connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", rows)
            connection.commit()
            return connection.serialize()


def write(scenario: Scenario) -> Written:
    store = Store()
    for prompt in scenario.prompts:
        store.prompt(prompt.text)
        for answer in prompt.answers:
            store.answer(answer)
    return Written(f"{SESSION}.db", store.database(), clock=store.clock, session=SESSION)


WRITERS = (
    Writer(
        "antigravity-steps",
        write,
        VERBS,
        losses=(no_inner, no_empty_answers),
        outputs=tuple(verb for verb in VERBS if verb != "list"),
        tokens=tokens_of(is_whole),
        status=by_last_written,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

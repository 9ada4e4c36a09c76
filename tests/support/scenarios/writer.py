"""What a writer of a dialect is: how a scenario is put down, and, as named losses, what the dialect cannot say."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import STARTED_MS as STARTED_MS
from support.scenarios.mixing import Clock
from support.scenarios.scenario import (
    Answer,
    Call,
    Outcome,
    Prompt,
    Scenario,
    Verb,
    all_answers,
    changed,
    changed_calls,
    scenarios,
)

ALL: tuple[Verb, ...] = (
    "read", "search", "find", "list", "edit", "create", "run", "plan", "fetch", "mcp", "unknown", "delegate"
)  # fmt: skip
CWD = "/home/ada/orchard"
Loss: TypeAlias = Callable[[Scenario], Scenario]
Status: TypeAlias = Callable[[Scenario, Scenario], str]
Tokens: TypeAlias = Callable[[Scenario, Scenario], dict[str, int | None]]


@dataclass
class Written:
    """A session as an agent leaves it: the file that is read, and others beside it by their relative paths. `clock` is
    there where each record has a time, and no other says how long a call took. `session` is its id in a database."""

    name: str
    data: bytes
    beside: dict[str, bytes] = field(default_factory=dict[str, bytes])
    clock: Clock | None = None
    session: str | None = None


@dataclass(frozen=True)
class Nameless:
    """Records that nothing tells from others that are equal: neither an id nor a time of their own. `why` says so."""

    why: str
    which: Callable[[dict[str, Any]], bool] = lambda record: True


PIECES = Nameless(
    "pieces of texts bear nothing of their own, and the ids of requests begin anew with each connection",
    lambda record: (
        not {"tool_call", "tool_call_update"} & {record.get("params", {}).get("update", {}).get("sessionUpdate")}
    ),
)
"""Of the Agent Client Protocol."""
NAMED = Nameless("each has an id, or a time of its own", lambda record: False)


@dataclass(frozen=True)
class Writer:
    """One dialect, or with a `name` one agent's way of it. `verbs` are those that its agent has a tool for: others
    are not asked of it. `possible` takes out of a scenario what cannot happen there, `losses` what is not told of it.
    `inputs` and `outputs` are the verbs of which the log tells what was asked and what came back. `tokens` is what is
    told of tokens, and `status` how the session ended, both by the scenario that was written and what is told of it.
    `prompts` is how many a session may have; `resumes`: one that was killed goes on in the same log; `mixes`: the log
    tells what happens at the same time as it happens; `nests`: sub-agents start others. `append_only`: a session that
    is cut is a part of the whole one, byte for byte. `lines`: a record is a line, else the log is one document.
    `later` is a record of a type that no version has yet; `#` in it stands for a number of its own. `took` gives the
    milliseconds that the log tells of a call that ended, None of one of which it tells none; without it they are not
    looked at. `ended`: no version is to come that could add members to its records. `marks_ids`: the agent makes the
    ids of calls its own, so that a server's that come again are others. `nameless` are records of which nobody can say
    whether they come again, or are others that are equal: all others count once."""

    dialect: str
    write: Callable[[Scenario], Written]
    verbs: tuple[Verb, ...] = ALL
    possible: tuple[Loss, ...] = ()
    losses: tuple[Loss, ...] = ()
    inputs: tuple[Verb, ...] = ALL
    outputs: tuple[Verb, ...] = ALL
    finer: bool = False
    tokens: Tokens = field(default_factory=lambda: tokens_but())
    status: Status = field(default_factory=lambda: by_end_record)
    append_only: bool = True
    prompts: int = 3
    resumes: bool = False
    mixes: bool = False
    nests: bool = False
    lines: bool = True
    later: dict[str, Any] | None = None
    took: Callable[[Call], int | None] | None = None
    marks_ids: bool = False
    name: str = ""
    ended: bool = False
    nameless: Nameless = NAMED

    @property
    def sessions(self) -> st.SearchStrategy[Scenario]:
        """Random scenarios that its agent can play."""
        return scenarios(self.verbs, self.prompts, self.resumes, self.mixes, self.nests).map(self.playable)

    def playable(self, scenario: Scenario) -> Scenario:
        """The scenario as this agent can play it."""
        for change in self.possible:
            scenario = change(scenario)
        return scenario

    def told(self, scenario: Scenario) -> Scenario:
        """What the dialect tells of a scenario."""
        for loss in self.losses:
            scenario = loss(scenario)
        return scenario


def json_lines(records: list[Any]) -> bytes:
    """As agents print them: no blanks, letters as they are."""
    return b"".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for r in records)


def database(schema: str, **tables: list[dict[str, Any]]) -> bytes:
    """The file of an SQLite database with rows in its tables, each with the columns that it has."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        for table, rows in tables.items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        connection.commit()
        return connection.serialize()


def time_of(step: int) -> str:
    """ISO time of the given second of the session."""
    return f"2026-03-02T09:{30 + step // 60:02d}:{step % 60:02d}.000Z"


def no_prompts(scenario: Scenario) -> Scenario:
    """The user's prompts are not in the log."""
    return replace(scenario, prompts=tuple(replace(prompt, text="") for prompt in scenario.prompts))


def no_thinking(scenario: Scenario) -> Scenario:
    """What the model thinks is not in the log."""
    return changed(scenario, lambda answer: replace(answer, thinking=""))


def no_inner(scenario: Scenario) -> Scenario:
    """What sub-agents do is not in the log."""
    return changed_calls(scenario, lambda call: replace(call, inner=()))


def no_inner_texts(scenario: Scenario) -> Scenario:
    """Of sub-agents only the calls are in the log; an answer without calls is no message there."""

    def silent(answer: Answer) -> Answer | None:
        return replace(answer, text="", thinking="") if answer.calls else None

    return changed(scenario, lambda answer: answer, inner=silent)


def no_empty_answers(scenario: Scenario) -> Scenario:
    """An answer that says and asks for nothing is not in the log."""
    return changed(scenario, lambda answer: None if answer.empty else answer)


def no_broken_answers(scenario: Scenario) -> Scenario:
    """An answer is written when it is whole."""
    return changed(scenario, lambda answer: answer if answer.whole else None)


def no_reasons(scenario: Scenario) -> Scenario:
    """A user who refuses a call gives no reason."""
    return changed_calls(scenario, lambda call: replace(call, output="") if call.outcome == "denied" else call)


def no_unpaired(scenario: Scenario) -> Scenario:
    """A call is written when it has ended."""
    return changed_calls(scenario, lambda call: None if call.outcome == "unpaired" else call)


def results_together(scenario: Scenario) -> Scenario:
    """The results of an answer are written when all of its calls have ended."""

    def together(answer: Answer) -> Answer:
        if is_answered(answer):
            return answer
        return replace(answer, calls=tuple(replace(call, outcome="unpaired") for call in answer.calls))

    return changed(scenario, together)


def counts_as(outcome: Outcome, seen: tuple[Outcome, ...], verbs: tuple[Verb, ...] = ALL) -> Loss:
    """Calls of these verbs that end as one of `seen` end as `outcome`: they cannot otherwise, or nothing tells."""

    def lossy(call: Call) -> Call:
        return replace(call, outcome=outcome) if call.outcome in seen and call.verb in verbs else call

    return lambda scenario: changed_calls(scenario, lossy)


def not_told(outcomes: tuple[Outcome, ...], verbs: tuple[Verb, ...]) -> Loss:
    """Calls of these verbs with one of these outcomes are not in the log."""

    def silent(call: Call) -> Call | None:
        return None if call.outcome in outcomes and call.verb in verbs else call

    return lambda scenario: changed_calls(scenario, silent)


def parted_by_results(scenario: Scenario) -> Scenario:
    """Answers have no marks: one begins with what follows a result, so one without results is one with the next."""

    def joined(prompt: Prompt) -> Prompt:
        out: list[Answer] = []
        for answer in prompt.answers:
            if out and not out[-1].results:
                before = out.pop()
                thinking, text = before.thinking + answer.thinking, before.text + answer.text
                answer = replace(answer, thinking=thinking, text=text, calls=before.calls + answer.calls)
            out.append(answer)
        return replace(prompt, answers=tuple(out))

    return replace(scenario, prompts=tuple(map(joined, scenario.prompts)))


NOTHING: dict[str, int | None] = dict.fromkeys(("input", "cached", "cache_write", "output", "reasoning"))


def tokens_but(*names: str) -> Tokens:
    """The tokens of the answers that are told, these figures null; a session without answers has none."""

    def tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
        return {**expected.tokens(told.answers), **dict.fromkeys(names)} if told.answers else dict(NOTHING)

    return tokens


def tokens_of(keep: Callable[[Answer], bool], *silent: str) -> Tokens:
    """The tokens of the main stream's answers that are kept, empty ones included; these figures null."""

    def tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
        found = [replace(answer, calls=()) for answer in written.answers if keep(answer)]
        return {**expected.tokens(found), **dict.fromkeys(silent)} if found else dict(NOTHING)

    return tokens


def is_whole(answer: Answer) -> bool:
    return answer.whole


def is_spoken(answer: Answer) -> bool:
    """Whether it is whole and, as the last one, has a text or a thought."""
    return answer.whole and not (answer.final and not answer.text and not answer.thinking)


def is_answered(answer: Answer) -> bool:
    """Whether it is whole, and so are its calls."""
    return answer.whole and len(answer.results) == len(answer.calls)


def no_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The log tells none."""
    return dict(NOTHING)


def takes(milliseconds: int | None) -> Callable[[Call], int | None]:
    """Each call takes as long, or the log tells of none how long it took."""
    return lambda call: milliseconds


def by_end_record(written: Scenario, told: Scenario) -> str:
    """The dialect has an end record."""
    return "complete" if written.end == "complete" else "incomplete"


def by_last_answer(written: Scenario, told: Scenario) -> str:
    """The dialect has no end record: a session is complete when it ends with a final answer and no call is open."""
    last = told.prompts[-1].answers[-1:]
    open_calls = any(call.outcome == "unpaired" for answer in all_answers(told.answers) for call in answer.calls)
    return "complete" if last and last[0].final and not open_calls else "unknown"


def by_last_written(written: Scenario, told: Scenario) -> str:
    """As `by_last_answer`, where answers that say nothing are in the log, too, with the reason why they ended."""
    return by_last_answer(written, no_broken_answers(no_inner(written)))

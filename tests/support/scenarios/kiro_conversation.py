"""A scenario as Amazon Q CLI and older Kiro CLI keep it: a JSON document in a row of a SQLite database.

Shapes: the published source of April 2026. An element of the history is an input and the answer to it, written when
the answer is whole: a prompt, or the results of the answer before it.
"""

import dataclasses
import json
import sqlite3
from contextlib import closing
from typing import Any

from msgspec.structs import replace

from support.scenarios.kiro import asked
from support.scenarios.mixing import Clock, iso_of
from support.scenarios.scenario import Answer, Call, Prompt, Scenario
from support.scenarios.writer import (
    CWD,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_answered,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_thinking,
    no_tokens,
    results_together,
)

SESSION = "9c2e60e1-9b3d-4a57-8e21-7d4f0a6b5c98"
TABLE = """
CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER, updated_at INTEGER,
    PRIMARY KEY (key, conversation_id));
"""


def result(call: Call) -> dict[str, Any]:
    content: dict[str, Any] = {"Text": call.output}
    if call.exit_code is not None:
        content = {"Json": {"exit_status": f"exit status: {call.exit_code}", "stdout": call.output, "stderr": ""}}
    status = "Success" if call.outcome == "ok" or call.exit_code is not None else "Error"
    return {"tool_use_id": f"call_{call.number:04d}", "content": [content], "status": status}


def assistant(answer: Answer) -> dict[str, Any]:
    said = {"message_id": f"a{answer.number}", "content": answer.text}
    if not answer.calls:
        return {"Response": said}
    uses: list[dict[str, Any]] = []
    for call in answer.calls:
        name, arguments = asked(call)
        use = {"id": f"call_{call.number:04d}", "name": name, "args": arguments}
        uses.append({**use, "orig_name": name, "orig_args": arguments})
    return {"ToolUse": {**said, "tool_uses": uses}}


def history(scenario: Scenario, clock: Clock) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = []
    for prompt in scenario.prompts:
        content: dict[str, Any] = {"Prompt": {"prompt": prompt.text}}
        results: list[Call] = []
        for answer in prompt.answers:
            if not answer.whole:
                continue
            clock.tick()
            clock.ended |= dict.fromkeys((call.number for call in results), clock.now)
            user = {
                "content": content,
                "env_context": {"env_state": {"current_working_directory": CWD}},
                "timestamp": iso_of(clock.now),
            }
            about: dict[str, Any] = {"request_start_timestamp_ms": clock.now, "model_id": "pear-2"}
            clock.tick(says=bool(answer.text or answer.calls))
            about["stream_end_timestamp_ms"] = clock.now
            clock.asked |= dict.fromkeys((call.number for call in answer.calls), clock.now)
            elements.append({"user": user, "assistant": assistant(answer), "request_metadata": about})
            results = answer.results if is_answered(answer) else []
            content = {"ToolUseResults": {"tool_use_results": [result(call) for call in results]}}
    return elements


def document(scenario: Scenario, clock: Clock) -> dict[str, Any]:
    elements = history(scenario, clock)
    about = {"conversation_id": SESSION, "next_message": None, "history": elements}
    return {**about, "valid_history_range": [0, len(elements)], "transcript": [], "latest_summary": None}


def write(scenario: Scenario) -> Written:
    clock = Clock(0)
    whole = document(scenario, clock)
    if not whole["history"]:
        return Written("data.sqlite3", b"")
    value = json.dumps(whole, ensure_ascii=False)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLE)
        row = (CWD, SESSION, value, clock.first, clock.now)
        connection.execute("INSERT INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
        return Written("data.sqlite3", connection.serialize(), clock=clock, session=SESSION)


def write_saved(scenario: Scenario) -> Written:
    """The file of `/chat save`."""
    clock = Clock(0)
    whole = document(scenario, clock)
    data = json.dumps(whole, ensure_ascii=False, indent=2).encode() if whole["history"] else b""
    return Written("conversation.json", data, clock=clock)


def results_with_the_next(scenario: Scenario) -> Scenario:
    """A prompt is written with the first answer to it, the results of calls with the next answer."""

    def told(prompt: Prompt) -> Prompt:
        last = prompt.answers[-1:]
        waiting = tuple(
            replace(one, calls=tuple(replace(call, outcome="unpaired") for call in one.calls)) for one in last
        )
        return replace(prompt, answers=prompt.answers[:-1] + waiting)

    return replace(scenario, prompts=tuple(told(prompt) for prompt in scenario.prompts if prompt.answers))


STORED = Writer(
    "kiro-conversation",
    write,
    losses=(
        no_inner,
        no_thinking,
        no_broken_answers,
        results_together,
        results_with_the_next,
        no_empty_answers,
        counts_as("error", ("denied",)),
    ),
    tokens=no_tokens,
    status=by_last_answer,
    append_only=False,
    lines=False,
    resumes=True,
)
WRITERS = (STORED, dataclasses.replace(STORED, name="kiro-saved", write=write_saved))

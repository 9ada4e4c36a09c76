"""A scenario as OpenAI's Agents SDK 0.24.0 keeps it (`SQLiteSession`), and as objects of the Responses API, one a line.

Shapes: a recording of the real SDK. Shells and patches are the SDK's own tools; other tools have the names that their
maker gives them. Stored items have no boundaries of answers, response objects do. Nothing says how long a call took.
"""

import json
import sqlite3
from contextlib import closing
from typing import Any

from support.scenarios.langchain import asked
from support.scenarios.scenario import Answer, Call, Scenario, Usage, Verb
from support.scenarios.writer import (
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_last_answer,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_reasons,
    no_tokens,
    parted_by_results,
    takes,
    tokens_of,
)

SESSION = "orchard"
VERBS: tuple[Verb, ...] = (
    *("read", "search", "find", "list", "edit", "create", "run", "plan", "fetch", "unknown", "delegate"),
)
OPERATIONS = {"edit": "update_file", "create": "create_file"}
FAILED = "An error occurred while running the tool. Please try again. Error: "
DENIED = "Tool execution was not approved."
TABLES = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    message_data TEXT NOT NULL, created_at TIMESTAMP,
    FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id) ON DELETE CASCADE);
"""


def requested(call: Call) -> dict[str, Any]:
    about = {"call_id": f"call_{call.number:04d}", "status": "completed"}
    if call.verb == "run":
        action = {"commands": [call.target], "timeout_ms": 1000, "max_output_length": None}
        return {"type": "shell_call", "id": f"sh_{call.number}", "action": action, **about}
    if call.verb in OPERATIONS:
        operation = {"type": OPERATIONS[call.verb], "path": call.target, "diff": call.text}
        return {"type": "apply_patch_call", "id": f"ap_{call.number}", "operation": operation, **about}
    name, arguments = asked(call)
    written = json.dumps(arguments, ensure_ascii=False)
    return {"type": "function_call", "id": f"fc_{call.number}", "name": name, "arguments": written, **about}


def returned(call: Call) -> dict[str, Any]:
    denied, failed = call.outcome == "denied", call.outcome == "error"
    about = {"type": f"{requested(call)['type']}_output", "call_id": f"call_{call.number:04d}"}
    if call.verb == "run":
        end = {"type": "exit", "exit_code": int(denied) if call.exit_code is None else call.exit_code}
        said = {"stdout": "" if denied else call.output, "stderr": DENIED if denied else ""}
        return {**about, "output": [{**said, "outcome": end}]}
    if call.verb in OPERATIONS:
        status = "completed" if call.outcome == "ok" else "failed"
        return {**about, "status": status, "output": DENIED if denied else call.output}
    return {**about, "output": DENIED if denied else (FAILED if failed else "") + call.output}


def items(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    own = answer.number
    if answer.thinking:
        summary = [{"text": answer.thinking, "type": "summary_text"}]
        found.append({"type": "reasoning", "id": f"rs_{own}", "summary": summary})
    if answer.text:
        content: list[dict[str, Any]] = [{"annotations": [], "text": answer.text, "type": "output_text"}]
        found.append({"type": "message", "id": f"msg_{own}", "role": "assistant", "content": content})
    return found + [requested(call) for call in answer.calls]


def spent(used: Usage) -> dict[str, Any]:
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }


def write_session(scenario: Scenario) -> Written:
    found: list[dict[str, Any]] = []
    for prompt in scenario.prompts:
        found.append({"content": prompt.text, "role": "user"})
        for answer in prompt.answers:
            found += items(answer) if answer.whole else []
            found += map(returned, answer.results)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        times = ("2026-03-02 09:30:00", "2026-03-02 09:30:07")
        connection.execute("INSERT INTO agent_sessions VALUES (?, ?, ?)", (SESSION, *times))
        rows = [(SESSION, json.dumps(item, ensure_ascii=False), times[1]) for item in found]
        insert = "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, ?)"
        connection.executemany(insert, rows)
        connection.commit()
        return Written("sessions.db", connection.serialize(), session=SESSION)


def write_responses(scenario: Scenario) -> Written:
    lines: list[dict[str, Any]] = []
    for prompt in scenario.prompts:
        lines.append({"content": prompt.text, "role": "user"})
        for answer in prompt.answers:
            if answer.whole:
                about: dict[str, Any] = {"id": f"resp_{answer.number}", "object": "response", "model": "pear-2"}
                about |= {"created_at": STARTED_MS // 1000 + answer.number, "status": "completed"}
                lines.append({**about, "output": items(answer), "usage": spent(answer.usage)})
            lines += map(returned, answer.results)
    if not any("object" in line for line in lines):
        lines = []  # inputs alone are anybody's
    return Written("responses.jsonl", json_lines(lines))


LOSSES = (no_inner, no_broken_answers, no_empty_answers)
WRITERS = (
    Writer(
        "openai-agents-items",
        write_responses,
        VERBS,
        possible=(no_reasons,),
        losses=LOSSES,
        tokens=tokens_of(is_whole),
        status=by_last_answer,
        resumes=True,
        took=takes(None),
        nameless=Nameless("inputs have no id", lambda record: record.get("role") == "user"),
    ),
    Writer(
        "openai-agents-items",
        write_session,
        VERBS,
        name="openai-agents-session",
        possible=(no_reasons,),
        losses=(*LOSSES, parted_by_results),
        tokens=no_tokens,
        status=by_last_answer,
        append_only=False,
        lines=False,
        resumes=True,
        took=takes(None),
    ),
)

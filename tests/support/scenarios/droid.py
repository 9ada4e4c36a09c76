"""A scenario as Droid 0.215 prints it (`droid exec -o stream-json`), and as it keeps it with its settings beside it.

Shapes: a recording of the real program. A denial is a failed result in both.
"""

import json
from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario
from support.scenarios.writer import (
    CWD,
    STARTED_MS,
    Nameless,
    Tokens,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_tokens,
    time_of,
    tokens_of,
)

SESSION = "5c2f60e1-9b3d-4a57-8e21-7d4f0a6b5c98"


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """Droid's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"file_path": call.target}),
        "search": ("Grep", {"pattern": call.target}),
        "find": ("Glob", {"patterns": [call.target]}),
        "list": ("LS", {"directory_path": call.target}),
        "edit": ("Edit", {"file_path": call.target, "old_str": "a", "new_str": call.text}),
        "create": ("Create", {"file_path": call.target, "content": call.text}),
        "run": ("Execute", {"command": call.target}),
        "plan": ("TodoWrite", {"todos": call.text}),
        "fetch": ("FetchUrl", {"url": call.target}),
        "mcp": (call.target.replace("/", "___"), {"x": call.text}),
        "delegate": ("Task", {"subagent_type": "worker", "prompt": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def write_stream(scenario: Scenario) -> Written:
    """One run: `exec` takes one prompt."""
    init = {"type": "system", "subtype": "init", "cwd": CWD, "session_id": SESSION, "tools": ["Read"]}
    lines: list[Any] = [{**init, "model": "pear-2", "reasoning_effort": "none"}]

    def add(kind: str, **members: Any) -> None:
        lines.append({"type": kind, **members, "timestamp": STARTED_MS + 1000 * len(lines), "session_id": SESSION})

    add("message", role="user", id="u1", text=scenario.prompts[0].text)
    for answer in scenario.answers:
        own = f"a{answer.number}"
        if not answer.whole:
            continue
        if answer.thinking:
            add("reasoning", id=f"r{answer.number}", text=answer.thinking)
        if answer.text:
            add("message", role="assistant", id=own, text=answer.text)
        for call in answer.calls:
            name, arguments = asked(call)
            about = {"id": f"call_{call.number:04d}", "messageId": own}
            add("tool_call", **about, toolId=name, toolName=name, parameters=arguments)
        for call in answer.results:
            name, failed = asked(call)[0], call.outcome != "ok"
            about = {"id": f"call_{call.number:04d}", "messageId": f"m{call.number}", "toolId": name}
            output = {"error": {"type": "tool", "message": call.output}} if failed else {"value": call.output}
            add("tool_result", **about, isError=failed, **output)
    if scenario.end == "complete":
        text = scenario.answers[-1].text
        used = {f"{name}_tokens": count for name, count in total(scenario, "cache_read_input", "cache_creation_input")}
        add("completion", finalText=text, numTurns=len(scenario.answers), durationMs=4200, usage=used)
    return Written("stream.jsonl", json_lines(lines))


def total(scenario: Scenario, cached: str, written: str) -> list[tuple[str, int]]:
    """What the answers of the main stream used."""
    used = [answer.usage for answer in scenario.answers if answer.whole]
    return [
        ("input", sum(one.fresh for one in used)),
        (cached, sum(one.cached for one in used)),
        (written, sum(one.written for one in used)),
        ("output", sum(one.output for one in used)),
        ("thinking", sum(one.reasoning for one in used)),
    ]


def at_the_end(tokens: Tokens) -> Tokens:
    """The tokens are told when the run has ended."""

    def told(written: Scenario, heard: Scenario) -> dict[str, int | None]:
        return (tokens if written.end == "complete" else no_tokens)(written, heard)

    return told


def write_session(scenario: Scenario) -> Written:
    lines: list[Any] = [
        {"type": "session_start", "id": SESSION, "title": "t", "owner": "ada", "version": 2, "cwd": CWD}
    ]

    def add(own: str, role: str, *content: dict[str, Any]) -> None:
        about = {"type": "message", "id": own, "timestamp": time_of(len(lines))}
        lines.append({**about, "message": {"role": role, "content": list(content)}})

    for number, prompt in enumerate(scenario.prompts):
        add(f"u{number}", "user", {"type": "text", "text": prompt.text})
        for answer in prompt.answers:
            if answer.whole and not answer.empty:
                add(f"a{answer.number}", "assistant", *blocks(answer))
            for call in answer.results:
                result = {"type": "tool_result", "tool_use_id": f"call_{call.number:04d}", "content": call.output}
                add(f"m{call.number}", "user", result | ({"is_error": True} if call.outcome != "ok" else {}))
    spent = {f"{name}Tokens": count for name, count in total(scenario, "cacheRead", "cacheCreation")}
    settings = {"model": "pear-2", "autonomyLevel": "low", "tokenUsage": spent}
    return Written(f"{SESSION}.jsonl", json_lines(lines), {f"{SESSION}.settings.json": json.dumps(settings).encode()})


def blocks(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.thinking:
        found.append({"type": "thinking", "thinking": answer.thinking, "signature": "s"})
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        name, arguments = asked(call)
        found.append({"type": "tool_use", "id": f"call_{call.number:04d}", "name": name, "input": arguments})
    return found


def is_of_answer(record: dict[str, Any]) -> bool:
    return record["type"] not in ("system", "completion") and record.get("role") != "user"


LOSSES = (no_inner, no_broken_answers, no_empty_answers, counts_as("error", ("denied",)))
WRITERS = (
    Writer(
        "droid-stream",
        write_stream,
        losses=LOSSES,
        tokens=at_the_end(tokens_of(is_whole)),
        prompts=1,
        nameless=Nameless("no id is on all lines of an answer: a stretch within it splits it", is_of_answer),
    ),
    Writer(
        "droid-session",
        write_session,
        losses=LOSSES,
        tokens=tokens_of(is_whole),
        status=by_last_answer,
        resumes=True,
    ),
)

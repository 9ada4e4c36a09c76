"""A scenario as Goose prints it (`goose run --output-format stream-json`), and as it exports a session.

Shapes: its published source of 2026; no real log was seen. A line is a piece of an answer. It has no tools for
searching, and nothing of what sub-agents do.
"""

import json
from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    CWD,
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
    no_prompts,
    no_tokens,
    tokens_of,
)

VERBS: tuple[Verb, ...] = ("read", "list", "edit", "create", "run", "plan", "mcp", "unknown", "delegate")


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """Goose's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("developer__text_editor", {"command": "view", "path": call.target}),
        "list": ("developer__tree", {"path": call.target}),
        "edit": ("developer__text_editor", {"command": "str_replace", "path": call.target, "new_str": call.text}),
        "create": ("developer__text_editor", {"command": "write", "path": call.target, "file_text": call.text}),
        "run": ("developer__shell", {"command": call.target}),
        "plan": ("todo__todo_write", {"content": call.text}),
        "mcp": (call.target.replace("/", "__"), {"x": call.text}),
        "delegate": ("delegate", {"instructions": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def message(own: str, role: str, second: int, *content: dict[str, Any]) -> dict[str, Any]:
    about = {"id": own, "role": role, "created": STARTED_MS // 1000 + second, "content": list(content)}
    return {**about, "metadata": {"userVisible": True, "agentVisible": True}}


def blocks(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.thinking:
        found.append({"type": "thinking", "thinking": answer.thinking, "signature": ""})
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        name, arguments = asked(call)
        value = {"name": name, "arguments": arguments}
        request = {"id": f"call_{call.number:04d}", "toolCall": {"status": "success", "value": value}}
        found.append({"type": "toolRequest", **request})
    return found


def response(call: Call) -> dict[str, Any]:
    text = f"The user has declined to run this tool. {call.output}" if call.outcome == "denied" else call.output
    value: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": call.outcome == "error"}
    if call.exit_code is not None:
        value["structuredContent"] = {"stdout": call.output, "stderr": "", "exit_code": call.exit_code}
    own = f"call_{call.number:04d}"
    return {"type": "toolResponse", "id": own, "toolResult": {"status": "success", "value": value}}


def write_stream(scenario: Scenario) -> Written:
    lines: list[Any] = []
    for answer in scenario.answers:
        for block in blocks(answer) if answer.whole else ():
            lines.append({"type": "message", "message": message(f"m{answer.number}", "assistant", len(lines), block)})
        for call in answer.results:
            told = message(f"r{call.number}", "user", len(lines), response(call))
            lines.append({"type": "message", "message": told})
    if scenario.end == "complete":
        lines.append({"type": "complete", **totals(scenario), "cost_usd": 0.01})
    return Written("stream.jsonl", json_lines(lines))


def totals(scenario: Scenario) -> dict[str, int]:
    used = [answer.usage for answer in scenario.answers if answer.whole]
    passed, made = sum(one.input for one in used), sum(one.output for one in used)
    cached = {"cache_read_input_tokens": sum(one.cached for one in used)}
    written = {"cache_write_input_tokens": sum(one.written for one in used)}
    return {"total_tokens": passed + made, "input_tokens": passed, "output_tokens": made, **cached, **written}


def told_at_the_end(written: Scenario, told: Scenario) -> dict[str, int | None]:
    return (tokens_of(is_whole, "reasoning") if written.end == "complete" else no_tokens)(written, told)


def write_export(scenario: Scenario) -> Written:
    messages: list[Any] = []
    for number, prompt in enumerate(scenario.prompts):
        text = {"type": "text", "text": prompt.text}
        messages.append(message(f"u{number}", "user", len(messages), text))
        for answer in prompt.answers:
            if answer.whole and not answer.empty:
                messages.append(message(f"m{answer.number}", "assistant", len(messages), *blocks(answer)))
            messages += [message(f"r{call.number}", "user", len(messages), response(call)) for call in answer.results]
    about = {"id": "20260301_1", "name": "orchard", "working_dir": CWD, "created_at": "2026-03-02T09:30:00Z"}
    return Written(
        "session.json", json.dumps({**about, "conversation": messages}, ensure_ascii=False, indent=2).encode()
    )


LOSSES = (no_inner, no_broken_answers, no_empty_answers)
WRITERS = (
    Writer(
        "goose-stream",
        write_stream,
        VERBS,
        losses=(*LOSSES, no_prompts),
        tokens=told_at_the_end,
        prompts=1,
        nameless=Nameless("pieces of an answer share its id and its second", lambda record: "message" in record),
    ),
    Writer(
        "goose-session",
        write_export,
        VERBS,
        losses=LOSSES,
        tokens=no_tokens,
        status=by_last_answer,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

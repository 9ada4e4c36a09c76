"""A scenario as Amp prints it (`amp -x … --stream-json`), and as it keeps it (`threads/T-<id>.json`, one document).

Shapes: one run of April 2026, threads of August 2026. A line is a whole answer without an id and a time; nothing in the
stream tells a denial. In a thread each answer has a time, its results have none.
"""

import json
from typing import Any

from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    CWD,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_spoken,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_reasons,
    tokens_of,
)

SESSION = "T-7d1f60e1-9b3d-4a57-8e21-7d4f0a6b5c98"
VERBS: tuple[Verb, ...] = ("read", "search", "find", "edit", "create", "run", "plan", "fetch", "unknown", "delegate")


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """Amp's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"path": call.target}),
        "search": ("finder", {"query": call.target}),
        "find": ("glob", {"filePattern": call.target}),
        "edit": ("edit_file", {"path": call.target, "old_str": "a", "new_str": call.text}),
        "create": ("create_file", {"path": call.target, "content": call.text}),
        "run": ("shell_command", {"command": call.target}),
        "plan": ("task_list", {"action": "create", "title": call.text}),
        "fetch": ("read_web_page", {"url": call.target}),
        "delegate": ("oracle", {"task": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def blocks(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.thinking:
        found.append({"type": "thinking", "thinking": answer.thinking})
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        name, arguments = asked(call)
        found.append({"type": "tool_use", "id": f"toolu_{call.number:04d}", "name": name, "input": arguments})
    return found


def write(scenario: Scenario) -> Written:
    lines: list[Any] = [{"type": "system", "subtype": "init", "cwd": CWD, "session_id": SESSION, "tools": ["Bash"]}]

    def add(kind: str, content: list[dict[str, Any]], **members: Any) -> None:
        message = {"role": kind, "content": content, **members}
        lines.append({"type": kind, "message": message, "parent_tool_use_id": None, "session_id": SESSION})

    add("user", [{"type": "text", "text": scenario.prompts[0].text}])
    for answer in scenario.answers:
        if answer.whole and not answer.empty:
            used = answer.usage
            usage = {"input_tokens": used.fresh, "output_tokens": used.output, "max_tokens": 200_000}
            usage |= {"cache_read_input_tokens": used.cached, "cache_creation_input_tokens": used.written}
            add("assistant", blocks(answer), stop_reason="end_turn" if answer.final else "tool_use", usage=usage)
        for call in answer.results:
            own = {"tool_use_id": f"toolu_{call.number:04d}", "content": call.output}
            add("user", [{"type": "tool_result", **own, "is_error": call.outcome != "ok"}])
    if scenario.end == "complete":
        end = {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 4200, "session_id": SESSION}
        lines.append({**end, "num_turns": len(scenario.answers), "result": scenario.answers[-1].text})
    return Written("stream.jsonl", json_lines(lines))


def ended(call: Call) -> dict[str, Any]:
    """How a call of a thread ended."""
    if call.outcome == "denied":
        return {"status": "rejected-by-user"}
    if call.exit_code is not None:
        return {"status": "done", "result": {"output": call.output, "exitCode": call.exit_code}}
    return {"status": "done" if call.outcome == "ok" else "error", "result": call.output}


def write_thread(scenario: Scenario) -> Written:
    clock = Clock(scenario.mixed)
    messages: list[Any] = []

    def add(role: str, content: list[dict[str, Any]], **members: Any) -> None:
        about = {"role": role, "messageId": len(messages), "protocolMessageID": f"msg-{len(messages)}"}
        messages.append({**about, **members, "content": content})

    for prompt in scenario.prompts:
        clock.tick()
        add("user", [{"type": "text", "text": prompt.text}], meta={"sentAt": clock.now})
        for answer in prompt.answers:
            if not answer.whole or answer.empty:
                continue
            used = answer.usage
            usage = {
                "model": "pear-2",
                "timestamp": clock.tick(),
                "inputTokens": used.fresh,
                "totalInputTokens": used.input,
            }
            usage |= {"cacheCreationInputTokens": used.written, "cacheReadInputTokens": used.cached}
            clock.asked |= {call.number: clock.now for call in answer.calls}
            state = {"type": "complete", "stopReason": "end_turn" if answer.final else "tool_use"}
            add("assistant", blocks(answer), state=state, usage={**usage, "outputTokens": used.output})
            open_calls = [call for call in answer.calls if call.outcome == "unpaired"]
            results = [(call, ended(call)) for call in answer.results]
            results += [(call, {"status": "in-progress"}) for call in open_calls]
            told = [
                {"type": "tool_result", "toolUseID": f"toolu_{call.number:04d}", "run": run} for call, run in results
            ]
            if told:
                add("user", told)
    where = {"initial": {"trees": [{"uri": f"file://{CWD}"}]}}
    thread = {"v": 8, "id": SESSION, "created": STARTED_MS, "title": "t", "env": where, "messages": messages}
    return Written(f"{SESSION}.json", json.dumps(thread, ensure_ascii=False).encode(), clock=clock)


LOSSES = (no_inner, no_broken_answers, no_empty_answers)
WRITERS = (
    Writer(
        "amp-stream",
        write,
        VERBS,
        losses=(*LOSSES, counts_as("error", ("denied",))),
        tokens=tokens_of(is_spoken, "reasoning"),
        prompts=1,
        nameless=Nameless("a line has neither an id nor a time", lambda record: record.get("type") != "result"),
    ),
    Writer(
        "amp-thread",
        write_thread,
        VERBS,
        possible=(no_reasons,),
        losses=LOSSES,
        tokens=tokens_of(is_spoken, "reasoning"),
        status=by_last_answer,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

"""A scenario as OpenCode 1.18 prints it (`opencode run --format json`), and as `opencode export` gives it.

Shapes: recordings of the real program. In the stream a part is printed when it has ended, and thoughts only where they
are asked for; what sub-agents do stands in sessions of their own. Kilo 7.7 writes the same, and in it who allowed a
call and how fast a step was.
"""

import dataclasses
import json
from typing import Any

from msgspec.structs import replace

from support.scenarios.scenario import Answer, Call, Scenario, Verb, changed
from support.scenarios.writer import (
    ALL,
    CWD,
    STARTED_MS,
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_answered,
    json_lines,
    no_empty_answers,
    no_inner,
    no_prompts,
    no_thinking,
    no_unpaired,
    takes,
    tokens_of,
)

SESSION = "ses_e034d86dcffeeOuA2MXZt7PYjF"
VERBS: tuple[Verb, ...] = ALL


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """OpenCode's own tool and its arguments; those to a tool that does not exist are not kept."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read", {"filePath": call.target}),
        "search": ("grep", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("list", {"path": call.target}),
        "edit": ("edit", {"filePath": call.target, "oldString": "a", "newString": call.text}),
        "create": ("write", {"filePath": call.target, "content": call.text}),
        "run": ("bash", {"command": call.target, "description": "Run a command"}),
        "plan": ("todowrite", {"todos": [{"content": call.text, "status": "pending", "priority": "high", "id": "1"}]}),
        "fetch": ("webfetch", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        "mcp": (call.target.replace("/", "_"), {"query": call.text}),
        "delegate": ("task", {"description": "Look", "prompt": call.text, "subagent_type": "general"}),
        "unknown": (
            "invalid",
            {"tool": call.target, "error": f"Model tried to call unavailable tool '{call.target}'."},
        ),
    }
    return told[call.verb]


def named(call: Call, kilo: bool) -> tuple[str, dict[str, Any]]:
    """As `given`; in Kilo a tool that does not exist bears its own name."""
    return (call.target, {}) if kilo and call.verb == "unknown" else given(call)


def state(call: Call, kilo: bool) -> dict[str, Any]:
    """Of a call; `approval` is what Kilo adds."""
    arguments = named(call, kilo)[1]
    allowed = {"approval": {"source": "global", "rule": {"permission": "*", "action": "allow"}}} if kilo else {}
    time = {"start": STARTED_MS + 1000 * call.number}
    if call.outcome == "unpaired":
        return {"status": "running", "input": arguments, "time": time}
    time["end"] = time["start"] + 500
    if call.outcome == "denied":
        rule = "The user has specified a rule which prevents you from using this specific tool call."
        return {"status": "error", "input": arguments, "error": f"{rule} {call.output}", "time": time}
    if call.outcome == "error" and call.verb != "run":
        return {"status": "error", "input": arguments, "error": call.output, "metadata": allowed, "time": time}
    about: dict[str, Any] = {"output": call.output, "exit": call.exit_code} if call.verb == "run" else {}
    told = {"status": "completed", "input": arguments, "output": call.output, "title": call.target}
    return {**told, "metadata": {**about, **allowed, "truncated": False}, "time": time}


def tokens(answer: Answer) -> dict[str, Any]:
    used = answer.usage
    cache = {"write": used.written, "read": used.cached}
    output = used.output - used.reasoning
    return {"total": used.input + used.output, "input": used.fresh, "output": output, "reasoning": used.reasoning,
            "cache": cache}  # fmt: skip


def parts(answer: Answer, calls: list[Call], kilo: bool) -> list[dict[str, Any]]:
    """The parts of an answer."""
    message = f"msg_{answer.number:04d}"
    out: list[dict[str, Any]] = [{"type": "step-start"}]
    time = {"start": STARTED_MS, "end": STARTED_MS + 10}
    if answer.thinking:
        out.append({"type": "reasoning", "text": answer.thinking, "time": time})
    if answer.text:
        out.append({"type": "text", "text": answer.text, "time": time})
    for call in calls:
        own = f"call_{call.number:04d}"
        out.append({"type": "tool", "tool": named(call, kilo)[0], "callID": own, "state": state(call, kilo)})
    if is_answered(answer):
        reason = "stop" if answer.final else "tool-calls"
        speed = {"metrics": {"generation": 20.5, "source": "computed"}, "time": {**time, "elapsed": 10}} if kilo else {}
        out.append({"type": "step-finish", "reason": reason, **speed, "tokens": tokens(answer), "cost": 0.01})
    owner = {"sessionID": SESSION, "messageID": message}
    return [{**part, "id": f"prt_{answer.number:04d}{at:04d}", **owner} for at, part in enumerate(out)]


KINDS = {"step-start": "step_start", "text": "text", "tool": "tool_use", "step-finish": "step_finish"}


def write_stream(scenario: Scenario, kilo: bool = False) -> Written:
    lines: list[Any] = []
    for answer in scenario.answers:
        for part in parts(answer, answer.results, kilo):
            if part["type"] in KINDS:
                when = STARTED_MS + 1000 * len(lines)
                lines.append({"type": KINDS[part["type"]], "timestamp": when, "sessionID": SESSION, "part": part})
    return Written("stream.jsonl", json_lines(lines))


def write_kilo_stream(scenario: Scenario) -> Written:
    """Nothing, while the lines may still be OpenCode's: the end of a step or a tool tells whose they are."""
    written = write_stream(scenario, True)
    known = b'"approval"' in written.data or b'"metrics"' in written.data
    return written if known else Written(written.name, b"")


def write_export(scenario: Scenario, kilo: bool = False) -> Written:
    messages: list[Any] = []
    when = STARTED_MS
    for number, prompt in enumerate(scenario.prompts):
        own = {"id": f"msg_u{number}", "sessionID": SESSION}
        about = {"role": "user", "time": {"created": when}, "agent": "build", **own}
        part = {"type": "text", "text": prompt.text, "id": f"prt_u{number}", "sessionID": SESSION}
        messages.append({"info": about, "parts": [{**part, "messageID": own["id"]}]})
        for answer in prompt.answers:
            when += 1000
            messages.append({"info": info(answer, own["id"], when), "parts": parts(answer, list(answer.calls), kilo)})
    about = {
        "id": SESSION,
        "directory": CWD,
        "title": "demo",
        "version": "7.7.9" if kilo else "1.18.33",
        "time": {"created": STARTED_MS},
    }
    data = json.dumps({"info": about, "messages": messages}, ensure_ascii=False, indent=2).encode()
    return Written(f"export-{SESSION}.json", data)


def write_kilo_export(scenario: Scenario) -> Written:
    return write_export(scenario, True)


def info(answer: Answer, parent: str, when: int) -> dict[str, Any]:
    told: dict[str, Any] = {"parentID": parent, "role": "assistant", "mode": "build", "path": {"cwd": CWD, "root": CWD}}
    time = {"created": when}
    nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    told |= {"cost": 0, "tokens": nothing, "modelID": "gpt-5.1", "providerID": "openai", "time": time}
    if is_answered(answer):
        time["completed"] = when + 900
        told |= {"cost": 0.01, "tokens": tokens(answer), "finish": "stop" if answer.final else "tool-calls"}
    return {**told, "id": f"msg_{answer.number:04d}", "sessionID": SESSION}


def in_order_of_ends(scenario: Scenario) -> Scenario:
    """Calls that ran in parallel stand in the order of their ends."""
    return changed(scenario, lambda answer: replace(answer, calls=tuple(sorted(answer.calls, key=lambda c: c.rank))))


POSSIBLE = (counts_as("error", ("ok", "denied"), ("unknown",)),)
COMMON: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb != "unknown")
STREAM = Writer(
    "opencode-stream",
    write_stream,
    VERBS,
    possible=POSSIBLE,
    losses=(no_prompts, no_inner, no_thinking, no_unpaired, in_order_of_ends, no_empty_answers),
    inputs=COMMON,
    outputs=COMMON,
    took=takes(500),
    tokens=tokens_of(is_answered),
    prompts=1,
)
EXPORT = Writer(
    "opencode-export",
    write_export,
    VERBS,
    possible=POSSIBLE,
    losses=(no_inner, no_empty_answers),
    inputs=COMMON,
    outputs=COMMON,
    took=takes(500),
    tokens=tokens_of(is_answered),
    status=by_last_written,
    append_only=False,
    lines=False,
    resumes=True,
)
WRITERS = (
    STREAM,
    EXPORT,
    dataclasses.replace(STREAM, dialect="kilo-stream", write=write_kilo_stream),
    dataclasses.replace(EXPORT, dialect="kilo-export", write=write_kilo_export),
)

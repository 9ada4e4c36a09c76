"""A scenario as Kimi Code 2.1 prints it (`--output-format stream-json`), and as it keeps it (`wire.jsonl`).

Shapes: recordings of the real program. The stream has chat completions, without thoughts, times and tokens; a result
says in words alone that its call failed. What sub-agents do is not written here.
"""

import json
from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    ALL,
    CWD,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_prompts,
    no_thinking,
    no_tokens,
    takes,
    tokens_of,
)

SESSION = "session_6f1d2c3b-4a59-4e68-8c77-9b0a1c2d3e4f"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb not in ("list", "delegate"))
SPOKEN: tuple[Verb, ...] = ("read", "edit", "create", "run", "unknown")
"""Verbs whose failures the stream tells in words that nothing else has."""


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Kimi's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"path": call.target}),
        "search": ("Grep", {"pattern": call.target}),
        "find": ("Glob", {"pattern": call.target}),
        "edit": ("Edit", {"path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("Write", {"path": call.target, "content": call.text}),
        "run": ("Bash", {"command": call.target, "description": "Run a command"}),
        "plan": ("TodoList", {"todos": [{"title": call.text, "status": "pending"}]}),
        "fetch": ("FetchURL", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        "mcp": ("mcp__" + call.target.replace("/", "__"), {"query": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def output(call: Call) -> str:
    """What the tool gives back; failures in the program's own words."""
    name = given(call)[0]
    if call.outcome == "denied":
        return f'Tool "{name}" was denied by permission rule. {call.output}'
    if call.verb == "unknown":
        return f'Tool "{name}" not found'
    if call.outcome == "error":
        return {
            "read": f'"{call.target}" does not exist. {call.output}',
            "edit": f"old_string not found in {call.target}, {call.output}",
            "create": f"Failed to write {call.target}: {call.output}",
            "run": f"{call.output}\nCommand failed with exit code: {call.exit_code}.",
        }.get(call.verb, call.output)
    return f"1\t{call.output}" if call.verb == "read" else call.output


def write_stream(scenario: Scenario) -> Written:
    lines: list[Any] = [{"role": "meta", "type": "system.version", "version": "2.1.0"}]
    for answer in scenario.answers:
        if not answer.whole or answer.empty:
            continue
        message: dict[str, Any] = {"role": "assistant"}
        if answer.text:
            message["content"] = answer.text
        asked = [(f"call_{call.number:04d}", *given(call)) for call in answer.calls]
        if asked:
            message["tool_calls"] = [
                {"type": "function", "id": own, "function": {"name": name, "arguments": json.dumps(arguments)}}
                for own, name, arguments in asked
            ]
        if len(message) > 1:
            lines.append(message)
        for call in answer.results:
            lines.append({"role": "tool", "tool_call_id": f"call_{call.number:04d}", "content": output(call)})
    if scenario.end == "complete":
        hint = f"kimi -r {SESSION}"
        last = {"role": "meta", "type": "session.resume_hint", "session_id": SESSION, "command": hint}
        lines.append({**last, "content": f"To resume this session: {hint}"})
    return Written("stream.jsonl", json_lines(lines))


class Session:
    """Writes the lines of the main agent."""

    def __init__(self) -> None:
        self.lines: list[Any] = [{"type": "metadata", "protocol_version": "1.5", "created_at": STARTED_MS}]
        about = {"modelAlias": "kimi-code/bead", "profileName": "agent", "environmentDisclosure": {"cwd": CWD}}
        self.add("profile.bind", **about)

    def add(self, kind: str, **members: Any) -> None:
        time = STARTED_MS + 1000 * len(self.lines)
        self.lines.append({"type": kind, "agentId": "main", **members, "time": time})

    def event(self, kind: str, **members: Any) -> None:
        self.add("context.append_loop_event", event={"type": kind, **members})

    def prompt(self, text: str, turn: int) -> None:
        said = [{"type": "text", "text": text}]
        origin = {"kind": "user"}
        self.add("turn.prompt", input=said, origin=origin, promptId=f"msg_{turn}", turnId=turn)
        message = {"role": "user", "content": said, "id": f"msg_{turn}", "toolCalls": [], "origin": origin}
        self.add("context.append_message", message=message)

    def answer(self, answer: Answer, turn: int, step: int) -> None:
        if not answer.whole:
            return
        own = f"{answer.number:08d}-1b2c-4d3e-8f40-5a6b7c8d9e0f"
        at = {"turnId": str(turn), "step": step}
        self.event("step.begin", uuid=own, **at)
        used = answer.usage
        usage = {"inputOther": used.fresh, "output": used.output, "inputCacheRead": used.cached}
        usage["inputCacheCreation"] = used.written
        self.add("usage.record", model="kimi-code/bead", usage=usage, usageScope="turn")
        parts: list[dict[str, Any]] = [{"type": "think", "think": answer.thinking}] if answer.thinking else []
        parts += [{"type": "text", "text": answer.text}] if answer.text else []
        for number, part in enumerate(parts):
            self.event("content.part", uuid=f"{own}-{number}", **at, stepUuid=own, part=part)
        for call in answer.calls:
            name, arguments = given(call)
            asked = {"toolCallId": f"call_{call.number:04d}", "name": name, "args": arguments}
            self.event("tool.call", uuid=f"{own}-c{call.number}", **at, stepUuid=own, **asked)
        for call in answer.results:
            result: dict[str, Any] = {"output": output(call), "durationMs": 10}
            if call.outcome != "ok":
                result["isError"] = True
            back = f"{own}-c{call.number}"
            self.event("tool.result", parentUuid=back, toolCallId=f"call_{call.number:04d}", result=result)
        if len(answer.results) == len(answer.calls):
            reason = "end_turn" if answer.final else "tool_use"
            self.event("step.end", uuid=own, **at, finishReason=reason, messageId=f"chatcmpl-{answer.number}")


def write_session(scenario: Scenario) -> Written:
    session = Session()
    for turn, prompt in enumerate(scenario.prompts):
        session.prompt(prompt.text, turn)
        for step, answer in enumerate(prompt.answers, 1):
            session.answer(answer, turn, step)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            session.add("turn.ended", turnId=turn, reason="completed")
    return Written(f"{SESSION}/agents/main/wire.jsonl", json_lines(session.lines))


SILENT: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb not in SPOKEN)
POSSIBLE = (counts_as("error", ("ok", "denied"), ("unknown",)),)
TELLING: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb != "unknown")
WRITERS = (
    Writer(
        "kimi-stream",
        write_stream,
        VERBS,
        possible=POSSIBLE,
        losses=(
            no_broken_answers,
            no_prompts,
            no_thinking,
            counts_as("ok", ("error",), SILENT),
            no_empty_answers,
        ),
        outputs=TELLING,
        took=takes(None),
        tokens=no_tokens,
        prompts=1,
        nameless=Nameless("answers have neither an id nor a time", lambda record: record["role"] != "tool"),
    ),
    Writer(
        "kimi-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_empty_answers),
        outputs=TELLING,
        took=takes(10),
        tokens=tokens_of(is_whole, "reasoning"),
        resumes=True,
    ),
)

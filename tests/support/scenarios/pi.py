"""A scenario as Pi 0.73.1 prints it (`pi --mode json`), and as it keeps it in a session file.

Shapes: recordings of the real program, but `message_update` lines, which repeat what `message_end` says. Pi has no MCP,
no plan and no web; its sub-agents are processes of their own.
"""

from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    CWD,
    STARTED_MS,
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    time_of,
    tokens_of,
)

SESSION = "01a1fcb1-9645-7534-986b-6b779628fa44"
VERBS: tuple[Verb, ...] = ("read", "search", "find", "list", "edit", "create", "run", "unknown", "delegate")


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Pi's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read", {"path": call.target}),
        "search": ("grep", {"pattern": call.target}),
        "find": ("find", {"pattern": call.target}),
        "list": ("ls", {"path": call.target}),
        "edit": ("edit", {"path": call.target, "edits": [{"oldText": "a", "newText": call.text}]}),
        "create": ("write", {"path": call.target, "content": call.text}),
        "run": ("bash", {"command": call.target}),
        "delegate": ("subagent", {"agent": "scout", "task": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def output(call: Call) -> str:
    if call.outcome == "denied":
        return f"Tool execution was blocked: {call.output}"
    return f"{call.output}\n\nCommand exited with code {call.exit_code}" if call.exit_code else call.output


def user(text: str, second: int) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": STARTED_MS + second * 1000}


def assistant(answer: Answer, second: int) -> dict[str, Any]:
    content: list[Any] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "thinkingSignature": "reasoning_content"})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        name, arguments = given(call)
        content.append({"type": "toolCall", "id": f"call_{call.number:04d}", "name": name, "arguments": arguments})
    used = answer.usage
    usage = {"input": used.fresh, "output": used.output, "cacheRead": used.cached, "cacheWrite": used.written}
    usage["totalTokens"] = used.input + used.output
    about = {"api": "openai-completions", "provider": "openai", "model": "gpt-5.1", "usage": usage}
    stop = "stop" if answer.final else "toolUse"
    own = f"chatcmpl-{answer.number:04d}"
    when = STARTED_MS + second * 1000
    return {"role": "assistant", "content": content, **about, "stopReason": stop, "timestamp": when, "responseId": own}


def tool_result(call: Call, second: int) -> dict[str, Any]:
    about = {"role": "toolResult", "toolCallId": f"call_{call.number:04d}", "toolName": given(call)[0]}
    content = [{"type": "text", "text": output(call)}]
    when = STARTED_MS + second * 1000
    return {**about, "content": content, "isError": call.outcome != "ok", "timestamp": when}


class Stream:
    """Prints lines."""

    def __init__(self) -> None:
        self.lines: list[Any] = [{"type": "session", "version": 3, "id": SESSION, "timestamp": time_of(0), "cwd": CWD}]
        self.said: list[Any] = []
        self.second = 0

    def message(self, message: dict[str, Any]) -> None:
        self.lines += [{"type": "message_start", "message": message}, {"type": "message_end", "message": message}]
        self.said.append(message)

    def answer(self, answer: Answer) -> None:
        self.second += 1
        if not answer.whole:
            return
        message = assistant(answer, self.second)
        self.message(message)
        for call in answer.calls:
            name, arguments = given(call)
            own = {"toolCallId": f"call_{call.number:04d}", "toolName": name}
            self.lines.append({"type": "tool_execution_start", **own, "args": arguments})
        for call in answer.results:
            own = {"toolCallId": f"call_{call.number:04d}", "toolName": given(call)[0]}
            result = {"content": [{"type": "text", "text": output(call)}]}
            self.lines.append({"type": "tool_execution_end", **own, "result": result, "isError": call.outcome != "ok"})
        if len(answer.results) < len(answer.calls):
            return
        results = [tool_result(call, self.second) for call in answer.calls]
        for result in results:
            self.message(result)
        self.lines.append({"type": "turn_end", "message": message, "toolResults": results})


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for prompt in scenario.prompts:
        stream.said = []
        stream.lines += [{"type": "agent_start"}, {"type": "turn_start"}]
        stream.message(user(prompt.text, stream.second))
        for number, answer in enumerate(prompt.answers):
            if number:
                stream.lines.append({"type": "turn_start"})
            stream.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            stream.lines.append({"type": "agent_end", "messages": stream.said})
    return Written("stream.jsonl", json_lines(stream.lines))


def write_session(scenario: Scenario) -> Written:
    lines: list[Any] = [{"type": "session", "version": 3, "id": SESSION, "timestamp": time_of(0), "cwd": CWD}]
    parent: str | None = None
    second = 0

    def add(**entry: Any) -> None:
        nonlocal parent
        own = f"{len(lines):08x}"
        kind = entry.pop("type", "message")
        lines.append({"type": kind, "id": own, "parentId": parent, "timestamp": time_of(second), **entry})
        parent = own

    add(type="model_change", provider="openai", modelId="gpt-5.1")
    for prompt in scenario.prompts:
        add(message=user(prompt.text, second))
        for answer in prompt.answers:
            second += 1
            if answer.whole:
                add(message=assistant(answer, second))
            for call in answer.results:
                add(message=tool_result(call, second))
    return Written(f"2026-03-02T09-30-00-000Z_{SESSION}.jsonl", json_lines(lines))


POSSIBLE = (counts_as("error", ("denied",), ("unknown",)),)
LOSSES = (no_inner, no_broken_answers, no_empty_answers)
WRITERS = (
    Writer("pi-stream", write_stream, VERBS, possible=POSSIBLE, losses=LOSSES, tokens=tokens_of(is_whole, "reasoning")),
    Writer(
        "pi-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
    ),
)

"""A scenario as Cline's command line 3.0.65 prints it (`cline --json`), and as it keeps it (`*.messages.json`).

Shapes: recordings of the real program. Pieces of text and thought come before the answer's usage and are told whole
behind it. What sub-agents do is not written here, and no refusals.
"""

import json
from typing import Any

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Scenario, Usage, Verb
from support.scenarios.writer import (
    NOTHING,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_prompts,
    takes,
    time_of,
    tokens_of,
)

SESSION = "1772443800000_orch1"
AGENT = "agent_1772443800000_aaa"
VERBS: tuple[Verb, ...] = ("read", "search", "edit", "run", "fetch", "mcp", "unknown")


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Cline's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_files", {"files": [{"path": call.target}]}),
        "search": ("search_codebase", {"queries": [call.target]}),
        "edit": ("editor", {"path": call.target, "old_text": "a", "new_text": call.text}),
        "run": ("run_commands", {"commands": [call.target]}),
        "fetch": ("fetch_web_content", {"requests": [{"url": f"https://x.org/{call.target}", "prompt": call.text}]}),
        "mcp": (call.target.replace("/", "__"), {"query": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def output(call: Call) -> Any:
    bad = call.outcome != "ok"
    if call.verb == "mcp":
        return {"content": [{"type": "text", "text": call.output}], **({"isError": True} if bad else {})}
    entry: dict[str, Any] = {"query": call.target, "result": call.output}
    if call.exit_code:
        code = f"Command exited with code {call.exit_code}"
        entry |= {"result": f"[{code}]\n\n{call.output}", "error": code}
    elif bad:
        entry |= {"result": "", "error": call.output}
    entry["success"] = not bad
    return entry if call.verb == "edit" else [entry]


def metrics(used: list[Usage]) -> dict[str, int]:
    sums = expected.tokens([Answer("", "", (), one, True) for one in used])
    told = {"inputTokens": sums["input"], "outputTokens": sums["output"], "cacheReadTokens": sums["cached"]}
    return {**told, "cacheWriteTokens": sums["cache_write"]}


class Stream:
    """Prints lines; `spent` are the model calls so far."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.spent: list[Usage] = []
        self.hook("agent_start")

    def hook(self, name: str) -> None:
        about = {"hookEventName": name, "agentId": AGENT, "taskId": "conv_aaa", "parentAgentId": None}
        self.lines.append({"ts": time_of(len(self.lines)), "type": "hook_event", **about})

    def event(self, kind: str, **members: Any) -> None:
        event = {"type": kind, **members}
        self.lines.append({"ts": time_of(len(self.lines)), "type": "agent_event", "event": event})

    def answer(self, answer: Answer, iteration: int) -> None:
        if not answer.whole:
            return
        self.event("iteration_start", iteration=iteration)
        if answer.thinking:
            self.event("content_start", contentType="reasoning", reasoning=answer.thinking, redacted=False)
        if answer.text:
            self.event("content_start", contentType="text", text=answer.text, accumulated=answer.text)
        self.spent.append(answer.usage)
        self.event("usage", **metrics([answer.usage]), totalInputTokens=metrics(self.spent)["inputTokens"])
        if answer.text:
            self.event("content_end", contentType="text", text=answer.text)
        if answer.thinking:
            self.event("content_end", contentType="reasoning", reasoning=answer.thinking)
        for call in answer.calls:
            self.hook("tool_call")
            name, arguments = given(call)
            about = {"contentType": "tool", "toolName": name, "toolCallId": f"call_{call.number:04d}"}
            self.event("content_start", **about, input=arguments)
        for call in answer.results:
            self.hook("tool_result")
            about = {"contentType": "tool", "toolName": given(call)[0], "toolCallId": f"call_{call.number:04d}"}
            told: dict[str, Any] = {"output": output(call)}
            if call.verb == "unknown":
                told = {"error": f"Unknown tool: {call.target}"}
            self.event("content_end", **about, **told, durationMs=21)
        if len(answer.results) == len(answer.calls):
            count = len(answer.calls)
            self.event("iteration_end", iteration=iteration, hadToolCalls=count > 0, toolCallCount=count)


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for iteration, answer in enumerate(scenario.answers, 1):
        stream.answer(answer, iteration)
    if scenario.end == "complete":
        used = metrics(stream.spent)
        text = scenario.answers[-1].text
        count = len(scenario.answers)
        stream.event("done", reason="completed", text=text, iterations=count, usage=used)
        about = {"finishReason": "completed", "iterations": count, "usage": used, "aggregateUsage": used}
        model = {"id": "bead-2", "provider": "openai-compatible"}
        last = {"ts": time_of(len(stream.lines)), "type": "run_result", **about, "durationMs": 9000, "text": text}
        stream.lines.append({**last, "model": model})
    return Written("stream.jsonl", json_lines(stream.lines))


def write_session(scenario: Scenario) -> Written:
    messages: list[Any] = []
    when = STARTED_MS

    def add(role: str, content: list[Any], **members: Any) -> None:
        own = f"msg_{len(messages)}"
        messages.append({"id": own, "role": role, "content": content, "ts": when, **members})

    for prompt in scenario.prompts:
        add("user", [{"type": "text", "text": f'<user_input mode="act">{prompt.text}</user_input>'}])
        for answer in prompt.answers:
            when += 1000
            if answer.whole:
                model = {"id": "bead-2", "provider": "openai-compatible"}
                add("assistant", blocks(answer), modelInfo=model, metrics=metrics([answer.usage]))
            for call in answer.results:
                content: Any = output(call) if call.verb != "unknown" else f"Unknown tool: {call.target}"
                back = {"type": "tool_result", "tool_use_id": f"call_{call.number:04d}", "name": given(call)[0]}
                bad = {"is_error": True} if call.verb == "unknown" else {}
                add("user", [{**back, "content": content if isinstance(content, list) else shown(content), **bad}])
    about = {"version": 1, "updated_at": time_of(0), "agent": "lead", "sessionId": SESSION}
    origin = {"source": "cli", "mode": "user", "sessionId": SESSION, "version": "3.0.65"}
    data = json.dumps({**about, "origin": origin, "messages": messages}, ensure_ascii=False).encode()
    return Written(f"{SESSION}.messages.json", data)


def shown(content: Any) -> str:
    """An object stands as text in a session."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def blocks(answer: Answer) -> list[Any]:
    out: list[Any] = [{"type": "thinking", "thinking": answer.thinking}] if answer.thinking else []
    out += [{"type": "text", "text": answer.text}] if answer.text else []
    for call in answer.calls:
        name, arguments = given(call)
        out.append({"type": "tool_use", "id": f"call_{call.number:04d}", "name": name, "input": arguments})
    return out


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The total at the end, before it what has been told of answers."""
    found = [answer for answer in written.answers if answer.whole]
    return {**expected.tokens(found), "reasoning": None} if found else dict(NOTHING)


POSSIBLE = (counts_as("error", ("denied",)), counts_as("error", ("ok",), ("unknown",)))
LISTED: tuple[Verb, ...] = ("read", "search", "run", "fetch")


def is_anybodys(record: dict[str, Any]) -> bool:
    """Whether the line names neither its agent nor a call; a text's end and its tokens are printed once in a moment."""
    event = record.get("event", {})
    event = event.get("event", event)  # a teammate's
    piece = event.get("type") == "content_start" and event.get("contentType") != "tool"
    return piece or event.get("type") == "iteration_start" or record.get("hookEventName") == "tool_call"


WRITERS = (
    Writer(
        "cline-stream",
        write_stream,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_prompts, no_empty_answers),
        outputs=(*LISTED, "edit", "mcp"),
        took=takes(21),
        tokens=stream_tokens,
        prompts=1,
        nameless=Nameless("agents at work at once may print equal lines", is_anybodys),
    ),
    Writer(
        "cline-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_empty_answers),
        outputs=LISTED,
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

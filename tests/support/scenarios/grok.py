"""A scenario as Grok Build 1.0.41 prints it (`grok -p … --output-format …`, both streams), and as it keeps it.

Shapes: recordings of the real program. In its own stream an answer is its pieces, its tokens, its calls; in Claude's
form it is a line, and so are its results; on disk both are updates of ACP, and a turn tells tokens at its end alone.
What a sub-agent does is printed while its call is open, without a name; on disk none is written here.
"""

import json
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage, Verb, all_answers, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    STARTED_MS,
    Nameless,
    Tokens,
    Writer,
    Written,
    counts_as,
    is_answered,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_prompts,
    results_together,
    takes,
)

SESSION = "0199a0a2-0000-7000-8000-000000000001"
MODEL = "grok-4.6"
VERBS: tuple[Verb, ...] = ("read", "search", "list", "edit", "run", "plan", "mcp", "unknown")
TOOLS = ["run_terminal_command", "read_file", "search_replace", "use_tool"]
RESULT: dict[str, str] = {"read": "ReadFile", "list": "ListDir", "edit": "SearchReplace", "plan": "Todo"}
KINDS: dict[str, str] = {"read": "read", "search": "search", "list": "list", "edit": "edit", "run": "execute",
                         "plan": "plan", "mcp": "use_tool", "delegate": "task"}  # fmt: skip


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Grok's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"target_file": call.target}),
        "search": ("grep", {"pattern": call.target, "path": "."}),
        "list": ("list_dir", {"target_directory": call.target}),
        "edit": ("search_replace", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "run": ("run_terminal_command", {"command": call.target, "description": "Run it"}),
        "plan": ("todo_write", {"todos": [{"id": "1", "content": call.text, "status": "pending"}], "merge": False}),
        "mcp": ("use_tool", {"tool_name": call.target.replace("/", "__"), "tool_input": {"query": call.text}}),
        "delegate": ("spawn_subagent", {"prompt": call.text, "description": "Look", "background": False}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def own(call: Call) -> str:
    return f"call_{call.number:04d}"


def is_good(call: Call) -> bool:
    """Whether the tool gave something back: a command that failed did."""
    return call.outcome == "ok" or call.exit_code is not None


def raw_output(call: Call) -> dict[str, Any]:
    """What the tool gave back."""
    if call.verb == "run":
        shown = f"exit: {call.exit_code}\n{call.output}" if call.exit_code else call.output
        about = {"type": "Bash", "output": list(call.output.encode()), "output_for_prompt": shown}
        return {**about, "exit_code": call.exit_code, "command": call.target, "signal": None, "timed_out": False}
    if call.verb == "search":
        return {"type": "GrepSearch", "stdout": list(call.output.encode()), "stderr": [], "exit_code": 0}
    if call.verb == "mcp":
        server, _, name = call.target.partition("/")
        return {"type": "MCP", "tool_name": name, "server_name": server, "output": {"OkayOutput": call.output}}
    if call.verb == "delegate":
        about = {"type": "SubagentCompleted", "output": call.output, "subagent_id": f"0199a0b1-{call.number:04x}"}
        return {**about, "subagent_type": "general-purpose", "tool_calls": 1, "turns": 1, "duration_ms": 101}
    told: dict[str, dict[str, Any]] = {
        "read": {"FileContent": {"content": call.output, "absolute_path": call.target, "total_lines": 1}},
        "list": {"Content": {"content": call.output, "absolute_root_path": CWD}},
        "edit": {"EditsApplied": {"new_string": call.text, "tool_output_for_prompt": call.output}},
        "plan": {"TodosUpdated": {"summary_for_prompt": call.output, "todos": []}},
    }
    return {"type": RESULT[call.verb], **told[call.verb]}


def failure(call: Call) -> list[Any]:
    """What is shown of a call that never ran."""
    name = given(call)[0]
    text = f"Failed to parse arguments for tool `{name}`: {call.output}"
    if call.outcome == "denied":
        text = f"Tool `{name}` was not executed: Denied by permission policy: {call.output}"
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def usage(used: Usage) -> dict[str, int]:
    told = {"input_tokens": used.fresh, "output_tokens": used.output, "cache_read_input_tokens": used.cached}
    return {**told, "cache_creation_input_tokens": used.written}


def total(answers: list[Answer]) -> Usage:
    """Of these answers and of the sub-agents that they started."""
    found = [answer.usage for answer in all_answers(answers)]
    fields = ("fresh", "cached", "written", "output", "reasoning")
    return Usage(*(sum(getattr(one, name) for one in found) for name in fields))


class Stream:
    """Prints lines of its own form."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.listed([*TOOLS, "spawn_subagent"])

    def listed(self, tools: list[str]) -> None:
        self.lines.append({"type": "available_commands", "tools": tools, "commands": ["compact"]})

    def answer(self, answer: Answer, tools: list[str]) -> None:
        for kind, text in (("thought", answer.thinking), ("text", answer.text)):
            half = len(text) // 2
            self.lines += [{"type": kind, "data": piece} for piece in (text[:half], text[half:]) if piece]
        if not answer.whole:
            return
        self.listed(tools)
        self.lines.append(
            {"type": "usage", "usage": {**usage(answer.usage), "reasoning_tokens": answer.usage.reasoning}}
        )
        for call in answer.calls:
            name, arguments = given(call)
            told = {"toolCallId": own(call), "title": name, "kind": KINDS.get(call.verb, "other"), "status": "pending"}
            self.lines.append({"type": "tool_call", **told, "toolName": name, "rawInput": arguments, "content": []})
            self.update(call, None, [], None)
        for call in answer.calls:
            for inner in call.inner:
                self.answer(inner, TOOLS)
        for call in answer.results:
            good = is_good(call)
            self.update(call, "completed" if good else "failed", [] if good else failure(call),
                        raw_output(call) if good else None)  # fmt: skip

    def update(self, call: Call, status: str | None, content: list[Any], raw: Any) -> None:
        told = {"toolCallId": own(call), "status": status, "content": content, "rawOutput": raw, "locations": []}
        self.lines.append({"type": "tool_call_update", **told})


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for answer in scenario.answers:
        stream.answer(answer, [*TOOLS, "spawn_subagent"])
    if scenario.end == "complete":
        used = total(scenario.answers)
        about = {"stopReason": "end_turn", "sessionId": SESSION, "requestId": "req-1", "num_turns": 1}
        told = {**usage(used), "reasoning_tokens": used.reasoning, "total_tokens": used.input + used.output}
        by_model = {MODEL: {"inputTokens": used.fresh, "outputTokens": used.output, "modelCalls": 1}}
        stream.lines.append({"type": "end", **about, "usage": told, "modelUsage": by_model})
    return Written("stream.jsonl", json_lines(stream.lines))


class Messages:
    """Prints lines of Claude's form."""

    def __init__(self) -> None:
        about = {"apiKeySource": "user", "model": MODEL, "cwd": CWD, "permissionMode": "bypassPermissions"}
        self.lines: list[Any] = []
        self.asked = 0
        self.add("system", subtype="init", **about, tools=[*TOOLS, "spawn_subagent"], mcp_servers=[], skills=[])

    def add(self, kind: str, **members: Any) -> None:
        self.lines.append({"type": kind, **members, "session_id": SESSION, "uuid": f"u-m-{len(self.lines):03d}"})

    def answer(self, answer: Answer) -> None:
        if not answer.whole:
            return
        content: list[Any] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": ""})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        for call in answer.calls:
            name, arguments = given(call)
            content.append({"type": "tool_use", "id": own(call), "name": name, "input": arguments})
        stop = "end_turn" if answer.final else "tool_use"
        message: dict[str, Any] = {"id": f"msg_{self.asked}", "type": "message", "role": "assistant", "model": MODEL}
        message |= {"content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage(answer.usage)}
        self.asked += 1
        self.add("assistant", message=message, parent_tool_use_id=None)
        for call in answer.calls:
            for inner in call.inner:
                self.answer(inner)
        if answer.calls and is_answered(answer):
            message = {"role": "user", "content": [self.result(call) for call in answer.calls]}
            self.add("user", message=message, parent_tool_use_id=None)

    def result(self, call: Call) -> dict[str, Any]:
        good = is_good(call)
        text = json.dumps(raw_output(call) if good else failure(call), ensure_ascii=False)
        return {"type": "tool_result", "tool_use_id": own(call), "content": text, "is_error": not good}


def write_messages(scenario: Scenario) -> Written:
    stream = Messages()
    for answer in scenario.answers:
        stream.answer(answer)
    if scenario.end == "complete":
        about = {"subtype": "success", "is_error": False, "duration_ms": 500, "num_turns": len(scenario.answers)}
        told = {"result": scenario.answers[-1].text, "stop_reason": "end_turn", "total_cost_usd": 0.0}
        stream.add("result", **about, **told, usage=usage(total(scenario.answers)), permission_denials=[])
    return Written("stream.jsonl", json_lines(stream.lines))


class Session:
    """Writes the updates of a session; those of one answer bear the time at which it began."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def update(self, kind: str, /, began: int | None = None, **members: Any) -> None:
        number = len(self.lines)
        own_meta: dict[str, Any] = {"eventId": f"{SESSION}-{number}", "agentTimestampMs": STARTED_MS + 1000 * number}
        if began is not None:
            own_meta |= {"promptId": "prompt-1", "streamStartMs": STARTED_MS + began, "turnStartMs": STARTED_MS}
        own_kind = kind == "turn_completed"
        line = {"timestamp": STARTED_MS // 1000 + number, "method": f"{'_x.ai/' if own_kind else ''}session/update"}
        params = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **members}, "_meta": own_meta}
        self.lines.append({**line, "params": params})

    def answer(self, answer: Answer, began: int) -> None:
        if not answer.whole:
            return
        for kind, text in (("agent_thought_chunk", answer.thinking), ("agent_message_chunk", answer.text)):
            if text:
                self.update(kind, began, content={"type": "text", "text": text})
        for call in answer.calls:
            name, arguments = given(call)
            self.update("tool_call", began, toolCallId=own(call), title=name, rawInput=arguments)
            if call.verb != "unknown":
                self.update("tool_call_update", began, toolCallId=own(call), title=f"Do {name}", locations=[])
        for call in answer.results:
            told: dict[str, Any] = {"status": "failed", "content": failure(call)}
            if is_good(call):
                told = {"status": "completed", "rawOutput": raw_output(call)}
            self.update("tool_call_update", began, toolCallId=own(call), **told)

    def end(self, prompt: Prompt) -> None:
        used = total(list(prompt.answers))
        told = {"inputTokens": used.input, "outputTokens": used.output, "totalTokens": used.input + used.output}
        told |= {"cachedReadTokens": used.cached, "cacheCreationTokens": used.written}
        told |= {"reasoningTokens": used.reasoning, "modelCalls": len(prompt.answers)}
        self.update("turn_completed", prompt_id="prompt-1", stop_reason="end_turn", usage=told)


def write_session(scenario: Scenario) -> Written:
    session = Session()
    for prompt in scenario.prompts:
        session.update("user_message_chunk", content={"type": "text", "text": prompt.text})
        for answer in prompt.answers:
            session.answer(answer, 1000 * len(session.lines) + answer.number)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            session.end(prompt)
    return Written(f"{SESSION}/updates.jsonl", json_lines(session.lines))


def lone_delegates(scenario: Scenario) -> Scenario:
    """An answer that starts a sub-agent asks for nothing else: of several at work nothing tells whose is what."""

    def lone(answer: Answer) -> Answer:
        found = [call for call in answer.calls if call.verb == "delegate"]
        return replace(answer, calls=tuple(found[:1]) or answer.calls)

    return changed(scenario, lone)


def ended_turns(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of the turns that ended."""
    ended = written.prompts if written.end == "complete" else written.prompts[:-1]
    answers = [replace(answer, calls=()) for prompt in ended for answer in prompt.answers]
    return {**expected.tokens(answers)} if answers else dict(NOTHING)


def counted(*silent: str) -> Tokens:
    """Those of each answer that was told whole, sub-agents included."""

    def tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
        found = [replace(one, calls=()) for one in all_answers(written.answers) if one.whole]
        return {**expected.tokens(found), **dict.fromkeys(silent)} if found else dict(NOTHING)

    return tokens


def no_broken_calls(scenario: Scenario) -> Scenario:
    """The calls of an answer are printed behind its tokens."""
    return changed(scenario, lambda answer: answer if answer.whole else replace(answer, calls=()))


POSSIBLE = (counts_as("error", ("ok", "denied"), ("unknown",)),)
LATER = {"sessionId": SESSION, "update": {"sessionUpdate": "later"}, "_meta": {"eventId": f"{SESSION}-90#"}}
WRITERS = (
    Writer(
        "grok-stream",
        write_stream,
        (*VERBS, "delegate"),
        possible=(*POSSIBLE, lone_delegates),
        losses=(no_prompts, no_broken_calls, no_empty_answers),
        took=takes(None),
        tokens=counted(),
        prompts=1,
        nameless=Nameless("neither ids nor times"),
    ),
    Writer(
        "grok-messages",
        write_messages,
        (*VERBS, "delegate"),
        possible=(*POSSIBLE, counts_as("error", ("denied",)), lone_delegates),
        losses=(no_prompts, no_broken_answers, results_together, no_empty_answers),
        took=takes(None),
        tokens=counted("reasoning"),
        prompts=1,
    ),
    Writer(
        "grok-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_empty_answers),
        tokens=ended_turns,
        later={"timestamp": 1, "method": "session/update", "params": LATER},
        resumes=True,
    ),
)

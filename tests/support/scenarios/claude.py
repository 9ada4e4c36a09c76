"""A scenario as Claude Code 2.1.197 prints it (`-p --output-format stream-json --verbose`), and as it keeps it on disk.

Shapes: recordings of the real program. An answer is a line for each block, all with the answer's id and usage, in the
stream with a placeholder for its output; what sub-agents say is not printed. On disk they have files of their own.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from support.scenarios import expected
from support.scenarios.mixing import Clock, in_some_order, run
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Writer,
    Written,
    by_end_record,
    by_last_answer,
    json_lines,
    no_empty_answers,
    no_inner_texts,
    no_prompts,
    takes,
    time_of,
    tokens_but,
)

SESSION = "7b0f6a52-31c4-4e0d-9a77-0f7c2f6f1e10"
MODEL = "claude-sonnet-4-5-20250929"
VERSION = "2.1.197"


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Claude's own tool and its arguments."""
    if call.verb == "mcp":
        return "mcp__" + call.target.replace("/", "__"), {"query": call.text}
    if call.verb == "unknown":
        return call.target, {"x": call.text}
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"file_path": call.target}),
        "search": ("Grep", {"pattern": call.target}),
        "find": ("Glob", {"pattern": call.target}),
        "list": ("LS", {"path": call.target}),
        "edit": ("Edit", {"replace_all": False, "file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("Write", {"file_path": call.target, "content": call.text}),
        "run": ("Bash", {"command": call.target, "description": "Run a command"}),
        "plan": ("TodoWrite", {"todos": [{"content": call.text, "status": "pending", "activeForm": call.text}]}),
        "fetch": ("WebFetch", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        "delegate": ("Agent", {"prompt": call.text, "description": "Look", "subagent_type": "general-purpose"}),
    }
    return told[call.verb]


def result(call: Call) -> dict[str, Any]:
    """The block of a result, its members in the order that failures have."""
    own = f"toolu_{call.number:04d}"
    if call.outcome == "denied":
        text = f"Claude requested permissions to use {given(call)[0]}, but you haven't granted it yet. {call.output}"
        return {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": own}
    if call.outcome == "error":
        code = f"Exit code {call.exit_code}\n" if call.exit_code else ""
        return {"type": "tool_result", "content": code + call.output, "is_error": True, "tool_use_id": own}
    if call.verb == "delegate":
        return {"tool_use_id": own, "type": "tool_result", "content": [{"type": "text", "text": call.output}]}
    block = {"tool_use_id": own, "type": "tool_result", "content": call.output}
    return {**block, "is_error": False} if call.verb == "run" else block


def usage(used: Usage, output: int) -> dict[str, Any]:
    return {
        "input_tokens": used.fresh,
        "cache_creation_input_tokens": used.written,
        "cache_read_input_tokens": used.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": used.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def blocks(answer: Answer) -> list[tuple[int, dict[str, Any]]]:
    """Each with the number of the call in it, or 0."""
    out: list[tuple[int, dict[str, Any]]] = []
    if answer.thinking:
        out.append((0, {"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"}))
    if answer.text:
        out.append((0, {"type": "text", "text": answer.text}))
    for call in answer.calls:
        name, arguments = given(call)
        own = f"toolu_{call.number:04d}"
        out.append((call.number, {"type": "tool_use", "id": own, "name": name, "input": arguments}))
    return out


class Stream:
    """Prints lines; `spent` are the answers so far, for the totals."""

    def __init__(self, mixed: int) -> None:
        self.mixed = mixed
        self.lines: list[Any] = []
        self.spent: list[Answer] = []

    def add(self, kind: str, **members: Any) -> None:
        own = str(uuid.UUID(int=len(self.lines) + 1))
        self.lines.append({"type": kind, **members, "session_id": SESSION, "uuid": own})

    def prompt(self, prompt: Prompt, last: bool, end: str) -> None:
        names = ["Task", "Bash", "Read", "Edit", "Write"]
        self.add(
            "system", subtype="init", cwd=CWD, tools=names, mcp_servers=[], model=MODEL,
            permissionMode="default", apiKeySource="none", claude_code_version=VERSION, output_style="default",
        )  # fmt: skip
        for answer in prompt.answers:
            run(self.answer(answer, None))
            self.spent.append(answer)
        if last and end == "cut":
            return
        self.result(prompt)

    def answer(self, answer: Answer, parent: str | None) -> Iterator[None]:
        works = {call.number: self.work(call, parent) for call in answer.working}
        yield from in_some_order(self.mixed, self.said(answer, parent), works)

    def said(self, answer: Answer, parent: str | None) -> Iterator[int]:
        for number, block in blocks(answer):
            if parent is not None and not number:
                continue
            message: dict[str, Any] = {"id": f"msg_{answer.number:04d}", "type": "message", "role": "assistant"}
            message |= {"model": MODEL, "content": [block], "stop_reason": None, "stop_sequence": None}
            self.add("assistant", message={**message, "usage": usage(answer.usage, 1)}, parent_tool_use_id=parent)
            yield number

    def work(self, call: Call, parent: str | None) -> Iterator[None]:
        own = f"toolu_{call.number:04d}"
        if call.verb == "delegate" and call.outcome != "denied":
            self.task_started(call, own)
            yield
            for inner in call.inner:
                yield from self.answer(inner, own)
        if call.outcome != "unpaired":
            message = {"role": "user", "content": [result(call)]}
            more = {"tool_use_result": f"Error: {call.output}"} if call.outcome != "ok" else {}
            self.add("user", message=message, parent_tool_use_id=parent, timestamp=time_of(len(self.lines)), **more)
            yield

    def task_started(self, call: Call, own: str) -> None:
        about = {"description": "Look", "subagent_type": "general-purpose", "task_type": "local_agent"}
        self.add("system", subtype="task_started", task_id=f"a{call.number:016x}", tool_use_id=own, **about)
        asked = {"role": "user", "content": [{"type": "text", "text": call.text}]}
        self.add("user", message=asked, parent_tool_use_id=own, timestamp=time_of(len(self.lines)))

    def result(self, prompt: Prompt) -> None:
        here = expected.tokens(list(prompt.answers))
        total = expected.tokens(self.spent)
        text = prompt.answers[-1].text if prompt.answers else ""
        fresh = total["input"] - total["cached"] - total["cache_write"]
        by_model = {"inputTokens": fresh, "outputTokens": total["output"], "cacheReadInputTokens": total["cached"]}
        by_model |= {"cacheCreationInputTokens": total["cache_write"], "webSearchRequests": 0}
        self.add(
            "result", subtype="success", is_error=False, duration_ms=653, duration_api_ms=343,
            num_turns=1 + sum(len(answer.calls) for answer in prompt.answers), result=text, stop_reason="end_turn",
            total_cost_usd=len(self.spent) / 100,
            usage={"input_tokens": here["input"] - here["cached"] - here["cache_write"],
                   "cache_creation_input_tokens": here["cache_write"], "cache_read_input_tokens": here["cached"],
                   "output_tokens": here["output"]},
            modelUsage={MODEL: {**by_model, "costUSD": len(self.spent) / 100}}, permission_denials=[],
        )  # fmt: skip


def write_stream(scenario: Scenario) -> Written:
    stream = Stream(scenario.mixed)
    for prompt in scenario.prompts:
        stream.prompt(prompt, prompt is scenario.prompts[-1], scenario.end)
    return Written("stream.jsonl", json_lines(stream.lines))


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The totals of the last `result`, what was not printed included. Behind it lines tell the input alone."""
    if written.end == "complete":
        return {**expected.tokens(written.answers), "reasoning": None}
    ended = [answer for prompt in written.prompts[:-1] for answer in prompt.answers]
    running = list(told.prompts[-1].answers)
    if not ended and not running:
        return dict(NOTHING)
    before, behind = expected.tokens(ended), expected.tokens(running)
    found: dict[str, int | None] = {name: total + behind[name] for name, total in before.items()}
    return {**found, "output": None if running else before["output"], "reasoning": None}


def stream_status(written: Scenario, told: Scenario) -> str:
    """A further prompt is not printed: what was over is so until the next answer comes."""
    begun = any(prompt.answers for prompt in told.prompts[-1:])
    return by_end_record(written, told) if begun or len(told.prompts) == 1 else "complete"


class Disk:
    """The lines of one file: the session's, or a sub-agent's with its id."""

    def __init__(self, clock: Clock, mixed: int, agent: str | None = None) -> None:
        self.clock = clock
        self.mixed = mixed
        self.lines: list[Any] = []
        self.agent = agent
        self.beside: dict[str, bytes] = {}
        self.parent: str | None = None

    def add(self, kind: str, parent: str | None = None, **members: Any) -> None:
        own = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.agent} {len(self.lines)}"))
        line: dict[str, Any] = {"parentUuid": parent or self.parent, "isSidechain": self.agent is not None}
        if self.agent is not None:
            line["agentId"] = self.agent
        line |= {"type": kind, **members, "uuid": own, "timestamp": self.clock.tick(), "userType": "external"}
        self.lines.append({**line, "cwd": CWD, "sessionId": SESSION, "version": VERSION, "gitBranch": "main"})
        self.parent = own

    def prompt(self, text: str) -> None:
        self.add("user", message={"role": "user", "content": text})

    def answer(self, answer: Answer) -> Iterator[None]:
        self.asked: dict[int, str | None] = {}
        works = {call.number: self.work(call) for call in answer.working}
        yield from in_some_order(self.mixed, self.said(answer), works)

    def said(self, answer: Answer) -> Iterator[int]:
        stop = "end_turn" if answer.final else "tool_use"
        for number, block in blocks(answer):
            message: dict[str, Any] = {"id": f"msg_{answer.number:04d}", "type": "message", "role": "assistant"}
            message |= {"model": MODEL, "content": [block], "stop_reason": stop, "stop_sequence": None}
            self.add("assistant", message={**message, "usage": usage(answer.usage, answer.usage.output)})
            self.asked[number] = self.parent
            self.clock.asked[number] = self.clock.now
            yield number

    def work(self, call: Call) -> Iterator[None]:
        agent = f"a{call.number:016x}"
        if call.inner:
            yield from self.delegate(call, agent)
        if call.outcome != "unpaired":
            more: dict[str, Any] = {"toolUseResult": f"Error: {call.output}"} if call.outcome != "ok" else {}
            if call.verb == "delegate" and call.outcome == "ok":
                more = {"toolUseResult": {"status": "completed", "prompt": call.text, "agentId": agent}}
            asked = self.asked[call.number]
            more["sourceToolAssistantUUID"] = asked
            self.add("user", asked, message={"role": "user", "content": [result(call)]}, **more)
            self.clock.ended[call.number] = self.clock.now
            yield

    def delegate(self, call: Call, agent: str) -> Iterator[None]:
        inner = Disk(self.clock, self.mixed, agent)
        inner.prompt(call.text)
        yield
        for answer in call.inner:
            yield from inner.answer(answer)
        folder = f"{SESSION}/subagents/agent-{agent}"
        self.beside[folder + ".jsonl"] = json_lines(inner.lines)
        about = {"agentType": "general-purpose", "description": "Look", "toolUseId": f"toolu_{call.number:04d}"}
        self.beside[folder + ".meta.json"] = json.dumps(about).encode()


def write_session(scenario: Scenario) -> Written:
    disk = Disk(Clock(scenario.mixed), scenario.mixed)
    for prompt in scenario.prompts:
        disk.prompt(prompt.text)
        for answer in prompt.answers:
            run(disk.answer(answer))
    return Written(f"{SESSION}.jsonl", json_lines(disk.lines), disk.beside, disk.clock)


WRITERS = (
    Writer(
        "claude-stream",
        write_stream,
        losses=(no_prompts, no_inner_texts, no_empty_answers),
        took=takes(None),
        tokens=stream_tokens,
        status=stream_status,
        mixes=True,
    ),
    Writer(
        "claude-session",
        write_session,
        losses=(no_empty_answers,),
        tokens=tokens_but("reasoning"),
        status=by_last_answer,
        resumes=True,
        mixes=True,
    ),
)

"""A scenario as Claude Code 2.1.197 prints it (`-p --output-format stream-json --verbose`).

Shapes: recordings of the real program. An answer is a line for each block, all with the answer's id and usage, in the
stream with a placeholder for its output; what sub-agents say is not printed.
"""

import json
import uuid
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import in_some_order, run
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage, all_answers, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Nameless,
    Writer,
    Written,
    json_lines,
    no_empty_answers,
    no_inner_texts,
    no_prompts,
    takes,
    time_of,
)

SESSION = "7b0f6a52-31c4-4e0d-9a77-0f7c2f6f1e10"
MODEL = "claude-sonnet-4-5-20250929"
VERSION = "2.1.197"
HALF = "Half a "


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


def begun(answer: Answer, *content: dict[str, Any]) -> dict[str, Any]:
    """An answer's message while it is written, its output unknown."""
    message: dict[str, Any] = {"id": f"msg_{answer.number:04d}", "type": "message", "role": "assistant"}
    message |= {"model": MODEL, "content": list(content), "stop_reason": None, "stop_sequence": None}
    return {**message, "usage": usage(answer.usage, 1)}


def is_partial(mixed: int) -> bool:
    """Whether answers are printed while they are written, too (`--include-partial-messages`)."""
    return mixed % 3 == 1


def pieces(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a block that is being written."""
    kind = block["type"]
    empty: dict[str, dict[str, Any]] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {**block, "input": {}},
    }
    yield {"type": "content_block_start", "index": index, "content_block": {"type": kind, **empty[kind]}}
    name = {"thinking": "thinking", "text": "text", "tool_use": "partial_json"}[kind]
    text = json.dumps(block["input"], ensure_ascii=False) if kind == "tool_use" else block[name]
    for piece in (text[:7], text[7:]):
        delta = {"type": "input_json_delta" if kind == "tool_use" else f"{kind}_delta", name: piece}
        yield {"type": "content_block_delta", "index": index, "delta": delta}


class Stream:
    """Prints lines; `spent` are the answers so far, for the totals."""

    def __init__(self, mixed: int) -> None:
        self.mixed = mixed
        self.partial = is_partial(mixed)
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
        partial = self.partial and parent is None
        if partial:
            self.event(type="message_start", message=begun(answer))
            yield 0
        for index, (number, block) in enumerate(blocks(answer)):
            if parent is not None and not number:
                continue
            if partial:
                for event in pieces(index, block):
                    self.event(**event)
                    yield 0
            self.add("assistant", message=begun(answer, block), parent_tool_use_id=parent)
            yield number
            if partial:
                self.event(type="content_block_stop", index=index)
        if partial and answer.whole:
            delta = {"stop_reason": "end_turn" if answer.final else "tool_use", "stop_sequence": None}
            self.event(type="message_delta", delta=delta, usage=usage(answer.usage, answer.usage.output))
            self.event(type="message_stop")
        elif partial:  # cut off within a block
            for event in islice(pieces(len(answer.calls) + 2, {"type": "text", "text": HALF}), 2):
                self.event(**event)

    def event(self, **event: Any) -> None:
        self.add("stream_event", event=event, parent_tool_use_id=None)

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


def half_a_block(scenario: Scenario) -> Scenario:
    """Of a block that was cut off there is what had been printed."""
    if not is_partial(scenario.mixed):
        return scenario
    return changed(scenario, lambda a: a if a.whole else replace(a, text=a.text + HALF), inner=lambda a: a)


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The totals of the last `result`, what was not printed included. Behind it lines tell the input alone, and the
    output of an answer that was printed while it was written."""
    if written.end == "complete":
        return {**expected.tokens(written.answers), "reasoning": None}
    ended = [answer for prompt in written.prompts[:-1] for answer in prompt.answers]
    partial = is_partial(written.mixed)
    running = list((written if partial else told).prompts[-1].answers)
    if partial:  # of sub-agents only what calls
        calling = {answer.number for answer in all_answers(told.answers)}
        running = [replace(answer, calls=tuple(spoken(call, calling) for call in answer.calls)) for answer in running]
    if not ended and not running:
        return dict(NOTHING)
    before, behind = expected.tokens(ended), expected.tokens(running)
    found: dict[str, int | None] = {name: total + behind[name] for name, total in before.items()}
    known = partial and all(answer.whole and not any(call.inner for call in answer.calls) for answer in running)
    output = found["output"] if known else before["output"] if not running else None
    return {**found, "output": output, "reasoning": None}


def spoken(call: Call, calling: set[int]) -> Call:
    """A call with those of its sub-agent's answers that are printed."""
    return replace(call, inner=tuple(answer for answer in call.inner if answer.number in calling))


WRITERS = (
    Writer(
        "claude-stream",
        write_stream,
        losses=(half_a_block, no_prompts, no_inner_texts, no_empty_answers),
        took=takes(None),
        tokens=stream_tokens,
        mixes=True,
        nameless=Nameless(
            "pieces of a block are not looked at one by one", lambda record: record["type"] == "stream_event"
        ),
    ),
)

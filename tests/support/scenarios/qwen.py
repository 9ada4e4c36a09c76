"""A scenario as Qwen Code 0.15.10 prints it (`--output-format stream-json`), and as it keeps it on disk.

Shapes: recordings of the real program. In the stream each block is a message of its own, its response's usage on the
last one; on disk an answer is one record. Of sub-agents the stream prints the calls; on disk they are
not written here.
"""

import uuid
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Scenario, Usage, Verb, changed
from support.scenarios.writer import (
    ALL,
    CWD,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner_texts,
    no_prompts,
    takes,
    tokens_of,
)

SESSION = "dfe8975b-1f2b-4ccc-96cc-cde9e240f7d7"
MODEL = "qwen3-coder-plus"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb != "delegate")


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Qwen's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"file_path": call.target}),
        "search": ("grep_search", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("list_directory", {"path": call.target}),
        "edit": ("edit", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("write_file", {"file_path": call.target, "content": call.text}),
        "run": ("run_shell_command", {"command": call.target, "description": "Run a command"}),
        "plan": ("todo_write", {"todos": [{"id": "1", "content": call.text, "status": "pending"}]}),
        "fetch": ("web_fetch", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        "delegate": ("agent", {"prompt": call.text, "description": "Look", "subagent_type": "general-purpose"}),
        "mcp": ("mcp__" + call.target.replace("/", "__"), {"query": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def usage(used: Usage) -> dict[str, int]:
    return {"input_tokens": used.input, "output_tokens": used.output, "cache_read_input_tokens": used.cached,
            "total_tokens": used.input + used.output}  # fmt: skip


def refusal(call: Call) -> str:
    return f'Qwen Code requires permission to use "{given(call)[0]}", but that permission was declined. {call.output}'


class Stream:
    """Prints lines."""

    def __init__(self) -> None:
        about = {"cwd": CWD, "tools": ["edit", "glob"], "mcp_servers": [], "model": MODEL, "permission_mode": "yolo"}
        first = {"type": "system", "subtype": "init", "uuid": SESSION, "session_id": SESSION}
        self.lines: list[Any] = [{**first, **about, "qwen_code_version": "0.15.10"}]

    def add(self, kind: str, message: dict[str, Any], parent: str | None = None) -> None:
        own = str(uuid.UUID(int=len(self.lines)))
        if kind == "assistant":
            message = {"id": own, **message}
        line = {"type": kind, "uuid": own, "session_id": SESSION, "parent_tool_use_id": parent, "message": message}
        self.lines.append(line)

    def answer(self, answer: Answer) -> None:
        blocks: list[list[Any]] = []
        if answer.thinking:
            blocks.append([{"type": "thinking", "thinking": answer.thinking, "signature": ""}])
        if answer.text:
            blocks.append([{"type": "text", "text": answer.text}])
        if answer.calls and answer.whole:
            uses = [(call, *given(call)) for call in answer.calls]
            blocks.append([{"type": "tool_use", "id": f"call_{c.number}", "name": n, "input": i} for c, n, i in uses])
        for number, content in enumerate(blocks):
            last = number == len(blocks) - 1 and answer.whole
            used = usage(answer.usage) if last else {"input_tokens": 0, "output_tokens": 0}
            about = {"type": "message", "role": "assistant", "model": MODEL, "content": content, "stop_reason": None}
            self.add("assistant", {**about, "usage": used})
        for call in answer.working:
            for inner in call.inner:
                self.inner(inner, call, inner is call.inner[0])
            if call.outcome != "unpaired":
                self.result(call)

    def inner(self, answer: Answer, by: Call, first: bool) -> None:
        """An answer of a sub-agent: its calls alone."""
        parent = f"call_{by.number}"
        if first:
            self.add("user", {"role": "user", "content": [{"type": "text", "text": by.text}]}, parent)
        if answer.calls and answer.whole:
            uses = [(call, *given(call)) for call in answer.calls]
            content = [{"type": "tool_use", "id": f"call_{c.number}", "name": n, "input": i} for c, n, i in uses]
            about = {"type": "message", "role": "assistant", "model": MODEL, "content": content, "stop_reason": None}
            self.add("assistant", {**about, "usage": {"input_tokens": 0, "output_tokens": 0}}, parent)
        for call in answer.results:
            self.result(call, parent)

    def result(self, call: Call, parent: str | None = None) -> None:
        bad = call.outcome != "ok" and not (call.verb == "run" and call.outcome == "error")
        text = refusal(call) if call.outcome == "denied" else call.output
        block = {"type": "tool_result", "tool_use_id": f"call_{call.number}", "is_error": bad, "content": text}
        self.add("user", {"role": "user", "content": [block]}, parent)

    def end(self, scenario: Scenario) -> None:
        sums = expected.tokens(scenario.answers)
        told = {"input_tokens": sums["input"], "output_tokens": sums["output"]}
        told |= {"cache_read_input_tokens": sums["cached"], "total_tokens": sums["input"] + sums["output"]}
        about = {"uuid": str(uuid.UUID(int=9999)), "session_id": SESSION, "is_error": False, "duration_ms": 3659}
        about |= {"num_turns": len(scenario.answers), "result": scenario.answers[-1].text, "usage": told}
        self.lines.append({"type": "result", "subtype": "success", **about, "permission_denials": []})


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for answer in scenario.answers:
        stream.answer(answer)
    if scenario.end == "complete":
        stream.end(scenario)
    return Written("stream.jsonl", json_lines(stream.lines))


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The total of the run; before its end those on the last line of each answer, without those of sub-agents."""
    if written.end == "complete":
        return {**expected.tokens(written.answers), "cache_write": None, "reasoning": None}
    return tokens_of(lambda answer: answer.whole and not answer.empty, "cache_write", "reasoning")(written, told)


def write_session(scenario: Scenario) -> Written:
    lines: list[Any] = []
    clock = Clock(scenario.mixed)

    def add(kind: str, **members: Any) -> None:
        parent = lines[-1]["uuid"] if lines else None
        own = {"uuid": str(uuid.UUID(int=len(lines) + 1)), "parentUuid": parent, "sessionId": SESSION}
        about = {"timestamp": clock.tick(), "type": kind, "cwd": CWD, "version": "0.15.10", "gitBranch": "main"}
        lines.append({**own, **about, **members})

    for prompt in scenario.prompts:
        add("user", message={"role": "user", "parts": [{"text": prompt.text}]})
        for answer in prompt.answers:
            if not answer.whole:
                continue
            parts: list[Any] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
            parts += [{"text": answer.text}] if answer.text else []
            for call in answer.calls:
                name, arguments = given(call)
                parts.append({"functionCall": {"id": f"call_{call.number}", "name": name, "args": arguments}})
            used = answer.usage
            told = {"promptTokenCount": used.input, "candidatesTokenCount": used.output - used.reasoning}
            told |= {"thoughtsTokenCount": used.reasoning, "cachedContentTokenCount": used.cached}
            told |= {"totalTokenCount": used.input + used.output}
            add("assistant", model=MODEL, message={"role": "model", "parts": parts}, usageMetadata=told)
            clock.asked |= dict.fromkeys((call.number for call in answer.calls), clock.now)
            for call in answer.results:
                add("tool_result", **session_result(call))
                clock.ended[call.number] = clock.now
    return Written(f"{SESSION}.jsonl", json_lines(lines), clock=clock)


def session_result(call: Call) -> dict[str, Any]:
    shell = call.verb == "run" and call.outcome in ("ok", "error")
    good = call.outcome == "ok" or shell
    text = call.output
    if shell:
        text = f"Command: {call.target}\nDirectory: (root)\nOutput: {text}\nError: (none)\nExit Code: {call.exit_code}"
    elif call.outcome == "denied":
        text = refusal(call)
    response = {"id": f"call_{call.number}", "name": given(call)[0], "response": {"output" if good else "error": text}}
    told = {"callId": f"call_{call.number}", "status": "success" if good else "error", "resultDisplay": text}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    return {"message": message, "toolCallResult": told}


def no_broken_calls(scenario: Scenario) -> Scenario:
    """The calls of an answer are printed together."""
    return changed(scenario, lambda answer: answer if answer.whole else replace(answer, calls=()))


POSSIBLE = (counts_as("error", ("ok", "denied"), ("unknown",)),)
WRITERS = (
    Writer(
        "qwen-stream",
        write_stream,
        possible=POSSIBLE,
        losses=(no_prompts, no_broken_calls, no_inner_texts, counts_as("ok", ("error",), ("run",)), no_empty_answers),
        took=takes(None),
        tokens=stream_tokens,
        prompts=1,
    ),
    Writer(
        "qwen-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_empty_answers),
        tokens=tokens_of(is_whole, "cache_write"),
        status=by_last_answer,
        resumes=True,
        mixes=True,
    ),
)

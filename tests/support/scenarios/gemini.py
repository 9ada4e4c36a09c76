"""A scenario as Gemini CLI 0.61 prints it (`--output-format stream-json`), and as it keeps it in a chat recording.

Shapes: recordings of the real program. The stream shows of outputs what a person is shown; a chat tells an answer's
calls when all of them have ended. What sub-agents do is printed nowhere, and is not written here.
"""

import json
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Scenario, Verb, changed
from support.scenarios.writer import (
    ALL,
    NOTHING,
    Nameless,
    Writer,
    Written,
    counts_as,
    is_answered,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_thinking,
    parted_by_results,
    time_of,
    tokens_of,
)

SESSION = "8c8e60c4-871c-4952-96a6-ec321d279ed3"
MODEL = "gemini-2.5-pro"


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Gemini's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"file_path": call.target}),
        "search": ("grep_search", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("list_directory", {"dir_path": call.target}),
        "edit": ("replace", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("write_file", {"file_path": call.target, "content": call.text}),
        "run": ("run_shell_command", {"command": call.target, "description": "Run a command"}),
        "plan": ("write_todos", {"todos": [{"description": call.text, "status": "pending"}]}),
        "fetch": ("web_fetch", {"prompt": f"https://example.org/{call.target} {call.text}"}),
        "mcp": ("mcp_" + call.target.replace("/", "_"), {"query": call.text}),
        "delegate": ("invoke_agent", {"agent_name": "generalist", "prompt": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def own(call: Call) -> str:
    name = given(call)[0]
    return f"{name}__{name}_1795240830{call.number:03d}_0"


def failure(call: Call) -> tuple[str, str]:
    """The type and the text of an error."""
    if call.outcome == "denied":
        return "policy_violation", f"Tool execution denied by policy. {call.output}"
    return ("tool_not_registered" if call.verb == "unknown" else "execution_failed"), call.output


class Stream:
    """Prints lines."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.add("init", session_id=SESSION, model=MODEL)

    def add(self, kind: str, **members: Any) -> None:
        self.lines.append({"type": kind, "timestamp": time_of(len(self.lines)), **members})

    def answer(self, answer: Answer) -> None:
        half = len(answer.text) // 2
        for piece in (answer.text[:half], answer.text[half:]):
            if piece:
                self.add("message", role="assistant", content=piece, delta=True)
        for call in answer.calls:
            name, arguments = given(call)
            self.add("tool_use", tool_name=name, tool_id=own(call), parameters=arguments)
        for call in answer.results:
            if call.outcome == "ok" or (call.verb == "run" and call.outcome == "error"):
                shown = call.output if call.verb == "run" else ""
                self.add("tool_result", tool_id=own(call), status="success", output=shown)
            else:
                kind, text = failure(call)
                error = {"type": kind, "message": text}
                self.add("tool_result", tool_id=own(call), status="error", output=text, error=error)

    def end(self, scenario: Scenario) -> None:
        sums = expected.tokens(scenario.answers)
        about = {"total_tokens": sums["input"] + sums["output"], "input_tokens": sums["input"]}
        about |= {"output_tokens": sums["output"] - sums["reasoning"], "cached": sums["cached"]}
        about |= {"input": sums["input"] - sums["cached"]}
        self.add("result", status="success", stats={**about, "duration_ms": 2537, "models": {MODEL: about}})


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for prompt in scenario.prompts:
        stream.add("message", role="user", content=prompt.text)
        for answer in prompt.answers:
            stream.answer(answer)
    if scenario.end == "complete":
        stream.end(scenario)
    return Written("stream.jsonl", json_lines(stream.lines))


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The total of the run, sub-agents included; before its end none."""
    if written.end == "cut":
        return dict(NOTHING)
    return {**expected.tokens(written.answers), "cache_write": None}


def write_chat(scenario: Scenario) -> Written:
    head = {"sessionId": SESSION, "projectHash": "36d5f64b", "startTime": time_of(0), "lastUpdated": time_of(0)}
    lines: list[Any] = [{**head, "kind": "main"}]
    for number, prompt in enumerate(scenario.prompts):
        line = {"id": f"u{number}", "timestamp": time_of(len(lines)), "type": "user"}
        lines += [{**line, "content": [{"text": prompt.text}]}, {"$set": {"lastUpdated": time_of(len(lines))}}]
        for answer in prompt.answers:
            if answer.whole:
                lines += chat_answer(answer, len(lines))
    return Written("session-2026-03-02T09-30-8c8e60c4.jsonl", json_lines(lines))


def write_document(scenario: Scenario) -> Written:
    """The older form: the whole chat is one document."""
    messages: list[Any] = []
    for number, prompt in enumerate(scenario.prompts):
        line = {"id": f"u{number}", "timestamp": time_of(len(messages)), "type": "user"}
        messages.append({**line, "content": [{"text": prompt.text}]})
        for answer in prompt.answers:
            if answer.whole:
                told = chat_answer(answer, len(messages))
                messages += told[1:] or told
    head = {"sessionId": SESSION, "projectHash": "36d5f64b", "startTime": time_of(0), "lastUpdated": time_of(0)}
    data = json.dumps({**head, "messages": messages}, ensure_ascii=False, indent=2).encode()
    return Written("session-2026-03-02T09-30-8c8e60c4.json", data)


def chat_answer(answer: Answer, second: int) -> list[Any]:
    used = answer.usage
    made = used.output - used.reasoning
    tokens: dict[str, int] = {
        "input": used.input,
        "output": made,
        "cached": used.cached,
        "thoughts": used.reasoning,
        "tool": 0,
    }
    thoughts = (
        [{"subject": "", "description": answer.thinking, "timestamp": time_of(second)}] if answer.thinking else []
    )
    line: dict[str, Any] = {
        "id": f"g{answer.number}",
        "timestamp": time_of(second),
        "type": "gemini",
        "content": answer.text,
    }
    line |= {"thoughts": thoughts, "tokens": {**tokens, "total": used.input + used.output}, "model": MODEL}
    if not answer.calls or not is_answered(answer):
        return [line]
    responses = [response(call) for call in answer.calls]
    calls = [
        {"id": own(call), "name": given(call)[0], "args": given(call)[1], "result": [told],
         "timestamp": time_of(second), "resultDisplay": call.output,
         "status": "success" if call.outcome == "ok" or call.exit_code else "error"}
        for call, told in zip(answer.calls, responses, strict=True)
    ]  # fmt: skip
    back = {"id": f"r{answer.number}", "timestamp": time_of(second), "type": "user", "content": responses}
    return [line, {**line, "toolCalls": calls}, back]


def response(call: Call) -> dict[str, Any]:
    if call.outcome == "ok" or call.exit_code:
        code = f"\nExit Code: {call.exit_code}" if call.exit_code else ""
        text = f"<untrusted_context>\nOutput: {call.output}{code}\nProcess Group PGID: 2\n</untrusted_context>"
        told = {"output": text if call.verb == "run" else call.output}
    else:
        told = {"error": failure(call)[1]}
    return {"functionResponse": {"id": own(call), "name": given(call)[0], "response": told}}


def no_open_calls(scenario: Scenario) -> Scenario:
    """The calls of an answer are recorded when all of them have ended."""
    return changed(scenario, lambda answer: answer if is_answered(answer) else replace(answer, calls=()))


POSSIBLE = (counts_as("error", ("ok", "denied"), ("unknown",)),)
CHAT_VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb != "delegate")
WRITERS = (
    Writer(
        "gemini-stream",
        write_stream,
        possible=POSSIBLE,
        losses=(no_inner, no_thinking, counts_as("ok", ("error",), ("run",)), no_empty_answers, parted_by_results),
        outputs=("run",),
        tokens=stream_tokens,
        prompts=1,
        nameless=Nameless("two pieces of a moment may be equal", lambda record: "delta" in record),
    ),
    Writer(
        "gemini-chat",
        write_chat,
        CHAT_VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_open_calls, no_empty_answers),
        tokens=tokens_of(is_whole, "cache_write"),
        status=lambda written, told: "unknown",
        append_only=False,  # an answer is told again with its calls
        resumes=True,
    ),
    Writer(
        "gemini-chat-json",
        write_document,
        CHAT_VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, no_open_calls, no_empty_answers),
        tokens=tokens_of(is_whole, "cache_write"),
        status=lambda written, told: "unknown",
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

"""A scenario as cursor-agent prints it (`-p --output-format stream-json`), and as the IDE keeps it in transcripts.

Shapes: public recordings (formats.md, section 11). Texts and calls name the model call that they are of, thoughts do
not. What sub-agents do is not printed. A transcript has texts and calls alone: no results.
"""

from typing import Any

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    ALL,
    CWD,
    NOTHING,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_thinking,
    no_tokens,
    takes,
)

SESSION = "c6b62c6f-7ead-4fd6-9922-e952131177ff"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb not in ("unknown", "delegate"))


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Cursor's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("readToolCall", {"path": call.target}),
        "search": ("grepToolCall", {"pattern": call.target, "path": CWD}),
        "find": ("globToolCall", {"globPattern": call.target}),
        "list": ("lsToolCall", {"path": call.target}),
        "edit": ("editToolCall", {"path": call.target, "streamContent": call.text}),
        "create": ("writeToolCall", {"path": call.target, "fileText": call.text}),
        "run": ("shellToolCall", {"command": call.target, "workingDirectory": ""}),
        "plan": ("updateTodosToolCall", {"todos": [{"id": "1", "content": call.text, "status": "pending"}]}),
        "fetch": ("webFetchToolCall", {"url": "https://example.org/" + call.target}),
    }
    if call.verb == "mcp":
        server, _, name = call.target.partition("/")
        about = {"name": f"{server}-{name}", "args": {"query": call.text}, "providerIdentifier": server}
        return "mcpToolCall", {**about, "toolName": name}
    return told[call.verb]


def result(call: Call) -> dict[str, Any]:
    if call.outcome == "denied":
        return {"rejected": {"reason": call.output}}
    if call.verb == "run":
        told = {"exitCode": call.exit_code, "stdout": call.output, "stderr": "", "executionTime": 12}
        return {"failure" if call.exit_code else "success": told}
    if call.outcome == "error":
        return {"error": {"errorMessage": call.output}}
    return {"success": {"content": call.output}}


class Stream:
    """Prints lines."""

    def __init__(self) -> None:
        about = {"apiKeySource": "login", "cwd": CWD, "session_id": SESSION, "model": "Auto"}
        self.lines: list[Any] = [{"type": "system", "subtype": "init", **about, "permissionMode": "default"}]

    def add(self, kind: str, **members: Any) -> None:
        time = STARTED_MS + 1000 * len(self.lines)
        self.lines.append({"type": kind, **members, "session_id": SESSION, "timestamp_ms": time})

    def answer(self, answer: Answer) -> None:
        model_call = f"call-{answer.number}"
        if answer.thinking:
            self.add("thinking", subtype="delta", text=answer.thinking)
            self.add("thinking", subtype="completed")
        if answer.text:
            content = [{"type": "text", "text": answer.text}]
            self.add("assistant", message={"role": "assistant", "content": content}, model_call_id=model_call)
        for call in answer.calls:
            name, arguments = given(call)
            asked = {name: {"args": arguments}}
            about = {"call_id": f"tool_{call.number}", "tool_call": asked, "model_call_id": model_call}
            self.add("tool_call", subtype="started", **about)
        for call in answer.results:
            name, arguments = given(call)
            told = {name: {"args": arguments, "result": result(call)}}
            about = {"call_id": f"tool_{call.number}", "tool_call": told, "model_call_id": model_call}
            self.add("tool_call", subtype="completed", **about)


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for prompt in scenario.prompts:
        content = [{"type": "text", "text": prompt.text}]
        user = {"type": "user", "message": {"role": "user", "content": content}, "session_id": SESSION}
        stream.lines.append(user)
        for answer in prompt.answers:
            stream.answer(answer)
    if scenario.end == "complete":
        sums = expected.tokens(scenario.answers)
        fresh = sums["input"] - sums["cached"] - sums["cache_write"]
        used = {"inputTokens": fresh, "outputTokens": sums["output"], "cacheReadTokens": sums["cached"]}
        used["cacheWriteTokens"] = sums["cache_write"]
        text = "".join(answer.text for answer in scenario.answers)
        about = {"duration_ms": 4200, "duration_api_ms": 4200, "is_error": False, "result": text, "usage": used}
        stream.lines.append({"type": "result", "subtype": "success", "session_id": SESSION, "request_id": "q", **about})
    return Written("stream.jsonl", json_lines(stream.lines))


def stream_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The total at the end."""
    if written.end == "cut":
        return dict(NOTHING)
    return {**expected.tokens(written.answers), "reasoning": None}


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """The IDE's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"path": call.target}),
        "search": ("Grep", {"path": CWD, "pattern": call.target}),
        "find": ("Glob", {"glob_pattern": call.target, "target_directory": CWD}),
        "edit": ("StrReplace", {"path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("Write", {"path": call.target, "contents": call.text}),
        "run": ("Shell", {"command": call.target, "description": "Run a command"}),
        "plan": ("TodoWrite", {"todos": [{"id": "1", "content": call.text, "status": "pending"}], "merge": False}),
        "fetch": ("WebFetch", {"url": "https://example.org/" + call.target}),
        "delegate": ("Task", {"description": "Look", "prompt": call.text, "subagent_type": "explore"}),
    }
    return told[call.verb]


def write_transcript(scenario: Scenario) -> Written:
    lines: list[Any] = []
    for prompt in scenario.prompts:
        lines.append({"role": "user", "message": {"content": [{"type": "text", "text": prompt.text}]}})
        for answer in prompt.answers:
            blocks: list[Any] = [{"type": "text", "text": answer.text}] if answer.text else []
            for call in answer.calls:
                name, arguments = asked(call)
                blocks.append({"type": "tool_use", "name": name, "input": arguments})
            if answer.whole and blocks:
                lines.append({"role": "assistant", "message": {"content": blocks}})
    return Written(f"agent-transcripts/{SESSION}/{SESSION}.jsonl", json_lines(lines))


TRANSCRIPT_VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb not in ("list", "mcp", "unknown"))
WRITERS = (
    Writer(
        "cursor-stream",
        write_stream,
        VERBS,
        losses=(no_empty_answers,),
        tokens=stream_tokens,
        prompts=1,
        nameless=Nameless(
            "texts bear neither an id nor a time", lambda record: record["type"] not in ("tool_call", "result")
        ),
    ),
    Writer(
        "cursor-transcript",
        write_transcript,
        TRANSCRIPT_VERBS,
        losses=(
            no_broken_answers,
            no_thinking,
            no_inner,
            counts_as("unpaired", ("ok", "error", "denied")),
            no_empty_answers,
        ),
        took=takes(None),
        tokens=no_tokens,
        status=by_last_answer,
        later={"role": "later", "message": {"content": [{"type": "text", "text": "later"}]}},
        nameless=Nameless("neither ids nor times"),
    ),
)

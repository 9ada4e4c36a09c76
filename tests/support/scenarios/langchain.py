"""A scenario as a list of LangChain's messages (`messages_to_dict`), a line for each.

Shapes: langchain-core 1.8.3. An agent made with it has the tools that its maker gave it; these have the names that
others have. A list has no prompts of sub-agents, no times and no denials.
"""

from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    NAMED,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_spoken,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    tokens_of,
)

VERBS: tuple[Verb, ...] = (
    "read",
    "search",
    "find",
    "list",
    "edit",
    "create",
    "run",
    "plan",
    "fetch",
    "unknown",
    "delegate",
)
TOOLS: dict[Verb, tuple[str, str]] = {
    "read": ("Read", "file_path"), "search": ("Grep", "pattern"), "find": ("Glob", "pattern"), "list": ("LS", "path"),
    "edit": ("Edit", "file_path"), "create": ("Write", "file_path"), "run": ("Bash", "command"),
    "fetch": ("WebFetch", "url"),
}  # fmt: skip


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    if call.verb in TOOLS:
        name, key = TOOLS[call.verb]
        return name, {key: call.target, "text": call.text}
    names = {"plan": "TodoWrite", "delegate": "Task"}
    return names.get(call.verb, call.target), {"x": call.text}


def answered(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    calls: list[dict[str, Any]] = []
    for call in answer.calls:
        name, arguments = asked(call)
        calls.append({"name": name, "args": arguments, "id": f"call_{call.number:04d}", "type": "tool_call"})
    used = answer.usage
    usage = {
        "input_tokens": used.input, "output_tokens": used.output, "total_tokens": used.input + used.output,
        "input_token_details": {"cache_read": used.cached, "cache_creation": used.written},
        "output_token_details": {"reasoning": used.reasoning},
    }  # fmt: skip
    about = {"usage_metadata": usage, "response_metadata": {"model_name": "pear-2"}}
    return {"content": content, "id": f"run-{answer.number}", "tool_calls": calls, **about}


def write(scenario: Scenario) -> Written:
    lines: list[Any] = []
    for number, prompt in enumerate(scenario.prompts):
        lines.append({"type": "human", "data": {"content": prompt.text, "id": f"h{number}"}})
        for answer in prompt.answers:
            if answer.whole and not answer.empty:
                lines.append({"type": "ai", "data": answered(answer)})
            for call in answer.results:
                about = {"id": f"t{call.number}", "tool_call_id": f"call_{call.number:04d}"}
                status = "success" if call.outcome == "ok" else "error"
                lines.append({"type": "tool", "data": {"content": call.output, **about, "status": status}})
    return Written("messages.jsonl", json_lines(lines))


WRITERS = (
    Writer(
        "langchain-messages",
        write,
        VERBS,
        losses=(no_inner, no_broken_answers, no_empty_answers, counts_as("error", ("denied",))),
        tokens=tokens_of(is_spoken),
        status=by_last_answer,
        resumes=True,
        nameless=NAMED,
    ),
)

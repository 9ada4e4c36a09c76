"""A scenario as Kiro CLI keeps it (`~/.kiro/sessions/cli/<id>.jsonl`), without the document beside it.

Shapes: sessions of June to August 2026. The results of an answer are one record. A shell command that fails is a
success with an exit status; nothing tells a denial.
"""

from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario
from support.scenarios.writer import (
    STARTED_MS,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_answered,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_tokens,
    results_together,
)

SESSION = "7d1f60e1-9b3d-4a57-8e21-7d4f0a6b5c98"


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """Kiro's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read", {"operations": [{"mode": "Line", "path": call.target}]}),
        "search": ("grep", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("read", {"operations": [{"mode": "Directory", "path": call.target}]}),
        "edit": ("write", {"command": "strReplace", "path": call.target, "oldStr": "a", "newStr": call.text}),
        "create": ("write", {"command": "create", "path": call.target, "content": call.text}),
        "run": ("shell", {"command": call.target}),
        "plan": ("todo_list", {"command": "create", "task_list_description": call.text}),
        "fetch": ("web_fetch", {"url": call.target}),
        "mcp": (f"@{call.target}", {"x": call.text}),
        "delegate": ("subagent", {"task": call.text}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def parts(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.thinking:
        found.append({"kind": "thinking", "data": {"text": answer.thinking}})
    if answer.text:
        found.append({"kind": "text", "data": answer.text})
    for call in answer.calls:
        name, arguments = asked(call)
        arguments = {**arguments, "__tool_use_purpose": "to go on"}
        found.append(
            {"kind": "toolUse", "data": {"toolUseId": f"call_{call.number:04d}", "name": name, "input": arguments}}
        )
    return found


def result(call: Call) -> dict[str, Any]:
    failed = call.outcome != "ok"
    about = {
        "toolUseId": f"call_{call.number:04d}",
        "status": "error" if failed and call.exit_code is None else "success",
    }
    if call.exit_code is not None:
        ran = {"exit_status": f"exit status: {call.exit_code}", "stdout": call.output, "stderr": ""}
        return {"kind": "toolResult", "data": {**about, "content": [{"kind": "json", "data": ran}]}}
    return {"kind": "toolResult", "data": {**about, "content": [{"kind": "text", "data": call.output}]}}


def write(scenario: Scenario) -> Written:
    lines: list[Any] = []

    def add(kind: str, own: str, content: list[dict[str, Any]], **members: Any) -> None:
        lines.append({"version": "v1", "kind": kind, "data": {"message_id": own, "content": content, **members}})

    for number, prompt in enumerate(scenario.prompts):
        meta = {"timestamp": STARTED_MS // 1000 + number}
        add("Prompt", f"u{number}", [{"kind": "text", "data": prompt.text}], meta=meta)
        for answer in prompt.answers:
            if answer.whole and not answer.empty:
                add("AssistantMessage", f"a{answer.number}", parts(answer))
            if answer.calls and is_answered(answer):
                add("ToolResults", f"m{answer.number}", [result(call) for call in answer.results], results={})
    return Written(f"{SESSION}.jsonl", json_lines(lines))


WRITERS = (
    Writer(
        "kiro-session",
        write,
        losses=(no_inner, no_broken_answers, no_empty_answers, results_together, counts_as("error", ("denied",))),
        tokens=no_tokens,
        status=by_last_answer,
        resumes=True,
        later={"version": "v1", "kind": "Later", "data": {"message_id": "l#"}},
    ),
)

"""A scenario as Continue 1.5.47 keeps it (`~/.continue/sessions/<id>.json`), one document.

Shapes: recordings of the real program in the terminal, with Anthropic's API, whose prompt tokens it counts without
cached ones. An answer is kept when it is whole and says or asks for something. What sub-agents do is not kept, but
their tokens are in the session's total.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Scenario, Verb, all_answers, changed, changed_calls
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_thinking,
    takes,
)

VERBS: tuple[Verb, ...] = (
    "read", "search", "list", "edit", "create", "run", "plan", "fetch", "unknown", "delegate"
)  # fmt: skip
SESSION = "5b8f1a52-9d3e-4c07-8a61-2f4d5e6b7c80"
MODEL = "pear-2"


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Continue's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("Read", {"filepath": call.target}),
        "search": ("Search", {"pattern": call.target, "path": "."}),
        "list": ("List", {"dirpath": call.target}),
        "edit": ("Edit", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("Write", {"filepath": call.target, "content": call.text}),
        "run": ("Bash", {"command": call.target}),
        "plan": ("Checklist", {"checklist": f"- [ ] {call.text}"}),
        "fetch": ("Fetch", {"url": "https://example.org/" + call.target}),
        "delegate": ("Subagent", {"description": "Look", "prompt": call.text, "subagent_name": "looker"}),
    }
    return told.get(call.verb, (call.target, {"query": call.text}))


def asked(call: Call) -> dict[str, Any]:
    name, arguments = given(call)
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"toolu_{call.number}", "type": "function", "function": function}


def state(call: Call) -> dict[str, Any]:
    """A call and what became of it."""
    name, arguments = given(call)
    told = {"toolCallId": f"toolu_{call.number}", "toolCall": asked(call), "status": "calling", "parsedArgs": arguments}
    if call.outcome == "unpaired":
        return told
    if call.outcome == "denied":
        status, output = "canceled", "Permission denied by user"
    elif call.verb == "unknown":
        status, output = "errored", f"Tool {name} not found"
    elif call.outcome == "error":
        code = f"Error (exit code {call.exit_code}): " if call.verb == "run" else ""
        status, output = "errored", f"Error executing tool {name}: {code}{call.output}"
    else:
        status, output = "done", call.output
    described = {"content": output, "name": "Tool Result", "description": "Tool execution result"}
    return {**told, "status": status, "output": [described]}


def assistant(answer: Answer) -> dict[str, Any]:
    used = answer.usage
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    calls: dict[str, Any] = {}
    if answer.calls:
        message["toolCalls"] = list(map(asked, answer.calls))
        calls = {"toolCallStates": list(map(state, answer.calls))}
    details = {"cache_write_tokens": used.written, "cache_read_tokens": used.cached, "cached_tokens": used.cached}
    message["usage"] = {
        "completion_tokens": used.output,
        "prompt_tokens": used.fresh,
        "total_tokens": used.fresh + used.output,
        "prompt_tokens_details": details,
        "model": MODEL,
        "cost_cents": 0,
    }
    return {"message": message, "contextItems": [], **calls}


def total(answers: Sequence[Answer]) -> dict[str, Any]:
    """Of all model calls, sub-agents' included; the price is one that Continue assumes."""
    used = [answer.usage for answer in answers]
    prompt, made = sum(one.fresh for one in used), sum(one.output for one in used)
    details = {"cachedTokens": sum(one.cached for one in used), "cacheWriteTokens": sum(one.written for one in used)}
    cost = (prompt + 2 * made) / 1_000_000
    return {"totalCost": cost, "promptTokens": prompt, "completionTokens": made, "promptTokensDetails": details}


def ended(scenario: Scenario) -> list[Answer]:
    """The model calls that came to their end."""
    return [answer for answer in all_answers(scenario.answers) if answer.whole]


def write(scenario: Scenario) -> Written:
    history: list[Any] = []
    for prompt in scenario.prompts:
        message = {"role": "user", "content": prompt.text}
        history.append({"message": message, "contextItems": [], "editorState": prompt.text})
        history += [assistant(answer) for answer in prompt.answers if answer.whole and (answer.text or answer.calls)]
    about = {"sessionId": SESSION, "title": "Untitled Session", "workspaceDirectory": CWD}
    document = {**about, "history": history, "usage": total(ended(scenario))}
    return Written(f"{SESSION}.json", json.dumps(document, ensure_ascii=False, indent=2).encode())


def no_reasons(scenario: Scenario) -> Scenario:
    """Why a call was denied, and what there is in place of a tool, Continue says in its own words."""

    def silent(call: Call) -> Call:
        return replace(call, output="") if call.outcome == "denied" or call.verb == "unknown" else call

    return changed_calls(scenario, silent)


def interrupted(scenario: Scenario) -> Scenario:
    """A call without an end that something follows was interrupted: the log does not distinguish Escape from a kill."""
    last = [answer.number for prompt in scenario.prompts[-1:] for answer in prompt.answers[-1:]]

    def of(answer: Answer) -> Answer:
        calls = (
            replace(call, outcome="cancelled", output="") if call.outcome == "unpaired" else call
            for call in answer.calls
        )
        return answer if answer.number in last else replace(answer, calls=tuple(calls))

    return changed(scenario, of)


def tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of all calls of the model; what of them was cached only if the answers that are kept are all of them."""
    found = [replace(answer, calls=()) for answer in ended(written)]
    if not found:
        return dict(NOTHING)
    sums = {**expected.tokens(found), "reasoning": None}
    return sums if len(found) == len(told.answers) else {**sums, "cached": None, "cache_write": None}


WRITERS = (
    Writer(
        "continue-session",
        write,
        VERBS,
        possible=(counts_as("error", ("ok", "denied"), ("unknown",)),),
        losses=(no_thinking, no_inner, no_broken_answers, no_empty_answers, no_reasons, interrupted),
        tokens=tokens,
        status=by_last_answer,
        took=takes(None),
        append_only=False,
        lines=False,
        resumes=True,
    ),
)

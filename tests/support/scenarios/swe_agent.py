"""A scenario as SWE-agent 1.x keeps it (`FILE.traj`), one document, and as a demonstration, which has a history alone.

Shapes: test data and demonstrations of its repository. An answer has one action, and is written when the action has
ended. The action is a text: a command of SWE-agent's own, or of the shell. The run ends with `submit`.
"""

import json
import shlex
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Outcome, Scenario, Verb, changed, numbered
from support.scenarios.writer import NOTHING, Writer, Written, counts_as, no_thinking, no_tokens

VERBS: tuple[Verb, ...] = ("read", "search", "find", "edit", "create", "run")
SUBMIT = Call("unknown", "submit", "", "ok", "", 0)
FOLDER = "/orchard"


def action(call: Call) -> str:
    path = shlex.quote(call.target)
    told = {
        "read": f"open {path} 12",
        "search": f"search_dir {path}",
        "find": f"find_file {path}",
        "edit": f"str_replace_editor str_replace {path} --old_str a --new_str {shlex.quote(call.text)}",
        "create": f"create {path}",
    }
    return told.get(call.verb, call.target)


def element(answer: Answer) -> dict[str, Any]:
    (call,) = answer.calls
    place = {"open_file": "n/a", "working_dir": FOLDER}
    spoken = {"response": answer.text, "thought": answer.text}
    return {"action": action(call), "observation": call.output, **spoken, "state": place, "query": [{"role": "user"}]}


def history(scenario: Scenario, steps: list[Answer]) -> list[dict[str, Any]]:
    entries: list[tuple[str, Any, str, dict[str, Any]]] = []
    entries += [("system", "SETTING: You are an autonomous programmer.", "system_prompt", {})]
    entries += [("user", "Here is a demonstration.", "demonstration", {"is_demo": True})]
    entries += [("user", [{"type": "text", "text": scenario.prompts[0].text}], "observation", {})]
    for answer in steps:
        (call,) = answer.calls
        own = f"call_{call.number:04d}"
        asked = [{"function": {"name": action(call).split()[0], "arguments": "{}"}, "id": own, "type": "function"}]
        about = {"thought": answer.text, "action": action(call), "tool_calls": asked}
        entries += [("assistant", answer.text, "action", about)]
        entries += [("tool", call.output, "observation", {"tool_call_ids": [own]})]
    return [
        {"role": role, "content": content, "agent": "main", "message_type": kind, **about}
        for role, content, kind, about in entries
    ]


def write(scenario: Scenario) -> Written:
    steps = ended(scenario).answers
    info: dict[str, Any] = {"exit_status": "submitted", "submission": "diff"} if scenario.end == "complete" else {}
    if steps:
        used = [answer.usage for answer in steps]
        sent, received = sum(one.input for one in used), sum(one.output for one in used)
        stats = {"instance_cost": 0.25, "tokens_sent": sent, "tokens_received": received, "api_calls": len(steps)}
        info = {"model_stats": stats, **info}
    trajectory = [element(answer) for answer in steps]
    document = {"environment": "main", "trajectory": trajectory, "history": history(scenario, steps), "info": info}
    attempts: list[dict[str, Any]] = [{"trajectory": trajectory[:1], "history": [], "info": {}}]
    return Written("run.traj", json.dumps({**document, "attempts": attempts}, ensure_ascii=False, indent=2).encode())


def write_demonstration(scenario: Scenario) -> Written:
    document = {"history": history(scenario, ended(scenario).answers)}
    return Written("demonstration.traj", json.dumps(document, ensure_ascii=False).encode())


def one_action(scenario: Scenario) -> Scenario:
    """An answer has one action; the last one submits."""

    def acting(answer: Answer) -> Answer:
        if not answer.final:
            return replace(answer, calls=answer.calls[:1])
        outcome: Outcome = "ok" if scenario.end == "complete" else "unpaired"
        return replace(answer, calls=(replace(SUBMIT, outcome=outcome, output=answer.text or "diff"),))

    return numbered(changed(scenario, acting))


def ended(scenario: Scenario) -> Scenario:
    """An answer is written when its action has ended."""
    return changed(scenario, lambda answer: answer if answer.whole and answer.results else None)


def sums(written: Scenario, told: Scenario) -> dict[str, int | None]:
    found = expected.tokens(told.answers)
    return {**NOTHING, "input": found["input"], "output": found["output"]} if told.answers else dict(NOTHING)


def by_nothing(written: Scenario, told: Scenario) -> str:
    return "incomplete"


POSSIBLE = (one_action, counts_as("ok", ("error", "denied")))
LOSSES = (ended, no_thinking)
WRITERS = (
    Writer(
        "swe-agent", write, VERBS, possible=POSSIBLE, losses=LOSSES, tokens=sums, append_only=False, prompts=1,
        lines=False,
    ),
    Writer(
        "swe-agent",
        write_demonstration,
        VERBS,
        name="swe-agent-demonstration",
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=no_tokens,
        status=by_nothing,
        append_only=False,
        prompts=1,
        lines=False,
    ),
)  # fmt: skip

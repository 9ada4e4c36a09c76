"""A scenario as Codex 0.169 prints it (`codex exec --json`).

Shapes: recordings of the real program. Codex reads and searches with its shell, so such calls are commands. Items have
no times and answers no marks.
"""

import shlex
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Scenario, Usage, Verb, changed
from support.scenarios.writer import (
    NOTHING,
    Nameless,
    Writer,
    Written,
    counts_as,
    json_lines,
    no_empty_answers,
    no_inner,
    no_prompts,
    not_told,
    parted_by_results,
    takes,
)

THREAD = "01a1fcae-d6dd-7100-b668-000000000001"
MODEL = "gpt-5.1-codex"
SHELL: tuple[Verb, ...] = ("read", "search", "find", "list", "run")
EDITS: tuple[Verb, ...] = ("edit", "create")
VERBS: tuple[Verb, ...] = (*SHELL, *EDITS, "plan", "mcp", "unknown", "delegate")


def command(call: Call) -> str:
    """What the model types where others have a tool."""
    return {
        "read": f"cat {shlex.quote(call.target)}",
        "search": f"grep -rn {shlex.quote(call.target)} .",
        "find": f"find . -name {shlex.quote(call.target)}",
        "list": f"ls {shlex.quote(call.target)}",
    }.get(call.verb, call.target)


def exit_code(call: Call) -> int:
    return call.exit_code if call.exit_code is not None else int(call.outcome != "ok")


def status(call: Call) -> str:
    return {"ok": "completed", "error": "failed", "denied": "declined", "unpaired": "in_progress"}[call.outcome]


def usage(sums: dict[str, int]) -> dict[str, int]:
    return {
        "input_tokens": sums["input"],
        "cached_input_tokens": sums["cached"],
        "cache_write_input_tokens": sums["cache_write"],
        "output_tokens": sums["output"],
        "reasoning_output_tokens": sums["reasoning"],
    }


class Exec:
    """Prints lines; item ids count up."""

    def __init__(self) -> None:
        self.lines: list[Any] = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}]
        self.items = 0
        self.plan: dict[str, Any] | None = None

    def own(self) -> str:
        self.items += 1
        return f"item_{self.items - 1}"

    def item(self, state: str, own: str, **members: Any) -> None:
        self.lines.append({"type": f"item.{state}", "item": {"id": own, **members}})

    def answer(self, answer: Answer) -> None:
        if answer.thinking:
            self.item("completed", self.own(), type="reasoning", text=answer.thinking)
        if answer.text:
            self.item("completed", self.own(), type="agent_message", text=answer.text)
        ids: dict[int, str] = {}
        for call in answer.calls:
            if call.verb == "plan":
                self.planned(call)
            elif call.verb != "unknown" and not (call.verb in EDITS and call.outcome != "ok"):
                ids[call.number] = self.own()
                self.item("started", ids[call.number], **self.begun(call))
        for call in answer.results:
            if call.number in ids:
                self.item("completed", ids[call.number], **self.ended(call))

    def planned(self, call: Call) -> None:
        """The plan is one item of the whole run: each call changes it."""
        if self.plan is None:
            self.plan = {"id": self.own(), "type": "todo_list"}
            kind = "item.started"
        else:
            kind = "item.updated"
        self.plan = {**self.plan, "items": [{"text": call.text, "completed": False}]}
        self.lines.append({"type": kind, "item": self.plan})

    def begun(self, call: Call) -> dict[str, Any]:
        about: dict[str, Any]
        if call.verb in SHELL:
            text = shlex.join(["/bin/bash", "-lc", command(call)])
            about = {"type": "command_execution", "command": text, "aggregated_output": "", "exit_code": None}
        elif call.verb in EDITS:
            changes = [{"path": call.target, "kind": "add" if call.verb == "create" else "update"}]
            about = {"type": "file_change", "changes": changes}
        elif call.verb == "mcp":
            server, _, tool = call.target.partition("/")
            about = {"type": "mcp_tool_call", "server": server, "tool": tool, "arguments": {"query": call.text}}
            about |= {"result": None, "error": None}
        else:
            about = {"type": "collab_tool_call", "tool": "spawn_agent", "sender_thread_id": THREAD}
            about |= {"receiver_thread_ids": [], "prompt": call.text, "agents_states": {}}
        return {**about, "status": "in_progress"}

    def ended(self, call: Call) -> dict[str, Any]:
        about = {**self.begun(call), "status": status(call)}
        if call.verb in SHELL:
            about |= {
                "aggregated_output": call.output,
                "exit_code": -1 if call.outcome == "denied" else exit_code(call),
            }
        elif call.verb == "mcp" and call.outcome == "ok":
            about |= {"result": {"content": [{"type": "text", "text": call.output}], "structured_content": None}}
        elif call.verb == "mcp":
            about |= {"error": {"message": call.output}}
        elif call.verb == "delegate":
            agent = f"01a1fcae-d6dd-7100-b668-{call.number:012x}"
            about |= {"receiver_thread_ids": [agent]}
            about |= {"agents_states": {agent: {"status": "pending_init", "message": call.output}}}
        return about


def write_exec(scenario: Scenario) -> Written:
    stream = Exec()
    for answer in scenario.answers:
        stream.answer(answer)
    if scenario.end == "complete":
        if stream.plan is not None:
            stream.lines.append({"type": "item.completed", "item": stream.plan})
        main = [answer.usage for answer in scenario.answers]
        stream.lines.append({"type": "turn.completed", "usage": usage(sums_of(main))})
    return Written("stream.jsonl", json_lines(stream.lines))


def sums_of(used: list[Usage]) -> dict[str, int]:
    """Sums without sub-agents."""
    return expected.tokens([Answer("", "", (), one, True) for one in used])


def exec_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The thread's total, without sub-agents; of a run that was cut none."""
    if written.end == "cut":
        return dict(NOTHING)
    return {**sums_of([answer.usage for answer in written.answers])}


def one_plan_last(scenario: Scenario) -> Scenario:
    """The stream tells no end of a plan's change: it has ended where it stands, and what follows is a new answer."""

    def ordered(answer: Answer) -> Answer:
        plans = [call for call in answer.calls if call.verb == "plan"]
        return replace(answer, calls=(*(call for call in answer.calls if call.verb != "plan"), *plans[:1]))

    return changed(scenario, ordered)


WRITERS = (
    Writer(
        "codex-exec",
        write_exec,
        VERBS,
        inputs=tuple(verb for verb in VERBS if verb not in EDITS),
        outputs=(*SHELL, "mcp", "delegate"),
        prompts=1,
        append_only=False,  # of an edit that was cut off nobody knows that it would have been printed
        finer=True,
        possible=(
            one_plan_last,
            counts_as("ok", ("error", "denied", "unpaired"), ("plan",)),
            counts_as("error", ("denied",), ("mcp", "unknown")),
            counts_as("ok", ("denied", "error"), ("delegate",)),
        ),
        losses=(
            no_prompts,
            no_inner,
            not_told(("error", "denied", "unpaired"), EDITS),
            not_told(("ok", "error", "denied", "unpaired"), ("unknown",)),
            no_empty_answers,
            parted_by_results,
        ),
        took=takes(None),
        tokens=exec_tokens,
        nameless=Nameless("each run counts its items anew, and says of itself what any run does"),
    ),
)

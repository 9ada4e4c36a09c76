"""A scenario as `codex app-server` tells it to its client (Codex 0.142, 0.171), the server's side alone.

Shapes: the items of the exec stream in camelCase, with times; texts come in pieces and then whole. What sub-agents do,
patches that failed and calls of unknown tools are not written here.
"""

import shlex
from typing import Any

from msgspec.structs import replace

from support.scenarios.codex import EDITS, MODEL, SHELL, THREAD, command, exit_code, sums_of
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage, Verb
from support.scenarios.writer import (
    CWD,
    NOTHING,
    STARTED_MS,
    Writer,
    Written,
    counts_as,
    is_answered,
    json_lines,
    no_empty_answers,
    not_told,
)

VERBS: tuple[Verb, ...] = (*SHELL, *EDITS, "mcp")
STATES = {"ok": "completed", "error": "failed", "denied": "declined", "unpaired": "inProgress"}


class Server:
    """Prints notifications."""

    def __init__(self) -> None:
        thread = {"id": THREAD, "cwd": CWD, "cliVersion": "0.142.5", "parentThreadId": None}
        self.lines: list[Any] = [{"id": 1, "result": {"userAgent": "x", "codexHome": "/home/ada/.codex"}}]
        self.lines.append({"id": 2, "result": {"thread": thread, "model": MODEL}})
        self.lines.append({"method": "thread/started", "params": {"thread": thread}})
        self.spent: list[Usage] = []
        self.turn = 0

    def note(self, method: str, **params: Any) -> None:
        self.lines.append({"method": method, "params": {"threadId": THREAD, "turnId": f"turn-{self.turn}", **params}})

    def item(self, event: str, **item: Any) -> None:
        when = STARTED_MS + 1000 * len(self.lines)
        self.note(f"item/{event}", item=item, **{"startedAtMs" if event == "started" else "completedAtMs": when})

    def prompt(self, text: str) -> None:
        self.turn += 1
        self.note("turn/started", turn={"id": f"turn-{self.turn}", "status": "inProgress", "items": []})
        said = {"type": "userMessage", "id": f"user-{self.turn}", "content": [{"type": "text", "text": text}]}
        self.item("started", **said)
        self.item("completed", **said)

    def answer(self, answer: Answer) -> None:
        if answer.thinking:
            own = f"rs_{answer.number}"
            self.item("started", type="reasoning", id=own, summary=[], content=[])
            self.item("completed", type="reasoning", id=own, summary=[answer.thinking], content=[])
        if answer.text:
            own = f"msg_{answer.number}"
            half = len(answer.text) // 2
            self.item("started", type="agentMessage", id=own, text="")
            for piece in filter(None, (answer.text[:half], answer.text[half:])):
                self.note("item/agentMessage/delta", itemId=own, delta=piece)
            self.item("completed", type="agentMessage", id=own, text=answer.text)
        told = told_calls(answer)
        for call in told:
            self.item("started", **self.about(call, "unpaired"))
        for call in answer.results:
            if call in told:
                self.item("completed", **{**self.about(call, call.outcome), **self.ended(call)})
        if is_answered(answer):
            self.spent.append(answer.usage)
            usage = {"total": tokens(self.spent), "last": tokens(self.spent[-1:]), "modelContextWindow": 258400}
            self.note("thread/tokenUsage/updated", tokenUsage=usage)

    def about(self, call: Call, outcome: str) -> dict[str, Any]:
        known: dict[str, Any] = {"id": f"call_{call.number:04d}", "status": STATES[outcome]}
        if call.verb in EDITS:
            kind = {"type": "add"} if call.verb == "create" else {"type": "update", "movePath": None}
            change = {"path": call.target, "kind": kind, "diff": call.text}
            return {**known, "type": "fileChange", "changes": [change]}
        if call.verb == "mcp":
            server, _, tool = call.target.partition("/")
            known |= {"server": server, "tool": tool, "arguments": {"query": call.text}}
            return {**known, "type": "mcpToolCall", "result": None, "error": None, "durationMs": None}
        text = shlex.join(["/bin/bash", "-lc", command(call)])
        known |= {"command": text, "cwd": CWD, "processId": None, "commandActions": []}
        return {**known, "type": "commandExecution", "aggregatedOutput": None, "exitCode": None, "durationMs": None}

    def ended(self, call: Call) -> dict[str, Any]:
        if call.verb in EDITS:
            return {}
        if call.verb == "mcp":
            if call.outcome != "ok":
                return {"error": {"message": call.output}, "durationMs": 7}
            content = [{"type": "text", "text": call.output}]
            return {"result": {"content": content, "structuredContent": None}, "durationMs": 7}
        code = -1 if call.outcome == "denied" else exit_code(call)
        return {"aggregatedOutput": call.output, "exitCode": code, "durationMs": 7}


def told_calls(answer: Answer) -> list[Call]:
    return [call for call in answer.calls if call.verb not in EDITS or call.outcome == "ok"]


def parted_by_usage(scenario: Scenario) -> Scenario:
    """Answers have no marks: a text begins one after a result or a usage, a call only after a result and a usage."""

    def parted(prompt: Prompt) -> Prompt:
        out: list[Answer] = []
        spoken = over = False
        for answer in prompt.answers:
            told = told_calls(answer)
            speaks = bool(answer.thinking or answer.text)
            if out and not over and not (speaks and spoken):
                before = out.pop()
                thinking, text = before.thinking + answer.thinking, before.text + answer.text
                answer = replace(answer, thinking=thinking, text=text, calls=before.calls + answer.calls)
                out.append(answer)
            elif speaks or told:
                out.append(answer)
                spoken = over = False
            spoken = spoken or any(call in told for call in answer.results)
            if is_answered(answer):
                over, spoken = spoken, True
        return replace(prompt, answers=tuple(out))

    return replace(scenario, prompts=tuple(map(parted, scenario.prompts)))


def tokens(used: list[Usage]) -> dict[str, int]:
    sums = sums_of(used)
    told = {"inputTokens": sums["input"], "cachedInputTokens": sums["cached"], "outputTokens": sums["output"]}
    total = sums["input"] + sums["output"]
    return {**told, "reasoningOutputTokens": sums["reasoning"], "totalTokens": total}


def write(scenario: Scenario) -> Written:
    server = Server()
    for prompt in scenario.prompts:
        server.prompt(prompt.text)
        for answer in prompt.answers:
            server.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            turn = {"id": f"turn-{server.turn}", "status": "completed", "error": None, "durationMs": 900}
            server.note("turn/completed", turn=turn)
    return Written("stream.jsonl", json_lines(server.lines))


def counted(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer whose calls have ended; of what was written to a cache nothing."""
    found = [answer.usage for answer in written.answers if is_answered(answer)]
    return {**sums_of(found), "cache_write": None} if found else dict(NOTHING)


WRITERS = (
    Writer(
        "codex-app-server",
        write,
        VERBS,
        possible=(counts_as("error", ("denied",), ("mcp",)),),
        losses=(parted_by_usage, not_told(("error", "denied", "unpaired"), EDITS), no_empty_answers),
        inputs=VERBS,
        outputs=(*SHELL, "mcp"),
        finer=True,
        tokens=counted,
        append_only=False,  # of an edit that was cut off nobody knows that it would have been printed
        later={"method": "later/told", "params": {"threadId": THREAD}},
    ),
)

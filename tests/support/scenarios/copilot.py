"""A scenario as GitHub Copilot's command line 1.0.102 prints it (`--output-format json`), and as it keeps it on disk.

Shapes: recordings of the real program, without its ephemeral lines, which repeat what the others say. Both forms are
the same events; on disk they have a head, usage records and a shutdown with totals.
"""

import uuid
from collections.abc import Iterator
from itertools import islice
from typing import Any

from support.scenarios import expected
from support.scenarios.mixing import STARTED_MS, Clock, in_some_order, iso_of, run
from support.scenarios.scenario import Answer, Call, Scenario, Usage, Verb, all_answers
from support.scenarios.writer import (
    ALL,
    CWD,
    NOTHING,
    Writer,
    Written,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_tokens,
)

SESSION = "d09380ae-b56a-45b8-adbb-af026507d5bf"
MODEL = "claude-sonnet-4.5"
SILENT = ("assistant.turn_start", "tool.execution_start", "assistant.turn_end")  # what the message has said before
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb != "list")


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """Copilot's own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("view", {"path": call.target}),
        "search": ("grep", {"pattern": call.target, "output_mode": "content"}),
        "find": ("glob", {"pattern": call.target}),
        "edit": ("edit", {"path": call.target, "old_str": "a", "new_str": call.text}),
        "create": ("create", {"path": call.target, "file_text": call.text}),
        "run": ("bash", {"command": call.target, "description": "Run a command"}),
        "plan": ("update_todo", {"todos": f"- [ ] {call.text}"}),
        "fetch": ("web_fetch", {"url": "https://example.org/" + call.target, "raw": False}),
        "mcp": (call.target.replace("/", "-"), {"query": call.text}),
        "delegate": ("task", {"prompt": call.text, "description": "Look", "agent_type": "general-purpose"}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def server(call: Call) -> dict[str, str]:
    name, _, tool = call.target.partition("/")
    return {"mcpServerName": name, "mcpToolName": tool} if call.verb == "mcp" else {}


def own(call: Call) -> str:
    return f"toolu_{call.number:04d}"


def usage(used: list[Usage]) -> dict[str, int]:
    sums = expected.tokens([Answer("", "", (), one, True) for one in used])
    told = {"inputTokens": sums["input"], "outputTokens": sums["output"], "cacheReadTokens": sums["cached"]}
    return {**told, "cacheWriteTokens": sums["cache_write"], "reasoningTokens": sums["reasoning"]}


class Events:
    """Writes lines, on disk or not."""

    def __init__(self, disk: bool, mixed: int) -> None:
        self.disk = disk
        self.mixed = mixed
        self.background: list[Iterator[None]] = []
        self.clock = Clock(mixed)
        self.lines: list[Any] = []
        self.spent: list[Usage] = []
        context = {"cwd": CWD, "gitRoot": CWD, "branch": "main"}
        if disk:
            about = {"sessionId": SESSION, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102"}
            self.add(
                "session.start", {**about, "startTime": iso_of(STARTED_MS), "selectedModel": MODEL, "context": context}
            )

    def add(self, kind: str, data: dict[str, Any], agent: str | None = None, says: bool = True) -> None:
        parent = self.lines[-1]["id"] if self.lines else None
        line: dict[str, Any] = {"type": kind, "data": data}
        if agent is not None:
            line["agentId"] = agent
        line["id"] = str(uuid.UUID(int=len(self.lines) + 1))
        self.lines.append({**line, "timestamp": self.clock.tick(says and kind not in SILENT), "parentId": parent})

    def answer(self, answer: Answer, turn: int, parent: Call | None = None) -> Iterator[None]:
        if not answer.whole:
            return
        agent = None if parent is None else agent_of(parent)
        child = {} if parent is None else {"parentToolCallId": own(parent)}
        self.add("assistant.turn_start", {"turnId": str(turn), **child}, agent)
        api = f"msg_{answer.number:024x}"
        self.spent.append(answer.usage)
        if self.disk:
            used = {"model": MODEL, **usage([answer.usage]), "cost": 0.0, "apiCallId": api}
            self.add("session.usage_record", {"usage": used}, agent)
        asked = [
            {"toolCallId": own(call), "name": given(call)[0], "arguments": given(call)[1], "type": "function",
             **server(call)}
            for call in answer.calls
        ]  # fmt: skip
        message: dict[str, Any] = {"messageId": str(uuid.UUID(int=0xA000 + answer.number)), "model": MODEL}
        message |= {"content": answer.text, "toolRequests": asked, "turnId": str(turn)}
        if answer.thinking:
            message["reasoningText"] = answer.thinking
        self.add("assistant.message", {**message, "apiCallId": api, **child}, agent, says=not answer.empty)
        self.clock.asked |= dict.fromkeys((call.number for call in answer.calls), self.clock.now)
        yield
        works = {call.number: self.work(call, turn, child, agent) for call in answer.working}
        yield from in_some_order(self.mixed, self.begun(answer, turn, child, agent), works)
        if len(answer.results) == len(answer.calls):
            self.add("assistant.turn_end", {"turnId": str(turn), **child}, agent)
            yield

    def begun(self, answer: Answer, turn: int, child: dict[str, str], agent: str | None) -> Iterator[int]:
        for call in answer.calls:
            name, arguments = given(call)
            begun = {"toolCallId": own(call), "toolName": name, "arguments": arguments, "turnId": str(turn)}
            self.add("tool.execution_start", {**begun, "model": MODEL, **server(call), **child}, agent)
            self.clock.begun[call.number] = self.clock.now
            yield call.number

    def work(self, call: Call, turn: int, child: dict[str, str], agent: str | None) -> Iterator[None]:
        if call.inner and call.outcome == "ok" and self.mixed % 5 == 2:
            self.background.append(self.delegate(call))
        elif call.inner:
            yield from self.delegate(call)
        if call.outcome != "unpaired":
            self.ended(call, turn, child, agent)
            yield

    def go_on(self, all_of_it: bool) -> None:
        """The sub-agents in the background do some more, or all of it."""
        for steps in self.background:
            run(steps if all_of_it else islice(steps, 4))

    def delegate(self, call: Call) -> Iterator[None]:
        about = {"toolCallId": own(call), "agentName": "general-purpose", "agentDisplayName": f"helper {call.number}"}
        self.add("subagent.started", {**about, "model": MODEL, "executionMode": "sync"}, agent_of(call))
        yield
        asked = {"content": call.text, "transformedContent": call.text, "source": f"agent-{SESSION}"}
        self.add("user.message", asked, agent_of(call))
        yield
        for turn, answer in enumerate(call.inner):
            yield from self.answer(answer, turn, call)
        if call.outcome != "unpaired":
            self.add("subagent.completed", {**about, "model": MODEL, "totalTokens": 1}, agent_of(call))
            yield

    def ended(self, call: Call, turn: int, child: dict[str, str], agent: str | None) -> None:
        about: dict[str, Any] = {"toolCallId": own(call), "model": MODEL, "turnId": str(turn)}
        if call.exit_code is not None:
            about["shellExecution"] = {"exitCode": call.exit_code}
        if call.outcome == "ok" or call.exit_code:
            text = f"{call.output}\n<exited with exit code {call.exit_code}>" if call.verb == "run" else call.output
            about |= {"success": True, "result": {"content": text, "detailedContent": text}}
        else:
            code = "denied" if call.outcome == "denied" else "failure"
            about |= {"success": False, "error": {"message": call.output, "code": code}}
        self.add("tool.execution_complete", {**about, **child}, agent)
        self.clock.ended[call.number] = self.clock.now

    def prompt(self, text: str) -> None:
        own_id = str(uuid.UUID(int=0xB000 + len(self.lines)))
        about = {"content": text, "transformedContent": f"<current_datetime>now</current_datetime>\n\n{text}"}
        self.add("user.message", {**about, "messageId": own_id})


def agent_of(call: Call) -> str:
    return str(uuid.UUID(int=0xC000 + call.number))


def write(scenario: Scenario, disk: bool) -> Events:
    events = Events(disk, scenario.mixed)
    for prompt in scenario.prompts:
        events.prompt(prompt.text)
        for turn, answer in enumerate(prompt.answers):
            events.go_on(all_of_it=answer.final)
            run(events.answer(answer, turn))
        events.go_on(all_of_it=True)
    return events


def write_stream(scenario: Scenario) -> Written:
    events = write(scenario, False)
    if scenario.end == "complete":
        about = {"premiumRequests": 0, "totalApiDurationMs": 212, "sessionDurationMs": 2873}
        events.clock.session_ms = 2873
        last = {"type": "result", "timestamp": events.clock.tick(), "sessionId": SESSION, "exitCode": 0}
        events.lines.append({**last, "usage": about})
    return Written("stream.jsonl", json_lines(events.lines), clock=events.clock)


def write_session(scenario: Scenario) -> Written:
    events = write(scenario, True)
    if scenario.end == "complete":
        metrics = {MODEL: {"requests": {"count": len(events.spent), "cost": 0.0}, "usage": usage(events.spent)}}
        events.add("session.shutdown", {"accountingSnapshot": {"modelMetrics": metrics}, "modelMetrics": metrics})
    return Written("events.jsonl", json_lines(events.lines), clock=events.clock)


def session_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """The total at the end; before it the calls that were recorded."""
    found = [answer for answer in all_answers(written.answers) if answer.whole]
    return {**expected.tokens([Answer("", "", (), one.usage, True) for one in found])} if found else dict(NOTHING)


LOSSES = (no_broken_answers, no_empty_answers)
WRITERS = (
    Writer("copilot-stream", write_stream, VERBS, losses=LOSSES, tokens=no_tokens, prompts=1, mixes=True, nests=True),
    Writer(
        "copilot-session",
        write_session,
        VERBS,
        losses=LOSSES,
        tokens=session_tokens,
        resumes=True,
        mixes=True,
        nests=True,
    ),
)

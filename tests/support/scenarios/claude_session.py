"""A scenario as Claude Code 2.1.197 keeps it on disk.

Shapes: recordings of the real program. An answer is a line for each block; sub-agents have files of their own.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from support.scenarios.claude import MODEL, SESSION, VERSION, blocks, result, usage
from support.scenarios.mixing import Clock, in_some_order, run
from support.scenarios.scenario import Answer, Call, Scenario
from support.scenarios.writer import CWD, Writer, Written, by_last_answer, json_lines, no_empty_answers, tokens_but


class Disk:
    """The lines of one file: the session's, or a sub-agent's with its id."""

    def __init__(self, clock: Clock, mixed: int, agent: str | None = None) -> None:
        self.clock = clock
        self.mixed = mixed
        self.lines: list[Any] = []
        self.agent = agent
        self.beside: dict[str, bytes] = {}
        self.parent: str | None = None

    def add(self, kind: str, parent: str | None = None, **members: Any) -> None:
        own = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.agent} {len(self.lines)}"))
        line: dict[str, Any] = {"parentUuid": parent or self.parent, "isSidechain": self.agent is not None}
        if self.agent is not None:
            line["agentId"] = self.agent
        line |= {"type": kind, **members, "uuid": own, "timestamp": self.clock.tick(), "userType": "external"}
        self.lines.append({**line, "cwd": CWD, "sessionId": SESSION, "version": VERSION, "gitBranch": "main"})
        self.parent = own

    def prompt(self, text: str) -> None:
        self.add("user", message={"role": "user", "content": text})

    def answer(self, answer: Answer) -> Iterator[None]:
        self.asked: dict[int, str | None] = {}
        works = {call.number: self.work(call) for call in answer.working}
        yield from in_some_order(self.mixed, self.said(answer), works)

    def said(self, answer: Answer) -> Iterator[int]:
        stop = "end_turn" if answer.final else "tool_use"
        for number, block in blocks(answer):
            message: dict[str, Any] = {"id": f"msg_{answer.number:04d}", "type": "message", "role": "assistant"}
            message |= {"model": MODEL, "content": [block], "stop_reason": stop, "stop_sequence": None}
            self.add("assistant", message={**message, "usage": usage(answer.usage, answer.usage.output)})
            self.asked[number] = self.parent
            self.clock.asked[number] = self.clock.now
            yield number

    def work(self, call: Call) -> Iterator[None]:
        agent = f"a{call.number:016x}"
        if call.inner:
            yield from self.delegate(call, agent)
        if call.outcome != "unpaired":
            more: dict[str, Any] = {"toolUseResult": f"Error: {call.output}"} if call.outcome != "ok" else {}
            if call.verb == "delegate" and call.outcome == "ok":
                more = {"toolUseResult": {"status": "completed", "prompt": call.text, "agentId": agent}}
            asked = self.asked[call.number]
            more["sourceToolAssistantUUID"] = asked
            self.add("user", asked, message={"role": "user", "content": [result(call)]}, **more)
            self.clock.ended[call.number] = self.clock.now
            yield

    def delegate(self, call: Call, agent: str) -> Iterator[None]:
        inner = Disk(self.clock, self.mixed, agent)
        inner.prompt(call.text)
        yield
        for answer in call.inner:
            yield from inner.answer(answer)
        folder = f"{SESSION}/subagents/agent-{agent}"
        self.beside[folder + ".jsonl"] = json_lines(inner.lines)
        about = {"agentType": "general-purpose", "description": "Look", "toolUseId": f"toolu_{call.number:04d}"}
        self.beside[folder + ".meta.json"] = json.dumps(about).encode()


def write_session(scenario: Scenario) -> Written:
    disk = Disk(Clock(scenario.mixed), scenario.mixed)
    for prompt in scenario.prompts:
        disk.prompt(prompt.text)
        for answer in prompt.answers:
            run(disk.answer(answer))
    return Written(f"{SESSION}.jsonl", json_lines(disk.lines), disk.beside, disk.clock)


WRITERS = (
    Writer(
        "claude-session",
        write_session,
        losses=(no_empty_answers,),
        tokens=tokens_but("reasoning"),
        status=by_last_answer,
        resumes=True,
        mixes=True,
    ),
)

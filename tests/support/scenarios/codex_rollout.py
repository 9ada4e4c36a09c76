"""A scenario as Codex 0.169 keeps it in rollouts.

Shapes: recordings of the real program. Calls and texts are told as response items and as items that ended; a sub-agent
has a rollout of its own.
"""

import json
from typing import Any

from support.scenarios.codex import (
    EDITS,
    MODEL,
    SHELL,
    THREAD,
    VERBS,
    command,
    exit_code,
    status,
    sums_of,
    usage,
)
from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage, all_answers
from support.scenarios.writer import CWD, NOTHING, Writer, Written, counts_as, json_lines, no_empty_answers


class Rollout:
    """The lines of one thread's file; `spent` is what its model calls took so far."""

    def __init__(self, thread: str, clock: Clock, parent: str | None = None) -> None:
        self.lines: list[Any] = []
        self.thread = thread
        self.clock = clock
        self.when = clock.tick()
        self.beside: dict[str, bytes] = {}
        self.spent: list[Usage] = []
        self.turn = 0
        meta: dict[str, Any] = {"session_id": THREAD, "id": thread}
        source: Any = "exec"
        if parent is not None:
            meta["parent_thread_id"] = parent
            about = {
                "parent_thread_id": parent,
                "depth": 1,
                "agent_path": None,
                "agent_nickname": f"Agent {thread[-4:]}",
            }
            source = {"subagent": {"thread_spawn": about}}
        meta |= {"timestamp": self.when, "cwd": CWD, "originator": "codex_exec", "cli_version": "0.169.0"}
        meta |= {"source": source, "thread_source": "user" if parent is None else "subagent"}
        if parent is not None:
            meta["agent_nickname"] = f"Agent {thread[-4:]}"
        self.add("session_meta", {**meta, "model_provider": "openai", "base_instructions": {"text": "Be brief."}})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        line = {"timestamp": self.when, "ordinal": len(self.lines), "type": kind, "payload": payload}
        self.lines.append(line)

    def event(self, kind: str, **members: Any) -> None:
        self.add("event_msg", {"type": kind, **members})

    def item(self, **item: Any) -> None:
        self.event("item_completed", thread_id=self.thread, turn_id=self.turn_id, item=item)

    @property
    def turn_id(self) -> str:
        return f"{self.thread[:-12]}{self.turn:012x}"

    def prompt(self, text: str) -> None:
        self.turn += 1
        self.when = self.clock.tick()
        self.event("task_started", turn_id=self.turn_id, model_context_window=258400)
        self.add("turn_context", {"turn_id": self.turn_id, "cwd": CWD, "approval_policy": "never", "model": MODEL})
        content = [{"type": "input_text", "text": text}]
        self.add("response_item", {"type": "message", "id": f"msg_u{self.turn}", "role": "user", "content": content})
        self.item(type="UserMessage", id=f"u{self.turn}", content=[{"type": "text", "text": text, "text_elements": []}])

    def answer(self, answer: Answer) -> None:
        if answer.empty and not answer.whole:
            return
        self.when = self.clock.tick()
        own = f"{answer.number:024x}"
        if answer.thinking:
            self.item(type="Reasoning", id=f"rs_{own}", summary_text=[answer.thinking], raw_content=[])
            summary = [{"type": "summary_text", "text": answer.thinking}]
            told = {"type": "reasoning", "id": f"rs_{own}", "summary": summary, "content": None}
            self.add("response_item", {**told, "encrypted_content": "Fr7q"})
        if answer.text:
            phase = "final_answer" if answer.final else "commentary"
            content = [{"type": "Text", "text": answer.text}]
            self.item(type="AgentMessage", id=f"msg_{own}", content=content, phase=phase)
            said: list[dict[str, Any]] = [{"type": "output_text", "text": answer.text, "annotations": []}]
            told = {"type": "message", "status": "completed", "id": f"msg_{own}", "role": "assistant"}
            self.add("response_item", {**told, "content": said, "phase": phase})
        for call in answer.calls:
            self.add("response_item", self.asked(call))
            self.clock.asked[call.number] = self.clock.now
        if not answer.whole:
            return
        self.used(answer)
        for call in answer.working:
            if call.inner:
                self.delegate(call)
            if call.outcome != "unpaired":
                self.when = self.clock.tick()
                self.ended(call)
        if len(answer.results) == len(answer.calls):
            self.counted()

    def used(self, answer: Answer) -> None:
        self.spent.append(answer.usage)
        now, total = usage(sums_of([answer.usage])), usage(sums_of(self.spent))
        about = {"thread_id": self.thread, "turn_id": self.turn_id, "response_id": f"resp_{answer.number:024x}"}
        self.add("token_usage_record", {**about, "usage": now, "thread_token_usage": total})

    def counted(self) -> None:
        now, total = usage(sums_of(self.spent[-1:])), usage(sums_of(self.spent))
        self.event("token_count", info={"total_token_usage": total, "last_token_usage": now})

    def asked(self, call: Call) -> dict[str, Any]:
        own = f"call_{call.number:04d}"
        if call.verb in EDITS:
            patch = (
                f"*** Add File: {call.target}\n+x"
                if call.verb == "create"
                else (f"*** Update File: {call.target}\n@@\n-a\n+b")
            )
            text = f"*** Begin Patch\n{patch}\n*** End Patch\n"
            return {
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": own,
                "name": "apply_patch",
                "input": text,
            }
        name, arguments = self.function(call)
        told = {"type": "function_call", "status": "completed", "id": f"fc_{call.number}", **name}
        return {**told, "arguments": json.dumps(arguments), "call_id": own}

    def function(self, call: Call) -> tuple[dict[str, str], dict[str, Any]]:
        if call.verb in SHELL:
            return {"name": "exec_command"}, {"cmd": command(call)}
        if call.verb == "mcp":
            server, _, tool = call.target.partition("/")
            return {"name": tool, "namespace": f"mcp__{server}"}, {"query": call.text}
        if call.verb == "plan":
            return {"name": "update_plan"}, {"plan": [{"step": call.text, "status": "pending"}]}
        if call.verb == "delegate":
            return {"name": "spawn_agent", "namespace": "multi_agent_v1"}, {"message": call.text}
        return {"name": call.target}, {"x": call.text}

    def ended(self, call: Call) -> None:
        own = f"call_{call.number:04d}"
        output = call.output
        self.clock.ended[call.number] = self.clock.now
        kind = "custom_tool_call_output" if call.verb in EDITS else "function_call_output"
        if call.outcome == "denied":
            output = f"{'patch' if call.verb in EDITS else 'exec command'} rejected by user: {output}"
        elif call.verb in SHELL:
            code = exit_code(call)
            self.clock.known[call.number] = 0
            self.item(type="CommandExecution", id=own, process_id="1", command=["/bin/bash", "-lc", command(call)],
                      cwd=f"file://{CWD}", status=status(call), aggregated_output=output, exit_code=code,
                      duration={"secs": 0, "nanos": 4507})  # fmt: skip
            head = f"Chunk ID: 79fd58\nWall time: 0.0000 seconds\nProcess exited with code {code}\n"
            output = f"{head}Original token count: 0\nOutput:\n{output}"
        elif call.verb in EDITS and call.outcome == "ok":
            change: dict[str, Any] = {"type": "add", "content": "x\n"} if call.verb == "create" else {
                "type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None
            }  # fmt: skip
            self.item(type="FileChange", id=own, changes={f"{CWD}/{call.target}": change}, status="completed",
                      stdout=f"Success. {output}\n", stderr="")  # fmt: skip
            output = f"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. {output}\n"
        elif call.verb in EDITS:
            output = f"apply_patch verification failed: {output}"
        elif call.verb == "mcp":
            self.mcp(call, own)
            output = f"Wall time: 0.0009 seconds\nOutput:\n{output}"
        elif call.verb == "delegate":
            agent = agent_of(call)
            self.item(type="CollabAgentToolCall", id=own, tool="spawn_agent", status="completed",
                      sender_thread_id=self.thread, receiver_thread_ids=[agent], prompt=call.text)  # fmt: skip
            output = json.dumps({"agent_id": agent, "nickname": f"Agent {agent[-4:]}"})
        elif call.outcome == "error":
            output = f"unsupported call: {call.target} {output}"
        self.add("response_item", {"type": kind, "id": f"o_{own}", "call_id": own, "output": output})

    def mcp(self, call: Call, own: str) -> None:
        server, _, tool = call.target.partition("/")
        good = call.outcome == "ok"
        result = {"content": [{"type": "text", "text": call.output}], **({} if good else {"isError": True})}
        self.clock.known[call.number] = 0
        self.item(type="McpToolCall", id=own, server=server, tool=tool, arguments={"query": call.text},
                  status=status(call), result=result, duration={"secs": 0, "nanos": 860524})  # fmt: skip

    def delegate(self, call: Call) -> None:
        inner = Rollout(agent_of(call), self.clock, self.thread)
        inner.prompt(call.text)
        for answer in call.inner:
            inner.answer(answer)
        if call.outcome != "unpaired":
            inner.event("task_complete", turn_id=inner.turn_id)
        self.beside[f"rollout-2026-03-02T09-31-{call.number:02d}-{agent_of(call)}.jsonl"] = json_lines(inner.lines)
        self.beside |= inner.beside


def agent_of(call: Call) -> str:
    return f"01a1fcae-d6dd-7100-b668-{0xA00 + call.number:012x}"


def write_rollout(scenario: Scenario) -> Written:
    rollout = Rollout(THREAD, Clock(scenario.mixed))
    for prompt in scenario.prompts:
        rollout.prompt(prompt.text)
        for answer in prompt.answers:
            rollout.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            rollout.event("task_complete", turn_id=rollout.turn_id, last_agent_message=last_text(prompt))
    return Written(
        f"rollout-2026-03-02T09-30-00-{THREAD}.jsonl", json_lines(rollout.lines), rollout.beside, rollout.clock
    )


def last_text(prompt: Prompt) -> str | None:
    return prompt.answers[-1].text or None if prompt.answers else None


def rollout_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer that was written to its end, empty ones included."""
    found = [answer.usage for answer in all_answers(written.answers) if answer.whole]
    return {**sums_of(found)} if found else dict(NOTHING)


WRITERS = (
    Writer(
        "codex-rollout",
        write_rollout,
        VERBS,
        outputs=tuple(verb for verb in VERBS if verb != "delegate"),
        finer=True,
        possible=(
            counts_as("ok", ("error", "denied"), ("plan", "delegate")),
            counts_as("error", ("denied",), ("mcp", "unknown")),
        ),
        losses=(no_empty_answers,),
        tokens=rollout_tokens,
        resumes=True,
        mixes=True,
        nests=True,
    ),
)

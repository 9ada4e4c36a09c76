"""A scenario as Codex 0.169 prints it (`codex exec --json`), and as it keeps it in rollouts.

Shapes: recordings of the real program. Codex reads and searches with its shell, so such calls are commands. In the
stream, items have no times and answers no marks; a sub-agent has a rollout of its own.
"""

import json
import shlex
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Usage, Verb, all_answers, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Writer,
    Written,
    counts_as,
    json_lines,
    no_empty_answers,
    no_inner,
    no_prompts,
    not_told,
    parted_by_results,
    time_of,
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


class Rollout:
    """The lines of one thread's file; `spent` is what its model calls took so far."""

    def __init__(self, thread: str, second: int, parent: str | None = None) -> None:
        self.lines: list[Any] = []
        self.thread = thread
        self.second = second
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
        meta |= {"timestamp": time_of(second), "cwd": CWD, "originator": "codex_exec", "cli_version": "0.169.0"}
        meta |= {"source": source, "thread_source": "user" if parent is None else "subagent"}
        if parent is not None:
            meta["agent_nickname"] = f"Agent {thread[-4:]}"
        self.add("session_meta", {**meta, "model_provider": "openai", "base_instructions": {"text": "Be brief."}})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        line = {"timestamp": time_of(self.second), "ordinal": len(self.lines), "type": kind, "payload": payload}
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
        self.second += 1
        self.event("task_started", turn_id=self.turn_id, model_context_window=258400)
        self.add("turn_context", {"turn_id": self.turn_id, "cwd": CWD, "approval_policy": "never", "model": MODEL})
        content = [{"type": "input_text", "text": text}]
        self.add("response_item", {"type": "message", "id": f"msg_u{self.turn}", "role": "user", "content": content})
        self.item(type="UserMessage", id=f"u{self.turn}", content=[{"type": "text", "text": text, "text_elements": []}])

    def answer(self, answer: Answer) -> None:
        self.second += 1
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
        if not answer.whole:
            return
        self.used(answer)
        for call in [*answer.results, *(c for c in answer.calls if c.outcome == "unpaired" and c.inner)]:
            self.second += 1
            if call.inner:
                self.delegate(call)
            if call.outcome != "unpaired":
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
        kind = "custom_tool_call_output" if call.verb in EDITS else "function_call_output"
        if call.outcome == "denied":
            output = f"{'patch' if call.verb in EDITS else 'exec command'} rejected by user: {output}"
        elif call.verb in SHELL:
            code = exit_code(call)
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
        self.item(type="McpToolCall", id=own, server=server, tool=tool, arguments={"query": call.text},
                  status=status(call), result=result, duration={"secs": 0, "nanos": 860524})  # fmt: skip

    def delegate(self, call: Call) -> None:
        inner = Rollout(agent_of(call), self.second, self.thread)
        inner.prompt(call.text)
        for answer in call.inner:
            inner.answer(answer)
        if call.outcome != "unpaired":
            inner.event("task_complete", turn_id=inner.turn_id)
        self.beside[f"rollout-2026-03-02T09-31-{call.number:02d}-{agent_of(call)}.jsonl"] = json_lines(inner.lines)
        self.second = inner.second


def agent_of(call: Call) -> str:
    return f"01a1fcae-d6dd-7100-b668-{0xA00 + call.number:012x}"


def write_rollout(scenario: Scenario) -> Written:
    rollout = Rollout(THREAD, 0)
    for prompt in scenario.prompts:
        rollout.prompt(prompt.text)
        for answer in prompt.answers:
            rollout.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            rollout.event("task_complete", turn_id=rollout.turn_id, last_agent_message=last_text(prompt))
    return Written(f"rollout-2026-03-02T09-30-00-{THREAD}.jsonl", json_lines(rollout.lines), rollout.beside)


def last_text(prompt: Prompt) -> str | None:
    return prompt.answers[-1].text or None if prompt.answers else None


def rollout_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer that was written to its end, empty ones included."""
    found = [answer.usage for answer in all_answers(written.answers) if answer.whole]
    return {**sums_of(found)} if found else dict(NOTHING)


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
        tokens=exec_tokens,
    ),
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
    ),
)

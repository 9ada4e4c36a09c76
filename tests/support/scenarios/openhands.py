"""A scenario as OpenHands' command line prints it (`openhands --headless --json`, 1.16.0, over many lines 1.14.0), and
as openhands-sdk 1.21.0 keeps it: a folder with a file for each event, and the conversation's state.

Shapes: recordings of the real program. An answer's calls are told before any of them runs, their results when all have
ended; a tool that does not exist is told at once. What a resumed conversation does with calls that were left open is
not written here.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import Clock, in_some_order, run
from support.scenarios.scenario import Answer, Call, Outcome, Prompt, Scenario, Usage, Verb, changed, changed_calls
from support.scenarios.writer import (
    ALL,
    CWD,
    NOTHING,
    Writer,
    Written,
    counts_as,
    no_broken_answers,
    no_inner,
    no_tokens,
)

CONVERSATION = "1d9c0649-ae06-4773-8053-81ca08e33fb5"
HOME = "/home/ada/.openhands/conversations"
MODEL = "openai/gpt-4o"
SENDER = "OpenHands Agent"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb != "fetch")
ACTIONS = {
    "read": "FileEditor", "edit": "FileEditor", "create": "FileEditor", "search": "Grep", "find": "Glob",
    "list": "ListDirectory", "run": "Terminal", "plan": "TaskTracker", "mcp": "MCPTool", "delegate": "Task",
}  # fmt: skip
DEMAND = "Your last response did not include a function call or a message. Please use a tool to proceed with the task."
ALL_NULL = ("tool_calls", "tool_call_id", "name", "reasoning_content", "responses_reasoning_item")


def given(call: Call) -> tuple[str, dict[str, Any]]:
    """OpenHands' own tool and its arguments."""
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("file_editor", {"command": "view", "path": call.target}),
        "search": ("grep", {"pattern": call.target}),
        "find": ("glob", {"pattern": call.target}),
        "list": ("list_directory", {"dir_path": call.target}),
        "edit": (
            "file_editor",
            {"command": "str_replace", "path": call.target, "old_str": "a", "new_str": call.text},
        ),
        "create": ("file_editor", {"command": "create", "path": call.target, "file_text": call.text}),
        "run": ("terminal", {"command": call.target}),
        "plan": ("task_tracker", {"command": "plan", "task_list": [{"title": call.text, "status": "todo"}]}),
        "mcp": (call.target, {"query": call.text}),
        "delegate": ("task", {"description": "look", "prompt": call.text, "subagent_type": "general-purpose"}),
    }
    return told.get(call.verb, (call.target, {"x": call.text}))


def texts(*said: str) -> list[Any]:
    return [{"cache_prompt": False, "type": "text", "text": text} for text in said if text]


def own(call: Call) -> str:
    return f"call_{call.number}_0_main"


def bare(value: Any) -> Any:
    """On disk members without a value are left out."""
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if one is not None}  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return [bare(one) for one in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType] - decoded JSON


class Conversation:
    """Tells events, all members in them; `agents` are the sub-agents that it began, `spent` its model calls. What is
    not `kept` is told nowhere; without `disk` that is what they do."""

    def __init__(self, name: str, clock: Clock, mixed: int, disk: bool, kept: bool = True) -> None:
        self.name = name
        self.disk = disk
        self.kept = kept
        self.clock = clock
        self.mixed = mixed
        self.events: list[Any] = []
        self.agents: list[Conversation] = []
        self.spent: list[Answer] = []
        self.status = "running"

    def new(self, kind: str, source: str, members: dict[str, Any], says: bool = True) -> dict[str, Any]:
        number = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name} {kind} {self.clock.ticks}"))
        time = self.clock.tick(says and self.kept).removesuffix("Z") + "000"
        return {"id": number, "timestamp": time, "source": source, **members, "kind": kind}

    def add(self, kind: str, source: str, /, **members: Any) -> None:
        self.events.append(self.new(kind, source, members))

    def system(self) -> None:
        self.add("SystemPromptEvent", "agent", system_prompt=texts("You are OpenHands agent.")[0], tools=[])

    def message(
        self, source: str, *said: str, thinking: str = "", answer: str | None = None, sender: Any = None
    ) -> None:
        role = "assistant" if source == "agent" else "user"
        message: dict[str, Any] = {"role": role, "content": texts(*said), **dict.fromkeys(ALL_NULL)}
        message |= {"reasoning_content": thinking or None, "thinking_blocks": []}
        about: dict[str, Any] = {
            "llm_message": message,
            "llm_response_id": answer,
            "activated_skills": [],
            "extended_content": [],
        }
        self.add("MessageEvent", source, **about, sender=sender, critic_result=None)

    def answer(self, answer: Answer) -> Iterator[None]:
        if not answer.whole:
            return
        self.spent.append(answer)
        if answer.final:
            self.message("agent", answer.text, thinking=answer.thinking, answer=response_of(answer))
            if answer.empty:
                self.message("user", DEMAND)
            yield
            return
        for place, call in enumerate(answer.calls):
            self.asked(call, answer, place == 0)
        yield
        seen: dict[int, dict[str, Any]] = {}
        works = {call.number: self.work(call, seen) for call in answer.working if call.verb != "unknown"}
        yield from in_some_order(self.mixed, iter([call.number for call in answer.calls]), works)
        awaited = [call for call in answer.calls if call.verb != "unknown"]
        if all(call.outcome != "unpaired" for call in awaited):
            for call in awaited:
                self.events.append(seen[call.number] if call.number in seen else self.refused(call))
                if self.kept:
                    self.clock.last = max(self.clock.last, self.clock.ended[call.number])

    def asked(self, call: Call, answer: Answer, first: bool) -> None:
        name, arguments = given(call)
        known = call.verb != "unknown"
        parts: dict[str, Any] = {"data": arguments} if call.verb == "mcp" else arguments
        action = {**parts, "kind": f"{ACTIONS[call.verb]}Action"} if known else None
        whole = json.dumps({**arguments, "security_risk": "LOW", "summary": "does a thing"})
        about: dict[str, Any] = {"thought": texts(answer.text if first else "")}
        about |= {"reasoning_content": answer.thinking if first and answer.thinking else None}
        about |= {"thinking_blocks": [], "responses_reasoning_item": None, "action": action}
        about |= {"tool_name": name, "tool_call_id": own(call)}
        about["tool_call"] = {"id": own(call), "responses_item_id": None, "name": name, "arguments": whole,
                              "origin": "completion"}  # fmt: skip
        about |= {"llm_response_id": response_of(answer), "security_risk": "LOW", "critic_result": None}
        event = self.new("ActionEvent", "agent", {**about, "summary": "does a thing"})
        self.clock.asked[call.number] = self.clock.now
        if call.outcome == "denied" and by_hook(call):
            told = {"hook_event_type": "PreToolUse", "hook_command": "ask-ada", "tool_name": name, "success": False}
            told |= {"blocked": True, "exit_code": 2, "stdout": "", "stderr": "", "reason": call.output}
            self.add("HookExecutionEvent", "hook", **told, action_id=event["id"], hook_input={"tool_name": name})
        self.events.append(event)
        if not known:
            error = f"Tool '{name}' not found. Available: ['terminal', 'file_editor']"
            self.add("AgentErrorEvent", "agent", tool_name=name, tool_call_id=own(call), error=error)
            self.clock.ended[call.number] = self.clock.now

    def work(self, call: Call, seen: dict[int, dict[str, Any]]) -> Iterator[None]:
        if call.inner:
            yield from self.delegate(call)
        if call.outcome in ("ok", "error"):
            seen[call.number] = self.observed(call)
            yield

    def observed(self, call: Call) -> dict[str, Any]:
        """What a call gave, as of now; it is told later."""
        content = texts(*([f"[Tool '{call.target}' executed.]"] if call.verb == "mcp" else []), call.output)
        told: dict[str, Any] = {"content": content, "is_error": call.outcome == "error" and call.exit_code is None}
        if call.verb == "run":
            metadata = {"exit_code": call.exit_code, "pid": -1, "working_dir": CWD, "prefix": ""}
            told |= {"command": call.target, "exit_code": call.exit_code, "timeout": False, "metadata": metadata}
        elif call.verb == "delegate":
            task = f"task_{call.number:08d}" if call.outcome == "ok" else "unknown"
            status = "completed" if call.outcome == "ok" else "error"
            told |= {"task_id": task, "subagent": "general-purpose", "status": status}
        told["kind"] = f"{ACTIONS[call.verb]}Observation"
        event = self.new(
            "ObservationEvent", "environment", {**called(call), "observation": told, "action_id": "a"}, False
        )
        self.clock.ended[call.number] = self.clock.now
        return event

    def refused(self, call: Call) -> dict[str, Any]:
        about = {"rejection_reason": call.output, "rejection_source": "hook" if by_hook(call) else "user"}
        event = self.new("UserRejectObservation", "environment", {**called(call), **about, "action_id": "a"})
        self.clock.ended[call.number] = self.clock.now
        return event

    def delegate(self, call: Call) -> Iterator[None]:
        agent = Conversation(str(uuid.UUID(int=0xD000 + call.number)), self.clock, self.mixed, self.disk, self.disk)
        self.agents.append(agent)
        agent.system()
        agent.message("user", call.text, sender=SENDER)
        yield
        for answer in call.inner:
            yield from agent.answer(answer)
        if call.inner[-1].final:
            agent.status = "finished"

    def state(self, metrics: dict[str, Any], folder: str) -> dict[str, Any]:
        return {
            "id": self.name,
            "agent": {"llm": {"model": MODEL, "usage_id": "agent"}, "kind": "Agent"},
            "workspace": {"working_dir": CWD, "kind": "LocalWorkspace"},
            "persistence_dir": folder,
            "max_iterations": 500,
            "execution_status": self.status,
            "stats": {"usage_to_metrics": metrics},
        }

    def files(self, folder: str, metrics: dict[str, Any]) -> dict[str, bytes]:
        """What lies in its folder."""
        names = [f"{folder}/events/event-{n:05d}-{event['id']}.json" for n, event in enumerate(self.events)]
        found = {name: compact(bare(event)) for name, event in zip(names, self.events, strict=True)}
        return {**found, f"{folder}/base_state.json": compact(self.state(metrics, f"{HOME}/{folder}"))}


def called(call: Call) -> dict[str, Any]:
    return {"tool_name": given(call)[0], "tool_call_id": own(call)}


def by_hook(call: Call) -> bool:
    return call.number % 2 == 0


def response_of(answer: Answer) -> str:
    return f"chatcmpl-{answer.number:04d}main"


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def counts(used: list[Usage], response: str) -> dict[str, Any]:
    sums = expected.tokens([Answer("", "", (), one, True) for one in used])
    told: dict[str, Any] = {"model": MODEL, "prompt_tokens": sums["input"], "completion_tokens": sums["output"]}
    told |= {"cache_read_tokens": sums["cached"], "cache_write_tokens": sums["cache_write"]}
    return {**told, "reasoning_tokens": sums["reasoning"], "context_window": 128000, "response_id": response}


def metrics_of(spent: list[Answer]) -> dict[str, Any]:
    """Of one use of a model."""
    each = [counts([answer.usage], response_of(answer)) for answer in spent]
    whole = counts([answer.usage for answer in spent], "")
    return {"model_name": MODEL, "accumulated_cost": 0.0, "accumulated_token_usage": whole, "token_usages": each}


def write_stream(scenario: Scenario) -> Written:
    """The version is decided by `mixed`: 1.14 prints an event over many lines."""
    conversation = Conversation(CONVERSATION, Clock(scenario.mixed), scenario.mixed, disk=False)
    first = ["OpenHands CLI terminal UI may not work correctly in this environment: Rich detected a non-interactive"]
    lines = [*first, "Initializing agent...", f"✓ Agent initialized with model: {MODEL}"]
    conversation.message("user", scenario.prompts[0].text)
    for answer in scenario.answers:
        run(conversation.answer(answer))
    for event in conversation.events:
        old = ["--JSON Event--", *json.dumps(event, indent=2, sort_keys=True).splitlines()]
        lines += old if scenario.mixed % 2 else [json.dumps(event)]
        lines += ["Agent is working"] if event is conversation.events[0] else []
    if scenario.end == "complete":
        said = [f"│ {line} │" for line in scenario.answers[-1].text.split("\n")]
        lines += ["Agent finished", "", "─" * 30 + " CONVERSATION SUMMARY " + "─" * 30]
        lines += [f"Number of agent messages: {len(conversation.events)}", "Last message sent by the agent:"]
        lines += ["╭─ Agent ───╮", *said, "╰───────────╯", "─" * 80, "Goodbye! 👋"]
        lines += [f"Conversation ID: {CONVERSATION.replace('-', '')}"]
        lines += [f"Hint: run openhands --resume {CONVERSATION} to resume this", "conversation."]
    return Written("stream.jsonl", "".join(f"{line}\n" for line in lines).encode(), clock=conversation.clock)


def has_run(prompt: Prompt) -> bool:
    """Its run came to its end: what it took is in the state."""
    return bool(prompt.answers) and prompt.answers[-1].final and not prompt.answers[-1].empty


def write_session(scenario: Scenario) -> Written:
    """The state is kept when a run ends, with what all have taken until then."""
    clock = Clock(scenario.mixed)
    conversation = Conversation(CONVERSATION, clock, scenario.mixed, disk=True)
    conversation.system()
    metrics: dict[str, Any] = {}
    ended: list[Answer] = []
    for prompt in scenario.prompts:
        conversation.message("user", prompt.text)
        conversation.spent = []
        conversation.status = "running"
        before = len(conversation.agents)
        for answer in prompt.answers:
            run(conversation.answer(answer))
        if has_run(prompt):
            ended += conversation.spent
            metrics["agent"] = metrics_of(ended)
            for agent in conversation.agents[before:]:
                metrics[f"task:task_{len(metrics):08d}"] = metrics_of(agent.spent)
            conversation.status = "finished"
    folder = CONVERSATION.replace("-", "")
    files = conversation.files(folder, metrics)
    for agent in conversation.agents:
        own_metrics = {"agent": metrics_of(agent.spent)} if agent.status == "finished" else {}
        files |= agent.files(f"{folder}/subagents/{agent.name.replace('-', '')}", own_metrics)
    main = next(iter(files))
    return Written(main, files.pop(main), files, clock)


def session_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of the runs that ended; before the first has, those of the sub-agents that have."""
    found = [answer for prompt in written.prompts if has_run(prompt) for answer in prompt.answers]
    if not found:
        began = [call.inner for answer in written.answers for call in answer.calls if answer.whole and call.inner]
        found = [answer for inner in began if inner[-1].final for answer in inner]
    return {**expected.tokens(found)} if found else dict(NOTHING)


def by_last_run(written: Scenario, told: Scenario) -> str:
    return "complete" if has_run(written.prompts[-1]) else "incomplete"


def one_server(scenario: Scenario) -> Scenario:
    """The server of an MCP tool is a part of its name that nothing marks as such."""

    def named(call: Call) -> Call:
        return replace(call, target=call.target.replace("/", "_")) if call.verb == "mcp" else call

    return changed_calls(scenario, named)


def told_together(scenario: Scenario) -> Scenario:
    """Results are told when all calls of an answer have ended; that a tool does not exist, at once."""

    def together(answer: Answer) -> Answer:
        if all(call.outcome != "unpaired" for call in answer.calls):
            return answer
        made = (call if call.verb == "unknown" else replace(call, outcome="unpaired") for call in answer.calls)
        return replace(answer, calls=tuple(made))

    return changed(scenario, together)


ENDED: tuple[Outcome, ...] = ("ok", "denied", "unpaired")
POSSIBLE = (counts_as("error", ENDED, ("unknown",)), one_server)
LATER = {"id": "later-#", "timestamp": "2026-03-02T09:30:00.000000", "source": "environment", "kind": "LaterEvent",
         "parent": None}  # fmt: skip
TELLING: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb != "unknown")
WRITERS = (
    Writer(
        "openhands-stream",
        write_stream,
        VERBS,
        possible=POSSIBLE,
        losses=(no_inner, no_broken_answers, told_together),
        outputs=TELLING,
        tokens=no_tokens,
        append_only=False,  # a hook refuses before the call is told
        prompts=1,
        mixes=True,
        later=LATER,
    ),
    Writer(
        "openhands-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=(no_broken_answers, told_together),
        outputs=TELLING,
        tokens=session_tokens,
        status=by_last_run,
        mixes=True,
        later=LATER,
    ),
)

"""A scenario as Antigravity's `agy` prints it (`-p … --output-format stream-json`), and as it keeps it in transcripts.

Shapes: recordings of agy 1.2.17 and 1.3.1, transcripts of 1.0.10 to 1.0.16. Steps are numbered over the whole
conversation. A denied command ends without output and without an error; the end of its turn says that one was denied.
In transcripts calls have no ids: their results come in their order. A sub-agent is a conversation in a folder of its
own, which the result of the call that started it names.
"""

import dataclasses
import json
from typing import Any

from msgspec.structs import replace

from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Verb, changed, changed_calls
from support.scenarios.writer import (
    ALL,
    CWD,
    Nameless,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_prompts,
    no_thinking,
    no_tokens,
    takes,
    tokens_of,
)

SESSION = "0a6f1c52-3d7e-4b19-8c40-5e9d2b7a1f63"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb != "plan")


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    """The agent's own tool and its arguments, with those that people see."""
    server, _, tool = call.target.partition("/")
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("view_file", {"AbsolutePath": call.target}),
        "search": ("grep_search", {"Query": call.target, "SearchPath": CWD}),
        "find": ("find_by_name", {"SearchDirectory": CWD, "Pattern": call.target}),
        "list": ("list_dir", {"DirectoryPath": call.target}),
        "edit": ("replace_file_content", {"TargetFile": call.target, "ReplacementContent": call.text}),
        "create": ("write_to_file", {"TargetFile": call.target, "CodeContent": call.text, "Overwrite": True}),
        "run": ("run_command", {"CommandLine": call.target, "Cwd": CWD, "WaitMsBeforeAsync": 500}),
        "fetch": ("read_url_content", {"Url": call.target}),
        "mcp": ("call_mcp_tool", {"ServerName": server, "ToolName": tool, "Arguments": {"x": call.text}}),
        "delegate": ("invoke_subagent", {"Subagents": [{"Role": "reader", "Prompt": call.text}]}),
    }
    name, arguments = told.get(call.verb, (call.target, {"x": call.text}))
    return name, {**arguments, "toolAction": "Working", "toolSummary": "Goes on"}


def used(answer: Answer) -> dict[str, int]:
    """Cached tokens are no part of the input, thoughts are a part of the output."""
    usage = answer.usage
    told = {"input_tokens": usage.fresh + usage.written, "output_tokens": usage.output}
    told |= {"thinking_tokens": usage.reasoning, "cache_read_tokens": usage.cached}
    return {**told, "total_tokens": told["input_tokens"] + usage.output}


def is_silent(call: Call) -> bool:
    """Whether it ends without output and without an error, although it was denied."""
    return call.outcome == "denied" and call.verb == "run"


class Stream:
    """Prints lines; `told` are the tokens so far."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.steps = 0
        self.told: dict[str, int] = {}

    def begin(self) -> None:
        about = {"cwd": CWD, "tools": ["view_file"], "permission_mode": "request-review", "model": "pear-2"}
        self.lines.append({"event": "init", "conversation_id": SESSION, "init": about})

    def next(self) -> int:
        self.steps += 1
        return self.steps - 1

    def step(self, number: int, state: str, kind: str, **members: Any) -> None:
        about = {"conversation_id": SESSION, "step_index": number, "state": state, "step_type": kind}
        self.lines.append({"event": "step_update", "step_update": {**about, **members}})

    def answer(self, answer: Answer) -> None:
        own, steps = self.next(), dict[int, int]()
        if answer.text:
            self.step(own, "ACTIVE", "agent_response", text_delta=answer.text[:3])
        rest = {"text_delta": answer.text[3:]} if answer.text[3:] else {}
        self.step(own, "DONE", "agent_response", **rest, duration_seconds=1.5, usage=used(answer))
        self.told = {name: self.told.get(name, 0) + count for name, count in used(answer).items()}
        for call in answer.calls:
            steps[call.number] = self.next()
            self.call(steps[call.number], "ACTIVE", call, {})
        for call in answer.results:
            if is_silent(call):
                self.call(steps[call.number], "DONE", call, {})
            elif call.outcome == "ok":
                self.call(steps[call.number], "DONE", call, {"output": call.output})
            else:
                text = f"permission check failed: {call.output}" if call.outcome == "denied" else call.output
                self.call(steps[call.number], "ERROR", call, {"error": {"type": "TOOL_ERROR", "message": text}})

    def call(self, number: int, state: str, call: Call, result: dict[str, Any]) -> None:
        name, arguments = asked(call)
        members: dict[str, Any] = {} if state == "ACTIVE" else {"duration_seconds": 0.05}
        if call.verb == "delegate":
            child = {"type_name": "reader", "role": "reader", "initial_prompt": call.text}
            self.step(number, state, "subagent", **members, tool_name=name, subagent_info={"subagents": [child]})
        else:
            info = {"name": name, "parameters": arguments, **result}
            self.step(number, state, "tool", **members, tool_name=name, tool_info=info)

    def end(self, prompt: Prompt, number: int) -> None:
        calls = [call for answer in prompt.answers for call in answer.calls]
        action = {"action": "command", "display_name": "RunCommand"}
        about: dict[str, Any] = {"denied_actions": [action]} if any(map(is_silent, calls)) else {}
        about |= {"conversation_id": SESSION, "status": "SUCCESS", "response": prompt.answers[-1].text}
        about |= {"duration_seconds": 2.5 * number, "num_turns": number, "usage": self.told}
        self.lines.append({"event": "result", "result": about})


def is_ended(prompt: Prompt) -> bool:
    return bool(prompt.answers) and prompt.answers[-1].final


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for number, prompt in enumerate(scenario.prompts):
        if not number or not is_ended(scenario.prompts[number - 1]):
            stream.begin()
        stream.step(stream.next(), "DONE", "user_input")
        for answer in prompt.answers:
            stream.answer(answer)
        if is_ended(prompt):
            stream.end(prompt, number + 1)
    return Written("stream.jsonl", json_lines(stream.lines))


def denied_at_the_end(scenario: Scenario) -> Scenario:
    """Nothing tells that a command was denied before its turn has ended, and a denied one has no output."""

    def told(call: Call) -> Call:
        return replace(call, output="") if is_silent(call) else call

    def before(call: Call) -> Call:
        return replace(call, outcome="ok") if is_silent(call) else call

    prompts: list[Prompt] = []
    for prompt in scenario.prompts:
        one = changed_calls(replace(scenario, prompts=(prompt,)), told)
        prompts.append((one if is_ended(prompt) else changed_calls(one, before)).prompts[0])
    return replace(scenario, prompts=tuple(prompts))


def is_nameless(record: dict[str, Any]) -> bool:
    return record["event"] == "init" or "text_delta" in record.get("step_update", {})


def by_last_turn(written: Scenario, told: Scenario) -> str:
    """Each turn has an end record."""
    return "complete" if is_ended(written.prompts[-1]) else "incomplete"


RESULTS = {
    "read": "VIEW_FILE",
    "search": "GREP_SEARCH",
    "list": "LIST_DIRECTORY",
    "edit": "CODE_ACTION",
    "create": "CODE_ACTION",
    "run": "RUN_COMMAND",
    "fetch": "READ_URL_CONTENT",
    "mcp": "MCP_TOOL",
    "delegate": "INVOKE_SUBAGENT",
}


class Conversation:
    """A conversation's lines; `others` are those of the conversations that it started, by their ids. `nested`: each
    argument is JSON within a string."""

    def __init__(self, clock: Clock, nested: bool) -> None:
        self.clock = clock
        self.nested = nested
        self.lines: list[Any] = []
        self.others: dict[str, list[Any]] = {}

    def add(self, kind: str, source: str, time: str, status: str = "DONE", **members: Any) -> None:
        about = {"step_index": len(self.lines), "source": source, "type": kind, "status": status, "created_at": time}
        self.lines.append({**about, **members})

    def prompt(self, text: str) -> None:
        about = "<ADDITIONAL_METADATA>\nThe current local time is: 2026-03-02T10:30:00+01:00.\n</ADDITIONAL_METADATA>"
        content = f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n{about}"
        self.add("USER_INPUT", "USER_EXPLICIT", self.clock.tick(), content=content)

    def answer(self, answer: Answer) -> None:
        members: dict[str, Any] = {"content": answer.text} if answer.text else {}
        members |= {"thinking": answer.thinking} if answer.thinking else {}
        calls: list[Any] = []
        for call in answer.calls:
            name, arguments = asked(call)
            if self.nested:
                arguments = {key: json.dumps(value, ensure_ascii=False) for key, value in arguments.items()}
            calls.append({"name": name, "args": arguments})
        members |= {"tool_calls": calls} if calls else {}
        self.add("PLANNER_RESPONSE", "MODEL", self.clock.tick(says=not answer.empty), **members)
        self.clock.asked |= dict.fromkeys((call.number for call in answer.calls), self.clock.now)
        for call in answer.results:
            self.result(call)

    def result(self, call: Call) -> None:
        kind, text = RESULTS.get(call.verb, "GENERIC"), call.output
        if call.outcome in ("error", "denied") and call.exit_code is None:
            reason = "permission check failed" if call.outcome == "denied" else "Encountered error in step execution"
            self.add(kind, "MODEL", self.clock.tick(), "ERROR", content=f"{reason}: {text}")
            self.clock.ended[call.number] = self.clock.now
            return
        begun = self.clock.tick()
        self.clock.begun[call.number] = self.clock.now
        if call.exit_code:
            text = f"\tThe command failed with exit code: {call.exit_code}\n\tStdout:\n\t{text}"
        elif call.exit_code == 0:
            text = f"\tThe command completed successfully.\n\tStdout:\n\t{text}"
        elif call.inner:
            child = f"7b1e4d20-96c3-4f58-a1d7-{call.number:012d}"
            self.child(child, call)
            named = json.dumps({"conversationId": child, "workspaceUris": [CWD]}, indent=2)
            text = f"Created the following subagents:\n{named}\n{text}"
        ended = self.clock.tick()
        self.clock.ended[call.number] = self.clock.now
        self.add(kind, "MODEL", ended, content=f"Created At: {begun}\nCompleted At: {ended}\n{text}")

    def child(self, own: str, call: Call) -> None:
        child = Conversation(self.clock, self.nested)
        child.prompt(call.text)
        for answer in call.inner:
            child.answer(answer)
        self.others |= {own: child.lines, **child.others}


def transcripts(scenario: Scenario, clock: Clock, nested: bool) -> dict[str, bytes]:
    """The file of each conversation, the main one first."""
    conversation = Conversation(clock, nested)
    for prompt in scenario.prompts:
        conversation.prompt(prompt.text)
        for answer in prompt.answers:
            if answer.whole:
                conversation.answer(answer)
    name = "transcript.jsonl" if nested else "transcript_full.jsonl"
    files = {SESSION: conversation.lines, **conversation.others}
    return {f"brain/{own}/.system_generated/logs/{name}": json_lines(lines) for own, lines in files.items()}


def write_transcript(scenario: Scenario) -> Written:
    clock = Clock(0, unit=1000)
    (name, data), *others = transcripts(scenario, clock, nested=True).items()
    return Written(name, data, dict(others), clock)


def write_full(scenario: Scenario) -> Written:
    """With the shorter file beside."""
    clock = Clock(0, unit=1000)
    (name, data), *others = transcripts(scenario, clock, nested=False).items()
    return Written(name, data, {**dict(others), **transcripts(scenario, Clock(0, unit=1000), nested=True)}, clock)


def in_order_of_calls(scenario: Scenario) -> Scenario:
    """Results come in the order of their calls; behind a call that goes on none has one."""

    def of(answer: Answer) -> Answer:
        calls: list[Call] = []
        for rank, call in enumerate(answer.calls):
            open_call = any(one.outcome == "unpaired" for one in calls)
            calls.append(replace(call, rank=rank, outcome="unpaired" if open_call else call.outcome))
        return replace(answer, calls=tuple(calls))

    return changed(scenario, of)


def only_named_agents(scenario: Scenario) -> Scenario:
    """Only a good result names the conversation that the call started."""
    return changed_calls(scenario, lambda call: call if call.outcome == "ok" else replace(call, inner=()))


TRANSCRIPT = Writer(
    "antigravity-transcript",
    write_transcript,
    VERBS,
    possible=(in_order_of_calls,),
    losses=(no_broken_answers, only_named_agents, no_empty_answers),
    tokens=no_tokens,
    status=by_last_answer,
    resumes=True,
    nests=True,
    later={"step_index": 900, "source": "SYSTEM", "type": "LATER", "status": "DONE", "content": "#"},
)
WRITERS = (
    Writer(
        "antigravity-stream",
        write_stream,
        VERBS,
        possible=(counts_as("error", ("denied",), ("delegate",)),),
        losses=(denied_at_the_end, no_inner, no_prompts, no_thinking, no_empty_answers),
        outputs=tuple(verb for verb in VERBS if verb != "delegate"),
        took=takes(50),
        tokens=tokens_of(lambda answer: True, "cache_write"),
        status=by_last_turn,
        resumes=True,
        nameless=Nameless("pieces of a text and the begin of a run bear nothing of their own", is_nameless),
        later={"event": "later", "later": {"conversation_id": SESSION, "n": "#"}},
    ),
    TRANSCRIPT,
    dataclasses.replace(TRANSCRIPT, name="antigravity-transcript-full", write=write_full),
)

"""A scenario as Pi 0.73.1 prints it (`pi --mode json`), and as it keeps it in a session file.

Shapes: recordings of the real program, but `message_update` lines, which repeat what `message_end` says. Pi has no MCP,
no plan and no web; its sub-agents are processes of their own.
"""

from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    CWD,
    STARTED_MS,
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    takes,
    time_of,
    tokens_of,
)

SESSION = "01a1fcb1-9645-7534-986b-6b779628fa44"
VERBS: tuple[Verb, ...] = ("read", "search", "find", "list", "edit", "create", "run", "unknown", "delegate")


class Speech:
    """The messages of an agent of Pi's kind."""

    def given(self, call: Call) -> tuple[str, dict[str, Any]]:
        """Pi's own tool and its arguments."""
        told: dict[str, tuple[str, dict[str, Any]]] = {
            "read": ("read", {"path": call.target}),
            "search": ("grep", {"pattern": call.target}),
            "find": ("find", {"pattern": call.target}),
            "list": ("ls", {"path": call.target}),
            "edit": ("edit", {"path": call.target, "edits": [{"oldText": "a", "newText": call.text}]}),
            "create": ("write", {"path": call.target, "content": call.text}),
            "run": ("bash", {"command": call.target}),
            "delegate": ("subagent", {"agent": "scout", "task": call.text}),
        }
        return told.get(call.verb, (call.target, {"x": call.text}))

    def output(self, call: Call) -> str:
        if call.outcome == "denied":
            return f"Tool execution was blocked: {call.output}"
        return f"{call.output}\n\nCommand exited with code {call.exit_code}" if call.exit_code else call.output

    def details(self, call: Call) -> dict[str, Any]:
        """Members that a result has besides."""
        return {}

    def user(self, text: str, second: int) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": STARTED_MS + second * 1000}

    def assistant(self, answer: Answer, second: int) -> dict[str, Any]:
        content: list[Any] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "thinkingSignature": "reasoning_content"})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        for call in answer.calls:
            name, arguments = self.given(call)
            content.append({"type": "toolCall", "id": f"call_{call.number:04d}", "name": name, "arguments": arguments})
        used = answer.usage
        usage = {"input": used.fresh, "output": used.output, "cacheRead": used.cached, "cacheWrite": used.written}
        usage["totalTokens"] = used.input + used.output
        about: dict[str, Any] = {"api": "openai-completions", "provider": "openai", "model": "gpt-5.1", "usage": usage}
        about |= {"stopReason": "stop" if answer.final else "toolUse", "timestamp": STARTED_MS + second * 1000}
        return {"role": "assistant", "content": content, **about, "responseId": f"chatcmpl-{answer.number:04d}"}

    def is_error(self, call: Call) -> bool:
        return call.outcome != "ok"

    def tool_result(self, call: Call, second: int) -> dict[str, Any]:
        about = {"role": "toolResult", "toolCallId": f"call_{call.number:04d}", "toolName": self.given(call)[0]}
        content = [{"type": "text", "text": self.output(call)}]
        told = {**about, "content": content, **self.details(call), "isError": self.is_error(call)}
        return {**told, "timestamp": STARTED_MS + second * 1000}


class Stream:
    """Prints lines; `first` are those that the agent prints of itself. `at_once`: a result is told as its call ends."""

    at_once = False

    def __init__(self, speech: Speech, first: tuple[dict[str, Any], ...] = ()) -> None:
        self.speech = speech
        head = {"type": "session", "version": 3, "id": SESSION, "timestamp": time_of(0), "cwd": CWD}
        self.lines: list[Any] = [head, *first]
        self.said: list[Any] = []
        self.second = 0

    def message(self, message: dict[str, Any]) -> None:
        self.lines += [{"type": "message_start", "message": message}, {"type": "message_end", "message": message}]
        self.said.append(message)

    def answer(self, answer: Answer) -> None:
        self.second += 1
        if not answer.whole:
            return
        message = self.speech.assistant(answer, self.second)
        self.message(message)
        for call in answer.calls:
            name, arguments = self.speech.given(call)
            own = {"toolCallId": f"call_{call.number:04d}", "toolName": name}
            self.lines.append({"type": "tool_execution_start", **own, "args": arguments})
        for call in answer.results:
            self.ended(call)
        if len(answer.results) < len(answer.calls):
            return
        results = [self.speech.tool_result(call, self.second) for call in answer.calls]
        if not self.at_once:
            for result in results:
                self.message(result)
        self.lines.append({"type": "turn_end", "message": message, "toolResults": results})

    def ended(self, call: Call) -> None:
        own = {"toolCallId": f"call_{call.number:04d}", "toolName": self.speech.given(call)[0]}
        result = {"content": [{"type": "text", "text": self.speech.output(call)}], **self.speech.details(call)}
        self.lines.append(
            {"type": "tool_execution_end", **own, "result": result, "isError": self.speech.is_error(call)}
        )
        if self.at_once:
            self.message(self.speech.tool_result(call, self.second))


def write_stream(scenario: Scenario, stream: Stream | None = None) -> Written:
    stream = stream or Stream(Speech())
    for prompt in scenario.prompts:
        stream.said = []
        stream.lines += [{"type": "agent_start"}, {"type": "turn_start"}]
        stream.message(stream.speech.user(prompt.text, stream.second))
        for number, answer in enumerate(prompt.answers):
            if number:
                stream.lines.append({"type": "turn_start"})
            stream.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            stream.lines.append({"type": "agent_end", "messages": stream.said})
    return Written("stream.jsonl", json_lines(stream.lines))


class Session:
    """Writes the entries of a session file."""

    def __init__(self, speech: Speech, version: int = 3) -> None:
        self.speech = speech
        self.lines: list[Any] = [
            {"type": "session", "version": version, "id": SESSION, "timestamp": time_of(0), "cwd": CWD}
        ]
        self.parent: str | None = None
        self.second = 0

    def add(self, **entry: Any) -> None:
        own = f"{len(self.lines):08x}"
        about = {"type": entry.pop("type", "message"), "id": own, "parentId": self.parent}
        self.lines.append({**about, "timestamp": time_of(self.second), **entry})
        self.parent = own

    def begun(self, answer: Answer) -> None:
        """What is written when an answer's calls begin: nothing."""

    def write(self, scenario: Scenario) -> Written:
        for prompt in scenario.prompts:
            self.add(message=self.speech.user(prompt.text, self.second))
            for answer in prompt.answers:
                self.second += 1
                if answer.whole:
                    self.add(message=self.speech.assistant(answer, self.second))
                    self.begun(answer)
                for call in answer.results:
                    self.add(message=self.speech.tool_result(call, self.second))
        return Written(f"2026-03-02T09-30-00-000Z_{SESSION}.jsonl", json_lines(self.lines))


def write_session(scenario: Scenario) -> Written:
    session = Session(Speech())
    session.add(type="model_change", provider="openai", modelId="gpt-5.1")
    return session.write(scenario)


def write_subagent(scenario: Scenario) -> Written:
    """The transcript that the sub-agents extension keeps of a child."""
    speech, lines = Speech(), list[Any]()

    def add(kind: str, **members: Any) -> None:
        about = {"version": 1, "recordType": kind, "source": "foreground", "runId": "e0ebbu40", "agent": "scout"}
        when = {"childIndex": 0, "cwd": CWD, "ts": STARTED_MS + 1000 * len(lines), "timestamp": time_of(len(lines))}
        lines.append({**about, **when, **members})

    def message(text: str, told: dict[str, Any]) -> None:
        add("message", sourceEventType="message_end", role=told["role"], text=text, message=told)

    message(scenario.prompts[0].text, speech.user(scenario.prompts[0].text, 0))
    for answer in scenario.answers:
        if answer.whole:
            message(answer.text, speech.assistant(answer, len(lines)))
        about = [
            (call, {"toolCallId": f"call_{call.number:04d}", "toolName": speech.given(call)[0]})
            for call in answer.calls
        ]
        for _, own in about if answer.whole else ():
            add("tool_start", sourceEventType="tool_execution_start", **own, argsPreview="")
        for call in answer.results:
            add("tool_end", sourceEventType="tool_execution_end", isError=speech.is_error(call))
            message(speech.output(call), speech.tool_result(call, len(lines)))
    return Written("scout_0.jsonl", json_lines(lines))


POSSIBLE = (counts_as("error", ("denied",), ("unknown",)),)
LOSSES = (no_inner, no_broken_answers, no_empty_answers)
WRITERS = (
    Writer(
        "pi-stream",
        write_stream,
        VERBS,
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=tokens_of(is_whole, "reasoning"),
        took=takes(None),
    ),
    Writer(
        "pi-session",
        write_session,
        VERBS,
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
        resumes=True,
    ),
    Writer(
        "pi-subagent",
        write_subagent,
        tuple(verb for verb in VERBS if verb != "delegate"),
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
        later={"version": 1, "recordType": "later", "source": "foreground", "runId": "e0ebbu40"},
        prompts=1,
    ),
)

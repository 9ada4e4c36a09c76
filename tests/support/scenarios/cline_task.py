"""A scenario as Cline's editor extension 3.5x keeps it (`tasks/<id>/ui_messages.json`, with the history of requests
beside it), and as Roo Code does.

Shapes: a real task of Cline, the published source of both. Calls run one behind the other; behind one that was denied
none runs. That a call has ended shows in the entry behind it; its result comes into the history with the next request.
Roo has no places in the history; a condensed context stays there, and its summary repeats the last call before it.
"""

import json
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from support.scenarios.mixing import Clock
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Verb, changed, numbered
from support.scenarios.writer import (
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_reasons,
    tokens_of,
)

VERBS: tuple[Verb, ...] = ("read", "search", "list", "edit", "create", "run", "fetch", "mcp")
DENIED = "The user denied this operation."
INTERRUPTED = "Task was interrupted before this tool call could be completed."


def shown(call: Call, roo: bool) -> dict[str, Any]:
    """A call in the chat view."""
    told: dict[str, dict[str, Any]] = {
        "read": {"tool": "readFile", "path": call.target, "content": "/abs"},
        "search": {"tool": "searchFiles", "path": ".", "regex": call.target, "content": "1 result"},
        "list": {"tool": "listFilesTopLevel", "path": call.target, "content": ""},
        "edit": {"tool": "appliedDiff" if roo else "editedExistingFile", "path": call.target, "diff": call.text},
        "create": {"tool": "newFileCreated", "path": call.target, "content": call.text},
        "fetch": {"tool": "webFetch", "path": call.target},
        "plan": {"tool": "updateTodoList", "todos": [{"content": call.text}]},
        "delegate": {"tool": "newTask", "mode": "code", "content": call.text},
    }
    if call.verb == "mcp":
        server, _, tool = call.target.partition("/")
        about = {"type": "use_mcp_tool", "serverName": server, "toolName": tool}
        return {**about, "arguments": json.dumps({"x": call.text}, ensure_ascii=False)}
    return told[call.verb]


def requested(call: Call, roo: bool) -> dict[str, Any]:
    """A call in the history of requests."""
    server, _, tool = call.target.partition("/")
    named: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"path": call.target}),
        "search": ("search_files", {"path": ".", "regex": call.target}),
        "list": ("list_files", {"path": call.target}),
        "edit": ("apply_diff" if roo else "replace_in_file", {"path": call.target, "diff": call.text}),
        "create": ("write_to_file", {"path": call.target, "content": call.text}),
        "run": ("execute_command", {"command": call.target}),
        "fetch": ("web_fetch", {"url": call.target}),
        "plan": ("update_todo_list", {"todos": call.text}),
        "delegate": ("new_task", {"mode": "code", "message": call.text}),
        "mcp": ("use_mcp_tool", {"server_name": server, "tool_name": tool, "arguments": {"x": call.text}}),
    }
    name, arguments = named[call.verb]
    if roo and call.verb == "mcp":
        name, arguments = f"mcp--{server}--{tool}", {"x": call.text}
    return {"type": "tool_use", "id": f"toolu_{call.number:04d}", "name": name, "input": arguments}


def returned(call: Call) -> dict[str, Any]:
    about = {"type": "tool_result", "tool_use_id": f"toolu_{call.number:04d}"}
    if call.outcome == "unpaired":
        return {**about, "content": INTERRUPTED}
    content = [{"type": "text", "text": DENIED if call.outcome == "denied" else call.output}]
    bad = {"is_error": True} if call.outcome == "error" and call.verb != "run" else {}
    return {**about, "content": content, **bad}


class Task:
    """`entries` of the chat view, `history` of requests; `back` are the results that the next request has."""

    def __init__(self, roo: bool) -> None:
        self.roo, self.clock = roo, Clock(0)
        self.entries: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.back: list[dict[str, Any]] = []
        self.open: Call | None = None

    def add(self, type_: str, kind: str, text: str = "", closes: bool = True, says: bool = True) -> None:
        self.clock.tick(says)
        if closes and self.open is not None:
            self.clock.ended[self.open.number], self.open = self.clock.now, None
        entry: dict[str, Any] = {"ts": self.clock.now, "type": type_, type_: kind, "text": text}
        if not self.roo:
            entry |= {"conversationHistoryIndex": len(self.history) - 1, "modelInfo": {"modelId": "pear-2"}}
        self.entries.append(entry)

    def prompt(self, prompt: Prompt, killed: bool) -> None:
        if killed:
            self.open = None
            self.add("ask", "resume_task")
        self.add("say", "user_feedback" if self.entries else "task", prompt.text)
        self.back.append({"type": "text", "text": f"<task>{prompt.text}</task>"})

    def answer(self, answer: Answer) -> None:
        used = answer.usage
        texts = [one.get("text") or text_of(one["content"]) for one in self.back]
        told: dict[str, Any] = {"request": "\n".join(f"[a tool for 'x'] Result:\n{text}" for text in texts)}
        told |= {"tokensIn": used.input if self.roo else used.fresh, "tokensOut": used.output}
        told |= {"cacheWrites": used.written, "cacheReads": used.cached, "cost": 0.01}
        self.history.append({"role": "user", "content": self.back})
        self.back = []
        self.add("say", "api_req_started", json.dumps({**told, **({"apiProtocol": "openai"} if self.roo else {})}))
        if answer.thinking:
            self.add("say", "reasoning", answer.thinking)
        if answer.final:
            self.add("say", "completion_result", answer.text)
            self.add("ask", "completion_result", says=False)
        elif answer.text:
            self.add("say", "text", answer.text)
        for call in answer.calls:
            self.call(call)
        content = [{"type": "text", "text": answer.text}, *(requested(call, self.roo) for call in answer.calls)]
        self.history.append({"role": "assistant", "content": content})

    def call(self, call: Call) -> None:
        type_ = "ask" if self.roo else "say"
        if call.verb == "run":
            self.add(type_, "command", call.target)
        else:
            told = json.dumps(shown(call, self.roo), ensure_ascii=False)
            self.add(type_, "use_mcp_server" if call.verb == "mcp" else "tool", told)
        self.clock.asked[call.number] = self.clock.now
        self.open = call
        if call.outcome in ("ok", "error") and call.verb in ("run", "mcp"):
            kind = "command_output" if call.verb == "run" else "mcp_server_response"
            self.add("say", kind, call.output, closes=False, says=False)
        if call.outcome == "error" and call.verb not in ("run", "mcp"):
            self.add("say", "diff_error" if call.verb == "edit" else "error", call.output)
        self.back.append(returned(call))

    def condense(self) -> None:
        """The messages so far stay, marked; the summary repeats the calls of the last one."""
        self.add("say", "condense_context", "What was done.")
        for message in self.history:
            message["condenseParent"] = "c1"
        kept = [block for block in self.history[-1]["content"] if block["type"] == "tool_use"]
        summary = [{"type": "text", "text": "What was done."}, *kept]
        self.history.append({"role": "assistant", "content": summary, "isSummary": True, "condenseId": "c1"})


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def write(scenario: Scenario, roo: bool = False) -> Written:
    task = Task(roo)
    killed = False
    for prompt in scenario.prompts:
        task.prompt(prompt, killed)
        done = [answer for answer in prompt.answers if answer.whole]
        for place, answer in enumerate(done):
            if roo and place == 1:
                task.condense()
            task.answer(answer)
        killed = not (done and done[-1].final)
    folder = "tasks/1772443800000/"
    beside = {f"{folder}api_conversation_history.json": json.dumps(task.history, ensure_ascii=False).encode()}
    data = json.dumps(task.entries, ensure_ascii=False).encode()
    return Written(f"{folder}ui_messages.json", data, beside, task.clock)


def write_roo(scenario: Scenario) -> Written:
    return write(scenario, True)


def one_by_one(scenario: Scenario) -> Scenario:
    """Calls run one behind the other, and none behind one that was denied. A task is stopped while its first call runs:
    that the last call has ended would show nowhere."""

    def in_turn(answer: Answer) -> Answer:
        stop = next((n for n, call in enumerate(answer.calls, 1) if call.outcome in ("denied", "unpaired")), None)
        return replace(answer, calls=tuple(replace(c, rank=n) for n, c in enumerate(answer.calls[:stop])))

    def stopped(prompt: Prompt) -> Prompt:
        last = prompt.answers[-1] if prompt.answers else None
        if last is None or last.final:
            return prompt
        calls = tuple(replace(call, outcome="unpaired") for call in last.calls[:1])
        return replace(prompt, answers=(*prompt.answers[:-1], replace(last, calls=calls)))

    scenario = changed(scenario, in_turn)
    return numbered(replace(scenario, prompts=tuple(map(stopped, scenario.prompts))))


TASKS: tuple[tuple[str, Callable[[Scenario], Written], tuple[Verb, ...]], ...] = (
    ("", write, VERBS),
    ("roo-task", write_roo, (*VERBS, "plan", "delegate")),
)
WRITERS = tuple(
    Writer(
        "cline-task",
        writes,
        verbs,
        name=name,
        possible=(no_broken_answers, one_by_one, no_reasons),
        losses=(no_inner, no_empty_answers, counts_as("ok", ("error",), ("run",))),
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
        append_only=False,
        lines=False,
        resumes=True,
    )
    for name, writes, verbs in TASKS
)

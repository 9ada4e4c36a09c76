"""A scenario as Copilot chat in VS Code 1.10x keeps it: a session's document, or the log of what changed in it.

Shapes: VS Code's own source. A request is a prompt with the parts that a person sees of what was answered; what the
model asked for and read (rounds, results) is there when the request has ended. Of a sub-agent there are the parts of
its calls.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from support.scenarios.mixing import in_some_order
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Verb, changed
from support.scenarios.writer import (
    ALL,
    CWD,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_last_written,
    json_lines,
    no_empty_answers,
    no_tokens,
)

SESSION = "f62c7874-549c-4c07-9677-f413049d7799"
RAN_MS = 40
NAMES: dict[str, tuple[str, str]] = {
    "read": ("read_file", "copilot_readFile"),
    "search": ("grep_search", "copilot_findTextInFiles"),
    "find": ("file_search", "copilot_findFiles"),
    "list": ("list_dir", "copilot_listDirectory"),
    "edit": ("replace_string_in_file", "copilot_replaceString"),
    "create": ("create_file", "copilot_createFile"),
    "run": ("run_in_terminal", "run_in_terminal"),
    "plan": ("manage_todo_list", "manage_todo_list"),
    "fetch": ("fetch_webpage", "copilot_fetchWebPage"),
    "delegate": ("runSubagent", "runSubagent"),
}
"""What the model calls a tool, and what the editor does."""
LINKED: tuple[Verb, ...] = ("read", "list", "edit", "create")
SHOWN: tuple[Verb, ...] = ("run", "mcp")
"""Verbs of which the part shows the end: what came back, and whether it failed."""


def names(call: Call) -> tuple[str, str]:
    own = "mcp_" + call.target.replace("/", "_") if call.verb == "mcp" else call.target
    return NAMES.get(call.verb, (own, own))


def given(call: Call) -> dict[str, Any]:
    """The arguments."""
    told: dict[str, dict[str, Any]] = {
        "read": {"filePath": call.target, "startLine": 1, "endLine": 20},
        "search": {"query": call.target, "isRegexp": False},
        "find": {"query": call.target},
        "list": {"path": call.target},
        "edit": {"filePath": call.target, "oldString": "a", "newString": call.text},
        "create": {"filePath": call.target, "content": call.text},
        "run": {"command": call.target, "explanation": "Run it", "isBackground": False},
        "plan": {"todoList": [{"id": 1, "title": call.text, "description": "", "status": "not-started"}]},
        "fetch": {"urls": ["https://example.org/" + call.target], "query": call.text},
        "mcp": {"query": call.text},
        "delegate": {"description": "Look", "prompt": call.text},
    }
    return told.get(call.verb, {"x": call.text})


def own(call: Call) -> str:
    return f"call_{call.number:04d}"


def message(call: Call) -> Any:
    """What is shown of a call: a link to its file, where it has one."""
    if call.verb not in LINKED:
        return {"value": f"Running {names(call)[0]}", "supportThemeIcons": False}
    path = call.target if call.target.startswith("/") else f"{CWD}/{call.target}"
    link = f"file://{quote(path)}"
    uri = {"$mid": 1, "fsPath": path, "external": link, "path": path, "scheme": "file"}
    return {"value": f"Reading []({link})", "supportThemeIcons": False, "uris": {link: uri}}


def shown(call: Call) -> dict[str, Any]:
    """The data of its own that a part has."""
    told: dict[str, dict[str, Any]] = {
        "run": {"kind": "terminal", "commandLine": {"original": call.target}, "language": "sh"},
        "mcp": {"kind": "input", "rawInput": given(call)},
        "plan": {"kind": "todoList", "sessionId": SESSION, **given(call)},
        "delegate": {"kind": "subagent", "description": "Look", "agentName": "helper", "prompt": call.text},
    }
    return {"toolSpecificData": told[call.verb]} if call.verb in told else {}


def source(call: Call) -> dict[str, Any]:
    if call.verb != "mcp":
        return {"type": "internal", "label": "Built-In"}
    server = call.target.partition("/")[0]
    return {"type": "mcp", "serverLabel": server, "label": server, "collectionId": "mcp.config.ws0"}


def output(call: Call) -> str:
    """What the model reads."""
    if call.exit_code:
        return f"{call.output}\n\nCommand exited with code {call.exit_code}"
    failed = call.outcome == "error" and call.verb not in SHOWN
    return f"ERROR while calling tool: {call.output}\nPlease check your input and try again." if failed else call.output


class Chat:
    """A session that goes on; `saved` are its states, one for each `every` things that happened."""

    def __init__(self, mixed: int) -> None:
        self.mixed = mixed
        self.every = 1 + mixed % 4
        self.happened = 0
        self.session: dict[str, Any] = {"version": 3, "sessionId": SESSION, "creationDate": STARTED_MS}
        self.session |= {"requesterUsername": "ada", "responderUsername": "GitHub Copilot", "requests": []}
        self.saved: list[dict[str, Any]] = [deepcopy(self.session)]

    def step(self) -> None:
        self.happened += 1
        if self.happened % self.every == 0:
            self.save()

    def save(self) -> None:
        self.saved.append(deepcopy(self.session))

    def prompt(self, prompt: Prompt) -> None:
        number = len(self.session["requests"])
        asked = {"text": prompt.text, "parts": [{"kind": "text", "text": prompt.text}]}
        request: dict[str, Any] = {"requestId": f"request_{number}", "timestamp": STARTED_MS + 60_000 * number}
        request |= {"message": asked, "variableData": {"variables": []}, "response": [], "modelId": "copilot/gpt-5.1"}
        request |= {"agent": {"id": "github.copilot.editsAgent", "extensionVersion": "0.31.2"}}
        self.session["requests"].append(request)
        self.step()
        for answer in prompt.answers:
            for _ in self.answer(request["response"], answer):
                self.step()
        if not has_ended(prompt):
            return
        request["result"] = {"timings": {"firstProgress": 5, "totalElapsed": 900}, "metadata": metadata(prompt)}
        request["modelState"] = {"value": 1, "completedAt": request["timestamp"] + 900}
        self.step()

    def answer(self, parts: list[Any], answer: Answer) -> Iterator[None]:
        if answer.thinking:
            parts.append({"kind": "thinking", "value": answer.thinking, "id": f"thinking_{answer.number}"})
            yield
        half = len(answer.text) // 2
        for piece in (answer.text[:half], answer.text[half:]):
            if piece:
                parts.append({"value": piece, "supportThemeIcons": False, "uris": {}})
                yield
        made: dict[int, dict[str, Any]] = {}
        works = {call.number: self.work(parts, call, made) for call in answer.working}
        yield from in_some_order(self.mixed, self.begun(parts, answer.calls, made, {}), works)

    def begun(
        self, parts: list[Any], calls: tuple[Call, ...], made: dict[int, dict[str, Any]], of: dict[str, str]
    ) -> Iterator[int]:
        for call in calls:
            if call.verb == "run":
                parts.append({"kind": "prepareToolInvocation", "toolName": names(call)[1]})
            part: dict[str, Any] = {"kind": "toolInvocationSerialized", "toolId": names(call)[1], **of}
            part |= {"toolCallId": own(call), "invocationMessage": message(call), "source": source(call)}
            part |= {"presentation": "hidden" if call.verb == "plan" else None, "isComplete": True, **shown(call)}
            made[call.number] = part
            parts.append(part)
            yield call.number

    def work(self, parts: list[Any], call: Call, made: dict[int, dict[str, Any]]) -> Iterator[None]:
        if call.inner:
            made[call.number] |= {"isComplete": False, "isConfirmed": {"type": 1}}
            yield
        for inner in call.inner:
            found: dict[int, dict[str, Any]] = {}
            works = {one.number: self.work(parts, one, found) for one in inner.working}
            asked = self.begun(parts, inner.calls, found, {"subAgentInvocationId": own(call)})
            yield from in_some_order(self.mixed, asked, works)
        if call.outcome != "unpaired":
            ended(made[call.number], call)
            yield


def ended(part: dict[str, Any], call: Call) -> None:
    """What the part shows of the end of a call."""
    part["isComplete"] = True
    part["isConfirmed"] = {"type": 0} if call.outcome == "denied" else {"type": 1}
    if call.outcome == "denied":
        return
    part["pastTenseMessage"] = message(call)
    if call.verb == "run":
        state = {"exitCode": call.exit_code, "timestamp": STARTED_MS, "duration": RAN_MS}
        part["toolSpecificData"] = {
            **part["toolSpecificData"], "terminalCommandState": state, "terminalCommandOutput": {"text": call.output},
        }  # fmt: skip
    elif call.verb == "mcp":
        back = [{"type": "embed", "isText": True, "value": call.output}]
        asked = json.dumps(given(call), ensure_ascii=False)
        part["resultDetails"] = {"input": asked, "output": back, "isError": call.outcome == "error"}
    elif call.verb == "delegate":
        part["toolSpecificData"] = {**part["toolSpecificData"], "result": call.output}


def metadata(prompt: Prompt) -> dict[str, Any]:
    """What the model asked for, and what it read; some versions mark the ids of calls."""
    rounds: list[Any] = []
    results: dict[str, Any] = {}
    for answer in prompt.answers:
        calls = [
            {"id": f"{own(call)}__vscode-{call.number}", "name": names(call)[0],
             "arguments": json.dumps(given(call), ensure_ascii=False)}
            for call in answer.calls
        ]  # fmt: skip
        one = {"response": answer.text, "toolCalls": calls, "toolInputRetry": 0, "id": f"round-{answer.number}"}
        thinking = {"thinking": {"id": f"thinking_{answer.number}", "text": answer.thinking}} if answer.thinking else {}
        rounds.append({**one, **thinking})
        for call in answer.results:
            results[f"{own(call)}__vscode-{call.number}"] = {
                "$mid": 20,
                "content": [{"$mid": 21, "value": output(call)}],
            }
    return {"toolCallRounds": rounds, "toolCallResults": results, "modelMessageId": "m-1"}


def has_ended(prompt: Prompt) -> bool:
    return bool(prompt.answers) and prompt.answers[-1].final and prompt.answers[-1].whole


def chat_of(scenario: Scenario) -> Chat:
    chat = Chat(scenario.mixed)
    for prompt in scenario.prompts:
        chat.prompt(prompt)
    chat.save()
    return chat


def write_document(scenario: Scenario) -> Written:
    data = json.dumps(chat_of(scenario).session, ensure_ascii=False, indent=2).encode()
    return Written(f"chatSessions/{SESSION}.json", data)


def write_log(scenario: Scenario) -> Written:
    states = chat_of(scenario).saved
    lines: list[Any] = [{"kind": 0, "v": states[0]}]
    for before, after in pairwise(states):
        lines += changes([], before, after)
    return Written(f"chatSessions/{SESSION}.jsonl", json_lines(lines))


def changes(path: list[Any], before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is appended to the log: plain members first, then those that are lists."""
    for name in sorted(after, key=lambda name: name in ("requests", "response")):
        if before.get(name) == after[name]:
            continue
        if name not in ("requests", "response"):
            yield {"kind": 1, "k": [*path, name], "v": after[name]}
            continue
        was: list[Any] = before.get(name, [])
        now: list[Any] = after[name]
        if name == "requests":
            for index, (one, other) in enumerate(zip(was, now, strict=False)):
                yield from changes([*path, name, index], one, other)
            if len(now) > len(was):
                yield {"kind": 2, "k": [*path, name], "v": now[len(was) :]}
            continue
        same = next((at for at, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), len(was))
        cut = {"i": same} if same < len(was) else {}
        yield {"kind": 2, "k": [*path, name], "v": now[same:], **cut}


def as_parts_show(scenario: Scenario) -> Scenario:
    """Of a request that has not ended there are its parts: an answer begins with a text or a thought behind a call; of
    most calls they show neither what was looked for nor what came back, nor that they failed."""

    def part_of(prompt: Prompt) -> Prompt:
        if has_ended(prompt):
            return prompt
        out: list[Answer] = []
        for answer in prompt.answers:
            answer = replace(answer, calls=tuple(map(shown_of, answer.calls)))
            if out and not (answer.text or answer.thinking):
                answer = replace(out[-1], calls=out.pop().calls + answer.calls)
            out.append(answer)
        return replace(prompt, answers=tuple(out))

    return replace(scenario, prompts=tuple(map(part_of, scenario.prompts)))


def shown_of(call: Call) -> Call:
    """A call as its part shows it."""
    outcome = "ok" if call.outcome == "error" and call.verb not in SHOWN else call.outcome
    told = call.output if call.verb in SHOWN and call.outcome != "denied" else ""
    target = "" if call.verb in ("search", "find", "fetch") else call.target
    text = "" if call.verb == "unknown" else call.text
    return replace(call, outcome=outcome, output=told, target=target, text=text)


def one_inner_answer(scenario: Scenario) -> Scenario:
    """Of a sub-agent there are the parts of its calls: one answer, as far as they tell."""

    def joined(call: Call) -> Call:
        calls = tuple(shown_of(one) for answer in call.inner for one in answer.calls)
        inner = (replace(call.inner[0], text="", thinking="", calls=calls, final=False),) if calls else ()
        return replace(call, inner=inner)

    return changed(scenario, lambda answer: replace(answer, calls=tuple(map(joined, answer.calls))), inner=lambda a: a)


def ran(call: Call) -> int | None:
    return RAN_MS if call.verb == "run" and call.outcome != "denied" else None


WRITERS = tuple(
    Writer(
        dialect,
        writes,
        ALL,
        losses=(one_inner_answer, as_parts_show, no_empty_answers),
        tokens=no_tokens,
        status=by_last_written,
        took=ran,
        append_only=dialect == "vscode-chat-jsonl",
        lines=dialect == "vscode-chat-jsonl",
        later={"kind": 9, "k": ["later#"], "v": 1},
        resumes=True,
        mixes=True,
        marks_ids=True,
        nameless=Nameless("a line tells what changes at a place: told again, it changes again"),
    )
    for dialect, writes in (("vscode-chat", write_document), ("vscode-chat-jsonl", write_log))
)

"""Copilot chats of VS Code, made by hand: parts, requests, sessions, lines of the log of mutations."""

from typing import Any

import msgspec

from agentv_stages.model.event import AnyEvent, AssistantText, Reasoning, ToolCall
from agentv_stages.providers.vscode import PROVIDER
from support.decoding import calls, dialect, document, events_of, results

DOCUMENT = dialect(PROVIDER, "vscode-chat")
LOG = dialect(PROVIDER, "vscode-chat-jsonl")
MODEL = "copilot/gpt-x"


def markdown(text: str) -> dict[str, Any]:
    return {"value": text, "supportThemeIcons": False}


def tool(call_id: str, tool_id: str = "run_in_terminal", **members: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolId": tool_id, "toolCallId": call_id, "isComplete": True,
            "isConfirmed": {"type": 1}, "invocationMessage": {"value": "Running"}, **members}  # fmt: skip


def asks(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": msgspec.json.encode(given).decode()}


def rounds(*given: tuple[str, list[dict[str, Any]]], **outputs: str) -> dict[str, Any]:
    found = {key: {"content": [{"value": text}]} for key, text in outputs.items()}
    return {"metadata": {
        "toolCallRounds": [{"response": text, "toolCalls": made, "toolInputRetry": 0} for text, made in given],
        "toolCallResults": found,
    }}  # fmt: skip


def request(own: str, *response: dict[str, Any], prompt: str = "fix it", **members: Any) -> dict[str, Any]:
    return {"requestId": own, "timestamp": 1772359200000, "modelId": MODEL, "message": {"text": prompt, "parts": []},
            "variableData": {"variables": []}, "response": list(response), **members}  # fmt: skip


def session(*requests: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"version": 3, "sessionId": "s-1", "creationDate": 1772359100000, "requesterUsername": "me",
            "responderUsername": "GitHub Copilot", "requests": list(requests), **members}  # fmt: skip


def step(kind: int, path: list[Any], value: Any = None, cut: int | None = None) -> dict[str, Any]:
    line: dict[str, Any] = {"kind": kind, "k": path}
    if value is not None:
        line["v"] = value
    if cut is not None:
        line["i"] = cut
    return line


RESULT = rounds(
    ("Looking.", [asks("c1", "read_file", filePath="/w/x.py", startLine=1)]),
    ("", [asks("c2__vscode-7", "run_in_terminal", command="ls; exit 3")]),
    ("Done.", []),
    c1="the file",
    c2="out\nCommand exited with code 3",
)
PARTS = (
    {"kind": "thinking", "value": "hm", "id": "t"},
    markdown("Look"),
    markdown("ing."),
    tool("c1", "copilot_readFile", source={"type": "internal"}),
    {"kind": "undoStop", "id": "u"},
    tool("other-id", toolSpecificData={"kind": "terminal", "commandLine": {"original": "ls"}}),
    markdown("Done, see "),
    {"kind": "inlineReference", "inlineReference": {"$mid": 1, "path": "/w/x.py", "scheme": "file"}},
    markdown("."),
)
ONE = request("r1", *PARTS, result=RESULT)


def answers(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(type(e).__name__, e.message_id) for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)]


def only(part: dict[str, Any], result: dict[str, Any] | None = None) -> tuple[Any, ...]:
    events = events_of(DOCUMENT, document(session(request("r", part, result=result))))
    [asked] = calls(events)
    given = results(events)
    return asked.name, asked.input, *((given[0].outcome, given[0].exit_code, given[0].output) if given else ("open",))

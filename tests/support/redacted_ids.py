"""Sessions of several agents, each with four whole answers, whose message ids somebody replaced by one word."""

from collections.abc import Callable
from typing import Any

from support.claude_sessions import Lines

ID = "REDACTED"
ANSWERS = 4
TIME = "2026-06-10T10:00:{:02d}.000Z"
CREATED = 1_781_000_000_000


def pi() -> Lines:
    def line(n: int, message: dict[str, Any]) -> dict[str, Any]:
        return {"type": "message", "id": ID, "parentId": None, "timestamp": TIME.format(n + 1), "message": message}

    lines: Lines = [{"type": "session", "version": 3, "id": "s", "timestamp": TIME.format(0), "cwd": "/w"}]
    lines.append(line(0, {"role": "user", "content": "Go."}))
    for n in range(ANSWERS):
        usage = {"input": 70, "output": 20, "cacheRead": 10, "cacheWrite": 0, "cost": {"total": 0.01}}
        call = {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {"command": f"cat f{n}"}}
        asked = {"role": "assistant", "content": [call], "model": "m", "usage": usage, "responseId": ID}
        lines.append(line(2 * n + 1, {**asked, "stopReason": "toolUse", "timestamp": CREATED + 2 * n}))
        told = {"role": "toolResult", "toolCallId": f"c{n}", "toolName": "bash"}
        lines.append(line(2 * n + 2, {**told, "content": [{"type": "text", "text": "x"}]}))
    return lines


def opencode() -> Lines:
    def part(n: int, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": f"prt_{n}{kind}", "sessionID": "ses_1", "messageID": ID, "type": kind, **more}

    def answer(n: int) -> dict[str, Any]:
        tokens = {"input": 70, "output": 20, "reasoning": 0, "cache": {"read": 10, "write": 0}}
        time = {"created": CREATED + 5_000 * n, "completed": CREATED + 5_000 * n + 100}
        info = {"id": ID, "sessionID": "ses_1", "role": "assistant", "modelID": "m", "cost": 0.01, "time": time}
        state = {"status": "completed", "input": {"command": f"cat f{n}"}, "output": "x"}
        call = part(n, "tool", callID=f"c{n}", tool="bash", state={**state, "time": {"start": 1, "end": 2}})
        finish = part(n, "step-finish", reason="tool-calls", cost=0.01, tokens=tokens)
        return {"info": {**info, "finish": "tool-calls", "tokens": tokens}, "parts": [call, finish]}

    session = {"id": "ses_1", "directory": "/w", "title": "t", "version": "1.2.24"}
    info = {**session, "time": {"created": CREATED - 9_000}}
    return [{"info": info, "messages": [answer(n) for n in range(ANSWERS)]}]


def opencode_stream() -> Lines:
    (document,) = opencode()
    kinds = {"tool": "tool_use", "step-finish": "step_finish"}
    return [
        {"type": kinds[part["type"]], "timestamp": CREATED + n, "sessionID": "ses_1", "part": part}
        for n, message in enumerate(document["messages"])
        for part in message["parts"]
    ]


def gemini() -> Lines:
    lines: Lines = [{"sessionId": "s", "projectHash": "p", "startTime": TIME.format(0), "kind": "main"}]
    for n in range(ANSWERS):
        call = {"id": f"c{n}", "name": "run_shell_command", "args": {"command": f"cat f{n}"}, "status": "success"}
        tokens = {"input": 80, "output": 20, "cached": 10, "thoughts": 0, "tool": 0, "total": 100}
        asked: dict[str, Any] = {"id": ID, "timestamp": TIME.format(n + 1), "type": "gemini", "content": "I look."}
        asked |= {"model": "m", "tokens": tokens}
        result = [{"functionResponse": {"id": f"c{n}", "response": {"output": "x"}}}]
        lines += [asked, {**asked, "toolCalls": [{**call, "result": result}]}]  # again, when the call has ended
    return lines


def qwen_stream() -> Lines:
    about = {"session_id": "s", "parent_tool_use_id": None}
    first = {"type": "system", "subtype": "init", "uuid": "i", "session_id": "s", "model": "m", "cwd": "/w"}
    lines: Lines = [{**first, "qwen_code_version": "0.24.4"}]
    for n in range(ANSWERS):
        block = {"type": "tool_use", "id": f"c{n}", "name": "run_shell_command", "input": {"command": f"cat f{n}"}}
        usage = {"input_tokens": 80, "output_tokens": 20, "cache_read_input_tokens": 10}
        asked = {"id": ID, "type": "message", "role": "assistant", "model": "m", "content": [block], "usage": usage}
        lines.append({"type": "assistant", "uuid": f"a{n}", **about, "message": asked})
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "is_error": False, "content": "x"}
        lines.append({"type": "user", "uuid": f"u{n}", **about, "message": {"role": "user", "content": [result]}})
    return lines


def qwen_session() -> Lines:
    def line(n: int, kind: str, **more: Any) -> dict[str, Any]:
        head = {"uuid": ID, "parentUuid": ID, "sessionId": "s", "timestamp": TIME.format(n), "type": kind}
        return {**head, "cwd": "/w", "version": "0.24.4", **more}

    lines: Lines = [line(0, "user", message={"role": "user", "parts": [{"text": "Go."}]})]
    for n in range(ANSWERS):
        call = {"functionCall": {"id": f"c{n}", "name": "run_shell_command", "args": {"command": f"cat f{n}"}}}
        usage = {"promptTokenCount": 80, "candidatesTokenCount": 20, "cachedContentTokenCount": 10}
        asked = {"role": "model", "parts": [call]}
        usage |= {"totalTokenCount": 100}
        lines.append(line(2 * n + 1, "assistant", model="m", message=asked, usageMetadata=usage))
        answer = {"functionResponse": {"id": f"c{n}", "name": "run_shell_command", "response": {"output": "x"}}}
        lines.append(line(2 * n + 2, "tool_result", message={"role": "user", "parts": [answer]}))
    return lines


def copilot() -> Lines:
    def line(n: int, kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": f"e{n}", "timestamp": TIME.format(n), "parentId": None}

    about = {"sessionId": "s", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.0"}
    lines: Lines = [line(0, "session.start", **about)]
    for n in range(ANSWERS):
        request = {"toolCallId": f"c{n}", "name": "bash", "arguments": {"command": f"cat f{n}"}}
        asked = {"messageId": ID, "content": "", "toolRequests": [request], "outputTokens": 20}
        lines.append(line(3 * n + 1, "assistant.message", **asked))
        lines.append(line(3 * n + 2, "tool.execution_start", toolCallId=f"c{n}", toolName="bash", arguments={}))
        ended = {"toolCallId": f"c{n}", "success": True, "result": {"content": "x"}}
        lines.append(line(3 * n + 3, "tool.execution_complete", **ended))
    return lines


SESSIONS: dict[str, tuple[Callable[[], Lines], str, int | None]] = {
    "pi": (pi, "pi", 320),
    "opencode-export": (opencode, "opencode", 320),
    "opencode-stream": (opencode_stream, "opencode", 320),
    "gemini": (gemini, "gemini", 320),
    "qwen-stream": (qwen_stream, "qwen", 320),
    "qwen-session": (qwen_session, "qwen", 320),
    "copilot": (copilot, "copilot", None),
}
"""Name -> lines, provider, tokens of the prompts. Each has four calls, and 80 tokens of output."""

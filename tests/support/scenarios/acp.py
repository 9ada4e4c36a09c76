"""A scenario as OpenCode 1.18 tells it over the Agent Client Protocol (`opencode acp`), the agent's side alone; and as
Claude's adapter does.

Shapes: recordings of the real program, for Claude's adapter its documentation. A call is announced, gets its arguments,
and ends; tokens are those of the last step, so none of a prompt with calls; what sub-agents do is not told.
"""

from typing import Any

from support.scenarios import claude, expected
from support.scenarios.opencode import given
from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    ALL,
    CWD,
    NOTHING,
    PIECES,
    Writer,
    Written,
    counts_as,
    json_lines,
    no_empty_answers,
    no_inner,
    no_prompts,
    no_tokens,
    parted_by_results,
    takes,
)

SESSION = "ses_e0348983cffeQlJxic80u3XODN"
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb not in ("unknown", "delegate"))
KINDS = {"read": "read", "search": "search", "find": "search", "list": "read", "edit": "edit", "create": "edit",
         "run": "execute", "fetch": "fetch"}  # fmt: skip


class Stream:
    """Prints the agent's messages."""

    agent = "OpenCode"
    marks = True
    """Whether pieces of an answer bear its id."""

    def __init__(self) -> None:
        about = {"name": self.agent, "version": "1.18.33"}
        first = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": about}
        self.lines: list[Any] = [{"jsonrpc": "2.0", "id": 1, "result": first}]
        self.lines.append({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": SESSION}})

    def update(self, kind: str, /, **members: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **members}}
        self.lines.append({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def answer(self, answer: Answer) -> None:
        own = {"messageId": f"msg_{answer.number:04d}"} if self.marks else {}
        for kind, text in (("agent_thought_chunk", answer.thinking), ("agent_message_chunk", answer.text)):
            half = len(text) // 2
            for piece in (text[:half], text[half:]):
                if piece:
                    self.update(kind, **own, content={"type": "text", "text": piece})
        for call in answer.calls:
            self.begun(call)
        for call in answer.results:
            self.ended(call)

    def about(self, call: Call) -> dict[str, Any]:
        return {"toolCallId": f"call_{call.number:04d}", "kind": KINDS.get(call.verb, "other")}

    def begun(self, call: Call) -> None:
        name, arguments = given(call)
        shell = call.verb == "run"
        place = [{"path": CWD}] if shell else []
        known = {"cwd": CWD} if shell else {}
        self.update("tool_call", **self.about(call), title=name, status="pending", locations=place, rawInput=known)
        title = call.target if shell else name
        told: dict[str, Any] = {"title": title, "status": "in_progress", "locations": place}
        told["rawInput"] = {**arguments, **known}
        self.update("tool_call_update", **self.about(call), **told)

    def ended(self, call: Call) -> None:
        name, arguments = given(call)
        failed = call.outcome != "ok" and not call.exit_code
        raw: dict[str, Any] = {"error": call.output}
        if not failed:
            metadata = {"output": call.output, "exit": call.exit_code} if call.verb == "run" else {}
            raw = {"output": call.output, "metadata": {**metadata, "truncated": False}}
        content = [{"type": "content", "content": {"type": "text", "text": call.output}}]
        told: dict[str, Any] = {"title": call.target if call.verb == "run" else name, "rawInput": arguments}
        told |= {"status": "failed" if failed else "completed", "content": content, "rawOutput": raw}
        self.update("tool_call_update", **self.about(call), **told)


class ClaudeStream(Stream):
    """As Claude's adapter does it: a call comes with its arguments and its native name, a title for people."""

    agent = "@agentclientprotocol/claude-agent-acp"
    marks = False

    def told(self, kind: str, call: Call, /, **members: Any) -> None:
        about = {"toolCallId": f"toolu_{call.number:04d}", "_meta": {"claudeCode": {"toolName": claude.given(call)[0]}}}
        self.update(kind, **about, **members)

    def begun(self, call: Call) -> None:
        title = f"`{call.target}`" if call.verb == "run" else f"{call.verb} {call.target}"
        kind = KINDS.get(call.verb, "other")
        self.told("tool_call", call, title=title, kind=kind, status="pending", rawInput=claude.given(call)[1])

    def ended(self, call: Call) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": call.output}}]
        self.told("tool_call_update", call, status="completed" if call.outcome == "ok" else "failed", content=content)


def write_claude(scenario: Scenario) -> Written:
    stream = ClaudeStream()
    for number, prompt in enumerate(scenario.prompts):
        for answer in prompt.answers:
            stream.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            stream.lines.append({"jsonrpc": "2.0", "id": 3 + number, "result": {"stopReason": "end_turn"}})
    return Written("stream.jsonl", json_lines(stream.lines))


def write_stream(scenario: Scenario) -> Written:
    stream = Stream()
    for number, prompt in enumerate(scenario.prompts):
        for answer in prompt.answers:
            stream.answer(answer)
        if prompt is not scenario.prompts[-1] or scenario.end == "complete":
            used = prompt.answers[-1].usage
            usage = {"inputTokens": used.fresh, "outputTokens": used.output, "cachedReadTokens": used.cached}
            usage["cachedWriteTokens"] = used.written
            usage["totalTokens"] = used.input + used.output
            result = {"stopReason": "end_turn", "usage": usage}
            stream.lines.append({"jsonrpc": "2.0", "id": 3 + number, "result": result})
    return Written("stream.jsonl", json_lines(stream.lines))


def last_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of a prompt that took one step."""
    if written.end == "cut" or len(written.answers) > 1:
        return dict(NOTHING)
    return {**expected.tokens(written.answers), "reasoning": None}


WRITERS = (
    Writer(
        "acp",
        write_stream,
        VERBS,
        possible=(counts_as("error", ("denied",)),),
        losses=(no_inner, no_prompts, no_empty_answers, parted_by_results),
        took=takes(None),
        tokens=last_tokens,
        prompts=1,
        nameless=PIECES,
    ),
    Writer(
        "acp",
        write_claude,
        tuple(verb for verb in ALL if verb != "plan"),
        possible=(counts_as("error", ("denied",)),),
        losses=(no_inner, no_prompts, no_empty_answers, parted_by_results),
        took=takes(None),
        tokens=no_tokens,
        prompts=1,
        name="acp-claude",
        nameless=PIECES,
    ),
)

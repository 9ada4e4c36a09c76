"""A scenario as Copilot 1.0.102 tells it over the Agent Client Protocol (`copilot --acp`), the agent's side alone.

Shapes: recordings of the real program. Titles are sentences, the arguments tell the tool; commands print before they
end, and their exit code stands among the contents. Tokens are those of the prompt, told at its end. What sub-agents do,
MCP and plans are not written here.
"""

from typing import Any

from support.scenarios import expected
from support.scenarios.copilot import given, own
from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    NOTHING,
    PIECES,
    Writer,
    Written,
    counts_as,
    json_lines,
    no_empty_answers,
    no_prompts,
    parted_by_results,
    takes,
)

SESSION = "e1ce9b8f-54ce-45cb-bf17-15fe6509442c"
VERBS: tuple[Verb, ...] = ("read", "search", "find", "edit", "create", "run", "unknown")
KINDS = {"read": "read", "search": "read", "find": "read", "edit": "edit", "create": "edit", "run": "execute"}


def title(call: Call) -> str:
    return {
        "read": f"Viewing {call.target}",
        "search": f"Searching for '{call.target}'",
        "find": f"Finding files matching {call.target}",
        "edit": f"Editing {call.target}",
        "create": f"Creating {call.target}",
        "run": "Run a command",
    }.get(call.verb, call.target)


class Stream:
    """Prints the agent's messages."""

    def __init__(self) -> None:
        about = {"name": "Copilot", "title": "Copilot", "version": "1.0.102"}
        first = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": about}
        self.lines: list[Any] = [{"jsonrpc": "2.0", "id": 1, "result": first}]
        self.update("available_commands_update", availableCommands=[])
        self.lines.append({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": SESSION}})

    def update(self, kind: str, /, **members: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": kind, **members}}
        self.lines.append({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def answer(self, answer: Answer) -> None:
        self.update("usage_update", used=answer.usage.input, size=168000)
        for kind, text in (("agent_thought_chunk", answer.thinking), ("agent_message_chunk", answer.text)):
            half = len(text) // 2
            for piece in filter(None, (text[:half], text[half:])):
                self.update(kind, content={"type": "text", "text": piece})
        for call in answer.calls:
            told = {"toolCallId": own(call), "title": title(call), "kind": KINDS.get(call.verb, "other")}
            self.update("tool_call", **told, status="pending", rawInput=given(call)[1])
        for call in answer.results:
            self.ended(call)

    def ended(self, call: Call) -> None:
        about = {"toolCallId": own(call)}
        if call.outcome != "ok" and call.exit_code is None:
            code = "denied" if call.outcome == "denied" else "failure"
            self.update("tool_call_update", **about, status="failed", rawOutput={"message": call.output, "code": code})
            return
        text = call.output
        raw: dict[str, Any] = {}
        if call.verb == "run":
            self.update("tool_call_update", **about, content=shown(text))
            text += f"\n<shellId: {call.number} completed with exit code {call.exit_code}>"
            raw["contents"] = [{"type": "shell_exit", "shellId": str(call.number), "exitCode": call.exit_code}]
        raw |= {"content": text, "detailedContent": text}
        self.update("tool_call_update", **about, status="completed", content=shown(text), rawOutput=raw)


def shown(text: str) -> list[Any]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def write(scenario: Scenario) -> Written:
    stream = Stream()
    for answer in scenario.answers:
        stream.answer(answer)
    if scenario.end == "complete":
        sums = expected.tokens(scenario.answers)
        usage = {"inputTokens": sums["input"], "outputTokens": sums["output"], "cachedReadTokens": sums["cached"]}
        usage |= {"cachedWriteTokens": sums["cache_write"], "totalTokens": sums["input"] + sums["output"]}
        stream.lines.append({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "usage": usage}})
    return Written("stream.jsonl", json_lines(stream.lines))


def prompt_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of a prompt that was answered to its end."""
    if written.end == "cut":
        return dict(NOTHING)
    return {**expected.tokens(written.answers), "reasoning": None}


LATER = {"sessionId": SESSION, "update": {"sessionUpdate": "later"}}
WRITERS = (
    Writer(
        "copilot-acp",
        write,
        VERBS,
        possible=(counts_as("error", ("ok", "denied"), ("unknown",)),),
        losses=(no_prompts, no_empty_answers, parted_by_results),
        tokens=prompt_tokens,
        prompts=1,
        later={"jsonrpc": "2.0", "method": "session/update", "params": LATER},
        took=takes(None),
        nameless=PIECES,
    ),
)

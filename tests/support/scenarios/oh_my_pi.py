"""A scenario as oh-my-pi 18.2.3 prints it (`omp --mode json`), and as it keeps it in a session file.

Shapes: recordings of the real program, which are Pi's but for what stands here; a result is told in the stream as soon
as its call has ended. What sub-agents do is not written here.
"""

from typing import Any

from support.scenarios import pi
from support.scenarios.scenario import Answer, Call, Scenario, Verb
from support.scenarios.writer import (
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    no_broken_answers,
    no_empty_answers,
    takes,
    time_of,
    tokens_of,
)

VERBS: tuple[Verb, ...] = ("read", "search", "find", "edit", "create", "run", "plan", "mcp", "unknown")
SECTION = "[{path}#6699]\nPUT 2.=2:\n+{text}\n"


class Speech(pi.Speech):
    """oh-my-pi's messages: prompts say who they are from, calls what they are for."""

    def given(self, call: Call) -> tuple[str, dict[str, Any]]:
        told: dict[str, tuple[str, dict[str, Any]]] = {
            "find": ("glob", {"path": call.target}),
            "edit": ("edit", {"input": SECTION.format(path=call.target, text=call.text)}),
            "plan": ("todo", {"op": "init", "list": [{"phase": "Work", "items": [call.text]}]}),
            "mcp": ("mcp__" + call.target.replace("/", "_"), {"query": call.text}),
        }
        name, arguments = told.get(call.verb) or super().given(call)
        return name, {"i": "Do it", **arguments}

    def user(self, text: str, second: int) -> dict[str, Any]:
        return {**super().user(text, second), "attribution": "user"}

    def details(self, call: Call) -> dict[str, Any]:
        if call.verb == "run" and call.exit_code is not None:
            return {"details": {"timeoutSeconds": 300, "wallTimeMs": 806.88, "exitCode": call.exit_code}}
        return {}

    def output(self, call: Call) -> str:
        if call.outcome == "denied":
            return f'Tool "{self.given(call)[0]}" requires approval but no interactive UI available. {call.output}'
        return super().output(call)


class Stream(pi.Stream):
    """Prints lines; results one by one."""

    at_once = True


class Session(pi.Session):
    """Writes entries, behind the slot for a title."""

    def begun(self, answer: Answer) -> None:
        for call in answer.calls:
            data = {"toolCallId": f"call_{call.number:04d}", "toolName": self.speech.given(call)[0]}
            self.add(type="custom", customType="tool_execution_start", data={**data, "startedAt": time_of(self.second)})


def write_stream(scenario: Scenario) -> Written:
    return pi.write_stream(scenario, Stream(Speech(), ({"type": "advisor_cost_changed"},)))


def write_session(scenario: Scenario) -> Written:
    session = Session(Speech())
    session.lines.insert(0, {"type": "title", "v": 1, "title": "", "updatedAt": time_of(0), "pad": " " * 32})
    session.add(type="model_change", model="openai/gpt-5.1", resolvedModelIsFallback=False)
    return session.write(scenario)


LOSSES = (no_broken_answers, no_empty_answers)
WRITERS = (
    Writer(
        "oh-my-pi-stream",
        write_stream,
        VERBS,
        possible=(counts_as("error", ("denied",), ("unknown",)),),
        losses=LOSSES,
        took=takes(None),
        tokens=tokens_of(is_whole, "reasoning"),
    ),
    Writer(
        "oh-my-pi-session",
        write_session,
        VERBS,
        possible=(counts_as("error", ("denied",), ("unknown",)),),
        losses=LOSSES,
        tokens=tokens_of(is_whole, "reasoning"),
        status=by_last_written,
        resumes=True,
    ),
)

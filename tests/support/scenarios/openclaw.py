"""A scenario as OpenClaw 2026.9.6 keeps it: Pi's entries at version 4, and its own among them.

Shapes: recordings of the real program. A call of a tool that does not exist is taken out of its answer, so that its
result alone tells of it; a command that fails is no error, its exit code says so.
"""

from typing import Any

from msgspec.structs import replace

from support.scenarios import pi
from support.scenarios.scenario import Answer, Call, Scenario, Verb, changed
from support.scenarios.writer import (
    Writer,
    Written,
    by_last_written,
    counts_as,
    is_whole,
    no_broken_answers,
    no_empty_answers,
    not_told,
    tokens_of,
)

VERBS: tuple[Verb, ...] = ("read", "search", "find", "list", "edit", "create", "run", "plan", "fetch", "unknown")
RUN = "00000001-0000-4000-8000-000000000001"


class Speech(pi.Speech):
    """OpenClaw's messages."""

    def given(self, call: Call) -> tuple[str, dict[str, Any]]:
        told: dict[str, tuple[str, dict[str, Any]]] = {
            "run": ("exec", {"command": call.target}),
            "plan": ("update_plan", {"plan": [{"step": call.text, "status": "pending"}]}),
            "fetch": ("web_fetch", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        }
        return told.get(call.verb) or super().given(call)

    def user(self, text: str, second: int) -> dict[str, Any]:
        return {**super().user(text, second), "content": text, "__openclaw": {"senderIsOwner": True}}

    def assistant(self, answer: Answer, second: int) -> dict[str, Any]:
        known = tuple(call for call in answer.calls if call.verb != "unknown")
        made = super().assistant(replace(answer, calls=known), second)
        made["usage"]["reasoningTokens"] = answer.usage.reasoning
        return {**made, "__openclaw": {"runId": RUN}}

    def tool_result(self, call: Call, second: int) -> dict[str, Any]:
        return {**super().tool_result(call, second), "__openclaw": {"runId": RUN}}

    def is_error(self, call: Call) -> bool:
        return call.outcome != "ok" and call.exit_code is None

    def details(self, call: Call) -> dict[str, Any]:
        if call.exit_code is None:
            return {"details": {}}
        about = {"status": "completed", "exitCode": call.exit_code, "exitSignal": None, "exitReason": "exit"}
        return {"details": {**about, "durationMs": 623, "aggregated": call.output}}

    def output(self, call: Call) -> str:
        return f"{call.output}\n\n(Command exited with code {call.exit_code})" if call.exit_code else call.output


def write_session(scenario: Scenario) -> Written:
    session = pi.Session(Speech(), 4)
    session.add(type="model_change", provider="openai", modelId="gpt-5.1")
    session.add(type="custom", customType="model-snapshot", data={"provider": "openai", "modelId": "gpt-5.1"})
    return session.write(scenario)


def unknown_last(scenario: Scenario) -> Scenario:
    """Calls of tools that do not exist stand behind the others, in the order of their results."""

    def ordered(answer: Answer) -> Answer:
        known = [call for call in answer.calls if call.verb != "unknown"]
        return replace(answer, calls=(*known, *(call for call in answer.results if call.verb == "unknown")))

    return changed(scenario, ordered)


NEVER = not_told(("unpaired",), ("unknown",))
WRITERS = (
    Writer(
        "openclaw-session",
        write_session,
        VERBS,
        possible=(counts_as("error", ("denied",)), counts_as("error", ("ok",), ("unknown",))),
        losses=(no_broken_answers, NEVER, unknown_last, no_empty_answers),
        inputs=tuple(verb for verb in VERBS if verb != "unknown"),
        took=lambda call: 0 if call.exit_code is None else 623,
        tokens=tokens_of(is_whole),
        status=lambda written, told: by_last_written(NEVER(written), told),
        resumes=True,
    ),
)

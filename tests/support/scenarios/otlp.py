"""A scenario as spans in OTLP JSON, a span a line: by the GenAI conventions of OpenTelemetry, and by OpenInference.

Shapes: semantic conventions 1.37, OpenInference 0.1, both recorded. A span is written when it has ended, so that
parents come last. An agent that is stopped ends its own span with an error; calls that were open have none. A trace is
a prompt.
"""

import json
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.langchain import asked as asked_of_function
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, all_answers, changed, changed_calls
from support.scenarios.writer import (
    ALL,
    NOTHING,
    STARTED_MS,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    json_lines,
    no_broken_answers,
    no_inner,
    no_thinking,
)

Attributes = dict[str, Any]
CONVERSATION = "conv-7"


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    name, arguments = asked_of_function(call)
    return ("mcp__" + name.replace("/", "__") if call.verb == "mcp" else name), arguments


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class GenAI:
    """The attributes of spans by the conventions of OpenTelemetry."""

    def agent(self, prompt: str) -> Attributes:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": CONVERSATION} | self.input(prompt)

    def input(self, prompt: str) -> Attributes:
        message = {"role": "user", "parts": [{"type": "text", "content": prompt}]}
        return {"gen_ai.input.messages": as_json([message])}

    def model(self, prompt: str, answer: Answer) -> Attributes:
        parts: list[dict[str, Any]] = []
        if answer.thinking:
            parts.append({"type": "reasoning", "content": answer.thinking})
        if answer.text:
            parts.append({"type": "text", "content": answer.text})
        for call in answer.calls:
            name, arguments = asked(call)
            parts.append({"type": "tool_call", "id": f"call_{call.number:04d}", "name": name, "arguments": arguments})
        used = answer.usage
        return self.input(prompt) | {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": CONVERSATION,
            "gen_ai.response.id": f"resp_{answer.number}",
            "gen_ai.request.model": "pear-2",
            "gen_ai.output.messages": as_json([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]),
            "gen_ai.usage.input_tokens": used.input,
            "gen_ai.usage.cache_read.input_tokens": used.cached,
            "gen_ai.usage.cache_creation.input_tokens": used.written,
            "gen_ai.usage.output_tokens": used.output,
            "gen_ai.usage.reasoning.output_tokens": used.reasoning,
        }

    def tool(self, call: Call) -> Attributes:
        name, arguments = asked(call)
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": CONVERSATION,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": f"call_{call.number:04d}",
            "gen_ai.tool.call.arguments": as_json(arguments),
            "gen_ai.tool.call.result": call.output,
        }


class ClientOnly(GenAI):
    """A client of models traces itself alone: results of calls are in the input of the next model call."""

    def back(self, prompt: str, calls: list[Call]) -> Attributes:
        messages: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
        for call in calls:
            part = {"type": "tool_call_response", "id": f"call_{call.number:04d}", "response": call.output}
            messages.append({"role": "tool", "parts": [part]})
        return {"gen_ai.input.messages": as_json(messages)}


class OpenInference:
    """The attributes of spans by OpenInference; the span of a call has no id of it."""

    def agent(self, prompt: str) -> Attributes:
        return {"openinference.span.kind": "AGENT", "session.id": CONVERSATION, "input.value": prompt}

    def model(self, prompt: str, answer: Answer) -> Attributes:
        told: Attributes = {
            "openinference.span.kind": "LLM",
            "session.id": CONVERSATION,
            "llm.model_name": "pear-2",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": prompt,
            "llm.token_count.prompt": answer.usage.input,
            "llm.token_count.prompt_details.cache_read": answer.usage.cached,
            "llm.token_count.prompt_details.cache_write": answer.usage.written,
            "llm.token_count.completion": answer.usage.output,
            "llm.token_count.completion_details.reasoning": answer.usage.reasoning,
        }
        message = "llm.output_messages.0.message."
        told[f"{message}role"] = "assistant"
        if answer.text:
            told[f"{message}content"] = answer.text
        for place, call in enumerate(answer.calls):
            name, arguments = asked(call)
            one = f"{message}tool_calls.{place}.tool_call."
            told |= {f"{one}id": f"call_{call.number:04d}", f"{one}function.name": name}
            told[f"{one}function.arguments"] = as_json(arguments)
        return told

    def tool(self, call: Call) -> Attributes:
        name, arguments = asked(call)
        about = {"openinference.span.kind": "TOOL", "session.id": CONVERSATION, "tool.name": name}
        return about | {"input.value": as_json(arguments), "output.value": call.output}


class Spans:
    """Writes spans, those below first."""

    def __init__(self, form: GenAI | OpenInference) -> None:
        self.form = form
        self.lines: list[dict[str, Any]] = []
        self.trace = self.number = 0
        self.now = STARTED_MS

    def begin(self) -> tuple[int, int]:
        """The number of a span, and when it begins."""
        self.number += 1
        self.now += 10
        return self.number, self.now

    def end(self, begun: tuple[int, int], parent: int, name: str, attributes: Attributes, failed: str = "") -> None:
        number, started = begun
        self.now += 10
        values = [(key, value) for key, value in attributes.items()]
        pairs = [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values
        ]
        span = {
            "traceId": f"{self.trace:032x}", "spanId": f"{number:016x}", "name": name, "kind": 1,
            "parentSpanId": f"{parent:016x}" if parent else "",
            "startTimeUnixNano": f"{started}000000", "endTimeUnixNano": f"{self.now}000000",
            "attributes": pairs, "status": {"code": 2, "message": failed} if failed else {},
        }  # fmt: skip
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "orchard"}}]}
        scopes = [{"scope": {"name": "orchard"}, "spans": [span]}]
        self.lines.append({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]})

    def agent(self, prompt: str, answers: tuple[Answer, ...], parent: int = 0) -> None:
        begun = self.begin()
        before: list[Call] = []
        for answer in answers:
            if answer.whole:
                model = self.begin()
                attributes = self.form.model(prompt, answer)
                if isinstance(self.form, ClientOnly):
                    attributes |= self.form.back(prompt, before)
                self.end(model, begun[0], "chat pear-2", attributes)
            before += answer.results
            for call in [] if isinstance(self.form, ClientOnly) else answer.results:
                self.call(call, begun[0])
        done = bool(answers) and answers[-1].final
        self.end(begun, parent, "invoke_agent ada", self.form.agent(prompt), "" if done else "cancelled")

    def call(self, call: Call, parent: int) -> None:
        begun = self.begin()
        if call.inner:
            self.agent(call.text, call.inner, begun[0])
        failed = "" if call.outcome == "ok" else "failed"
        self.end(begun, parent, f"execute_tool {asked(call)[0]}", self.form.tool(call), failed)


def writing(form: GenAI | OpenInference) -> Callable[[Scenario], Written]:
    def write(scenario: Scenario) -> Written:
        spans = Spans(form)
        for number, prompt in enumerate(scenario.prompts, 1):
            spans.trace = number
            spans.agent(prompt.text, prompt.answers)
        return Written("spans.otlp.jsonl", json_lines(spans.lines))

    return write


def no_open_agents(scenario: Scenario) -> Scenario:
    """A call that is open has no span, so nothing would be around the spans of its agent."""
    return changed_calls(scenario, lambda call: replace(call, inner=()) if call.outcome == "unpaired" else call)


def tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each model call."""
    found = [replace(answer, calls=()) for answer in all_answers(no_broken_answers(written).answers)]
    return dict(expected.tokens(found)) if found else dict(NOTHING)


def by_agent(written: Scenario, told: Scenario) -> str:
    """By the span of the last agent, unless calls are open."""
    answers = written.prompts[-1].answers
    return by_last_answer(written, told) if answers and answers[-1].final else "error"


def no_json_texts(scenario: Scenario) -> Scenario:
    """A result that is JSON is read as its value: whether it was a text, nothing tells."""

    def plain(call: Call) -> Call:
        return replace(call, output=f"x {call.output}") if call.output[:1] in ("{", "[") else call

    return changed_calls(scenario, plain)


def no_equal_calls(scenario: Scenario) -> Scenario:
    """Calls of an answer that ask for the same are one: no id tells which of them a span belongs to."""

    def different(answer: Answer) -> Answer:
        calls = {as_json(asked(call)): call for call in reversed(answer.calls)}
        return replace(answer, calls=tuple(reversed(calls.values())))

    return changed(scenario, different)


def no_silent_prompts(scenario: Scenario) -> Scenario:
    """A prompt that is JSON is told by the first model call alone: the agent's input may be its state."""

    def silent(prompt: Prompt) -> Prompt:
        return replace(prompt, text="") if prompt.text[:1] in ("{", "[") and not prompt.answers else prompt

    return replace(scenario, prompts=tuple(map(silent, scenario.prompts)))


def results_in_the_next(scenario: Scenario) -> Scenario:
    """A result is told by the model call behind it."""

    def of(prompt: Prompt) -> Prompt:
        if not prompt.answers:
            return prompt
        *before, last = prompt.answers
        calls = tuple(replace(call, outcome="unpaired") for call in last.calls)
        return replace(prompt, answers=(*before, replace(last, calls=calls)))

    return replace(scenario, prompts=tuple(map(of, scenario.prompts)))


POSSIBLE = (no_open_agents, no_json_texts)
LOSSES = (no_broken_answers, counts_as("error", ("denied",)))
WRITERS = (
    Writer(
        "otlp",
        writing(GenAI()),
        ALL,
        possible=POSSIBLE,
        losses=LOSSES,
        tokens=tokens,
        status=by_agent,
        append_only=False,
        resumes=True,
        nests=True,
    ),
    Writer(
        "otlp",
        writing(OpenInference()),
        ALL,
        name="otlp-openinference",
        possible=(*POSSIBLE, no_equal_calls),
        losses=(*LOSSES, no_thinking, no_silent_prompts),
        tokens=tokens,
        status=by_agent,
        append_only=False,
        resumes=True,
        nests=True,
    ),
    Writer(
        "otlp",
        writing(ClientOnly()),
        ALL,
        name="otlp-client",
        possible=(no_inner, no_json_texts),
        losses=(*LOSSES, counts_as("ok", ("error", "denied")), results_in_the_next),
        tokens=tokens,
        status=by_agent,
        append_only=False,
        resumes=True,
    ),
)

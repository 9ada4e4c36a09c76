"""Reads one answer of the model, of any API: its thoughts, texts, calls and usage.

Source: mini-swe-agent 1.1.0 to 2.4.6; LiteLLM's chat completions and Responses.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Raw

from agentv_stages.chain.pruning import fitting
from agentv_stages.model.event import EMPTY_OBJECT, Source, TokenUsage
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json, text_json, to_raw
from agentv_stages.providers.mini_swe_agent.outcomes import commands_in
from agentv_stages.providers.mini_swe_agent.tools import TOOL
from agentv_stages.providers.mini_swe_agent.wire import (
    Action,
    AskedCall,
    Details,
    Extra,
    Message,
    Response,
    Spoken,
    Usage,
    decode_choice,
    decode_item,
)


class Requested(NamedTuple):
    """A call as the model asked for it; without an `id` its result is the next message."""

    id: str | None
    name: str
    arguments: Raw


class Answer(NamedTuple):
    """`created` is when the server began it, in epoch seconds."""

    thoughts: list[Raw]
    texts: list[Raw]
    calls: list[Requested]
    model: str | None = None
    created: float | None = None
    usage: Usage | None = None


def accepted(message: Message, extra: Extra) -> Answer:
    """An answer in the conversation; `calls` without those that 1.x finds in the text."""
    if message.object == "response":
        return Answer(*_items(message.output), message.model, message.created_at, message.usage)
    response = extra.response if isinstance(extra.response, Response) else Response()
    spoken = Spoken(message.content, message.reasoning_content, message.reasoning, message.tool_calls)
    thoughts, texts, calls = _spoken(spoken)
    if not calls:
        calls = [_command(action) for action in extra.actions or ()]
    return Answer(thoughts, texts, calls, response.model, response.created or response.created_at, response.usage)


def refused(extra: Extra) -> Answer | None:
    """An answer that was rejected for its format and kept beside the rejection; None if it was not kept."""
    response = extra.response
    if not isinstance(response, Response):
        return Answer([], _texts((extra.model_response,)), []) if has_value(extra.model_response) else None
    if has_value(response.output):
        parts = _items(response.output)
    else:
        choices = fitting(response.choices, decode_choice) if has_value(response.choices) else iter(())
        parts = _spoken(next((choice.message for choice in choices if choice.message is not None), Spoken()))
    return Answer(*parts, response.model, response.created or response.created_at, response.usage)


def cut_out(text: str, action_regex: str | None) -> list[Requested]:
    """The command in an answer of 1.x; none if it has several, because such an answer was rejected."""
    found = commands_in(text, action_regex)
    return [Requested(None, TOOL, to_raw({"command": found[0]}))] if len(found) == 1 else []


def usage_event(source: Source, part: str, key: str, answer: Answer, cost: float | None) -> TokenUsage | None:
    """The tokens and the cost; None if the log has neither. A cost of 0.0 means that the price was not known."""
    usage, cost_usd = answer.usage or Usage(), cost or None
    prompt = usage.prompt_tokens_details or usage.input_tokens_details or Details()
    details = usage.completion_tokens_details or usage.output_tokens_details or Details()
    tokens = usage.input_tokens if usage.prompt_tokens is None else usage.prompt_tokens
    output = usage.output_tokens if usage.completion_tokens is None else usage.completion_tokens
    cached = usage.cache_read_input_tokens if prompt.cached_tokens is None else prompt.cached_tokens
    write = usage.cache_creation_input_tokens
    write = prompt.cache_creation_tokens if write is None else write
    if tokens is None and output is None and cost_usd is None:
        return None
    return TokenUsage(
        *(source, part, key, "call", answer.model, tokens, cached, write, None, output, details.reasoning_tokens),
        cost_usd=cost_usd,
    )


def _spoken(spoken: Spoken) -> tuple[list[Raw], list[Raw], list[Requested]]:
    reasoning = spoken.reasoning_content if has_value(spoken.reasoning_content) else spoken.reasoning
    return _texts((reasoning,)), _texts((spoken.content,)), [_requested(call) for call in spoken.tool_calls or ()]


def _items(output: Raw) -> tuple[list[Raw], list[Raw], list[Requested]]:
    thoughts: list[Raw] = []
    texts: list[Raw] = []
    calls: list[Requested] = []
    for item in fitting(output, decode_item) if has_value(output) else ():
        if item.type == "function_call":
            calls.append(Requested(item.call_id or item.id, item.name or "unknown", _arguments(item.arguments)))
        elif item.type == "reasoning":
            thoughts += _texts((item.summary, item.content))
        elif item.type == "message":
            texts += _texts((item.content,))
    return thoughts, texts, calls


def _texts(payloads: Iterable[Raw]) -> list[Raw]:
    """The texts among payloads, as JSON strings, empty ones left out."""
    return [text for text in map(text_json, payloads) if len(text) > 2]


def _requested(call: AskedCall) -> Requested:
    function = call.function
    if function is None:
        return Requested(call.id, "unknown", EMPTY_OBJECT)
    return Requested(call.id, function.name or "unknown", _arguments(function.arguments))


def _arguments(raw: Raw) -> Raw:
    return inner_json(raw) if has_value(raw) and raw != EMPTY_STRING else EMPTY_OBJECT


def _command(action: Action) -> Requested:
    command = action.command
    return Requested(
        action.tool_call_id, TOOL, Raw(b'{"command":' + bytes(command) + b"}") if has_value(command) else EMPTY_OBJECT
    )

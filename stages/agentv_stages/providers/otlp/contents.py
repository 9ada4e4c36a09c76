"""The conversation in a span: attributes in, parts of messages out, in one form for all dialects."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.values import as_list, as_object
from agentv_stages.providers.otlp.wire import Event, SpanFacts, whole

_BLOCKS = frozenset(("text", "toolUse", "toolResult", "image", "document", "reasoningContent", "cachePoint"))
_PIECE = re.compile(r"content\.\d{1,5}")
_INDEX = re.compile(r"(\d+)\.(.*)", re.DOTALL)


class Spoken(NamedTuple):
    """A part of a message. `kind` is text, reasoning, call or response; `value` are the arguments, or the output;
    `failed`: the response says that the call failed."""

    role: str
    kind: str
    text: str = ""
    id: str = ""
    name: str = ""
    value: Any = None
    failed: bool = False


def first(span: SpanFacts, keys: Iterable[str]) -> Any:
    """The value under the first of the names that the span has."""
    attributes = span.attributes
    return next((attributes[key] for key in keys if attributes.get(key) not in (None, "")), None)


def text_first(span: SpanFacts, keys: Iterable[str]) -> str | None:
    value = first(span, keys)
    return value if isinstance(value, str) else None


def whole_first(span: SpanFacts, keys: Iterable[str]) -> int | None:
    value = whole(first(span, keys))
    return value if value is not None and value >= 0 else None


def parsed(value: Any) -> Any:
    """A value that may be JSON in a text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _of_json(value: Any) -> Any:
    """A value that is JSON in a text, whatever it is: the Vercel AI SDK has results of calls so."""
    if isinstance(value, str) and value[:1] == value[-1:] == '"':
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _json_in(span: SpanFacts, name: str) -> Any:
    """The value of an attribute that is JSON; one that is cut off, or anything else, is noted in the span."""
    value = parsed(span.attributes.get(name))
    if isinstance(value, str) and value.strip() and name not in span.broken:
        span.broken.append(name)
    return value


def outputs(span: SpanFacts) -> list[Spoken]:
    """The answer of the model."""
    return _first_of(
        lambda: _messages(_json_in(span, "gen_ai.output.messages"), "assistant"),
        lambda: _indexed(span, "llm.output_messages.", "message."),
        lambda: _indexed(span, "gen_ai.completion.", ""),
        lambda: _of_adk(as_object(_json_in(span, "gcp.vertex.agent.llm_response")).get("content")),
        lambda: _of_vercel(span),
        lambda: _of_events(span, ("gen_ai.choice",)),
    )


def inputs(span: SpanFacts) -> list[Spoken]:
    """The input of the model: often the whole conversation so far."""
    return _first_of(
        lambda: _messages(_json_in(span, "gen_ai.input.messages"), "user"),
        lambda: _indexed(span, "llm.input_messages.", "message."),
        lambda: _indexed(span, "gen_ai.prompt.", ""),
        lambda: _of_adk_request(as_object(_json_in(span, "gcp.vertex.agent.llm_request"))),
        lambda: _messages(_json_in(span, "ai.prompt.messages"), "user"),
        lambda: _of_events(span, ("gen_ai.user.message", "gen_ai.tool.message", "gen_ai.system.message")),
    )


def _first_of(*readers: Any) -> list[Spoken]:
    for read in readers:
        found: list[Spoken] = read()
        if found:
            return found
    return []


def _text(value: Any) -> str:
    """The text of a content: itself, or the texts of its blocks."""
    if isinstance(value, str):
        return value
    texts = [_text(as_object(block).get("text", as_object(block).get("content"))) for block in as_list(value)]
    return "".join(text for text in texts if text)


def _messages(value: Any, role: str) -> list[Spoken]:
    """Messages of the GenAI conventions, with `parts` or with `content` and `tool_calls`."""
    found: list[Spoken] = []
    for message in map(as_object, as_list(value)):
        speaker = str(message.get("role", role))
        for part in map(as_object, as_list(message.get("parts"))):
            found += _part(speaker, part)
        if "parts" not in message:
            found += _plain_message(speaker, message)
    return found


def _part(role: str, part: dict[str, Any]) -> list[Spoken]:
    kind, content = part.get("type"), part.get("content", part.get("text"))
    if kind == "text":
        return [Spoken(role, "text", _text(content))]
    if kind in ("reasoning", "thinking"):
        return [Spoken(role, "reasoning", _text(content))]
    if kind == "tool_call":
        name, call = str(part.get("name", "")), str(part.get("id") or "")
        return [Spoken(role, "call", "", call, name, parsed(part.get("arguments", part.get("args"))))]
    if kind == "tool_call_response":
        return [Spoken(role, "response", "", str(part.get("id") or ""), "", part.get("response", part.get("result")))]
    return []


def _plain_message(role: str, message: dict[str, Any]) -> list[Spoken]:
    content = message.get("content")
    blocks = [part for block in map(as_object, as_list(content)) for part in _block(block)]
    if role == "tool" and not blocks:
        call = message.get("tool_call_id", message.get("id")) or ""
        return [Spoken(role, "response", "", str(call), "", content)]
    text = "" if role == "tool" else _text(content)
    found = [Spoken(role, "text", text)] if text else []
    found += blocks
    for call in map(as_object, as_list(parsed(message.get("tool_calls")))):
        function = as_object(call.get("function")) or call
        arguments = parsed(function.get("arguments", function.get("args")))
        found.append(Spoken(role, "call", "", str(call.get("id") or ""), str(function.get("name", "")), arguments))
    return found


def _block(block: dict[str, Any]) -> list[Spoken]:
    """A call or a result among the blocks of a content, in the forms of Bedrock, Anthropic and the Vercel AI SDK."""
    use, back = as_object(block.get("toolUse")), as_object(block.get("toolResult"))
    kind = block.get("type")
    if kind in ("tool_use", "tool-call"):
        use = block
    elif kind in ("tool_result", "tool-result"):
        back = block
    if use:
        own, name = _named(use, "toolUseId", "toolCallId", "id"), _named(use, "name", "toolName")
        return [Spoken("assistant", "call", "", own, name, parsed(use.get("input", use.get("args"))))]
    if back:
        own = _named(back, "toolUseId", "toolCallId", "tool_use_id")
        value = next((back[key] for key in ("content", "output", "result") if key in back), None)
        failed = back.get("status") == "error" or True in (back.get("is_error"), back.get("isError"))
        return [Spoken("tool", "response", "", own, "", value, failed)]
    return []


def _named(members: Mapping[str, Any], *keys: str) -> str:
    return next((value for key in keys if isinstance(value := members.get(key), str)), "")


def _indexed(span: SpanFacts, prefix: str, inner: str) -> list[Spoken]:
    """Messages whose members are attributes each: `llm.output_messages.0.message.content`."""
    messages = _numbered(span.attributes, prefix)
    found: list[Spoken] = []
    for message in messages:
        members = {key.removeprefix(inner): value for key, value in message.items()}
        role = str(members.get("role", "assistant"))
        blocks = _numbered(members, "contents.")
        content = members.get("content") or "".join(str(b.get("message_content.text", "")) for b in blocks)
        content = content or "".join(str(part) for key, part in members.items() if _PIECE.fullmatch(key))
        calls = [
            {
                "id": call.get("tool_call.id", call.get("id")),
                "name": call.get("tool_call.function.name", call.get("name")),
                "arguments": call.get("tool_call.function.arguments", call.get("arguments")),
            }
            for call in _numbered(members, "tool_calls.")
        ]
        known = {"content": content, "tool_calls": calls, "tool_call_id": members.get("tool_call_id")}
        found += _plain_message(role, known)
    return found


def _numbered(members: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Members below `prefix` + number, by number."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in members.items():
        match = _INDEX.match(key, len(prefix)) if key.startswith(prefix) else None
        if match is not None and len(match[1]) < 6:
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [found[number] for number in sorted(found)]


def _of_adk(content: Any) -> list[Spoken]:
    message = as_object(content)
    role = "user" if message.get("role") == "user" else "assistant"
    found: list[Spoken] = []
    for part in map(as_object, as_list(message.get("parts"))):
        call, response = as_object(part.get("function_call")), as_object(part.get("function_response"))
        if call:
            found.append(
                Spoken(role, "call", "", str(call.get("id") or ""), str(call.get("name", "")), call.get("args"))
            )
        elif response:
            found.append(Spoken("tool", "response", "", str(response.get("id") or ""), "", response.get("response")))
        elif isinstance(part.get("text"), str):
            found.append(Spoken(role, "reasoning" if part.get("thought") else "text", part["text"]))
    return found


def _of_adk_request(request: dict[str, Any]) -> list[Spoken]:
    return [part for content in as_list(request.get("contents")) for part in _of_adk(content)]


def _of_vercel(span: SpanFacts) -> list[Spoken]:
    found: list[Spoken] = []
    for kind, name in (("reasoning", "ai.response.reasoning"), ("text", "ai.response.text")):
        text = span.attributes.get(name)
        if isinstance(text, str) and text:
            found.append(Spoken("assistant", kind, text))
    for call in map(as_object, as_list(_json_in(span, "ai.response.toolCalls"))):
        own, name = str(call.get("toolCallId", "")), str(call.get("toolName", ""))
        found.append(Spoken("assistant", "call", "", own, name, parsed(call.get("args", call.get("input")))))
    return found


def _of_events(span: SpanFacts, kinds: tuple[str, ...]) -> list[Spoken]:
    """Messages as events (conventions to 1.36): in the body of a log, or in the attributes of an event of the span."""
    found: list[Spoken] = []
    for event in span.events:
        if event.name not in kinds or event.name == "gen_ai.system.message":
            continue
        role = {"gen_ai.choice": "assistant", "gen_ai.tool.message": "tool"}.get(event.name, "user")
        found += _plain_message(role, _message_in(event))
    return found


def _message_in(event: Event) -> dict[str, Any]:
    """The message in an event. Strands Agents has lists of blocks in texts."""
    body = as_object(parsed(event.attributes.get("body"))) or event.attributes
    message = parsed(body.get("message"))
    found = as_object(message) or ({**body, "content": message} if message is not None else body)
    content = parsed(found.get("content"))
    blocks = isinstance(content, list) and all(not _BLOCKS.isdisjoint(as_object(block)) for block in as_list(content))
    return {**found, "content": content} if blocks else found


def _content_of(span: SpanFacts, kind: str) -> Any:
    """The content of a call's span in its first event of a kind."""
    event = next((event for event in span.events if event.name == kind), None)
    return None if event is None else parsed(_message_in(event).get("content"))


def arguments(span: SpanFacts) -> Any:
    """The arguments in the span of a call, without what LangChain wraps them in."""
    value = parsed(first(span, names.ARGUMENTS))
    if value is None:
        return _content_of(span, "gen_ai.tool.message")
    wrapped = (
        as_object(value).get("input_str") if "metadata" in as_object(value) or "tags" in as_object(value) else None
    )
    return parsed(wrapped) if wrapped is not None else value


class Returned(NamedTuple):
    """The result of a call; `failed` and the id of the `call` as far as the output contains them."""

    value: Any
    failed: bool = False
    call: str = ""


def returned(span: SpanFacts) -> Returned:
    """The output in the span of a call, without what LangChain wraps it in."""
    value = _of_json(first(span, names.VERCEL_RESULT))
    value = parsed(first(span, names.RESULT) if value is None else value)
    if value is None:
        value = _content_of(span, "gen_ai.choice")
    if value is None:
        value = next((e.attributes.get("exception.message") for e in span.events if e.name == "exception"), None)
    members = as_object(as_object(value).get("output")) or as_object(value)
    inner = as_object(members.get("kwargs")) or (
        as_object(members.get("data")) if members.get("type") == "tool" else {}
    )
    if "content" in inner and ("lc" in members or members.get("type") == "tool"):
        return Returned(inner["content"], inner.get("status") == "error", str(inner.get("tool_call_id") or ""))
    result = as_object(as_object(value).get("tool_output")) or as_object(value)
    if "raw_output" in result and "is_error" in result:  # LlamaIndex
        call = as_object(value).get("tool_id")
        return Returned(_text(result.get("blocks")), result["is_error"] is True, call if isinstance(call, str) else "")
    return Returned(value, as_object(value).get("isError") is True)

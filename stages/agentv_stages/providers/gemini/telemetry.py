"""Gemini CLI's log records (`gemini_cli.…`), as OpenTelemetry exports them.

Calls have no ids and no outputs there; thoughts are tokens beside the output. Requests of helpers (a router) are not
answers. `service.version` is that of Node. Source: recordings of 0.61 with `telemetry.otlpEndpoint`.
"""

from typing import Any

from agentv_stages.model.payload import decode_json
from agentv_stages.model.telemetry import Attributes, LogFact, Telemetry, prompt_of, renamed, whole
from agentv_stages.providers.gemini.tools import TABLE

_USAGE = {
    "input_token_count": "gen_ai.usage.input_tokens",
    "cached_content_token_count": "gen_ai.usage.cache_read.input_tokens",
    "thoughts_token_count": "gen_ai.usage.reasoning.output_tokens",
    "model": "gen_ai.response.model",
}
_CALL = {
    "function_name": "gen_ai.tool.name",
    "function_args": "gen_ai.tool.call.arguments",
    "error": "gen_ai.tool.call.result",
}


def _read(name: str, attributes: Attributes) -> LogFact | None:
    match name:
        case "user_prompt":
            return prompt_of(attributes.get("prompt"), "")
        case "api_response":
            found = renamed(attributes, _USAGE)
            made = attributes.get("output_token_count")
            if made is not None:
                found["gen_ai.usage.output_tokens"] = whole(made) + whole(attributes.get("thoughts_token_count"))
            if attributes.get("role") not in (None, "main"):
                return LogFact("aside", found)
            parts = _texts(attributes.get("response_text"))
            return LogFact("answer", {**found, "gen_ai.output.messages": parts} if parts else found)
        case "tool_call":
            return call_of(attributes)
        case _:
            return None


def call_of(attributes: Attributes) -> LogFact:
    """The call of a record `tool_call`; Qwen Code writes the same."""
    call = renamed(attributes, _CALL)
    if attributes.get("success") in (False, "false"):
        call["error.type"] = "denied" if attributes.get("decision") == "reject" else "error"
    return LogFact("call", call)


def _texts(response: object) -> list[dict[str, Any]]:
    """The texts and thoughts of an answer, from the pieces in which it came."""
    try:
        pieces: Any = decode_json(response.encode()) if isinstance(response, str) else []
        found = [
            {"type": "reasoning" if part.get("thought") is True else "text", "content": part["text"]}
            for piece in pieces
            for part in piece["candidates"][0]["content"].get("parts", ())
            if isinstance(part.get("text"), str)
        ]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return []
    return [{"role": "assistant", "parts": _joined(found)}] if found else []


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pieces of one kind in a row are one."""
    out: list[dict[str, Any]] = []
    for part in parts:
        if out and out[-1]["type"] == part["type"]:
            out[-1]["content"] += part["content"]
        else:
            out.append(part)
    return out


TELEMETRY = Telemetry("gemini_cli.", "session.id", TABLE, _read, versioned=False)

"""Codex' log records (`codex.…`), as its `[otel]` exporter sends them.

Texts of answers are in none of them. A script (`exec`) has a record beside those of the calls that it made.
Source: recordings of 0.171 (`exporter = otlp-http`).
"""

from agentv_stages.model.payload import to_raw
from agentv_stages.model.telemetry import Attributes, LogFact, Telemetry, prompt_of, renamed, whole
from agentv_stages.providers.codex.outcome import judge
from agentv_stages.providers.codex.tools import TABLE

_COUNTS = {
    "input_token_count": "gen_ai.usage.input_tokens",
    "cached_token_count": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_token_count": "gen_ai.usage.cache_write.input_tokens",
    "output_token_count": "gen_ai.usage.output_tokens",
    "reasoning_token_count": "gen_ai.usage.reasoning.output_tokens",
}
_CALL = {
    "call_id": "gen_ai.tool.call.id",
    "arguments": "gen_ai.tool.call.arguments",
    "output": "gen_ai.tool.call.result",
}


def _read(name: str, attributes: Attributes) -> LogFact | None:
    match name:
        case "user_prompt":
            return prompt_of(attributes.get("prompt"), "[REDACTED]")
        case "api_request" | "websocket_request":
            return LogFact("request")
        case "sse_event" | "websocket_event" if "input_token_count" in attributes:
            counts = {name: whole(count) for name, count in renamed(attributes, _COUNTS).items()}
            return LogFact("answer", counts | renamed(attributes, {"model": "gen_ai.response.model"}))
        case "tool_result":
            return _call(attributes)
        case "tool_decision" if attributes.get("decision") in ("denied", "abort"):
            return LogFact("denial", renamed(attributes, _CALL))
        case _:
            return None


def _call(attributes: Attributes) -> LogFact:
    call, tool = renamed(attributes, _CALL), str(attributes.get("tool_name"))
    space = attributes.get("tool_namespace")
    call["gen_ai.tool.name"] = f"{space}__{tool}" if isinstance(space, str) and space.startswith("mcp__") else tool
    verdict = judge(to_raw(attributes.get("output")))
    if verdict.exit_code is not None:
        call["process.exit.code"] = verdict.exit_code
    failed = attributes.get("success") == "false"
    if failed or verdict.outcome not in (None, "ok"):
        call["error.type"] = verdict.outcome if verdict.outcome not in (None, "ok") else "error"
    return LogFact("script" if tool == "exec" else "call", call)


TELEMETRY = Telemetry("codex.", "conversation.id", TABLE, _read)

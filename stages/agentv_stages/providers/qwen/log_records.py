"""Qwen Code's log records (`qwen-code.…`), as OpenTelemetry exports them.

Calls have no ids and no outputs there, and an answer has its text alone. Output tokens include thoughts, unless the
total shows that they are counted beside it. Source: a recording of 0.15.10 with `telemetry.otlpEndpoint`.
"""

from agentv_stages.model.telemetry import Attributes, LogFact, Telemetry, prompt_of, renamed, said, whole
from agentv_stages.providers.gemini.telemetry import call_of
from agentv_stages.providers.qwen.tools import TABLE

_USAGE = {
    "input_token_count": "gen_ai.usage.input_tokens",
    "cached_content_token_count": "gen_ai.usage.cache_read.input_tokens",
    "thoughts_token_count": "gen_ai.usage.reasoning.output_tokens",
    "output_token_count": "gen_ai.usage.output_tokens",
    "response_id": "gen_ai.response.id",
    "model": "gen_ai.response.model",
}


def _read(name: str, attributes: Attributes) -> LogFact | None:
    match name:
        case "user_prompt":
            return prompt_of(attributes.get("prompt"), "")
        case "api_response":
            found, kinds = renamed(attributes, _USAGE), ("input", "output", "thoughts")
            passed, made, thoughts = (whole(attributes.get(f"{kind}_token_count")) for kind in kinds)
            if thoughts and whole(attributes.get("total_token_count")) == passed + made + thoughts:
                found["gen_ai.usage.output_tokens"] = made + thoughts
            text = attributes.get("response_text")
            if isinstance(text, str) and text:
                found["gen_ai.output.messages"] = said("assistant", text)
            return LogFact("answer", found)
        case "tool_call":
            return call_of(attributes)
        case _:
            return None


TELEMETRY = Telemetry("qwen-code.", "session.id", TABLE, _read)

"""The GenAI semantic conventions that spans follow: the names of attributes with their types, and models' makers.

Source: open-telemetry/semantic-conventions-genai v0.1.0. Names of our own begin with `agentv_stream.`.
"""

from typing import Literal, TypeAlias

CONVENTIONS = "0.1.0"
Type: TypeAlias = Literal["string", "int", "double", "boolean", "string[]"]

ATTRIBUTES: dict[str, Type] = {
    "gen_ai.operation.name": "string",
    "gen_ai.provider.name": "string",
    "gen_ai.agent.name": "string",
    "gen_ai.conversation.id": "string",
    "gen_ai.conversation.compacted": "boolean",
    "gen_ai.request.model": "string",
    "gen_ai.response.model": "string",
    "gen_ai.response.id": "string",
    "gen_ai.tool.name": "string",
    "gen_ai.tool.type": "string",
    "gen_ai.tool.call.id": "string",
    "gen_ai.tool.call.arguments": "string",
    "gen_ai.tool.call.result": "string",
    "gen_ai.input.messages": "string",
    "gen_ai.output.messages": "string",
    "gen_ai.usage.input_tokens": "int",
    "gen_ai.usage.output_tokens": "int",
    "gen_ai.usage.cache_read.input_tokens": "int",
    "gen_ai.usage.cache_write.input_tokens": "int",
    "gen_ai.usage.reasoning.output_tokens": "int",
    "gen_ai.evaluation.name": "string",
    "gen_ai.evaluation.score.value": "double",
    "gen_ai.evaluation.score.label": "string",
    "gen_ai.evaluation.explanation": "string",
    "error.type": "string",
    "process.exit.code": "int",
}
"""Attributes of the conventions."""

OLD_CACHE_WRITE = "gen_ai.usage.cache_creation.input_tokens"
"""The name of `gen_ai.usage.cache_write.input_tokens` before v0.1.0, for backends that know only that."""

OWN: dict[str, Type] = {
    "agentv_stream.session.id": "string",
    "agentv_stream.session.cwd": "string",
    "agentv_stream.session.git_branch": "string",
    "agentv_stream.session.title": "string",
    "agentv_stream.session.cost_usd": "double",
    "agentv_stream.session.format": "string",
    "agentv_stream.target": "string",
    "agentv_stream.test_id": "string",
    "agentv_stream.stream": "string",
    "agentv_stream.turns": "int",
    "agentv_stream.calls": "int",
    "agentv_stream.failed_calls": "int",
    "agentv_stream.status": "string",
    "agentv_stream.turn": "int",
    "agentv_stream.message_id": "string",
    "agentv_stream.usage.input": "int",
    "agentv_stream.usage.cached": "int",
    "agentv_stream.usage.cache_write": "int",
    "agentv_stream.usage.output": "int",
    "agentv_stream.usage.output_at_least": "int",
    "agentv_stream.usage.reasoning": "int",
    **{
        f"agentv_stream.session.usage.{name}": "int"
        for name in ("input", "cached", "cache_write", "cache_write_1h", "output", "reasoning")
    },
    "agentv_stream.cost_usd": "double",
    "agentv_stream.retracted": "boolean",
    "agentv_stream.start": "string",
    "agentv_stream.times": "string",
    "agentv_stream.tool": "string",
    "agentv_stream.kind": "string",
    "agentv_stream.server": "string",
    "agentv_stream.files": "string[]",
    "agentv_stream.outcome": "string",
}
"""Attributes of our own."""

_MAKERS = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex", "openai"),
    ("gemini", "gcp.gemini"),
    ("grok", "x_ai"),
    ("mistral", "mistral_ai"),
    ("devstral", "mistral_ai"),
    ("codestral", "mistral_ai"),
    ("deepseek", "deepseek"),
    ("kimi", "moonshot_ai"),
)


def maker_of(model: str | None, provider: str) -> str:
    """Whose model it is, by its name (`anthropic/claude-…` too); the agent's name for a model of an unknown maker."""
    name = (model or "").rpartition("/")[2].lower()
    return next((maker for beginning, maker in _MAKERS if name.startswith(beginning)), provider)

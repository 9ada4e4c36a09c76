"""Names of attributes: for each fact the names under which dialects have it, the surest first.

Sources: OpenTelemetry GenAI conventions (1.27 to 1.41, and v0.1.0), OpenInference, OpenLLMetry (`traceloop.`), Google
ADK (`gcp.vertex.agent.`), Vercel AI SDK (`ai.`), pydantic-ai 2, Claude Code's traces; recordings of them.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["agent", "model", "tool"]

MARKS = (
    *("gen_ai.", "llm.", "openinference.span.kind", "traceloop.", "gcp.vertex.agent", "ai.operationId"),
    *("ai.toolCall.", "claude_code.", "pydantic-ai", "agentv_stream."),
)
"""Beginnings of names of attributes, spans and scopes that only spans of agents have."""

OPERATIONS: dict[str, Kind] = {
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "completion": "model",
    "llm_call": "model",
    "responses": "model",
    "execute_tool": "tool",
    "tool_call": "tool",
}
"""`gen_ai.operation.name`."""

SPAN_KINDS: dict[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
"""`openinference.span.kind`."""

ENTITIES: dict[str, Kind] = {"tool": "tool", "agent": "agent", "workflow": "agent"}
"""`traceloop.span.kind`."""

VERCEL: dict[str, Kind] = {
    "ai.toolCall": "tool",
    "ai.generateText": "agent",
    "ai.streamText": "agent",
    "ai.generateText.doGenerate": "model",
    "ai.streamText.doStream": "model",
    "ai.generateObject.doGenerate": "model",
    "ai.streamObject.doStream": "model",
}
"""`ai.operationId`."""

SPAN_NAMES: dict[str, Kind] = {
    "running tool": "tool",
    "agent run": "agent",
    "call_llm": "model",
    "claude_code.interaction": "agent",
    "claude_code.llm_request": "model",
    "claude_code.tool": "tool",
}
"""Names of whole spans, where no attribute says what they are."""

EXECUTION = "claude_code.tool.execution"
"""The part of Claude Code's span of a call that says whether it failed."""

OTHER_IDS = frozenset({"gcp.vertex.agent"})
"""Scopes whose spans of calls have other ids than the messages of the model that asked for them. Source: Google ADK
2.13.0, recorded with `gen_ai_latest_experimental`."""

NOT_CALLS = frozenset({"(merged tools)"})
"""What ADK calls a span around several calls."""

HANDOFF = "handoff to "
"""How OpenInference's spans of the OpenAI Agents SDK begin that name a handoff. The call for it is in the answer."""

NOT_ANSWERS = ("._prepare_chat_with_tools",)
"""Ends of names of spans of models that ask them nothing. Source: OpenInference for LlamaIndex 4.6.1, recorded."""

INDEXED = ("llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion.")
"""Beginnings of names of messages whose members are attributes each."""

AT_LEAST = frozenset({"openinference.instrumentation.claude_agent_sdk"})
"""Scopes that add up the output tokens of messages that have only begun. Source: version 0.1.22, recorded."""

SESSION = (
    *("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "langfuse.session.id"),
    "agentv_stream.session.id",
    *("gcp.vertex.agent.session_id", "ai.telemetry.metadata.sessionId"),
)
MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model", "ai.model.id", "model")
ANSWER = ("gen_ai.response.id", "ai.response.id", "agentv_stream.message_id")
AGENT = ("gen_ai.agent.name", "agent.name", "gen_ai.workflow.name", "traceloop.entity.name")
TOOL = ("gen_ai.tool.name", "tool.name", "tool_name", "ai.toolCall.name", "traceloop.entity.name")
CALL = ("gen_ai.tool.call.id", "gen_ai.tool.call_id", "ai.toolCall.id", "tool_call.id", "tool.id", "tool_use_id")
ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args", "ai.toolCall.args"),
    *("ai.toolCall.input", "traceloop.entity.input", "tool.arguments", "input.value", "tool_input"),
)
RESULT = (
    *("gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response", "traceloop.entity.output"),
    "output.value",
)
VERCEL_RESULT = ("ai.toolCall.result", "ai.toolCall.output")
INPUT = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens"),
    *("ai.usage.promptTokens", "input_tokens"),
)
CACHED = (
    *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    *("gen_ai.usage.details.cache_read_tokens", "ai.usage.inputTokenDetails.cacheReadTokens"),
    *("llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens", "cache_read_tokens"),
)
CACHE_WRITE = (
    *("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
    *("gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write"),
    *("gen_ai.usage.details.cache_write_tokens", "ai.usage.inputTokenDetails.cacheWriteTokens"),
    "cache_creation_tokens",
)
OUTPUT = (
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    *("ai.usage.outputTokens", "ai.usage.completionTokens", "output_tokens"),
)
REASONING = (
    *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
    *("gen_ai.usage.details.reasoning_tokens", "ai.usage.outputTokenDetails.reasoningTokens"),
    *("llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens"),
)
COST = ("agentv_stream.cost_usd", "gen_ai.usage.cost", "llm.cost.total")
EXIT_CODE = ("process.exit.code",)
"""Figures and payloads."""

DETAILS = "gen_ai.client.inference.operation.details"
"""The event whose attributes are those of its span, where contents are not put on spans."""
EVENTS = frozenset({DETAILS, "gen_ai.choice", "gen_ai.user.message", "gen_ai.tool.message", "gen_ai.system.message"})
"""Events of a span that are read."""

ASIDE = "agentv_stream.aside"
"""Marks a model call that is no answer: its tokens count, and nothing else."""

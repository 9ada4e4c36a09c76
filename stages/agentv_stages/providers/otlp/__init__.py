"""OpenTelemetry: spans of agents as OTLP JSON, in the dialects of the frameworks that make them."""

from agentv_stages.model.provider import About, Dialect, Provider
from agentv_stages.providers.generic.tools import TABLE
from agentv_stages.providers.otlp.decoder import OtlpDecoder
from agentv_stages.providers.otlp.detect import detect

PROVIDER = Provider(
    name="otlp",
    title="OpenTelemetry (OTLP JSON)",
    dialects=(
        Dialect(
            "otlp",
            detect,
            OtlpDecoder,
            live=False,
            has_end=False,
            losses=(
                "texts, tool inputs and outputs, where their capture was off",
                "ids of calls, and which answer requested them, where spans do not say",
                "which input tokens were written to a cache, in most dialects",
                "a cancelled or refused call (an error; ours have them)",
                "injected texts, compactions and notices",
            ),
            about=About(
                made_by="agentv-stream … --otel-file FILE; the collector's file exporter",
                versions="langgraph 1.2, openai-agents 0.24, pydantic-ai 2.68, Google ADK; our own",
                end="the status of the root span; an error there is `error`",
            ),
        ),
    ),
    tools=TABLE,
)

"""OpenTelemetry: spans of agents as OTLP JSON, in the dialects of the frameworks that make them."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentv_stages.model.provider import About, Dialect, Head, Provider
from agentv_stages.providers.generic.tools import TABLE
from agentv_stages.providers.otlp.companions import companions
from agentv_stages.providers.otlp.decoder import OtlpDecoder
from agentv_stages.providers.otlp.names import MARKS
from agentv_stages.providers.otlp.records import telemetry_of
from agentv_stages.providers.otlp.values import as_list, as_object
from agentv_stages.providers.otlp.wire import Unusable, log_of, parts_of

# Recognises OTLP JSON with spans of agents by its first records.

_MOST_SPANS = 10_000


def detect(head: Head) -> float:
    """1.0 if a span, or its scope, has a name that only agents' spans have."""
    seen = 0
    for record in head:
        for keys in _keys(record):
            if any(key.startswith(MARKS) or telemetry_of(key) is not None for key in keys):
                return 1.0
            seen += 1
            if seen > _MOST_SPANS:
                return 0.0
    return 0.0


def _keys(record: Mapping[str, Any]) -> Iterator[list[str]]:
    """The names in each span: of its attributes, its own, and that of its scope; the name of each log record."""
    for part in parts_of(record):
        for span in part.spans:
            pairs = map(as_object, as_list(span.get("attributes")))
            yield [*(str(pair.get("key")) for pair in pairs), str(span.get("name")), part.scope]
        for log in part.logs:
            try:
                name = log_of(log, part).name
            except Unusable:
                continue
            yield [name] if telemetry_of(name) is not None else []


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
                "answers of Codex, and outputs of all others, in log records",
                "ids of calls, and which answer requested them, where spans do not say",
                "which input tokens were written to a cache, in most dialects",
                "a cancelled or refused call (an error; ours have them)",
                "injected texts, compactions and notices",
            ),
            about=About(
                made_by="agentv-stream … --otel-file FILE; the collector's file exporter",
                versions="langgraph 1.2, openai-agents 0.24, pydantic-ai 2.68, google-adk 2.13, strands 1.62, "
                "smolagents 1.26, crewai 1.15, autogen 0.7, llama-index 0.14, claude-agent-sdk 0.2; our own; "
                "log records of Claude Code 2.1.197, Codex 0.171, Gemini CLI 0.61, Qwen Code 0.15",
                end="the status of the root span; an error there is `error`",
            ),
        ),
    ),
    tools=TABLE,
    companions=companions,
)

"""How spans are made: settings and the variables of OpenTelemetry in, options of the output out."""

import os

from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.release import running_version
from agentv_stream.settings import Settings


def span_options(settings: Settings) -> SpanOptions:
    """Texts are never exported without redaction, for which this reads, or makes, the key of this installation.

    Raises: UsageError, SourceError, SinkError of that key.
    """
    key = b""
    if settings.otel_content:
        from agentv_stream.redaction.key import installation_key

        key = installation_key()
    return SpanOptions(
        version=running_version(),
        content=settings.otel_content,
        key=key,
        service=os.environ.get("OTEL_SERVICE_NAME") or None,
        attributes=os.environ.get("OTEL_RESOURCE_ATTRIBUTES") or "",
        machine=settings.machine,
        old_names=settings.otel_old_names,
    )

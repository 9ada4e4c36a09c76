"""The options of the export. In: settings and the variables of OpenTelemetry. Out: one object."""

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.redaction.redaction import Redaction, redaction_with, redactor_of
from agentv_stream.settings import Settings

if TYPE_CHECKING:  # its rules take 40 ms
    from agentv_stages.redaction.redactor import Redactor


class Export(Struct, frozen=True):
    """The export of spans. `endpoint` is a URL, or `env` where the variables say it; `file` is a path. Texts in spans
    are redacted by `redaction`."""

    options: SpanOptions
    endpoint: str | None = None
    file: str | None = None
    redaction: Redaction | None = None

    @property
    def redactor(self) -> "Redactor | None":
        """The redactor of this process."""
        return None if self.redaction is None else redactor_of(self.redaction)


def export_of(settings: Settings) -> Export | None:
    """None where no spans are exported. Raises: those of `installation_key`, for the redaction of texts."""
    if settings.otel is None and settings.otel_file is None:
        return None
    from agentv_stream.release import running_version  # 20 ms that most sessions do not need

    options = SpanOptions(
        version=running_version(),
        content=settings.otel_content,
        service=os.environ.get("OTEL_SERVICE_NAME") or None,
        attributes=os.environ.get("OTEL_RESOURCE_ATTRIBUTES") or "",
        machine=settings.machine,
        old_names=settings.otel_old_names,
    )
    redaction = redaction_with(settings) if settings.otel_content else None
    return Export(options, settings.otel, settings.otel_file, redaction)

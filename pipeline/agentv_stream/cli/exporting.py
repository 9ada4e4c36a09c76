"""The common part of commands that export spans: checks before anything is read, and verdicts as events."""

from agentv_stream.errors import UsageError
from agentv_stream.settings import Settings


def check_export(settings: Settings) -> None:
    """Raises: UsageError for an endpoint that is none, an extra that is missing, options without effect."""
    if settings.otel_file == "-":
        raise UsageError("--otel-file: spans need a file of their own; - is none")
    if settings.otel is not None:
        from agentv_stream.otel.live import make_sender

        make_sender(settings.otel)
    elif settings.otel_file is None and (settings.otel_content or settings.otel_old_names):
        raise UsageError("--otel-content and --otel-old-names need --otel or --otel-file")

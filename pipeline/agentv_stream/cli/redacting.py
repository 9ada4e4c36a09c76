"""`--redact` of a command: its setting in, the parts of every session out; its messages are redacted as well."""

from agentv_stages.session.parts import NONE, Parts
from agentv_stream.cli.telling import redact_messages
from agentv_stream.settings import Settings, from_process


def redacted_parts(settings: Settings) -> Parts:
    """Raises: as `redactor_for`."""
    if not settings.redact:
        return NONE
    from agentv_stream.redaction.redaction import redactor_for

    redactor = redactor_for(settings)
    redact_messages(redactor)
    return Parts(redactor=redactor)


def parts_for(redact: bool | None) -> Parts:
    """As `redacted_parts` for a command without other settings. Raises: UsageError; as `redactor_for`."""
    return redacted_parts(from_process({"redact": redact}))

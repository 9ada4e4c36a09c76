"""Exports the verdicts of a live session, after its spans: to the endpoint, and to the file."""

from collections.abc import Sequence

from anyio import move_on_after
from anyio.to_thread import run_sync

from agentv_stages.trajectory import CaseResult
from agentv_stream.live.session import StreamSession
from agentv_stream.otel.live import make_sender
from agentv_stream.otel.sender import NotTaken
from agentv_stream.otel.spool import append


async def export_verdicts(session: StreamSession, results: Sequence[CaseResult]) -> None:
    """Exports verdicts; a failure is a warning in the report. Raises: SinkError for the file."""
    spans, settings = session.spans, session.settings
    line = spans.verdicts(results) if spans is not None else b""
    if not line:
        return
    if settings.otel_file is not None:
        await run_sync(append, settings.otel_file, line)
    if settings.otel is None or any(warning.startswith("OpenTelemetry") for warning in session.report.warnings):
        return
    try:
        sender = make_sender(settings.otel)
        with move_on_after(sender.endpoint.timeout):
            async with sender:
                await sender.send([line])
    except NotTaken as error:
        session.report.warnings.append(f"OpenTelemetry: the verdicts were not sent: {error}")

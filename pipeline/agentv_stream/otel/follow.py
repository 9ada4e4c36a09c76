"""Spans of followed sessions: completed parts of a session are appended to a file, and to a spool that is sent.

In: lines of OTLP JSON. They are never cut off again: if a session goes on after its end, its last spans are sent once
more, under the same ids.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from agentv_stages.sinks.output import Output
from agentv_stages.sinks.outputs import Wanted
from agentv_stages.trajectory.case import CaseResult
from agentv_stream.otel.options import Export
from agentv_stream.otel.spool import SpanFile, Spool


class SpanFeed:
    """The destinations of the spans of all sessions: the file of `export`, and `spool`. Raises: SinkError."""

    def __init__(self, export: Export, spool: Spool | None) -> None:
        self._export = export
        self._places: list[Spool | SpanFile] = [spool] if spool is not None else []
        if export.file is not None:
            self._places.append(SpanFile(Path(export.file)))

    def wanted(self, others: Wanted) -> Wanted:
        """The outputs of a session, its spans included."""
        return replace(others, spans=self._export.options, redactor=self._export.redactor)

    def append(self, data: bytes) -> None:
        """Raises: SinkError."""
        for place in self._places:
            place.append(data)


class SessionSpans:
    """The spans of one session on their way into the feed."""

    def __init__(self, feed: SpanFeed) -> None:
        self._feed = feed
        self._ends: list[bytes] = []  # hashes of its end and of its verdicts

    def append(self, data: bytes) -> None:
        """Spans that are complete. Raises: SinkError."""
        self._feed.append(data)

    def append_end(self, data: bytes) -> None:
        """Spans that are complete if the session has ended. Raises: SinkError."""
        digest = blake2b(data, digest_size=8).digest()
        if digest not in self._ends:
            self._ends = [*self._ends[-1:], digest]
            self._feed.append(data)

    def append_verdicts(self, outputs: Iterable[Output], results: Sequence[CaseResult]) -> None:
        """The verdicts on a session that has ended. Raises: SinkError."""
        from agentv_stages.sinks.span_log import SpanLog  # with the rules of redaction

        for output in outputs:
            if isinstance(output, SpanLog) and (line := output.verdicts(results)):
                self.append_end(line)

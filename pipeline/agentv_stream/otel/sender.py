"""Sends lines of OTLP JSON to an endpoint. In: lines, each one export request. Out: requests, until they are taken.

An endpoint that is busy or away is tried again, longer and longer apart, a bounded number of times. A request that is
too large is sent in halves. An endpoint that refuses us for good ends the sending, with one line that names the setting
to change.
"""

import gzip
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import anyio

from agentv_stages.model.otlp import Request, ResourceLogs, ResourceSpans, ScopeLogs, ScopeSpans, request_of
from agentv_stages.model.visible import visible
from agentv_stream.errors import SinkError
from agentv_stream.extras import extra
from agentv_stream.otel.encode import json_body, protobuf_body
from agentv_stream.otel.endpoint import Endpoint

TRIES = 6
MOST_SPANS = 512  # in one request
MOST_BYTES = 1_000_000  # of JSON in one request; protobuf is about half of it
LONGEST_WAIT = 60.0  # seconds between two tries, whatever the endpoint asks for
BUSY = (429, 502, 503, 504)
_SETTINGS = {
    400: "the endpoint does not understand the request: check OTEL_EXPORTER_OTLP_PROTOCOL",
    401: "check the key in OTEL_EXPORTER_OTLP_HEADERS",
    403: "check the key in OTEL_EXPORTER_OTLP_HEADERS",
    404: "check the path of the endpoint (--otel or OTEL_EXPORTER_OTLP_ENDPOINT)",
    405: "check the path of the endpoint (--otel or OTEL_EXPORTER_OTLP_ENDPOINT)",
    413: "a single span is too large: leave out --otel-content",
    415: "the endpoint takes another encoding: change OTEL_EXPORTER_OTLP_PROTOCOL",
    429: "it takes fewer requests than are sent: raise its limit, or send through a collector",
}


class NotTaken(SinkError):
    """The endpoint has refused for good (`final`), or was away for all tries."""

    def __init__(self, url: str, why: str, final: bool) -> None:
        super().__init__(url, OSError(why))
        self.final = final


@dataclass
class Sent:
    """The outcome of sending spans. `rejected` are those that an endpoint took note of and did not keep."""

    spans: int = 0
    requests: int = 0
    retries: int = 0
    rejected: int = 0
    too_large: int = 0
    reason: str = ""

    def notes(self) -> list[str]:
        """The messages for the user."""
        out: list[str] = []
        if self.rejected:
            why = f": {visible(self.reason, 200)}" if self.reason else ""
            out.append(f"OpenTelemetry: the endpoint did not keep {self.rejected:,} spans{why}")
        if self.too_large:
            out.append(f"OpenTelemetry: {self.too_large:,} spans were not sent: {_SETTINGS[413]}")
        return out


class Sender:
    """Sends to one endpoint, one request at a time. `wait` sleeps for seconds.

    Raises: UsageError if the extra is missing, or a certificate cannot be used.
    """

    def __init__(
        self, endpoint: Endpoint, *, tries: int = TRIES, wait: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self.endpoint = endpoint
        self.sent = Sent()
        self.trouble = ""  # why the last try failed
        self._tries, self._wait = tries, wait
        self._httpx: Any = extra("httpx", "otel", "--otel")
        extra("opentelemetry.proto.trace.v1.trace_pb2", "otel", "--otel")
        self._client: Any = None

    async def __aenter__(self) -> "Sender":
        endpoint = self.endpoint
        self._client = self._httpx.AsyncClient(
            timeout=endpoint.timeout,
            verify=endpoint.certificate or True,
            cert=endpoint.client,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def send(self, lines: Sequence[bytes]) -> None:
        """Sends lines in as few requests as possible, in order. Raises: NotTaken."""
        for request in gathered(lines):
            await self._send(request)

    async def _send(self, request: Request) -> None:
        if await self._accepted(request):
            self.sent.spans += len(spans_of(request))
            return
        halves = halved(request)
        if not halves:
            self.sent.too_large += 1
        for half in halves:
            await self._send(half)

    async def _accepted(self, request: Request) -> bool:
        """Whether the request was taken; False if it is too large. Raises: NotTaken."""
        endpoint = self.endpoint
        url = endpoint.urls["logs" if request.resource_logs else "traces"]
        is_json = endpoint.protocol == "http/json"
        body = json_body(request) if is_json else protobuf_body(request)
        headers = {
            "user-agent": "agentv-stream",
            **endpoint.headers,
            "content-type": "application/json" if is_json else "application/x-protobuf",
        }
        if endpoint.compression != "none":
            headers["content-encoding"] = endpoint.compression
            body = gzip.compress(body, 6, mtime=0) if endpoint.compression == "gzip" else zlib.compress(body)
        for number in range(self._tries):
            pause = min(2.0**number, LONGEST_WAIT)
            try:
                answer: Any = await self._client.post(url, content=body, headers=headers)
            except self._httpx.HTTPError as error:
                self.trouble = f"cannot be reached: {visible(str(error) or type(error).__name__, 200)}"
            else:
                self.sent.requests += 1
                status = int(answer.status_code)
                if 200 <= status < 300:
                    self._note(bytes(answer.content), is_json)
                    self.trouble = ""
                    return True
                if status == 413:
                    return False
                setting = _SETTINGS.get(status)
                answered = f"answered {status} {visible(answer.reason_phrase, 60)}".rstrip()
                self.trouble = f"{answered}; {setting}" if setting else answered
                if status not in BUSY:
                    raise NotTaken(url, self.trouble, final=True)
                pause = _asked_for(answer.headers.get("retry-after")) or pause
            if number + 1 < self._tries:
                self.sent.retries += 1
                await self._wait(pause)
        raise NotTaken(url, self.trouble, final=False)

    def _note(self, body: bytes, is_json: bool) -> None:
        """A request may be taken in part: the answer says how many spans were refused, and why."""
        rejected, reason = partial_success(body, is_json)
        self.sent.rejected += rejected
        self.sent.reason = reason or self.sent.reason


def partial_success(body: bytes, is_json: bool) -> tuple[int, str]:
    """How many spans an answer refuses, and why; nothing if it cannot be read."""
    if not body:
        return 0, ""
    from google.protobuf.json_format import Parse, ParseError
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    answer = ExportTraceServiceResponse()
    try:
        if is_json:
            Parse(body, answer, ignore_unknown_fields=True)
        else:
            answer.ParseFromString(body)
    except (ParseError, DecodeError, UnicodeDecodeError):
        return 0, ""
    return answer.partial_success.rejected_spans, answer.partial_success.error_message


def _asked_for(header: str | None) -> float | None:
    """Seconds until the next try, as the endpoint asks for; None if it does not."""
    if not header:
        return None
    if header.strip().isdecimal() and len(header.strip()) < 10:
        return min(float(header), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_WAIT)


def spans_of(request: Request) -> list[str]:
    """The ids of the spans, or the names of the events, of a request."""
    spans = [span.span_id for part in request.resource_spans for own in part.scope_spans for span in own.spans]
    return spans + [r.event_name for part in request.resource_logs for own in part.scope_logs for r in own.log_records]


def gathered(lines: Sequence[bytes]) -> list[Request]:
    """Requests of a suitable size; spans and log records apart, in the order of the lines."""
    out: list[Request] = []
    size = count = 0
    for line in lines:
        for request in _fitting(request_of(line), len(line)):
            number = len(spans_of(request))
            part = len(line)
            same = out and bool(out[-1].resource_logs) == bool(request.resource_logs)
            if not same or count + number > MOST_SPANS or size + part > MOST_BYTES:
                out.append(Request())
                size = count = 0
            out[-1].resource_spans += request.resource_spans
            out[-1].resource_logs += request.resource_logs
            size, count = size + part, count + number
    return out


def _fitting(request: Request, size: int) -> list[Request]:
    halves = halved(request) if size > MOST_BYTES else []
    return [part for half in halves for part in _fitting(half, size // 2)] if halves else [request]


def halved(request: Request) -> list[Request]:
    """Two requests with half of the spans each; none if there is only one span."""
    halves = [Request(), Request()]
    count, half = 0, (len(spans_of(request)) + 1) // 2
    if len(spans_of(request)) < 2:
        return []
    for part in request.resource_spans:
        for own in part.scope_spans:
            cut = max(0, min(len(own.spans), half - count))
            for target, spans in zip(halves, (own.spans[:cut], own.spans[cut:]), strict=True):
                if spans:
                    target.resource_spans.append(ResourceSpans(part.resource, [ScopeSpans(own.scope, spans)]))
            count += len(own.spans)
    for logs in request.resource_logs:
        for entry in logs.scope_logs:
            cut = max(0, min(len(entry.log_records), half - count))
            for target, records in zip(halves, (entry.log_records[:cut], entry.log_records[cut:]), strict=True):
                if records:
                    target.resource_logs.append(ResourceLogs(logs.resource, [ScopeLogs(entry.scope, records)]))
            count += len(entry.log_records)
    return halves

"""A collector on 127.0.0.1 for tests: takes OTLP over HTTP, keeps the spans, and fails as a test wants."""

import gzip
import threading
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from agentv_stages.model.otlp import request_of
from agentv_stream.otel.encode import protobuf_body


@dataclass(frozen=True)
class Answer:
    """An answer in place of taking a request; `drop` closes the connection without any."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    drop: bool = False


@dataclass
class Receiver:
    """`answer` says, for the number of a request and its body, what becomes of it: None takes it."""

    url: str = ""
    answer: Callable[[int, bytes], Answer | None] = lambda number, body: None
    rejected: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    events: list[LogRecord] = field(default_factory=list[LogRecord])
    resources: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    requests: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def ids(self) -> set[str]:
        return {span.span_id.hex() for span in self.spans}

    def take(self, path: str, body: bytes) -> bytes:
        if path.endswith("/v1/logs"):
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                for scope in logs.scope_logs:
                    self.events += scope.log_records
            return b""
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append({pair.key: pair.value.string_value for pair in part.resource.attributes})
            for own in part.scope_spans:
                self.spans += own.spans
        answer = ExportTraceServiceResponse()
        if self.rejected:
            answer.partial_success.rejected_spans = self.rejected
            answer.partial_success.error_message = "too old"
        return answer.SerializeToString()


_UNPACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress, "": bytes}


@contextmanager
def receiving(receiver: Receiver | None = None) -> Generator[Receiver]:
    """A receiver that listens until the context ends."""
    kept = receiver or Receiver()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            data = b"no"
            with lock:
                number = len(kept.requests)
                kept.requests.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
                answer = kept.answer(number, body)
                if answer is None:
                    plain = _UNPACK[self.headers.get("content-encoding", "")](body)
                    is_json = "json" in self.headers["content-type"]
                    data = kept.take(self.path, protobuf_body(request_of(plain)) if is_json else plain)
                    if is_json:
                        data = MessageToJson(ExportTraceServiceResponse.FromString(data)).encode()
            if answer is not None and answer.drop:
                self.close_connection = True
                return
            self.send_response(200 if answer is None else answer.status)
            for name, value in answer.headers.items() if answer is not None else ():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

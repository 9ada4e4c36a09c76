"""VS Code's chat sessions to events: the whole document, and the log of mutations that newer versions write.

Source: VS Code 1.9x to 1.10x with Copilot chat. A request is one prompt with all that was answered to it. What the
model asked for (rounds, with arguments and results) comes only when the request has ended, so a request of the log is
told when its `result` is set, when another one begins, or at the end; what is added later is told as an addition.
"""

from typing import Any, cast
from urllib.parse import unquote

from msgspec import Raw, Struct, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Source,
    Status,
    UserText,
)
from agentv_stages.payload import decode_json, text_of, to_raw
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.vscode.answer import Answers, Told, model_of
from agentv_stages.providers.vscode.lenient import read_request
from agentv_stages.providers.vscode.mutate import APPEND, DELETE, SET, mutate
from agentv_stages.providers.vscode.wire import (
    Part,
    Request,
    Session,
    decode_items,
    decode_message,
    decode_mutation,
    decode_session,
)
from agentv_stages.times import from_epoch

LOSSES = (
    "input tokens are recorded by newer versions alone, and only of a request's last model call: told of single calls",
    "tool calls have no times, so no durations",
    "which calls the model asked for together is known only where Copilot chat kept its rounds",
    "costs and the editor's version are not recorded",
)
KEEP = 4096


class SessionState(Struct):
    """What is remembered between lines.

    `requests`: ids of the last requests -> number of answers told; `first` is the index of the first of them.
    `request` is the last one whole, because later lines change it; `told` is what was told of it. `row` and `offset`
    are those of the last line.
    """

    session_id: str | None = None
    title: str | None = None
    model: str | None = None
    folder: str | None = None
    row: int = 0
    offset: int = 0
    first: int = 0
    requests: dict[str, int] = field(default_factory=dict[str, int])
    request: dict[str, Any] | None = None
    told: Told = field(default_factory=Told)


class SessionDecoder:
    """Decodes a whole document."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = SessionState()

    def decode(self, record: Record, batch: Batch) -> None:
        session = decode_session(record.data)
        self._whole(session, session.requests or [], True, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _whole(self, session: Session, raws: list[Raw], ended: bool, record: Record, batch: Batch) -> None:
        """A session as it stands. Requests that were told are not told again; those that are missing are void.

        The last one is kept; it is told if it has `ended`, or says so itself.
        """
        state = self.state
        requests = [self._read(raw, record, batch) for raw in raws]
        ids = [request.requestId or f"r{record.row}-{i}" for i, request in enumerate(requests)]
        source = self._source(record, session.creationDate, "")
        self._facts(source, batch, session.sessionId, session.customTitle, None, session.workingDirectory)
        self._void([known for known in state.requests if known not in ids], source, batch)
        for i, (request_id, request) in enumerate(zip(ids, requests, strict=True)):
            if request_id in state.requests and i + 1 < len(ids):
                continue
            self._begin(request_id)
            if ended or i + 1 < len(ids) or request.result is not None:
                self._request(request, request_id, record, batch)
        state.first = len(ids) - len(state.requests)
        state.request = _members(raws[-1]) if raws and not ended else None

    def _read(self, raw: Raw, record: Record, batch: Batch) -> Request:
        request, problem = read_request(raw)
        if problem is not None:
            batch.fault("schema", record, problem)
        return request

    def _begin(self, request_id: str) -> None:
        state = self.state
        if request_id in state.requests:
            return
        if len(state.requests) >= KEEP:
            del state.requests[next(iter(state.requests))]
            state.first += 1
        state.requests[request_id] = 0
        state.told = Told()

    def _void(self, gone: list[str], source: Source, batch: Batch) -> None:
        """Takes requests back: the prompt's message id is the request's, its answers' begin with it."""
        if gone:
            answers = {request_id: self.state.requests.pop(request_id) for request_id in gone}
            ids = [name for known, n in answers.items() for name in (known, *(f"{known}-a{i}" for i in range(n)))]
            batch.events.append(Retract(source, f"-{source.row}", tuple(ids), "removed"))

    def _source(self, record: Record, time: float | None, base_id: str) -> Source:
        return Source(self.file, record.row, record.offset, len(record.data), from_epoch(time), self.stream, base_id)

    def _facts(
        self,
        source: Source,
        batch: Batch,
        session: str | None,
        title: str | None,
        model: str | None,
        folder: str | None = None,
    ) -> None:
        """Tells what is new of the session."""
        state = self.state
        session = session if session != state.session_id else None
        title = title if title != state.title else None
        model = model if model != state.model else None
        folder = folder if folder != state.folder else None
        if session or title or model or folder:
            state.session_id, state.title = session or state.session_id, title or state.title
            state.model, state.folder = model or state.model, folder or state.folder
            cwd = unquote(folder.removeprefix("file://")) if folder else None
            at = f"-info-{source.row}"
            batch.events.append(SessionInfo(source, at, session, model, None, cwd, title=title))

    def _request(self, request: Request, request_id: str, record: Record, batch: Batch) -> None:
        source = self._source(record, request.timestamp, request_id)
        told = self.state.told
        if not told.prompt:
            told.prompt = True
            self._prompt(request, source, batch)
        model = model_of(request)
        if model is not None:
            self._facts(source, batch, None, None, model)
        parts = request.response
        if isinstance(parts, str):
            parts = [Part(value=to_raw(parts))]
        elif parts is None and request.completion:
            parts = [Part(value=request.completion)]
        answers = Answers(request, parts or (), source, told, batch, record)
        answers.tell()
        self.state.requests[request_id] = answers.answer + 1
        result = request.result
        if result is not None and result.errorDetails is not None and "failed" not in told.notices:
            told.notices.append("failed")
            text = result.errorDetails.message or "the request failed"
            batch.events.append(Notification(source, "-failed", "error", text, "error"))
        if request.isCanceled and "cancelled" not in told.notices:
            told.notices.append("cancelled")
            batch.events.append(Notification(source, "-cancelled", "cancelled", "the request was cancelled", "warning"))
        if (result is not None or request.isCanceled) and "end" not in told.notices:
            told.notices.append("end")
            status: Status = "complete"
            if request.isCanceled:
                status = "interrupted"
            elif result is not None and result.errorDetails is not None:
                status = "error"
            reason = result.errorDetails.message if result is not None and result.errorDetails is not None else None
            batch.events.append(SessionEnd(source, "-end", status, reason))

    def _prompt(self, request: Request, source: Source, batch: Batch) -> None:
        body = request.prompt
        data = bytes(request.message)
        if data[:1] == b"{":
            body = decode_message(data).text or body
        elif data[:1] == b'"':
            body = request.message
        if request.slashCommand is not None and request.slashCommand.name:
            text = text_of(body) if body else ""
            batch.events.append(SlashCommand(source, "", f"/{request.slashCommand.name}", text or None))
        elif body:
            batch.events.append(UserText(source, "", body, source.base_id, bool(request.isSystemInitiated)))


class LogDecoder(SessionDecoder):
    """Decodes the log of mutations. Of all that it changes only the requests matter."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_mutation(record.data)
        self.state.row, self.state.offset = record.row, record.offset
        path = line.k or []
        if line.kind == 0:
            session = decode_session(line.v)
            self._whole(session, session.requests or [], False, record, batch)
        elif line.kind not in (SET, APPEND, DELETE):
            batch.unknown_type(f"kind/{line.kind}", record)
        elif path[:1] != ["requests"]:
            if path == ["customTitle"] and line.kind == SET:
                self._facts(
                    self._source(record, None, ""), batch, None, (text_of(line.v) or None) if line.v else None, None
                )
            else:
                batch.ignore(f"set/{path[0] if path else ''}")
        elif len(path) > 1:
            self._change(line.kind, path[1:], line.v, line.i, record, batch)
        elif line.kind == APPEND:
            self._append(decode_items(line.v) if line.v else [], line.i, record, batch)
        else:
            self._whole(Session(), decode_items(line.v) if line.kind == SET else [], False, record, batch)

    def flush(self, batch: Batch) -> None:
        """Tells the last request as it stands."""
        self._tell(Record(b"", self.state.offset, self.state.row), batch)

    def _tell(self, record: Record, batch: Batch, only_if_ended: bool = False) -> None:
        """Tells what is new in the last request."""
        request = self.state.request
        if request is None or (only_if_ended and request.get("result") is None):
            return
        self._request(self._read(to_raw(request), record, batch), next(reversed(self.state.requests)), record, batch)

    def _append(self, raws: list[Raw], start: int | None, record: Record, batch: Batch) -> None:
        """Requests are cut off from `start` on, others appended."""
        state = self.state
        read = [read_request(raw)[0] for raw in raws]
        ids = [request.requestId or f"r{record.row}-{i}" for i, request in enumerate(read)]
        self._tell(record, batch)
        if start is not None and start < state.first + len(state.requests):
            gone = list(state.requests)[max(0, start - state.first) :]
            self._void([known for known in gone if known not in ids], self._source(record, None, ""), batch)
            state.request = None
        for request_id, raw in zip(ids, raws, strict=True):
            self._tell(record, batch)
            self._begin(request_id)
            state.request = _members(raw)
        self._tell(record, batch, True)

    def _change(
        self, kind: int, path: list[str | int], value: Raw, start: int | None, record: Record, batch: Batch
    ) -> None:
        """Changes the last request; what changes in an older one is nothing new."""
        state = self.state
        if path[0] != state.first + len(state.requests) - 1 or state.request is None:
            batch.ignore("requests/older")
            return
        new = decode_json(value) if value else None
        if len(path) == 1:
            if kind == SET and isinstance(new, dict):
                state.request = cast(dict[str, Any], new)
        elif not mutate(state.request, path[1:], kind, new, start):
            batch.fault("schema", record, f"no such place in the request: {path[1:4]}")
            return
        self._tell(record, batch, True)


def _members(raw: Raw) -> dict[str, Any]:
    value = decode_json(raw)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}

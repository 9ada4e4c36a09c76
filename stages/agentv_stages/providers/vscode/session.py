"""VS Code's chat sessions to events: the whole document, and the parts that the log of mutations shares with it.

Source: VS Code 1.9x to 1.10x with Copilot chat. A request is one prompt with all its answers. The calls of the model
(rounds, with arguments and results) come only when the request has ended; later additions to an emitted request are
emitted as additions.
"""

from typing import Any, cast
from urllib.parse import unquote

from msgspec import Raw, Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Source,
    Status,
    UserText,
)
from agentv_stages.model.payload import decode_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.vscode.answer import Answers, Emitted, model_of
from agentv_stages.providers.vscode.end import FAILED, cancelled, duration_of, has_ended, state_of
from agentv_stages.providers.vscode.lenient import read_request
from agentv_stages.providers.vscode.wire import Part, Request, Session, decode_message, decode_session

LOSSES = (
    "input tokens, except in newer versions of requests with one model call",
    "times of answers (a call has its round's); durations, except of terminal commands and of sub-agents",
    "in older versions the folder (it is in the workspace.json next to the session)",
    "which calls the model made together, if Copilot chat kept no rounds",
    "costs; the editor's version (the version is that of the chat extension)",
)
KEEP = 4096


class SessionState(Struct):
    """The state between lines.

    `requests`: ids of the last requests -> number of answers emitted; `first` is the index of the first of them.
    `request` is the last one whole, because later lines change it; `emitted` are its emitted parts, `due` means that it
    has changed since. `row` and `offset` are those of the last line.
    """

    session_id: str | None = None
    title: str | None = None
    model: str | None = None
    folder: str | None = None
    version: str | None = None
    row: int = 0
    offset: int = 0
    first: int = 0
    requests: dict[str, int] = {}
    request: dict[str, Any] | None = None
    due: bool = False
    emitted: Emitted = field(default_factory=Emitted, name="told")


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
        """Handles a session as it is. Requests already emitted are not emitted again; missing ones are retracted.

        The last one is kept; it is emitted if the session has `ended`, or if the request is marked as finished.
        """
        state = self.state
        requests = [self._read(raw, record, batch) for raw in raws]
        untold = next(reversed(state.requests), None) if state.due else None
        ids = [request.requestId or f"r{record.row}-{i}" for i, request in enumerate(requests)]
        source = self._source(record, session.creationDate, "")
        self._facts(source, batch, session.sessionId, session.customTitle, None, session.workingDirectory)
        self._void([known for known in state.requests if known not in ids], source, batch)
        for i, (request_id, request) in enumerate(zip(ids, requests, strict=True)):
            if request_id in state.requests and request_id != untold and i + 1 < len(ids):
                continue
            self._begin(request_id)
            if ended or i + 1 < len(ids) or has_ended(request):
                self._request(request, request_id, record, batch)
        state.first = len(ids) - len(state.requests)
        state.request = members(raws[-1]) if raws and not ended else None
        state.due = bool(raws) and not ended and not has_ended(requests[-1])

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
        state.emitted = Emitted()

    def _void(self, removed: list[str], source: Source, batch: Batch) -> None:
        """Retracts requests: the prompt's message id is the request's, its answers' ids begin with it."""
        if removed:
            answers = {request_id: self.state.requests.pop(request_id) for request_id in removed}
            ids = [name for known, n in answers.items() for name in (known, *(f"{known}-a{i}" for i in range(n)))]
            batch.events.append(Retract(source, f"-{source.row}", tuple(ids), "removed"))

    def _source(self, record: Record, time: float | None, base_id: str) -> Source:
        return Source(self.file, record.row, record.offset, record.length, from_epoch(time), self.stream, base_id)

    def _facts(
        self,
        source: Source,
        batch: Batch,
        session: str | None,
        title: str | None,
        model: str | None,
        folder: str | None = None,
        version: str | None = None,
    ) -> None:
        """Emits new facts of the session."""
        state = self.state
        session = session if session != state.session_id else None
        title = title if title != state.title else None
        model = model if model != state.model else None
        folder = folder if folder != state.folder else None
        version = version if version != state.version else None
        if session or title or model or folder or version:
            state.session_id, state.title = session or state.session_id, title or state.title
            state.model, state.folder = model or state.model, folder or state.folder
            state.version = version or state.version
            cwd = unquote(folder.removeprefix("file://")) if folder else None
            at = f"-info-{source.row}"
            batch.events.append(SessionInfo(source, at, session, model, version, cwd, title=title))

    def _request(self, request: Request, request_id: str, record: Record, batch: Batch) -> None:
        source = self._source(record, request.timestamp, request_id)
        emitted = self.state.emitted
        if not emitted.prompt:
            emitted.prompt = True
            self._prompt(request, source, batch)
        model = model_of(request)
        version = request.agent.extensionVersion if request.agent is not None else None
        if model is not None or version is not None:
            self._facts(source, batch, None, None, model, version=version)
        parts = request.response
        if isinstance(parts, str):
            parts = [Part(value=to_raw(parts))]
        elif parts is None and request.completion:
            parts = [Part(value=request.completion)]
        answers = Answers(request, parts or (), source, emitted, batch, record)
        answers.emit()
        self.state.requests[request_id] = answers.answer + 1
        result = request.result
        if result is not None and result.errorDetails is not None and "failed" not in emitted.notices:
            emitted.notices.append("failed")
            text = result.errorDetails.message or "the request failed"
            batch.events.append(Notification(source, "-failed", "error", text, "error"))
        if cancelled(request) and "cancelled" not in emitted.notices:
            emitted.notices.append("cancelled")
            batch.events.append(Notification(source, "-cancelled", "cancelled", "the request was cancelled", "warning"))
        if has_ended(request):
            self._end(request, request_id, record, batch)

    def _end(self, request: Request, request_id: str, record: Record, batch: Batch) -> None:
        """Emits the end of a request; again if it turns out to be a different one, with its duration counted once."""
        emitted, result = self.state.emitted, request.result
        failed = result.errorDetails if result is not None else None
        status: Status = "complete"
        if cancelled(request):
            status = "interrupted"
        elif failed is not None or state_of(request) == FAILED:
            status = "error"
        if status == emitted.end:
            return
        at = f"-end-{record.row}" if emitted.end else "-end"
        duration = None if emitted.end else duration_of(request)
        emitted.end = status
        ended = request.modelState.completedAt if request.modelState is not None else None
        if ended is None and request.timestamp is not None and duration is not None:
            ended = request.timestamp + duration
        source = self._source(record, ended if ended is not None else request.timestamp, request_id)
        reason = failed.message if failed is not None else None
        batch.events.append(SessionEnd(source, at, status, reason, duration_ms=duration))

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


def members(raw: Raw) -> dict[str, Any]:
    value = decode_json(raw)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}

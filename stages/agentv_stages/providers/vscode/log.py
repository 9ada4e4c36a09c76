"""VS Code's chat sessions as a log of mutations, to events.

Source: VS Code 1.10x. VS Code appends all changes since its last write at once: first the plain members of a request
(`result`, `modelState`), then the parts of its `response`, then what lies outside the requests. So a request is emitted
when it has ended and the changes of its end are read, when another one begins, or at the end of the input.

Applies the mutations of VS Code's chat log to decoded JSON.
"""

from typing import Any, cast

from msgspec import Raw

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import decode_json, text_of, to_raw
from agentv_stages.providers.vscode.end import has_ended, may_have_ended
from agentv_stages.providers.vscode.lenient import read_request
from agentv_stages.providers.vscode.session import SessionDecoder, members
from agentv_stages.providers.vscode.wire import Request, Session, decode_items, decode_mutation, decode_session

SET, APPEND, DELETE = 1, 2, 3


def mutate(target: Any, path: list[str | int], kind: int, value: Any, start: int | None) -> bool:
    """Sets, cuts to `start` and appends, or deletes at a path. False if the path does not exist."""
    for step in path[:-1]:
        if not _holds(target, step):
            return False
        target = target[step]
    step = path[-1]
    if kind == APPEND:
        return _append(target, step, value, start)
    if _holds(target, step):
        if kind == DELETE:
            del target[step]
        else:
            target[step] = value
        return True
    if isinstance(target, dict):
        if kind == SET:
            target[step] = value
        return True
    if isinstance(target, list) and kind == SET and step == len(target):  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        target.append(value)  # pyright: ignore[reportUnknownMemberType] - decoded JSON
        return True
    return False


def _holds(target: Any, step: str | int) -> bool:
    if isinstance(target, dict):
        return step in target
    return isinstance(target, list) and isinstance(step, int) and 0 <= step < len(target)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON


def _append(target: Any, step: str | int, value: Any, start: int | None) -> bool:
    if not _holds(target, step):
        if not isinstance(target, dict):
            return False
        target[step] = []
    items: Any = target[step]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not isinstance(items, list):
        return False
    if start is not None:
        del items[max(start, 0) :]  # pyright: ignore[reportUnknownMemberType] - decoded JSON
    items.extend(value if isinstance(value, list) else [])  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
    return True


class LogDecoder(SessionDecoder):
    """Decodes the log of mutations; only changes of requests and of the title matter."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_mutation(record.data)
        state = self.state
        state.row, state.offset = record.row, record.offset
        path = line.k or []
        if line.kind not in (0, SET, APPEND, DELETE):
            batch.unknown_type(f"kind/{line.kind}", record)
            return  # whatever it is, more changes of a request's end may follow
        if path[:2] != ["requests", state.first + len(state.requests) - 1] and line.kind != 0:
            self._emit(record, batch, True)
        if line.kind == 0:
            session = decode_session(line.v)
            if other_session(record, session.sessionId, state.session_id, batch):
                self._emit(record, batch)
                state.requests.clear()
            self._whole(session, session.requests or [], False, record, batch)
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
        """Emits the last request as it is."""
        self._emit(Record(b"", self.state.offset, self.state.row), batch)

    def _emit(self, record: Record, batch: Batch, only_if_ended: bool = False) -> None:
        """Emits the new parts of the last request."""
        state = self.state
        if state.request is None or not state.due or (only_if_ended and not may_have_ended(state.request)):
            return
        request = self._read(to_raw(state.request), record, batch)
        if not only_if_ended or has_ended(request):
            state.due = False
            self._request(request, next(reversed(state.requests)), record, batch)

    def _append(self, raws: list[Raw], start: int | None, record: Record, batch: Batch) -> None:
        """Removes the requests from `start` on, and appends others."""
        state = self.state
        read = [read_request(raw)[0] for raw in raws]
        ids = [request.requestId or f"r{record.row}-{i}" for i, request in enumerate(read)]
        self._emit(record, batch)
        if start is not None and start < state.first + len(state.requests):
            removed = list(state.requests)[max(0, start - state.first) :]
            self._void([known for known in removed if known not in ids], self._source(record, None, ""), batch)
            state.request = None
        for request_id, raw in zip(ids, raws, strict=True):
            self._emit(record, batch)
            self._begin(request_id)
            state.request, state.due = members(raw), True

    def _change(
        self, kind: int, path: list[str | int], value: Raw, start: int | None, record: Record, batch: Batch
    ) -> None:
        """Changes the last request; changes of older ones are ignored."""
        state = self.state
        if path[0] != state.first + len(state.requests) - 1 or state.request is None:
            batch.ignore("requests/older")
            return
        new = decode_json(value) if value else None
        if len(path) == 1:
            if kind == SET and isinstance(new, dict):
                state.request = cast(dict[str, Any], new)
                state.due = True
            return
        if not mutate(state.request, path[1:], kind, new, start):
            batch.fault("schema", record, f"no such place in the request: {path[1:4]}")
            return
        state.due = state.due or path[1] in Request.__struct_fields__
        if path[1] == "response":
            self._emit(record, batch, True)

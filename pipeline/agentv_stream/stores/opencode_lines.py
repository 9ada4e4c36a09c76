"""Lines of the dialect `opencode-rows`, made of what OpenCode's stores hold: JSON in, one line of JSON out."""

from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.store import Stage
from agentv_stream.stores.store import StoredSession

PROVIDER = "opencode"


class _Metadata(Struct):
    sessionId: str | None = None
    sessionID: str | None = None


class _State(Struct):
    metadata: _Metadata | None = None
    structured: _Metadata | None = None


class _Task(Struct):
    """A call of 1.x (`callID`) or of 2.x (`id`); early betas of 2.x had `structured` for `metadata`."""

    callID: str | None = None
    id: str | None = None
    state: _State | None = None


class _Content(Struct):
    content: list[Raw] | None = None


class _Ended(Struct):
    completed: float | None = None


class _Head(Struct):
    """The part of a message that shows how far it is."""

    role: str = ""
    status: str | None = None
    time: _Ended | None = None
    error: Raw = Raw(b"null")

    @property
    def completed(self) -> bool:
        return self.time is not None and self.time.completed is not None

    @property
    def failed(self) -> bool:
        return bytes(self.error) != b"null"


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_task = msgspec.json.Decoder(_Task).decode
_decode_content = msgspec.json.Decoder(_Content).decode
_encode = msgspec.json.Encoder().encode


def facts_line(session: StoredSession) -> bytes:
    """A session as OpenCode's export writes it."""
    facts: dict[str, object] = {
        "id": session.id,
        "parentID": session.parent_id,
        "title": session.title,
        "directory": session.directory or "",
        "version": session.version,
        "time": {"created": session.created_ms, "updated": session.updated_ms},
    }
    return b'{"info":' + _encode({key: value for key, value in facts.items() if value is not None}) + b"}"


def parts_line(
    session_id: str, message_id: str, data: bytes, parts: Iterable[tuple[str, bytes]], children: Collection[str]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """A message of 1.x with its parts, and the child sessions that its calls started."""
    started: list[tuple[str, str]] = []
    lines: list[bytes] = []
    for part_id, part in parts:
        if b'"sessionId"' in part:
            started.extend(_started(part, children))
        lines.append(_with_ids(part, {"id": part_id, "sessionID": session_id, "messageID": message_id}))
    info = _with_ids(data, {"id": message_id, "sessionID": session_id})
    return b'{"info":' + info + b',"parts":[' + b",".join(lines) + b"]}", tuple(started)


def message_line(
    session_id: str, message_id: str, kind: str, data: bytes, created_ms: int | None, children: Collection[str]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """A message of 2.x, and the child sessions that its calls started."""
    started: list[tuple[str, str]] = []
    if children and (b'"sessionID"' in data or b'"sessionId"' in data):
        try:
            content = _decode_content(data).content or []
        except (msgspec.MsgspecError, UnicodeDecodeError):
            content = []
        for item in content:
            started.extend(_started(item, children))
    ids: dict[str, str | int] = {"id": message_id, "type": kind, "sessionID": session_id}
    if created_ms is not None:
        ids["time_created"] = created_ms
    return b'{"message":' + _with_ids(data, ids) + b"}", tuple(started)


def undone_line(session_id: str, message_id: str) -> bytes:
    """The line after a message that `/undo` deleted."""
    return b'{"undone":' + _encode(message_id) + b',"sessionID":' + _encode(session_id) + b"}"


def stage_of(data: bytes) -> Stage:
    """How far a message of 1.x is."""
    head = _head(data)
    if head.role == "assistant":
        return "ended" if head.completed or head.failed else "open"
    return "follows" if head.role == "user" else "open"


def stage_of_new(kind: str, data: bytes) -> Stage:
    """How far a message of 2.x is. An answer that failed may be tried again under its id, until the session rests."""
    if kind == "idle":
        return "ended"
    head = _head(data)
    if kind == "assistant":
        return "ended" if head.completed and not head.failed else "open"
    return "open" if head.status == "running" else "follows"


def _head(data: bytes) -> _Head:
    try:
        return _decode_head(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Head()


def _started(part: bytes | Raw, children: Collection[str]) -> list[tuple[str, str]]:
    """The child session that a call started, with the id of the call."""
    try:
        task = _decode_task(part)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    facts = (task.state.metadata or task.state.structured) if task.state else None
    child = (facts.sessionId or facts.sessionID) if facts else None
    call = task.callID or task.id
    return [(child, call)] if child is not None and child in children and call else []


def _with_ids(data: bytes, ids: Mapping[str, str | int]) -> bytes:
    """The JSON object with its ids, which are in the columns, on one line; only the ids if it is not an object."""
    body = data.strip().replace(b"\n", b" ").replace(b"\r", b" ")
    head = _encode(ids)[:-1]
    try:
        msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return head + b"}"
    rest = body[1:].lstrip()
    return head + (b"" if rest.startswith(b"}") else b",") + rest

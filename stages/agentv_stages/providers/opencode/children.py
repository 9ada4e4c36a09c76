"""The child sessions of an OpenCode export: the exports beside it that name it as their parent."""

import re

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.providers.opencode.parts import metadata
from agentv_stages.providers.opencode.wire import MessageDoc

_ID = re.compile(rb'"id"\s*:\s*"(ses_[^"]+)"')
_PARENT = re.compile(rb'"parentID"\s*:\s*"(ses_[^"]+)"')
_HEAD = 4096
_WHOLE = 64 * 1024 * 1024


class _Parent(Struct, gc=False):
    info: Raw = ABSENT
    messages: list[MessageDoc] | None = None


_decode = msgspec.json.Decoder(_Parent).decode


def companions(path: str, folder: Folder) -> list[Companion]:
    """Exports of child sessions, and of their children, each with the task call that started it."""
    if not path.endswith(".json"):
        return []
    own = _ID.search(folder.read(path, _HEAD))
    if not own:
        return []
    place = path.rpartition("/")[0]
    others = folder.glob(f"{place}/*ses_*.json" if place else "*ses_*.json")
    by_parent: dict[bytes, list[tuple[bytes, str]]] = {}
    for other in others:
        head = folder.read(other, _HEAD) if other != path else b""
        head = head.partition(b'"messages"')[0]
        name, parent = _ID.search(head), _PARENT.search(head)
        if name and parent:
            by_parent.setdefault(parent[1], []).append((name[1], other))
    return _below(own[1], path, by_parent, folder, {own[1]}) if by_parent else []


def _below(
    session: bytes, path: str, by_parent: dict[bytes, list[tuple[bytes, str]]], folder: Folder, seen: set[bytes]
) -> list[Companion]:
    children = [child for child in by_parent.get(session, ()) if child[0] not in seen]
    if not children:
        return []
    calls = _task_calls(folder.read(path, _WHOLE))
    found: list[Companion] = []
    for name, file in children:
        seen.add(name)
        child = name.decode("utf-8", "replace")
        context = DecodeContext(file, f"subagent:{child}", calls.get(child), session.decode("utf-8", "replace"))
        found.append(Companion(file, context))
        found.extend(_below(name, file, by_parent, folder, seen))
    return found


def _task_calls(data: bytes) -> dict[str, str]:
    """Child session -> call id, from the metadata of the calls."""
    try:
        document = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    calls: dict[str, str] = {}
    for message in document.messages or ():
        for part in message.parts or ():
            if part.state is not None and part.callID:
                child = metadata(part.state).sessionId
                if child:
                    calls[child] = part.callID
    return calls

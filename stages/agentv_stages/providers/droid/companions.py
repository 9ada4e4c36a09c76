"""The files that belong to a Droid session: its settings, and the sessions of sub-agents in the same folder."""

import re
from collections.abc import Sequence

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.model.provider import REFUSED, Companion, DecodeContext, Folder
from agentv_stages.providers.droid.session import fingerprint
from agentv_stages.providers.droid.wire import Entry, decode_entry

_HEAD = 4096
_WHOLE = 64 * 1024 * 1024
_CALLED = b'"callingSessionId"'
_SESSION = re.compile(rb'"session_start"|"message"\s*:\s*\{')
_SETTINGS = (b'"tokenUsage"', b'"autonomyLevel"', b'"reasoningEffort"', b'"providerLockTimestamp"')
_SUFFIX = re.compile(r"\.jsonl(?:\.gz|\.zst)?\Z")


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files with their settings, in the order of their names, then the settings of the session."""
    place = path.replace("\\", "/")
    found = _SUFFIX.search(place)
    if found is None:
        return []
    base, slash, name = place[: found.start()].rpartition("/")
    agents = _agents(f"{base}{slash}", folder)
    own = _settings(place, folder)
    listed: list[Companion] = []
    todo = [name]
    while todo:
        parent = todo.pop(0)
        for session, call_id, file in agents.pop(parent, ()):
            context = DecodeContext(file, sidechain(session), call_id, name)
            listed.append(Companion(file, context))
            settings = _settings(file, folder)
            if settings is not None:
                listed.append(Companion(settings, DecodeContext(settings, sidechain(session), call_id, name)))
            todo.append(session)
    if own is not None:
        listed.append(Companion(own, DecodeContext(own, MAIN, None, name)))
    return listed


def history(path: str, folder: Folder, parent: str) -> Sequence[int]:
    """The fingerprints of the messages in the log of a session that a fork was made from."""
    base, slash, _ = path.replace("\\", "/").rpartition("/")
    if "/" in parent or "\\" in parent:
        return ()
    found: list[int] = []
    for file in folder.glob(f"{base}{slash}{parent}.jsonl*")[:1]:
        for line in folder.read(file, _WHOLE).split(b"\n"):
            entry = _entry(line)
            if entry is not None and entry.type == "message" and entry.id is not None:
                found.append(fingerprint(entry.id))
    return found


def _agents(base: str, folder: Folder) -> dict[str, list[tuple[str, str | None, str]]]:
    """By the id of the session that called them: id, call and file of the sub-agents' sessions in a folder."""
    found: dict[str, list[tuple[str, str | None, str]]] = {}
    for file in folder.glob(f"{base}*.jsonl*"):
        entry = _called(file, folder)
        if entry is not None and entry.callingSessionId is not None and entry.id is not None:
            found.setdefault(entry.callingSessionId, []).append((entry.id, entry.callingToolUseId, file))
    return found


def _called(file: str, folder: Folder) -> Entry | None:
    """The first line of a session that another one called; its title may be a whole prompt."""
    head = folder.read(file, _HEAD)
    if b'"session_start"' in head and b"\n" not in head:
        head = folder.read(file, _WHOLE)
    first = head.partition(b"\n")[0]
    return _entry(first) if _CALLED in first else None


def _settings(path: str, folder: Folder) -> str | None:
    """The settings beside a session. A stream has none, whatever is beside it, and other programs have such files."""
    files = folder.glob(_SUFFIX.sub(".settings.json*", path))
    own = bool(files) and _SESSION.search(folder.read(path, _HEAD)) is not None
    return files[0] if own and any(name in folder.read(files[0], _WHOLE) for name in _SETTINGS) else None


def _entry(line: bytes) -> Entry | None:
    try:
        return decode_entry(line)
    except REFUSED:
        return None

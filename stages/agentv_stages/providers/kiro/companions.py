"""The files that belong to a Kiro session: its document, and the sessions of sub-agents, which name their parent."""

import re

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.model.provider import Companion, DecodeContext, Folder

_HEAD = 16 * 1024
_LOG = re.compile(r"\.jsonl(?:\.gz|\.zst)?\Z")
_PARENT = re.compile(rb'"parent_session_id"\s*:\s*"([^"\\]{1,64})"')
_SESSION = re.compile(rb'"session_id"\s*:\s*"([^"\\]{1,64})"')


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' sessions, in the order of their names, then the document of the session."""
    place = path.replace("\\", "/")
    found = _LOG.search(place)
    if found is None:
        return []
    base, slash, name = place[: found.start()].rpartition("/")
    documents = folder.glob(f"{base}{slash}*.json")
    own = f"{place[: found.start()]}.json"
    session = _match(_SESSION, folder.read(own, _HEAD)) if own in documents else None
    listed: list[Companion] = []
    for document in documents if session is not None else ():
        head = folder.read(document, _HEAD)
        child, logs = _match(_SESSION, head), folder.glob(f"{document.removesuffix('.json')}.jsonl*")
        if document != own and child is not None and _match(_PARENT, head) == session and logs:
            listed.append(Companion(logs[0], DecodeContext(logs[0], sidechain(child), None, session)))
            listed.append(Companion(document, DecodeContext(document, sidechain(child), None, session)))
    if own in documents:
        listed.append(Companion(own, DecodeContext(own, MAIN, None, session or name)))
    return listed


def _match(pattern: re.Pattern[bytes], data: bytes) -> str | None:
    found = pattern.search(data)
    return found[1].decode("utf-8", "replace") if found is not None else None

"""The files that belong to a log of Mistral Vibe: the other files of the session, and those of its sub-agents.

Up to 2.25: `session_<time>_<id>/messages.jsonl` with `meta.json` beside it, sub-agents in `agents/<name>_<time>_<id>/`.
Later: `unified/<session>/meta.json`; `CURRENT` beside it names a checkpoint, whose manifest names the files of the
history and of the journal since then. Sub-agents are sessions `unified/child-<id>` without a `meta.json`.
Source: Mistral Vibe 2.0.0 to 3.0.3.
"""

import re

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.payload import text_json, text_of
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.providers.vibe.messages import named_call
from agentv_stages.providers.vibe.outcomes import DELEGATES
from agentv_stages.providers.vibe.wire import decode_manifest, decode_message, decode_stored

_MESSAGES, _META = "messages.jsonl", "meta.json"


class _Task(Struct, gc=False):
    task: str


decode_task = Decoder(_Task).decode
_MOST = 64 * 1024 * 1024
_HEAD = 64 * 1024
_MOST_AGENTS = 10_000
_SESSION = re.compile(rb'"session_id"\s*:\s*"([\w-]{1,128})"')
_NAME = re.compile(r"[\w-]{1,128}")
_CHILD = re.compile(rb'"childSessionId":\s*"([\w-]{1,128})"')
_EFFECT = re.compile(rb'"id":\s*"(effect-[\w-]{1,200})"')
_NEAR = 16 * 1024
"""Bytes of an entry after the child's name that contain its own id."""


def context(path: str, folder: Folder) -> DecodeContext:
    """The session's id, which `messages.jsonl` does not have."""
    base, _, name = path.rpartition("/")
    found = _SESSION.search(folder.read(f"{base}/{_META}", _HEAD)) if base and name.startswith(_MESSAGES) else None
    return DecodeContext(path, session_id=found[1].decode() if found else None)


def companions(path: str, folder: Folder) -> list[Companion]:
    """Further files of the session, then those of its sub-agents."""
    base, slash, name = path.rpartition("/")
    if slash and name.startswith(_MESSAGES):
        return _of_messages(path, base, folder)
    if slash and name.startswith(_META):
        return _of_checkpoint(base, folder)
    return []


def _of_messages(path: str, base: str, folder: Folder) -> list[Companion]:
    found = [Companion(meta, DecodeContext(meta)) for meta in folder.glob(f"{base}/{_META}")]
    agents = folder.glob(f"{base}/agents/*/{_MESSAGES}*")[:_MOST_AGENTS]
    waiting = _delegated(folder.read(path, _MOST)) if agents else []
    for agent in agents:
        place = agent.rpartition("/")[0]
        parent = _begun_by(_first(folder.read(agent, _HEAD)), waiting)
        for file in (agent, *folder.glob(f"{place}/{_META}")):
            stream = f"subagent:{place.rpartition('/')[2]}"
            found.append(Companion(file, DecodeContext(file, stream, parent)))
    return found


def _delegated(data: bytes) -> list[tuple[str, str]]:
    """Task and id of each call that started a sub-agent."""
    found: list[tuple[str, str]] = []
    for line in data.split(b"\n"):
        if b'"task"' not in line:
            continue
        try:
            calls = decode_message(line).tool_calls or ()
        except REFUSED:
            continue
        for call in calls:
            name, arguments = named_call(call)
            if name == DELEGATES and call.id:
                found.append((_task(arguments), call.id))
    return found


def _task(arguments: Raw) -> str:
    try:
        return decode_task(arguments).task
    except REFUSED:
        return ""


def _first(data: bytes) -> str:
    """A sub-agent's task, after the agent's own text about folders."""
    try:
        return text_of(text_json(decode_message(data.partition(b"\n")[0]).content))
    except REFUSED:
        return ""


def _begun_by(prompt: str, waiting: list[tuple[str, str]]) -> str | None:
    for i, (task, call_id) in enumerate(waiting):
        if task and prompt.endswith(task):
            del waiting[i]
            return call_id
    return None


def _of_checkpoint(base: str, folder: Folder) -> list[Companion]:
    files = _history(base, folder)
    found = [Companion(file, DecodeContext(file, further=True)) for file in files]
    root, known = base.rpartition("/")[0], {base.rpartition("/")[2]}
    waiting = [files]
    while waiting and len(known) < _MOST_AGENTS:
        for child, parent in _children(waiting.pop(0), folder):
            if child not in known:
                known.add(child)
                below = _history(f"{root}/{child}", folder)
                waiting.append(below)
                found += (Companion(file, DecodeContext(file, f"subagent:{child}", parent)) for file in below)
    return found


def _history(base: str, folder: Folder) -> list[str]:
    """The files of a session's history in order, then its state, then the journal since then."""
    try:
        generation = decode_stored(folder.read(f"{base}/CURRENT", _HEAD)).generation or ""
        place = f"{base}/generations/{generation}"
        if not _NAME.fullmatch(generation):
            return []
        manifest = decode_manifest(folder.read(f"{place}/manifest.json", _MOST))
    except REFUSED:
        return []
    pool, segment = manifest.projection_state, manifest.recovery_journal_segment
    chunks = (pool.chunks if pool else None) or ()
    first = (segment.path if segment else None) or ""
    journal = [file for file in folder.glob(f"{base}/journal/*.jsonl") if file >= f"{base}/{first}"]
    names = [
        *(f"{base}/chunks/{name}.json" for name in chunks if _NAME.fullmatch(name)),
        f"{place}/projection-state.json",
    ]
    return [*(file for name in names for file in folder.glob(name)), *journal]


def _children(files: list[str], folder: Folder) -> list[tuple[str, str | None]]:
    """The sub-agents in a history, with the call that started each."""
    found: dict[str, str | None] = {}
    for file in files:
        data = folder.read(file, _MOST)
        for child in _CHILD.finditer(data):
            call = _EFFECT.search(data, child.end(), child.end() + _NEAR)
            found.setdefault(child[1].decode(), call[1].decode() if call else None)
    return list(found.items())

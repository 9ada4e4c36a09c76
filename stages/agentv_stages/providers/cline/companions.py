"""The files that belong to a Cline session: those of its sub-agents, and its manifest, which is read last.

They are in one folder: `<id>.messages.json`, `<id>.json`, and one more `.messages.json` for each sub-agent, and for
each task of a teammate.
"""

import re

from msgspec import Raw

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import text_json, text_of
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.providers.cline.calls import SPAWNS, task_of
from agentv_stages.providers.cline.wire import Message, decode_document, decode_message

_SUFFIX = ".messages.json"
_WHOLE = 64 * 1024 * 1024
_HEAD = 4096
_SUBAGENT = re.compile(rb'"subagent"\s*:\s*"([^"\\]+)"')


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files, in the order of their names, then the manifest."""
    place, slash, name = path.replace("\\", "/").rpartition("/")
    if not name.endswith(_SUFFIX):
        return []
    session = name.removesuffix(_SUFFIX)
    base = place + slash
    found = folder.glob(f"{base}*.json")
    manifest = f"{base}{session}.json"
    if manifest not in found:  # a sub-agent's file has none
        return []
    agents = [file for file in found if file.endswith(_SUFFIX) and file != f"{base}{name}"]
    listed: list[Companion] = []
    if agents:
        data = {file: folder.read(file, _WHOLE) for file in (path, *agents)}
        read = {file: _messages(document) for file, document in data.items()}
        calls = [call for messages in read.values() for call in _calls(messages)]
        for file in agents:
            agent = _SUBAGENT.search(data[file], 0, _HEAD)
            stem = file.rpartition("/")[2].removesuffix(_SUFFIX)
            stream = agent[1].decode("utf-8", "replace") if agent else stem
            parent = _started_by(_task(read[file]), calls)
            listed.append(Companion(file, DecodeContext(file, f"subagent:{stream}", parent, session)))
    listed.append(Companion(manifest, DecodeContext(manifest, MAIN, None, session)))
    return listed


def _messages(data: bytes) -> list[Message]:
    try:
        raws: list[Raw] = decode_document(data).messages or []
    except REFUSED:
        return []
    found: list[Message] = []
    for raw in raws:
        try:
            found.append(decode_message(raw))
        except REFUSED:
            continue
    return found


def _calls(messages: list[Message]) -> list[tuple[str, str]]:
    """Task and id of each call that starts a sub-agent."""
    return [
        (task_of(block.input).task or "", block.id)
        for message in messages
        if message.role == "assistant" and isinstance(message.content, list)
        for block in message.content
        if block.name in SPAWNS and block.id
    ]


def _task(messages: list[Message]) -> str:
    """A sub-agent's task: its first message."""
    content = messages[0].content if messages else ""
    if isinstance(content, str):
        return content
    return next((text_of(text_json(block.text)) for block in content if block.type == "text"), "")


def _started_by(task: str, calls: list[tuple[str, str]]) -> str | None:
    """The first call with this task that no file was matched to yet."""
    for i, (asked_for, call_id) in enumerate(calls):
        if asked_for == task:
            del calls[i]
            return call_id
    return None

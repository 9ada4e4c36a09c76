"""The files that belong to a Cline session: those of its sub-agents, and its manifest, which is read last.

Those of the command line are in one folder: `<id>.messages.json`, `<id>.json`, and one more `.messages.json` for each
sub-agent, and for each task of a teammate.
"""

import re

from msgspec import Raw

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.model.payload import text_json, text_of
from agentv_stages.model.provider import REFUSED, Companion, DecodeContext, Folder
from agentv_stages.providers.cline.calls import SPAWNS, task_of
from agentv_stages.providers.cline.task_wire import decode_entry
from agentv_stages.providers.cline.wire import Message, decode_document, decode_message

# The files of an editor extension's task: its history item, and the tasks that it started (Roo, Kilo).

NAME = "ui_messages.json"
_ITEM = "history_item.json"
_MOST = 1 << 20
_MOST_TASKS = 1024


def task_folder(path: str) -> str | None:
    """The folder of a task, with a slash, from the path of its messages; None for other logs."""
    place, _, name = path.replace("\\", "/").rpartition("/")
    return f"{place}/" if place and name.startswith(NAME) else None


def kept_in(path: str) -> str | None:
    """The folder in which the history of requests lies."""
    folder = task_folder(path)
    return None if folder is None else folder.rstrip("/")


def task_companions(path: str, folder: Folder) -> list[Companion]:
    """The messages of the tasks that a task started, at any depth, then its history item."""
    own = task_folder(path)
    if own is None:
        return []
    tasks, _, session = own.rstrip("/").rpartition("/")
    found: list[Companion] = []
    todo, seen = [session], {session}
    while todo and len(seen) < _MOST_TASKS:
        for child in _children(f"{tasks}/{todo.pop(0)}/{_ITEM}", folder):
            if child in seen or "/" in child or "\\" in child:
                continue
            seen.add(child)
            todo.append(child)
            files = folder.glob(f"{tasks}/{child}/{NAME}*")
            found += [Companion(file, DecodeContext(file, sidechain(child), None, session)) for file in files[:1]]
    return found + [
        Companion(file, DecodeContext(file, MAIN, None, session)) for file in folder.glob(f"{own}{_ITEM}*")[:1]
    ]


def _children(path: str, folder: Folder) -> list[str]:
    try:
        return decode_entry(folder.read(path, _MOST)).childIds or []
    except REFUSED:
        return []


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

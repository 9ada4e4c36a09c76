"""The files of a conversation: its events after the first, those of its sub-agents, and the states, its own last.

`<conversation>/events/event-00000-<id>.json` is the main file. A sub-agent's conversation is in `subagents/<id>`, at
any depth; the call that started it contains the sub-agent's first prompt. Source: openhands-sdk 1.21.0.
"""

import re

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import decode_json, text_of
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.providers.openhands.tools import SPAWNS
from agentv_stages.providers.openhands.wire import Event, decode_event

_FIRST = re.compile(r"(?:(.*)/)?events/event-00000-[^/]*\Z")
_WHOLE = 64 * 1024 * 1024
_CALLS = tuple(f'"tool_name":"{name}"'.encode() for name in sorted(SPAWNS))


def companions(path: str, folder: Folder) -> list[Companion]:
    """The session's own events in order, then its sub-agents' files, ordered by their ids, then its state."""
    place = path.replace("\\", "/")
    found = _FIRST.match(place)
    if found is None:
        return []
    base = found[1] if found[1] is not None else "."
    own = [file for file in _events(base, folder) if file != place]
    listed = [Companion(file, DecodeContext(file, further=True)) for file in own]
    agents = sorted(
        {file.rpartition("/events/")[0] for file in folder.glob(f"{base}/subagents/**/events/event-*.json")}
    )
    if agents:
        parents = _parents([place, *own], agents, folder)
        for agent in agents:
            name = agent.rpartition("/")[2]
            for file in (*_events(agent, folder), *folder.glob(f"{agent}/base_state.json")):
                listed.append(Companion(file, DecodeContext(file, f"subagent:{name}", parents.get(agent), _name(base))))
    for state in folder.glob(f"{base}/base_state.json"):
        listed.append(Companion(state, DecodeContext(state, MAIN, None, _name(base))))
    return listed


def _events(base: str, folder: Folder) -> list[str]:
    """The events in order: their file names begin with their positions."""
    return folder.glob(f"{base}/events/event-*.json")


def _name(base: str) -> str:
    return base.rpartition("/")[2]


def _parents(own: list[str], agents: list[str], folder: Folder) -> dict[str, str]:
    """Folder of a sub-agent -> the call that started it: the first call with its prompt that is not another's."""
    events = {agent: _events(agent, folder) for agent in agents}
    tasks: list[tuple[str, str]] = []
    for file in (*own, *(path for paths in events.values() for path in paths)):
        tasks += _tasks(folder.read(file, _WHOLE))
    parents: dict[str, str] = {}
    for agent in agents:
        prompt = next(filter(None, (_prompt(folder.read(file, _WHOLE)) for file in events[agent][:8])), None)
        for i, (text, call_id) in enumerate(tasks):
            if text == prompt:
                parents[agent] = call_id
                del tasks[i]
                break
    return parents


def _tasks(data: bytes) -> list[tuple[str, str]]:
    """The prompts that a call gives to sub-agents, with its id."""
    event = _read(data) if any(call in data for call in _CALLS) else None
    if event is None or event.kind != "ActionEvent" or event.tool_call is None or not event.tool_call_id:
        return []
    try:
        arguments = decode_json(text_of(event.tool_call.arguments).encode())
    except ValueError:
        return []
    if not isinstance(arguments, dict):
        return []
    tasks: object = arguments.get("tasks")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    texts = [arguments.get("prompt"), *(tasks.values() if isinstance(tasks, dict) else ())]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return [(text, event.tool_call_id) for text in texts if isinstance(text, str)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON


def _prompt(data: bytes) -> str | None:
    event = _read(data)
    if event is None or event.kind != "MessageEvent" or event.source != "user" or event.llm_message is None:
        return None
    return text_of(event.llm_message.content) or None


def _read(data: bytes) -> Event | None:
    try:
        return decode_event(data)
    except REFUSED:
        return None

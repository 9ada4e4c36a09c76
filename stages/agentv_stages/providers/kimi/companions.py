"""The files that belong to a Kimi log: the logs of sub-agents, `agents/<agent>/wire.jsonl` beside `agents/main`, and
`state.json` of a fork.

The calling agent's log names the call that started a sub-agent: in `subagent.spawned`, in older versions in the call's
result. A fork's logs begin with copies of its parent's, sub-agents' included; `state.json`, written when they are made,
names the parent and the time.
Source: Kimi Code 0.10.0 to 2.1.0; forks of 2.1.0.
"""

import re

from msgspec import Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.event import MAIN
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.model.times import epoch_ms

_WIRE = "wire.jsonl"
_SPAWNED = re.compile(rb'\{"type":"subagent\.spawned"[^\n]*')
_AGENT = re.compile(rb'"subagentId":"([^"\\]+)"')
_CALL = re.compile(rb'"parentToolCallId":"([^"\\]+)"')
_RESULT = re.compile(rb'"toolCallId":"([^"\\]+)","result":\{"output":"agent_id: ([\w-]+)\\n')
_MOST = 8 * 1024 * 1024
_STATE = "state.json"
_MOST_STATE = 64 * 1024


class _State(Struct, gc=False):
    forkedFrom: str | None = None
    createdAt: float | None = None


_decode = Decoder(_State).decode


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' logs, in the order of their names."""
    files = companion_files(path, folder)
    if not files:
        return []
    session = _place(path)[2]
    begun_ms = main_context(path, folder).begun_ms
    parents: dict[str, str] = {}
    for file in (path, *files):
        data = folder.read(file, _MOST)
        for record in _SPAWNED.findall(data):
            spawned, call = _AGENT.search(record), _CALL.search(record)
            if spawned and call:
                parents.setdefault(spawned[1].decode("utf-8", "replace"), call[1].decode("utf-8", "replace"))
        for by_call, agent_id in _RESULT.findall(data):
            parents.setdefault(agent_id.decode("utf-8", "replace"), by_call.decode("utf-8", "replace"))
    found: list[Companion] = []
    for file in files:
        name = _place(file)[1] or ""
        context = DecodeContext(file, f"subagent:{name}", parents.get(name), session, begun_ms=begun_ms)
        found.append(Companion(file, context))
    return found


def companion_files(path: str, folder: Folder) -> list[str]:
    """Only the paths of the sub-agents' logs."""
    agents, agent, _ = _place(path)
    if agent != "main":
        return []
    return [file for file in folder.glob(f"{agents}/*/{_WIRE}") if _place(file)[1] != "main"]


def main_context(path: str, folder: Folder) -> DecodeContext:
    """The context of a fork: its parent, and when it was made."""
    agents, _, session = _place(path)
    if session is None or agents is None:
        return DecodeContext(path)
    base, slash, _ = agents.rpartition("/")
    try:
        state = _decode(folder.read(f"{base}{slash}{_STATE}", _MOST_STATE))
    except REFUSED:  # missing, or of another shape
        return DecodeContext(path)
    begun_ms = epoch_ms(state.createdAt)
    if state.forkedFrom is None or begun_ms is None:
        return DecodeContext(path)
    return DecodeContext(path, MAIN, None, state.forkedFrom, begun_ms=begun_ms)


def own_ids(path: str) -> tuple[str | None, str | None]:
    """The session of a log, and its parent if it is a sub-agent's; from the path, as no record names them."""
    agents, agent, session = _place(path)
    if agents is None or session is None:
        return None, None
    return (session, None) if agent == "main" else (f"{session}:{agent}", session)


def _place(path: str) -> tuple[str | None, str | None, str | None]:
    """The folder of the agents, the agent, the session; None for a log in another place."""
    parts = path.replace("\\", "/").split("/")
    if len(parts) < 3 or parts[-3] != "agents" or not parts[-1].startswith(_WIRE):
        return None, None, None
    return "/".join(parts[:-2]), parts[-2], parts[-4] if len(parts) > 3 else None

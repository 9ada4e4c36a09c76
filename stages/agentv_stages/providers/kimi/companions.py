"""Finds the logs of a Kimi session's sub-agents: `agents/<agent>/wire.jsonl` beside `agents/main`.

The log of the agent that called it names the call that began a sub-agent: in `subagent.spawned`, before that came to be
in the call's result.
Source: Kimi Code 0.10.0 to 2.1.0.
"""

import re

from agentv_stages.provider import Companion, DecodeContext, Folder

_WIRE = "wire.jsonl"
_SPAWNED = re.compile(rb'\{"type":"subagent\.spawned"[^\n]*')
_AGENT = re.compile(rb'"subagentId":"([^"\\]+)"')
_CALL = re.compile(rb'"parentToolCallId":"([^"\\]+)"')
_RESULT = re.compile(rb'"toolCallId":"([^"\\]+)","result":\{"output":"agent_id: ([\w-]+)\\n')
_MOST = 8 * 1024 * 1024


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' logs, in the order of their names."""
    agents, agent, session = _place(path)
    if agent != "main":
        return []
    files = [file for file in folder.glob(f"{agents}/*/{_WIRE}") if _place(file)[1] != "main"]
    if not files:
        return []
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
        found.append(Companion(file, DecodeContext(file, f"subagent:{name}", parents.get(name), session)))
    return found


def own_ids(path: str) -> tuple[str | None, str | None]:
    """Whose log it is, by its place, for no record says it: the session, and its parent where it is a sub-agent's."""
    agents, agent, session = _place(path)
    if agents is None or session is None:
        return None, None
    return (session, None) if agent == "main" else (f"{session}:{agent}", session)


def _place(path: str) -> tuple[str | None, str | None, str | None]:
    """The folder of the agents, the agent, the session; None for a log that lies elsewhere."""
    parts = path.replace("\\", "/").split("/")
    if len(parts) < 3 or parts[-3] != "agents" or not parts[-1].startswith(_WIRE):
        return None, None, None
    return "/".join(parts[:-2]), parts[-2], parts[-4] if len(parts) > 3 else None

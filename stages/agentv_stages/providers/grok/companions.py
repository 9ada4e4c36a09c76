"""The files that belong to a Grok log: those of sub-agents, which are sessions of their own in the same tree.

The parent session has a folder `subagents/<id>` for each, whose `meta.json` names the child's session; a child with
another working directory is below another folder. A sub-agent's sub-agents also belong to the root. The result of a
call names the sub-agent that it started. Source: Grok Build 0.1.220, 1.0.5 and 1.0.41.
"""

import re

from msgspec import Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.provider import Companion, DecodeContext, Folder

_LOG = "updates.jsonl"
_MOST = 8 * 1024 * 1024
_MOST_META = 256 * 1024
_MOST_AGENTS = 10_000
_CALL = re.compile(rb'"sessionUpdate":"tool_call_update","toolCallId":"([^"\\]+)"')
_STARTED = re.compile(rb'"subagent_id":"([\w-]+)"|"Subagent started in background\.\\nsubagent_id: ([\w-]+)')


class _Meta(Struct, gc=False):
    child_session_id: str


_decode = Decoder(_Meta).decode


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' logs, those of one session in the order of their ids."""
    files = companion_files(path, folder)
    if not files:
        return []
    calls: dict[str, str] = {}
    for file in (path, *files):
        for line in folder.read(file, _MOST).split(b"\n"):
            call, started = _CALL.search(line), _STARTED.search(line)
            if call and started:
                agent = (started[1] or started[2]).decode()
                calls.setdefault(agent, call[1].decode("utf-8", "replace"))
    parent = _session(path)
    return [
        Companion(file, DecodeContext(file, f"subagent:{_session(file)}", calls.get(_session(file)), parent))
        for file in files
    ]


def companion_files(path: str, folder: Folder) -> list[str]:
    """Only the paths of the sub-agents' logs."""
    found: list[str] = []
    waiting, known = [path], {path}
    while waiting and len(found) < _MOST_AGENTS:
        log = waiting.pop(0)
        base, slash, name = log.rpartition("/")
        if not slash or not name.startswith(_LOG):
            break
        for meta in folder.glob(f"{base}/subagents/*/meta.json"):
            try:
                child = _decode(folder.read(meta, _MOST_META)).child_session_id
            except REFUSED:
                continue
            for file in _logs(base, child, folder):
                if file not in known:
                    known.add(file)
                    found.append(file)
                    waiting.append(file)
    return found


def _logs(base: str, child: str, folder: Folder) -> list[str]:
    """The child's log: beside its parent's, else below the folder of another working directory."""
    if not re.fullmatch(r"[\w-]{1,200}", child):
        return []
    group = base.rpartition("/")[0] or "."
    root = group.rpartition("/")[0] or "."
    return folder.glob(f"{group}/{child}/{_LOG}") or folder.glob(f"{root}/*/{child}/{_LOG}")


def _session(path: str) -> str:
    parts = path.rsplit("/", 2)
    return parts[-2] if len(parts) > 1 else ""

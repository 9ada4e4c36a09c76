"""Finds the logs of an oh-my-pi session's sub-agents: `<session's file without .jsonl>/<agent>.jsonl`, and below those.

The result of the `task` call that started an agent names it. An advisor, which only reads the session, has a log there,
too.
Source: oh-my-pi 18.2.3.
"""

import msgspec
from msgspec import Struct

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.provider import Companion, DecodeContext, Folder

_MOST = 64 * 1024 * 1024
_MARK = b'"toolName":"task"'
_SUFFIX = ".jsonl"
_DEPTHS = ("*", "*/*", "*/*/*")


class _Agent(Struct, gc=False):
    id: str | None = None


class _Details(Struct, gc=False):
    results: list[_Agent] | None = None
    progress: list[_Agent] | None = None


class _Result(Struct, gc=False, rename="camel"):
    role: str | None = None
    tool_call_id: str | None = None
    details: _Details | None = None


class _Line(Struct, gc=False):
    message: _Result | None = None


_decode = msgspec.json.Decoder(_Line).decode


def companions(path: str, folder: Folder) -> list[Companion]:
    """The agents' logs, in the order of their names, the nested ones last."""
    files = companion_files(path, folder)
    if not files:
        return []
    started: dict[str, str] = {}
    for file in (path, *files):
        _note_started(folder.read(file, _MOST), started)
    below = len(_folder(path)) + 1
    out: list[Companion] = []
    for file in files:
        *parents, name = file.replace("\\", "/")[below : -len(_SUFFIX)].split("/")
        agent = ".".join((*parents, name)) if name.startswith("__") else name  # advisors' ids lack their parents'
        out.append(Companion(file, DecodeContext(file, f"subagent:{agent}", started.get(name))))
    return out


def companion_files(path: str, folder: Folder) -> list[str]:
    """Only the paths of the agents' logs."""
    place = _folder(path)
    return [file for depth in _DEPTHS for file in folder.glob(f"{place}/{depth}{_SUFFIX}")] if place else []


def _folder(path: str) -> str:
    """The folder beside a session's file; empty for other files."""
    name = path.replace("\\", "/")
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else ""


def _note_started(data: bytes, started: dict[str, str]) -> None:
    for line in data.split(b"\n"):
        if _MARK not in line:
            continue
        try:
            message = _decode(line).message
        except REFUSED:
            continue
        if message is None or message.role != "toolResult" or not message.tool_call_id or message.details is None:
            continue
        for agent in (*(message.details.results or ()), *(message.details.progress or ())):
            if agent.id:
                started.setdefault(agent.id, message.tool_call_id)

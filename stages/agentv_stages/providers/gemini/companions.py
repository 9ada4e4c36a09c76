"""Finds the recordings of a Gemini session's sub-agents: `chats/<session id>/<agent's session id>.jsonl`."""

import msgspec

from agentv_stages.model.event import sidechain
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.providers.gemini.wire import decode_chat

MOST_BYTES = 64 * 1024 * 1024
_MARK = b'"agentId":"'


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files, in the order of their names; the main file has the call that started each."""
    folder_path, _, name = path.replace("\\", "/").rpartition("/")
    short = name.rpartition(".")[0].rpartition("-")[2]
    if not name.startswith("session-") or len(short) < 8:
        return []
    base = f"{folder_path}/" if folder_path else ""
    found = folder.glob(f"{base}{short}*/*.jsonl")
    if not found:
        return []
    session_id, started = _started(folder.read(path, MOST_BYTES))
    out: list[Companion] = []
    for file in found:
        agent = file.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl")
        context = DecodeContext(file, sidechain(agent), started.get(agent), session_id)
        out.append(Companion(file, context))
    return out


def _started(data: bytes) -> tuple[str | None, dict[str, str]]:
    """The session's id, and the call that started each agent."""
    session_id: str | None = None
    calls: dict[str, str] = {}
    for i, line in enumerate(data.split(b"\n")):
        if i and _MARK not in line:
            continue
        try:
            record = decode_chat(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        session_id = session_id or record.sessionId
        for call in record.toolCalls or ():
            if call.agentId and call.id:
                calls[call.agentId] = call.id
    return session_id, calls

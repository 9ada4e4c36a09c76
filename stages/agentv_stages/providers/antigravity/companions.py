"""The files that belong to a transcript: its shorter copy, and the transcripts of sub-agents.

A sub-agent is a session of its own, in a folder beside its parent's; the result of the call that started it names it.
"""

import re

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, ToolResult, sidechain
from agentv_stages.model.payload import decode_json, text_of, to_raw
from agentv_stages.model.provider import REFUSED, Companion, DecodeContext, Folder
from agentv_stages.providers.antigravity.transcript import FULL, LOGS, SHORT, TranscriptDecoder, parts_of

MOST_BYTES = 64 * 1024 * 1024
MOST_AGENTS = 1024
EVER = 1 << 62
_MARK = b'"INVOKE_SUBAGENT"'
_DATABASE = re.compile(r"((?:.*/)?)conversations/([\w-]{1,64})\.db\Z", re.DOTALL)
_CHILD = re.compile(r'"conversationId":\s*"([\w-]{1,64})"')


def companions(path: str, folder: Folder) -> list[Companion]:
    """The shorter copy of a full transcript, whose records are all copies, then the transcripts of sub-agents, at any
    depth."""
    parts = parts_of(path)
    if parts is None:
        return []
    brain, session, name = parts
    found: list[Companion] = []
    if name == FULL:
        found += _copies(brain, session, MAIN, folder)
    todo, seen = [path], {session}
    while todo and len(seen) < MOST_AGENTS:
        for child, call_id in _started(todo.pop(0), folder):
            if child in seen:
                continue
            seen.add(child)
            place = f"{brain}{child}/{LOGS}/"
            files = [file for name in (FULL, SHORT) for file in folder.glob(f"{place}{name}*")]
            if files:
                stream = sidechain(child)
                found.append(Companion(files[0], DecodeContext(files[0], stream, call_id, session, place=files[0])))
                found += _copies(brain, child, stream, folder) if FULL in files[0] else []
                todo.append(files[0])
    return found


def logs_of_database(path: str) -> tuple[str, ...]:
    """The transcripts that the session in `conversations/<id>.db` may have in `brain/<id>`."""
    found = _DATABASE.match(path.replace("\\", "/"))
    return () if found is None else tuple(f"{found[1]}brain/{found[2]}/{LOGS}/{name}" for name in (FULL, SHORT))


def _copies(brain: str, session: str, stream: str, folder: Folder) -> list[Companion]:
    files = folder.glob(f"{brain}{session}/{LOGS}/{SHORT}*")
    return [Companion(file, DecodeContext(file, stream, session_id=session, begun_ms=EVER)) for file in files[:1]]


def _started(path: str, folder: Folder) -> list[tuple[str, str]]:
    """The sub-agents that a transcript started, each with the id of the call."""
    data = folder.read(path, MOST_BYTES)
    if _MARK not in data:
        return []
    decoder, batch = TranscriptDecoder(DecodeContext(path)), Batch()
    for row, line in enumerate(line for line in data.split(b"\n") if line.strip()):
        try:
            try:
                decoder.decode(Record(line, 0, row), batch)
            except REFUSED:  # such as half of an emoji
                decoder.decode(Record(bytes(to_raw(decode_json(line))), 0, row), batch)
        except (*REFUSED, ValueError, RecursionError):
            continue
    results = [event for event in batch.events if isinstance(event, ToolResult)]
    return [(child, result.call_id) for result in results for child in _CHILD.findall(text_of(result.output_json))]

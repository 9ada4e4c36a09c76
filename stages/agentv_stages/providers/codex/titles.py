"""Titles of Codex threads. In: `session_index.jsonl` beside the folder of sessions. Out: titles by thread id.

Rollouts do not contain the name that a person gives a thread. The last of several lines for one thread counts.
Source: Codex 0.171, `{"id", "thread_name", "updated_at"}`; its databases hold the same names (`state_5.sqlite`).
"""

import re

import msgspec
from msgspec import Struct

_SESSIONS = re.compile(r"(?:^|/)(?:archived_)?sessions/(?:\d{4}/\d\d/\d\d/)?[^/]+\Z")


class _Line(Struct, gc=False):
    id: str | None = None
    thread_name: str | None = None


_decode = msgspec.json.Decoder(_Line).decode


def title_index(path: str) -> str | None:
    """The path of the index that may name the thread of a rollout; None where the folders are not Codex' own."""
    found = _SESSIONS.search(path)
    if found is None:
        return None
    home = path[: found.start()]
    return f"{home}/session_index.jsonl" if home or path[:1] == "/" else "session_index.jsonl"


def titles(data: bytes) -> dict[str, str]:
    """The titles in an index, by thread id."""
    found: dict[str, str] = {}
    for line in data.split(b"\n"):
        try:
            entry = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if entry.id and entry.thread_name:
            found[entry.id] = entry.thread_name
    return found

"""Finds the rollouts that belong to a session (further files of its thread, and sub-agents), and titles of threads.

A rewound thread continues in a further file (0.169), named `rollout-<time>-<thread>_<its own id>`, possibly in another
day's folder. Reading the first file includes the others, in the order of their times. A sub-agent's file names its
parent in the first line; a sub-agent's sub-agent belongs to the root as well. A review (to 0.130) does not name its
parent: it is the one of the same folder that began next to when the parent entered review mode, and before it left. A
further file that is read alone has the sub-agents that began after it and before the next file.
Source: Codex 0.50 to 0.171, `session_meta`.
"""

import posixpath
import re
import sys
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Struct

from agentv_stages.model.payload import decode_json
from agentv_stages.model.provider import Companion, DecodeContext, Folder
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.codex.copied_history import history_of, in_other_days

# Titles of Codex threads. In: `session_index.jsonl` beside the folder of sessions. Out: titles by thread id.
#
# Rollouts do not contain the name that a person gives a thread. The last of several lines for one thread counts.
# Source: Codex 0.171, `{"id", "thread_name", "updated_at"}`; its databases hold the same names (`state_5.sqlite`).

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


# Only the beginning of a file is read, and it may be cut off, so members are searched for as bytes. Inside a JSON
# string their quotes would be escaped, so text cannot be mistaken for them. In versions with parents they precede the
# instructions.
_HEAD = 16_384
_PARENT_LIMIT = 64 * 1024 * 1024
_AHEAD_MS, _LATE_MS = 2_000, 10_000  # of a review's file, to its parent's; seen: 370 ms before, 5.2 s behind


def _member(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'(?<!\\)"' + name.encode() + rb'"\s*:\s*"([^"\\]{1,200})"')


_ID, _PARENT, _PATH, _NAME = map(_member, ("id", "parent_thread_id", "agent_path", "agent_nickname"))
_KIND, _TIME, _CWD = map(_member, ("subagent", "timestamp", "cwd"))
_TYPE = re.compile(rb'"type"\s*:\s*"session_meta"')


class Head(NamedTuple):
    path: str
    thread: str
    parent: str | None
    name: str
    kind: str | None
    time_ms: int | None
    cwd: str | None


def companions(path: str, folder: Folder) -> list[Companion]:
    """Further rollouts of the thread in `path`, then those of sub-agents in the order of their file names.

    File names begin with a time.
    """
    root = _head(path, folder)
    if root is None or root.parent is not None:
        return []
    place = posixpath.dirname(path) or "."
    others: list[Head] = []
    parts: dict[str, Head] = {}
    beside = folder.glob(f"{place}/rollout-*.jsonl*")
    for other in dict.fromkeys((*beside, *_of_other_days(place, root, folder))):
        head = _head(other, folder) if other != path else None
        if head is not None and (head.parent is not None or head.kind == "review"):
            others.append(head)
        elif head is not None and head.thread == root.thread and (head.time_ms or 0) != (root.time_ms or 0):
            parts.setdefault(_logical(other), head)
    behind = _behind(root, list(parts.values()))
    further = [Companion(part.path, DecodeContext(part.path, further=True)) for part in behind]
    if not others:
        return further
    known = {root.thread: ""}
    found: list[Head] = []
    if parts and not behind:
        others = _begun_in(root, [part.time_ms or 0 for part in parts.values()], others)
    while True:
        new = {h.thread: h for h in reversed(others) if h.parent in known and h.thread not in known}  # one per thread
        if not new:
            break
        for head in new.values():
            known[head.thread] = head.parent or ""
        found += new.values()
    reviews = [h for h in others if h.kind == "review" and h.parent is None]
    lines = [line for file in (path, *(part.path for part in behind)) for line in _lines(file, folder)]
    if reviews:
        found += _reviews_of(lines, [h for h in reviews if h.cwd == root.cwd])
    calls = _spawn_calls(lines, [h for h in found if h.parent == root.thread])
    return further + [
        Companion(
            h.path,
            DecodeContext(
                *(h.path, f"subagent:{h.name}", calls.get(h.thread), root.thread),
                history=partial(history_of, h.path, folder),
            ),
        )
        for h in sorted(found)
    ]


def _of_other_days(place: str, root: Head, folder: Folder) -> list[str]:
    """Further files of the thread in the folders of other days; their names contain the thread's id."""
    found = in_other_days(place, "rollout-*_*.jsonl*", folder)
    return [path for path in found if f"-{root.thread}_" in path.rpartition("/")[2]]


def _behind(root: Head, parts: list[Head]) -> list[Head]:
    """The files that continue the one of `root`, in order; none if `root` itself continues another file."""
    begun = root.time_ms or 0
    named = [part for part in parts if f"-{root.thread}_" in part.path.rpartition("/")[2]]
    if any((part.time_ms or 0) < begun for part in parts):
        return []
    return sorted(named, key=lambda part: (part.time_ms or 0, part.path))


def _logical(path: str) -> str:
    """The name of a log, compressed or not."""
    return path.rpartition("/")[2].partition(".jsonl")[0]


def _lines(path: str, folder: Folder) -> list[bytes]:
    return folder.read(path, _PARENT_LIMIT).split(b"\n")


def _begun_in(root: Head, parts: list[int], others: list[Head]) -> list[Head]:
    """`others` without the root's children that belong to another file of its thread; `parts`: these files' times."""
    begun = root.time_ms or 0
    since = begun if any(time < begun for time in parts) else 0
    until = min((time for time in parts if time > begun), default=sys.maxsize)
    return [h for h in others if h.parent != root.thread or since <= (h.time_ms or 0) < until]


def _head(path: str, folder: Folder) -> Head | None:
    data = folder.read(path, _HEAD)
    line = data.split(b"\n", 1)[0]
    if not _TYPE.search(line[:4096]):
        return None
    thread = _text(_ID, line)
    if thread is None:
        return None
    kind = _text(_KIND, line)
    name = _text(_PATH, line) or _text(_NAME, line) or kind or thread
    time = _text(_TIME, line)
    return Head(path, thread, _text(_PARENT, line), name, kind, parse_iso(time) if time else None, _text(_CWD, line))


def _text(pattern: re.Pattern[bytes], line: bytes) -> str | None:
    found = pattern.search(line)
    return found[1].decode("utf-8", "replace") if found is not None else None


def _reviews_of(lines: list[bytes], reviews: list[Head]) -> list[Head]:
    """One of `reviews` for each time that the parent entered review mode, if any fits."""
    spans: list[tuple[int, int]] = []
    for line in lines:
        entered = b'"entered_review_mode"' in line
        time = _text(_TIME, line) if entered or b'"exited_review_mode"' in line else None
        when = parse_iso(time) if time else None
        if when is None:
            continue
        if entered:
            spans.append((when, when + _LATE_MS))
        elif spans:
            spans[-1] = spans[-1][0], when
    found: dict[str, Head] = {}
    for begin, end in spans:
        fit = [(abs(h.time_ms - begin), h) for h in reviews if h.time_ms and begin - _AHEAD_MS <= h.time_ms <= end]
        for _, head in sorted(fit)[:1]:
            found[head.thread] = head
    return list(found.values())


def _spawn_calls(lines: list[bytes], heads: list[Head]) -> dict[str, str]:
    """Thread id -> the call that started it, from the parent's items and outputs."""
    wanted = {h.thread.encode(): h.thread for h in heads}
    calls: dict[str, str] = {}
    for line in lines:
        if not (b"CollabAgentToolCall" in line or b"SubAgentActivity" in line or b"_call_output" in line):
            continue
        for needle, thread in wanted.items():
            if thread not in calls and needle in line:
                call = _call_of(line)
                if call:
                    calls[thread] = call
    return calls


def _call_of(line: bytes) -> str | None:
    try:
        payload = decode_json(line)["payload"]
        item = payload.get("item")
        if item is None:
            return str(payload["call_id"]) if "agent_id" in str(payload.get("output")) else None
        spawned = item.get("kind") == "started" or item.get("tool") == "spawn_agent"
        return str(item["id"]) if spawned else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None

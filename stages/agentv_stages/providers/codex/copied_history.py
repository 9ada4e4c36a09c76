"""The history of a parent with which a fork or a spawned thread begins: which records are copies, and which its own.

In: the records of such a thread, in file order. Out: copied or own. The first of these rules that applies decides:
1. Ids. Thread and turn ids are UUIDs of version 7, which begin with a time: turns older than the thread were copied. A
   record without an id belongs with the id before it.
2. The parent's file: a copy holds the same content in the same order, whenever it was written.
3. Times: records that were written within one second of the thread's first record were copied.
Source: Codex 0.46 to 0.171. From 0.169 on, most forks name their parent's history (`history_base`) and copy nothing.
"""

import posixpath
import re
from array import array
from collections.abc import Sequence
from zlib import crc32

import msgspec

from agentv_stages.model.batch import Record
from agentv_stages.model.provider import Folder
from agentv_stages.providers.codex import usage
from agentv_stages.providers.codex.calls import Calls, State
from agentv_stages.providers.codex.wire import Payload, decode_rollout

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
_BURST_MS = 1000
_LONGEST = 64 * 1024 * 1024
_DAY = re.compile(r"(?:^|/)\d{4}/\d\d/\d\d\Z")
_THREAD_ID = re.compile(r"[0-9A-Za-z-]{8,64}\Z")


def copied(decoder: Calls, kind: str, p: Payload, time_ms: int | None) -> bool:
    """Whether a record is a copy; once one is not, none after it is (`state.replay`)."""
    state = decoder.state
    own = _own_by_id(p, state.session_id or "")
    if own is not None:
        state.by_ids, state.replay = True, not own
    elif kind != "session_meta" and not state.by_ids:
        state.replay = _copied_by_content(decoder, kind, p, time_ms)
    if state.replay and p.type == "token_count":
        usage.baseline(state, p.info)
    return state.replay


def _own_by_id(p: Payload, thread: str) -> bool | None:
    """Whether a record's ids show it as the thread's own; None where it has no id that can be compared."""
    if p.turn_id and _UUID7.match(p.turn_id) and _UUID7.match(thread):
        return p.turn_id[:13] >= thread[:13]
    return True if p.thread_id is not None and p.thread_id == thread else None


def is_later(thread: str | None, own: str) -> bool:
    """Whether an id shows that a thread is younger than one with the id `own`, so that it cannot be its parent."""
    return bool(thread and _UUID7.match(thread) and _UUID7.match(own)) and (thread or "")[:13] > own[:13]


def _copied_by_content(decoder: Calls, kind: str, p: Payload, time_ms: int | None) -> bool:
    state = decoder.state
    place = _place(decoder, kind, p)
    if place is not None:
        state.copied = place + 1
        return True
    if not state.declared or (state.copied and decoder.history):
        return False
    return time_ms is not None and state.begun_ms is not None and time_ms - state.begun_ms <= _BURST_MS


def _place(decoder: Calls, kind: str, p: Payload) -> int | None:
    """The position of a record in the part of the parent's history that has not been copied yet."""
    state = decoder.state
    if decoder.history is None:
        read = decoder.context.history
        decoder.history = read(state.parent) if read is not None and state.parent is not None else ()
    try:
        return decoder.history.index(_fingerprint(kind, p), state.copied)
    except ValueError:
        return None


def original(record: Record, p: Payload) -> Payload:
    """The payload as it stands in the file: the history is compared with that."""
    if not record.raw:
        return p
    try:
        return decode_rollout(record.raw).payload
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return p


def history_of(path: str, folder: Folder, thread: str) -> Sequence[int]:
    """The fingerprints of a thread's records, from its file beside `path` or in another day's folder.

    Empty where there is none. Only its first 64 MiB are read.
    """
    place, found = posixpath.dirname(path) or ".", list[str]()
    if _THREAD_ID.match(thread):
        name = f"rollout-*{thread}.jsonl*"
        found = folder.glob(f"{place}/{name}") or in_other_days(place, name, folder)
    prints = array("I")
    for line in folder.read(found[0], _LONGEST).split(b"\n") if found else ():
        try:
            record = decode_rollout(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        prints.append(_fingerprint(record.type, record.payload))
    return prints


def in_other_days(place: str, name: str, folder: Folder) -> list[str]:
    """Files with this name, a pattern, in the folders of all days; none where `place` is not the folder of a day."""
    return folder.glob(f"{place.rsplit('/', 3)[0]}/*/*/*/{name}") if _DAY.search(place) else []


def _fingerprint(kind: str, p: Payload) -> int:
    """A checksum of a record's content, without its time, blanks, and what newer versions add to older records."""
    named = f"{kind} {p.type} {p.role} {p.call_id} {p.turn_id} {p.model}"
    parts = (p.content, p.arguments, p.input, p.output, p.message, p.info, p.summary, p.action, p.text)
    content = b"\0".join(map(bytes, parts)).translate(None, b" \t\r\n")
    return crc32(content, crc32(named.encode("utf-8", "surrogatepass")))


def begins(state: State, parent: str | None, *, declared: bool) -> None:
    """A copy of the parent's history may follow. `declared`: the log announces it; otherwise its first record
    decides.
    """
    state.parent, state.replay, state.declared = parent, True, declared

"""OpenCode's older store, and Kilo's: a folder with a file for each session, message and part. Source: opencode 0.3 to
1.1.
"""

import errno
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stages.model.store import Stage
from agentv_stream.sources.files import is_folder
from agentv_stream.stores.database import time_ms
from agentv_stream.stores.opencode_lines import PROVIDER, facts_line, parts_line, stage_of
from agentv_stream.stores.store import RowTable, StoredMessage, StoredSession
from agentv_stream.stores.stored_json import readable

_ID = re.compile(r"[A-Za-z0-9_-]+\Z")


class _Time(Struct):
    created: float | None = None
    updated: float | None = None


class _SessionFile(Struct):
    id: str = ""
    parentID: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    time: _Time | None = None


_decode_session_file = msgspec.json.Decoder(_SessionFile).decode


def _bytes_of(file: Path) -> bytes:
    """The content of a file. Raises: OSError, also for a pipe or a device: it may have no writer, or no end."""
    mode = file.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is not a file", str(file))
    return file.read_bytes()


@dataclass
class OpenCodeFolder:
    """`session/<project>/<id>.json`, `message/<session>/`, `part/<message>/`; before that, all below `session/`.

    A session whose own file is missing is one by its folder of messages.
    """

    root: Path
    connection: None = None
    unread: tuple[str, ...] = ()
    row_tables: tuple[RowTable, ...] = ()

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        found: dict[str, StoredSession] = {}
        for file in sorted((self.root / "session").glob("*/*.json")):
            try:
                session = _decode_session_file(_bytes_of(file))
            except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
                continue  # it was removed after it was listed, or is no session
            if session.id == file.stem and _ID.match(session.id):
                time = session.time or _Time()
                found[session.id] = StoredSession(
                    session.id,
                    PROVIDER,
                    session.parentID,
                    session.title,
                    session.directory,
                    session.version,
                    time_ms(time.created),
                    time_ms(time.updated),
                )
        for place in sorted((self.root / "message").glob("ses*")):
            if place.name not in found and _ID.match(place.name) and is_folder(place):
                found[place.name] = StoredSession(
                    place.name, PROVIDER, updated_ms=time_ms(place.stat().st_mtime * 1000)
                )
        return list(found.values())

    def opening(self, session: StoredSession) -> bytes:
        return facts_line(session)

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        for name, data in self._messages(session_id):
            yield name, stage_of(data)

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        for name, data in self._messages(session_id):
            line, started = parts_line(session_id, name, data, self._parts(session_id, name), children)
            yield StoredMessage(name, line, started)

    def holds(self, rowid: int, message_id: str) -> bool:
        return False

    def _messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        return self._files(f"message/{session_id}", f"session/message/{session_id}")

    def _parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        if not _ID.match(message_id):
            return iter(())
        return self._files(f"part/{message_id}", f"session/part/{session_id}/{message_id}")

    def _files(self, *places: str) -> Iterator[tuple[str, bytes]]:
        for place in places:
            for file in sorted((self.root / place).glob("*.json")):
                try:
                    data = _bytes_of(file)
                except FileNotFoundError:
                    continue  # it was removed after it was listed
                yield file.stem, readable(data)

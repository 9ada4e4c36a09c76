"""Classifies a file not seen before: a followed log under another name, a copy, a further part of one."""

import os
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agentv_stages.model.provider import Folder
from agentv_stages.providers import get_provider
from agentv_stream.discovery.header import Header, read_header
from agentv_stream.discovery.places import Found, logical_name, signature_of
from agentv_stream.errors import AgentvStreamError
from agentv_stream.following.follow_plan import KnownFile
from agentv_stream.following.growing import GrowingFile, holds
from agentv_stream.following.inputs import Input
from agentv_stream.following.known_logs import plain_name
from agentv_stream.following.register import Register
from agentv_stream.following.rotation import MOST_ALIKE, Rotation
from agentv_stream.sources.folder import companions_of, may_be_companions
from agentv_stream.sources.packed_folder import unpacked_name

TAIL = 4096  # bytes at the end that distinguish logs with the same beginning


class Newcomers:
    """Compares new files with the followed logs and assigns them accordingly."""

    def __init__(self, register: Register, rotation: Rotation) -> None:
        self._register = register
        self._rotation = rotation
        self.known = rotation.known
        self._headers: dict[str, Header | None] = {}  # of new files that were compared with each other

    def children_among(self, new: list[Found], folder: Folder) -> set[str]:
        """Those of some new files that belong to others of them. Opened after these, they are never taken for sessions
        of their own. Raises: nothing."""
        self._headers = {}
        new = [log for log in new if log.root.provider is None or may_be_companions(log.root.provider)]
        if len(new) < 2:
            return set()
        for log in new:
            with suppress(OSError):
                self.header(log)
        known = {path: header for path, header in self._headers.items() if header is not None}
        parents = {(header.dialect, header.parent) for header in known.values()}
        above = {(header.dialect, path.rpartition("/")[0].rpartition("/")[0]) for path, header in known.items()}
        times = Counter((header.dialect, header.session_id) for header in known.values())
        names = {unpacked_name(path) for path in known}
        children, mains = set[str](), set[str]()  # by the names that they have unpacked
        for path, header in known.items():
            own = (header.dialect, header.session_id)
            is_main = header.session_id is not None and (own in parents or times[own] > 1)
            provider = get_provider(header.provider)
            if may_be_companions(provider) and (is_main or (header.dialect, path.rpartition("/")[0]) in above):
                found = companions_of(provider, path, folder=folder)
                beside = {unpacked_name(companion.path) for companion in found} & names - {unpacked_name(path)}
                children |= beside
                mains |= {unpacked_name(path)} if beside else set()
        return {path for path in known if unpacked_name(path) in children - mains}

    def header(self, found: Found) -> Header | None:
        """The header of a new file, read once a scan; None if it has none. Raises: OSError."""
        if found.path not in self._headers:
            try:
                self._headers[found.path] = read_header(found.path, found.root.provider)
            except OSError:
                raise
            except Exception as error:  # its session shows its dialect, or fails alone
                self._headers[found.path] = None
                self._register.failed(found.path, error)
        return self._headers[found.path]

    def head_grew(self, found: Found) -> None:
        """Forgets the header of a file, which was not yet whole."""
        self._headers.pop(found.path, None)

    def renamed(self, found: Found) -> bool:
        """Whether a new file was followed under another name; it then is again. Raises: nothing."""
        path = self.known.by_inode.get(found.signature[:2])
        return path is not None and path != found.path and self._same_log(path, found)

    def known_elsewhere(self, found: Found) -> bool:
        """Whether a new file is already followed: renamed, or a copy. Raises: nothing."""
        folder = Path(found.path).parent
        plain = logical_name(found.path)
        renamed = found.path != plain
        others = [
            path
            for path in self.known.named(plain_name(found.path))
            if path != found.path and (renamed or Path(path).parent != folder or path != logical_name(path))
        ]
        sized = self.known.sized(found.path, found.signature.size)
        others += [path for path in sized if path not in (found.path, *others)]
        alike: list[str] = []
        if others:
            head = self.known.head(found.path)
            beside = {path for path in others if renamed and logical_name(path) == plain}  # its log, or parts of that
            alike = [p for p in others if p in beside or self.known.head(p) in (head, b"") or self._replaced(p)]
        return any(self._same_log(path, found) for path in alike[:MOST_ALIKE])

    def further_part(self, found: Found) -> Literal["no", "yes", "later"]:
        """Whether a new file continues a session: it has its id; or it has none and the name of a rotated log.

        `later` if that session is blocked and has not been read yet.
        """
        try:
            header = self.header(found)
        except OSError:
            return "no"
        number: int | None = None
        if header is not None and header.session_id is not None:
            number = self._register.natives.get((found.path.rpartition("/")[0], header.dialect, header.session_id))
            if number is None:
                number = self._elsewhere_begun(header.dialect, header.session_id, found)
        else:
            plain = logical_name(found.path)
            for path in self.known.named(plain_name(plain))[-4:]:
                entry = self._register.entries.get(path)
                if path != found.path and logical_name(path) == plain and entry is not None:
                    number = entry.number
        session = self._register.wake(number) if number else None
        if session is None or session.document:
            return "no"
        if session.chain is None:
            return "later" if session.number in self._register.troubles else "no"
        self._register.say("a further part of a log that is followed", path=found.path, of=session.main)
        session.join(found.path)
        self._register.times[session.number].companions_at = 0.0  # the part may have sub-agents of its own
        self._register.entries[found.path] = KnownFile(None, session.number)
        return "yes"

    def parted(self, path: str) -> bool:
        """Whether a copy of a followed log has diverged into a log of its own; it is then no longer known.

        Raises: nothing.
        """
        entry = self._register.entries[path]
        session = self._register.wake(entry.number)
        if session is None:
            return False
        same = [log.path for log in session.inputs if log.state != "copy"]
        namesakes = [other for other in same if plain_name(other) == plain_name(path)]
        if not same or not all(_goes_on_alone(other, path) for other in namesakes):
            return False
        session.inputs = [log for log in session.inputs if log.path != path]
        session.dirty = True
        del self._register.entries[path]
        self._register.due.add(session.number)
        return True

    def _same_log(self, path: str, found: Found) -> bool:
        entry = self._register.entries.get(path)
        session = self._register.wake(entry.number) if entry is not None else None
        log = next((i for i in session.inputs if i.path == path), None) if session is not None else None
        if session is None or log is None:
            return False
        mark = log.file.mark()
        try:
            stat = Path(path).stat()
        except OSError:
            stat = None
        linked = stat is not None and signature_of(stat)[:2] == found.signature[:2]  # both names are one file
        if linked and log.file.same_file() not in (None, found.signature[:2]):
            return False
        if stat is None or signature_of(stat)[:2] != (log.file.same_file() or signature_of(stat)[:2]):
            try:
                if stat is None:
                    self._rotation.gone(session, log)
                else:
                    self._rotation.handle(session, log, log.file.look())
            except (OSError, AgentvStreamError) as error:
                self._register.trouble(session.number, error)
                return True  # the next scan classifies the new file
            return found.path in self._register.entries
        if not mark.offset or not holds(self._register.files, found.path, mark):
            return False
        if not holds(self._register.files, path, mark):  # another file got its path and its old inode
            with suppress(OSError):
                self._rotation.rename(session, log, found.path, "rotated")
            return True
        if not linked and _goes_on_alone(path, found.path):
            return False
        self._register.say(
            f"{'another name' if linked else 'a copy'} of a log that is followed", path=found.path, of=path
        )
        copy = Input(GrowingFile(found.path, self._register.files), log.context, "copy")
        copy.file.signature = found.signature
        session.inputs.append(copy)
        session.dirty = True
        assert entry is not None
        self._register.entries[found.path] = replace(
            entry, signature=found.signature, kind="copy", gone=False, link=linked
        )
        return True

    def _replaced(self, path: str) -> bool:
        """Whether the file at a path is no longer the file that was read there."""
        entry = self._register.entries.get(path)
        if entry is None or entry.signature is None:
            return False
        try:
            return signature_of(Path(path).stat())[:2] != entry.signature[:2]
        except OSError:
            return False

    def _elsewhere_begun(self, dialect: str, session_id: str, found: Found) -> int | None:
        """The session in another folder that a new file continues, according to its provider."""
        number = self._register.elsewhere.get((dialect, session_id))
        session = self._register.wake(number) if number else None
        if session is None or session.provider is None:
            return None
        files = companions_of(session.provider, session.main, subagents=False)
        return number if any(log.path == found.path for log in files) else None


def _goes_on_alone(path: str, copy: str) -> bool:
    """Whether a file with the same beginning as the log at `path` contains something else: a fork that began as a copy.

    A packed file cannot be compared byte by byte, and counts as a copy.
    """
    if logical_name(path) != path or logical_name(copy) != copy:
        return False
    try:
        with Path(copy).open("rb") as log, Path(path).open("rb") as other:
            start = max(0, log.seek(0, os.SEEK_END) - TAIL)
            log.seek(start)
            other.seek(start)
            tail = log.read(TAIL)
            return other.read(len(tail)) != tail
    except OSError:
        return False

"""Handles changed files (renamed, rotated, truncated, rewritten, compressed, archived, deleted) and copies.

Each change is reported once (`say`), and nothing is lost or taken twice: the rest of the old file is read while it is
open; new contents continue as a further generation of the same session, or begin another one if their session id says
so.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agentv_stages.model.payload import printable_path
from agentv_stream.discovery.header import first_bytes, read_header
from agentv_stream.discovery.places import Found, logical_name, signature_of
from agentv_stream.errors import AgentvStreamError
from agentv_stream.following.followed import Followed
from agentv_stream.following.growing import Change, GrowingFile, holds
from agentv_stream.following.known_files import plain_name
from agentv_stream.following.register import Register
from agentv_stream.following.session_files import Input
from agentv_stream.following.settling import settle
from agentv_stream.following.stored import is_stored
from agentv_stream.sources.files import is_file

TAIL = 4096  # bytes at the end that distinguish logs with the same beginning
MOST_ALIKE = 64  # files of one name to compare with a new one
FIRST_LINE = 1 << 20  # bytes; new contents that are shorter are not judged before their first line is whole


class Rotation:
    """`handle` takes the result of `GrowingFile.look`; `renamed` and `known_elsewhere` take a new file."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self.moved: set[int] = set()  # renamed sessions: the next look finds the files at their old paths
        self._by_inode: dict[tuple[int, int], str] = {}

    def scanned(self, found: dict[str, Found]) -> None:
        """Takes a new listing of all files."""
        self._by_inode = {(f.signature.device, f.signature.inode): f.path for f in found.values()}

    def handle(self, session: Followed, log: Input, change: Change) -> bool:
        """Adjusts the session to the change; returns whether the file may be read on now.

        Raises: OSError, SinkError.
        """
        if change == "touched":
            session.dirty = True
        elif change == "partial-changed":
            self._other_partial(session, log)
        elif change == "gone":
            self.gone(session, log)
        elif change == "replaced":
            self._drain(session, log)
            moved = self._elsewhere(log) or self._rotated_copy(session, log)
            if moved is None:
                return self._other_content(session, log, "replaced")
            self.rename(session, log, moved, "rotated")  # the file at the old path is a new one, found on its own
        elif change in ("truncated", "rewritten"):
            moved = self._rotated_copy(session, log)  # copied and truncated, or the new file reuses the inode
            if moved is None:
                return self._other_content(session, log, change)
            self.rename(session, log, moved, "rotated")
        return True

    # --- other content at the same path

    def _other_partial(self, session: Followed, log: Input) -> None:
        if session.files.document:
            self._begin_again(session, log)
            return
        dropped = log.file.drop_partial()
        if log.file.reader.row:
            self._register.say("unfinished line was rewritten", path=log.path, bytes=dropped)
        session.dirty = session.unsettled = True

    def _begin_again(self, session: Followed, log: Input) -> None:
        log.mute_until = 0  # it was an offset in the earlier contents
        session.begin_again()
        self._register.due.add(session.number)  # the files before this one are read again in the next round
        log.file.look()  # else it would not be noticed if another file takes its place while it is read

    def _other_content(self, session: Followed, log: Input, change: str) -> bool:
        """As `handle`; the position in the old file means nothing in the file at the path now."""
        if session.chain is None or session.files.document or session.recognition.strange:
            self._register.say(f"{change}; read again from its beginning", path=log.path)
            self._begin_again(session, log)
            return True
        head = first_bytes(log.path, FIRST_LINE)
        if b"\n" not in head and len(head) < FIRST_LINE:
            return False  # it is being written; the next look decides
        provider = session.provider
        header = read_header(log.path, provider)
        if header is not None and None not in (header.session_id, session.native_id):
            if header.session_id != session.native_id and (log is session.files.inputs[0] or log.further):
                self._register.say(f"{change} by another session", path=log.path, session=header.session_id)
                self._leave(session, log)
                return True
        self._register.say(f"{change}; continues with the records that are new", path=log.path)
        session.end_partial(log)
        session.files.next_generation(log)
        session.dirty = True
        log.file.look()
        return True

    def _leave(self, session: Followed, log: Input) -> None:
        """The file belongs to another session from now on."""
        session.end_partial(log)
        log.state = "done"
        settle(session)
        self._register.commit([session], force=True)
        self._register.known.entries.pop(log.path, None)
        self._register.due.add(self._register.open(log.path).number)

    def _drain(self, session: Followed, log: Input) -> None:
        """Reads the last bytes written to the old file, if it is open."""
        if self._register.files.has(log.file):
            got = session.read(log, session.active_ms, 1 << 40)
            self._register.counts.bytes += got
            self._register.files.close(log.file)

    # --- the file is not where it was

    def _elsewhere(self, log: Input) -> str | None:
        """The new path of the file, found by its inode and its content."""
        same, mark = log.file.same_file(), log.file.mark()
        if same is None:
            return None
        for path in self._paths_of(*same, Path(log.path).parent):
            entry = self._register.known.entries.get(path)
            if path == log.path or (entry is not None and entry.kind != "copy"):
                continue
            if holds(self._register.files, path, mark) if mark.offset else log.file.begins(path):  # inodes are reused
                return path
        return None

    def _rotated_copy(self, session: Followed, log: Input) -> str | None:
        """A file beside it with its name that contains the part already read, if it cannot be found by its inode."""
        mark = log.file.mark()
        if not mark.offset or session.files.document:
            return None
        name, folder = plain_name(log.path), Path(log.path).parent
        try:
            beside = sorted(str(other) for other in folder.iterdir() if plain_name(other.name) == name)
        except OSError:
            return None
        new = [path for path in beside if path != log.path and path not in self._register.known.entries]
        return next((path for path in new[:MOST_ALIKE] if holds(self._register.files, path, mark)), None)

    def _paths_of(self, device: int, inode: int, folder: Path) -> list[str]:
        known = self._by_inode.get((device, inode))
        paths = [known] if known is not None else []
        try:
            beside = list(folder.iterdir())
        except OSError:
            return paths
        for path in beside:
            try:
                stat = path.lstat()
            except OSError:
                continue  # it was removed after it was listed
            if (stat.st_dev, stat.st_ino) == (device, inode):
                paths.append(str(path))
        return list(dict.fromkeys(paths))

    def rename(self, session: Followed, log: Input, path: str, how: str) -> None:
        old = log.path
        self._register.say(how, path=old, to=path)
        self._register.counts.changes[how] = self._register.counts.changes.get(how, 0) + 1
        entry = self._register.known.entries.pop(old, None)
        self._register.files.close(log.file)
        if session.chain is not None:
            session.chain.decode.rename(printable_path(old), printable_path(path))
        log.file.path, log.file.reader.file = path, printable_path(path)
        if session.main == old:
            session.files.main = path
        if entry is not None:
            entry.gone, entry.kind, entry.signature, entry.link = False, "input", None, False
            self._register.known.entries[path] = entry
        log.gone = False
        # The new path may have been known as another name of the log.
        session.files.inputs = [i for i in session.files.inputs if i is log or i.path != path]
        session.dirty = True
        self._register.known.add_name(path)
        self.moved.add(session.number)
        log.file.look()

    def gone(self, session: Followed, log: Input) -> None:
        entry = self._register.known.entries.get(log.path)
        self._drain(session, log)
        moved = self._elsewhere(log)
        if moved is not None:
            self.rename(session, log, moved, "renamed")
            return
        copy = self._copy_of(session, log)
        if copy is not None:
            how = "compressed" if Path(copy).name != Path(log.path).name else "moved"
            session.files.leave(copy)
            self._register.known.entries.pop(copy, None)
            place = log.file.taken_over_by(copy)
            old, log.file = log.path, place
            place.path = old
            self.rename(session, log, copy, how)
            return
        if entry is not None and not entry.gone:
            self._register.say("deleted", path=log.path)
            entry.gone = log.gone = session.dirty = True

    def _copy_of(self, session: Followed, log: Input) -> str | None:
        """Another file that contains the part read of this one: a compressed one beside it, or one of its name."""
        mark = log.file.mark()
        known = [i.path for i in session.files.inputs if i.state == "copy"]
        beside = [log.path + suffix for suffix in (".zst", ".gz", ".1", ".1.gz", ".1.zst")]
        name = plain_name(log.path)
        named = [p for p in self._register.known.found if p.find(name) >= 0 and plain_name(p) == name][:MOST_ALIKE]
        for path in dict.fromkeys((*known, *beside, *named)):
            entry = self._register.known.entries.get(path)
            if path == log.path or (entry is not None and entry.kind != "copy") or not is_file(path):
                continue
            if mark.offset and holds(self._register.files, path, mark):
                return path
        return None

    # --- a new file that is another name or a copy of a known one

    def renamed(self, found: Found) -> bool:
        """Whether a new file was followed under another name; it then is again. Raises: nothing."""
        path = self._register.known.by_inode.get(found.signature[:2])
        return path is not None and path != found.path and self._same_log(path, found)

    def known_elsewhere(self, found: Found) -> bool:
        """Whether a new file is already followed: renamed, or a copy. Raises: nothing."""
        if is_stored(found.path):  # its name ends with a session id, which may look like the suffix of a rotated log
            return False
        known, folder = self._register.known, Path(found.path).parent
        plain = logical_name(found.path)
        renamed = found.path != plain
        others = [
            path
            for path in known.named(plain_name(found.path))
            if path != found.path and (renamed or Path(path).parent != folder or path != logical_name(path))
        ]
        sized = known.sized(found.path, found.signature.size)
        others += [path for path in sized if path not in (found.path, *others)]
        alike: list[str] = []
        if others:
            head = known.head(found.path)
            beside = {path for path in others if renamed and logical_name(path) == plain}  # its log, or parts of that
            alike = [p for p in others if p in beside or known.head(p) in (head, b"") or self._replaced(p)]
        return any(self._same_log(path, found) for path in alike[:MOST_ALIKE])

    def parted(self, path: str) -> bool:
        """Whether a copy of a followed log has diverged into a log of its own; it is then no longer known.

        Raises: nothing.
        """
        entry = self._register.known.entries[path]
        session = self._register.wake(entry.number)
        if session is None:
            return False
        same = [log.path for log in session.files.inputs if log.state != "copy"]
        namesakes = [other for other in same if plain_name(other) == plain_name(path)]
        if not same or not all(_goes_on_alone(other, path) for other in namesakes):
            return False
        session.files.leave(path)
        session.dirty = True
        del self._register.known.entries[path]
        self._register.due.add(session.number)
        return True

    def _same_log(self, path: str, found: Found) -> bool:
        entry = self._register.known.entries.get(path)
        session = self._register.wake(entry.number) if entry is not None else None
        log = next((i for i in session.files.inputs if i.path == path), None) if session is not None else None
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
                    self.gone(session, log)
                else:
                    self.handle(session, log, log.file.look())
            except (OSError, AgentvStreamError) as error:
                self._register.trouble(session.number, error)
                return True  # the next scan classifies the new file
            return found.path in self._register.known.entries
        if not mark.offset or not holds(self._register.files, found.path, mark):
            return False
        if not holds(self._register.files, path, mark):  # another file got its path and its old inode
            with suppress(OSError):
                self.rename(session, log, found.path, "rotated")
            return True
        if not linked and _goes_on_alone(path, found.path):
            return False
        self._register.say(
            f"{'another name' if linked else 'a copy'} of a log that is followed", path=found.path, of=path
        )
        copy = Input(GrowingFile(found.path, self._register.files), log.context, "copy")
        copy.file.signature = found.signature
        session.files.inputs.append(copy)
        session.dirty = True
        assert entry is not None
        self._register.known.entries[found.path] = replace(
            entry, signature=found.signature, kind="copy", gone=False, link=linked
        )
        return True

    def _replaced(self, path: str) -> bool:
        """Whether the file at a path is no longer the file that was read there."""
        entry = self._register.known.entries.get(path)
        if entry is None or entry.signature is None:
            return False
        try:
            return signature_of(Path(path).stat())[:2] != entry.signature[:2]
        except OSError:
            return False


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

"""What became of a file that is not as it was: renamed, rotated, truncated, rewritten, compressed, archived, deleted.

Each is told once (`say`), and handled so that nothing is lost or taken twice: the rest of the old file is read while it
is open, new content goes on as a further generation of the same session, or begins another one if it says so.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agentv_stages.payload import told_path
from agentv_stream.discovery.header import first_bytes, read_header
from agentv_stream.discovery.places import Found, logical_name, signature_of
from agentv_stream.errors import AgentvStreamError
from agentv_stream.files import is_file
from agentv_stream.folder import companions_of
from agentv_stream.following.follow_plan import Entry
from agentv_stream.following.followed import Followed, Input
from agentv_stream.following.growing import Change, GrowingFile, holds
from agentv_stream.following.register import Register

MOST_ALIKE = 64  # files of one name that are compared with a new one
HEAD = 256
TAIL = 4096  # bytes by which two logs are told apart that begin alike


def _name(path: str) -> str:
    return logical_name(path).rpartition("/")[2]


def _inode(path: str) -> tuple[int, int] | None:
    try:
        return signature_of(Path(path).stat())[:2]
    except OSError:
        return None


class Rotation:
    """Knows which files there are by inode and by name. `handle` is told what `GrowingFile.look` saw."""

    def __init__(self, register: Register, commit: Callable[[Followed], None]) -> None:
        self._register = register
        self._say, self._entries, self._due = register.say, register.entries, register.due
        self._counts, self._files = register.counts, register.files
        self._commit = commit  # of a session that ends here
        self.moved: set[int] = set()  # what stands at their old paths now, the next look finds
        self._by_inode: dict[tuple[int, int], str] = {}
        self._followed: dict[tuple[int, int], str] = {}
        self._names: dict[str, list[str]] = {}
        self._sizes: dict[int, list[str]] = {}
        self._heads: dict[str, bytes] = {}

    def scanned(self, found: dict[str, Found]) -> None:
        """A new listing of all files."""
        self._by_inode = {(f.signature.device, f.signature.inode): f.path for f in found.values()}

    def index(self) -> None:
        """What is followed, by inode and by name; new files are compared with it."""
        self._followed, self._names, self._sizes = {}, {}, {}
        self._heads = {path: head for path, head in self._heads.items() if path in self._entries}
        for path in self._entries:
            self._learn(path)

    def renamed(self, found: Found) -> bool:
        """Whether a new file was followed under another name; then it is again. Raises: nothing."""
        path = self._followed.get(found.signature[:2])
        return path is not None and path != found.path and self._same_log(path, found)

    def learn(self, number: int) -> None:
        """The files of a session that is followed from now on."""
        session = self._register.hot.get(number)
        for one in session.inputs if session is not None else ():
            self._learn(one.path)

    def _learn(self, path: str) -> None:
        entry = self._entries.get(path)
        if entry is None or not entry.number or entry.kind != "input":
            return
        if entry.signature is not None:
            self._followed[entry.signature[:2]] = path
            self._sizes.setdefault(entry.signature.size, []).append(path)
        self._names.setdefault(_name(path), []).append(path)

    def _head(self, path: str) -> bytes:
        """The first bytes of a log, remembered once they cannot change by growing; empty for a short or lost one."""
        head = self._heads.get(path)
        if head is None:
            head = first_bytes(path, HEAD)
            if len(head) < HEAD:
                return b""
            self._heads[path] = head
        return head

    def handle(self, session: Followed, one: Input, change: Change) -> None:
        """Puts the session in order; reading may go on afterwards. Raises: OSError, SinkError."""
        if change == "touched":
            session.dirty = True
        elif change == "partial-changed":
            dropped = one.file.drop_partial()
            if one.file.reader.row:
                self._say("unfinished line was rewritten", path=one.path, bytes=dropped)
            session.dirty = session.unsettled = True
        elif change == "gone":
            self._gone(session, one)
        elif change == "replaced":
            self._drain(session, one)
            moved = self._elsewhere(one) or self._rotated_copy(session, one)
            if moved is not None:
                self._rename(session, one, moved, "rotated")
                return  # the file at the old path is a new one; it is found by itself
            self._other_content(session, one, "replaced")
        elif change in ("truncated", "rewritten"):
            moved = self._rotated_copy(session, one)  # copied and truncated, or the new file got an inode of old
            if moved is not None:
                self._rename(session, one, moved, "rotated")
                return
            self._other_content(session, one, change)

    # --- other content at the same path

    def _other_content(self, session: Followed, one: Input, change: str) -> None:
        if session.chain is None or session.document or session.strange:
            self._say(f"{change}; read again from its beginning", path=one.path)
            one.mute_until = 0  # an offset in what stood there before
            session.begin_again()
            return
        if b"\n" not in first_bytes(one.path, 1 << 20):
            return  # it is being written; the next look decides what it is
        provider = session.provider
        header = read_header(one.path, provider)
        if header is not None and None not in (header.session_id, session.native_id):
            if header.session_id != session.native_id and one is session.inputs[0]:
                self._say(f"{change} by another session", path=one.path, session=header.session_id)
                self._leave(session, one)
                return
        self._say(f"{change}; goes on with what is new", path=one.path)
        session.next_generation(one)
        one.file.look()

    def _leave(self, session: Followed, one: Input) -> None:
        """The file belongs to another session from now on."""
        session.end_partial(one)
        one.state = "done"
        session.settle()
        self._commit(session)
        self._entries.pop(one.path, None)
        self._due.add(self._register.open(one.path).number)

    def _drain(self, session: Followed, one: Input) -> None:
        """What was still written to the old file, as long as it is open."""
        if self._files.has(one.file):
            got = session.read(one, session.active_ms, 1 << 40)
            self._counts.bytes += got
            self._files.close(one.file)

    # --- the file is not where it was

    def _elsewhere(self, one: Input) -> str | None:
        """Where the file lies now, told by its inode and its content."""
        same, mark = one.file.same_file(), one.file.mark()
        if same is None:
            return None
        for path in self._paths_of(*same, Path(one.path).parent):
            entry = self._entries.get(path)
            if path == one.path or (entry is not None and entry.kind != "copy"):
                continue
            if holds(self._files, path, mark) if mark.offset else one.file.begins(path):  # an inode is used again
                return path
        return None

    def _rotated_copy(self, session: Followed, one: Input) -> str | None:
        """A file beside it, of its name, that holds what was read of it, where no inode tells where it went."""
        mark = one.file.mark()
        if not mark.offset or session.document:
            return None
        name, folder = _name(one.path), Path(one.path).parent
        try:
            beside = sorted(str(other) for other in folder.iterdir() if _name(other.name) == name)
        except OSError:
            return None
        new = [path for path in beside if path != one.path and path not in self._entries]
        return next((path for path in new[:MOST_ALIKE] if holds(self._files, path, mark)), None)

    def _paths_of(self, device: int, inode: int, folder: Path) -> list[str]:
        known = self._by_inode.get((device, inode))
        paths = [known] if known is not None else []
        try:
            for entry in folder.iterdir():
                stat = entry.lstat()
                if (stat.st_dev, stat.st_ino) == (device, inode):
                    paths.append(str(entry))
        except OSError:
            return paths
        return list(dict.fromkeys(paths))

    def _rename(self, session: Followed, one: Input, path: str, how: str) -> None:
        old = one.path
        self._say(how, path=old, to=path)
        self._counts.changes[how] = self._counts.changes.get(how, 0) + 1
        entry = self._entries.pop(old, None)
        self._files.close(one.file)
        if session.chain is not None:
            session.chain.rename(told_path(old), told_path(path))
        one.file.path, one.file.reader.file = path, told_path(path)
        if session.main == old:
            session.main = path
        if entry is not None:
            entry.gone, entry.kind, entry.signature, entry.link = False, "input", None, False
            self._entries[path] = entry
        one.gone = False
        session.inputs = [i for i in session.inputs if i is one or i.path != path]  # it was known as another name
        session.dirty = True
        self._names.setdefault(_name(path), []).append(path)
        self.moved.add(session.number)
        one.file.look()

    def _gone(self, session: Followed, one: Input) -> None:
        entry = self._entries.get(one.path)
        self._drain(session, one)
        moved = self._elsewhere(one)
        if moved is not None:
            self._rename(session, one, moved, "renamed")
            return
        copy = self._copy_of(session, one)
        if copy is not None:
            how = "compressed" if Path(copy).name != Path(one.path).name else "moved"
            session.inputs = [i for i in session.inputs if i.path != copy]
            self._entries.pop(copy, None)
            place = one.file.taken_over_by(copy)
            old, one.file = one.path, place
            place.path = old
            self._rename(session, one, copy, how)
            return
        if entry is not None and not entry.gone:
            self._say("deleted", path=one.path)
            entry.gone = one.gone = session.dirty = True

    def _copy_of(self, session: Followed, one: Input) -> str | None:
        """Another file that holds what was read of this one: compressed beside it, or of its name in another folder."""
        mark = one.file.mark()
        known = [i.path for i in session.inputs if i.state == "copy"]
        beside = [one.path + suffix for suffix in (".zst", ".gz", ".1", ".1.gz", ".1.zst")]
        name = _name(one.path)
        named = [p for p in self._register.found if p.find(name) >= 0 and _name(p) == name][:MOST_ALIKE]
        for path in dict.fromkeys((*known, *beside, *named)):
            entry = self._entries.get(path)
            if path == one.path or (entry is not None and entry.kind != "copy") or not is_file(path):
                continue
            if mark.offset and holds(self._files, path, mark):
                return path
        return None

    # --- a file that nobody has seen yet

    def known_elsewhere(self, found: Found) -> bool:
        """Whether a new file is one that is followed already: renamed, or a copy. Raises: nothing."""
        folder = Path(found.path).parent
        plain = logical_name(found.path)
        renamed = found.path != plain
        others = [
            path
            for path in self._names.get(_name(found.path), ())
            if path != found.path and (renamed or Path(path).parent != folder or path != logical_name(path))
        ]
        others += [path for path in self._sizes.get(found.signature.size, ()) if path not in (found.path, *others)]
        alike: list[str] = []
        if others:
            head = self._head(found.path)
            beside = {path for path in others if renamed and logical_name(path) == plain}  # its log, or parts of it
            alike = [p for p in others if p in beside or self._head(p) in (head, b"") or self._replaced(p)]
        return any(self._same_log(path, found) for path in alike[:MOST_ALIKE])

    def _replaced(self, path: str) -> bool:
        """Whether another file stands at a path than the one that was read there."""
        entry, now = self._entries.get(path), _inode(path)
        return entry is not None and entry.signature is not None and now not in (None, entry.signature[:2])

    def further_part(self, found: Found) -> Literal["no", "yes", "later"]:
        """Whether a new file goes on with a session: it says its id; or it says none and bears a rotated log's name.

        `later` where that session is blocked before it was read.
        """
        try:
            header = read_header(found.path, found.root.provider)
        except OSError:
            return "no"
        number: int | None = None
        if header is not None and header.session_id is not None:
            number = self._register.natives.get((found.path.rpartition("/")[0], header.dialect, header.session_id))
            if number is None:
                number = self._elsewhere_begun(header.dialect, header.session_id, found)
        else:
            plain = logical_name(found.path)
            for path in self._names.get(_name(plain), ())[-4:]:
                entry = self._entries.get(path)
                if path != found.path and logical_name(path) == plain and entry is not None:
                    number = entry.number
        session = self._register.wake(number) if number else None
        if session is None or session.document:
            return "no"
        if session.chain is None:
            return "later" if session.number in self._register.troubles else "no"
        self._say("a further part of a log that is followed", path=found.path, of=session.main)
        session.join(found.path)
        self._register.times[session.number].companions_at = 0.0  # it may have sub-agents of its own
        self._entries[found.path] = Entry(None, session.number)
        return "yes"

    def _elsewhere_begun(self, dialect: str, session_id: str, found: Found) -> int | None:
        """The session of another folder that goes on in a new file, as its provider tells."""
        number = self._register.elsewhere.get((dialect, session_id))
        session = self._register.wake(number) if number else None
        if session is None or session.provider is None:
            return None
        files = companions_of(session.provider, session.main, subagents=False)
        return number if any(one.path == found.path for one in files) else None

    def _goes_on_alone(self, path: str, copy: str) -> bool:
        """Whether a file that begins as the log at `path` holds what that one does not: a fork that began as a copy.

        What is packed cannot be compared byte by byte, and is a copy.
        """
        if logical_name(path) != path or logical_name(copy) != copy:
            return False
        try:
            with Path(copy).open("rb") as one, Path(path).open("rb") as other:
                start = max(0, one.seek(0, os.SEEK_END) - TAIL)
                one.seek(start)
                other.seek(start)
                tail = one.read(TAIL)
                return other.read(len(tail)) != tail
        except OSError:
            return False

    def parted(self, path: str) -> bool:
        """Whether a copy of a log that is followed has become one of its own; nobody knows it then.

        Raises: nothing.
        """
        entry = self._entries[path]
        session = self._register.wake(entry.number)
        if session is None:
            return False
        same = [one.path for one in session.inputs if one.state != "copy"]
        if not same or not all(self._goes_on_alone(other, path) for other in same if _name(other) == _name(path)):
            return False
        session.inputs = [one for one in session.inputs if one.path != path]
        session.dirty = True
        del self._entries[path]
        self._due.add(session.number)
        return True

    def _same_log(self, path: str, found: Found) -> bool:
        entry = self._entries.get(path)
        session = self._register.wake(entry.number) if entry is not None else None
        one = next((i for i in session.inputs if i.path == path), None) if session is not None else None
        if session is None or one is None:
            return False
        mark = one.file.mark()
        try:
            stat = Path(path).stat()
        except OSError:
            stat = None
        linked = stat is not None and signature_of(stat)[:2] == found.signature[:2]  # both names are one file
        if linked and one.file.same_file() not in (None, found.signature[:2]):
            return False
        if stat is None or signature_of(stat)[:2] != (one.file.same_file() or signature_of(stat)[:2]):
            try:
                self._gone(session, one) if stat is None else self.handle(session, one, one.file.look())
            except (OSError, AgentvStreamError) as error:
                self._register.trouble(session.number, error)
                return True  # what the new file is, the next scan tells
            return found.path in self._entries
        if not mark.offset or not holds(self._files, found.path, mark):
            return False
        if not holds(self._files, path, mark):  # another file has its path, and its inode of old
            with suppress(OSError):
                self._rename(session, one, found.path, "rotated")
            return True
        if not linked and self._goes_on_alone(path, found.path):
            return False
        self._say(f"{'another name' if linked else 'a copy'} of a log that is followed", path=found.path, of=path)
        copy = Input(GrowingFile(found.path, self._files), one.context, "copy")
        copy.file.signature = found.signature
        session.inputs.append(copy)
        session.dirty = True
        assert entry is not None
        self._entries[found.path] = replace(entry, signature=found.signature, kind="copy", gone=False, link=linked)
        return True

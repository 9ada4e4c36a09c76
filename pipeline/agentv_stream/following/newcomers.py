"""Classifies a file not seen before: a sub-agent's, a further part of a followed log, a session of its own."""

from collections import Counter
from contextlib import suppress
from typing import Literal

from agentv_stages.model.provider import Folder
from agentv_stages.providers import get_provider
from agentv_stream.discovery.header import Header, read_header
from agentv_stream.discovery.places import Found, logical_name
from agentv_stream.following.known_files import KnownFile, plain_name
from agentv_stream.following.register import Register
from agentv_stream.sources.folder import companions_of, may_be_companions
from agentv_stream.sources.packed_folder import unpacked_name


class Newcomers:
    """Compares new files with the followed logs and assigns them accordingly."""

    def __init__(self, register: Register) -> None:
        self._register = register
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
            number = self._register.ids.in_folder(found.path.rpartition("/")[0], header.dialect, header.session_id)
            if number is None:
                number = self._elsewhere_begun(header.dialect, header.session_id, found)
        else:
            plain = logical_name(found.path)
            for path in self._register.known.named(plain_name(plain))[-4:]:
                entry = self._register.known.entries.get(path)
                if path != found.path and logical_name(path) == plain and entry is not None:
                    number = entry.number
        session = self._register.wake(number) if number else None
        if session is None or session.files.document:
            return "no"
        if session.chain is None:
            return "later" if session.number in self._register.troubles else "no"
        self._register.say("a further part of a log that is followed", path=found.path, of=session.main)
        session.add(found.path, further=True)
        self._register.times[session.number].companions_at = 0.0  # the part may have sub-agents of its own
        self._register.known.entries[found.path] = KnownFile(None, session.number)
        return "yes"

    def _elsewhere_begun(self, dialect: str, session_id: str, found: Found) -> int | None:
        """The session in another folder that a new file continues, according to its provider."""
        number = self._register.ids.anywhere(dialect, session_id)
        session = self._register.wake(number) if number else None
        if session is None or session.provider is None:
            return None
        files = companions_of(session.provider, session.main, subagents=False)
        return number if any(log.path == found.path for log in files) else None

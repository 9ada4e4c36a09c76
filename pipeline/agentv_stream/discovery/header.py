"""The header of a log: which session it is, from its first records alone.

In: a path. Out: a `Header`, or None for a file that is no log of a known agent. At most the first 512 KiB are read, for
a whole-file document 16 MiB.
"""

import os
import re
import sys
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.chain.lines import LineReader
from agentv_stages.figures.facts import DESCRIPTIONS
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import MAIN, SessionInfo, Summary, UserText
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import Provider
from agentv_stages.model.times import iso
from agentv_stages.session.detect import UnknownFormat
from agentv_stages.session.opening import Opening
from agentv_stream.sources.files import is_gone, open_plain
from agentv_stream.sources.folder import context_of

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor
    from agentv_stream.discovery.kept_file import KeptFile  # SQLite: 5 ms that only a cache needs

MOST_BYTES = 512 * 1024
MOST_DOCUMENT = 16 * 1024 * 1024
STEP = 64 * 1024
PROMPT_WIDTH = 200
_OURS = re.compile(
    rb'\s*\{\s*(?:"session"\s*:\s*\{\s*"id"\s*:\s*(?:null|"[^"]*")\s*,\s*"provider"\s*:'
    rb'|"schema_version"\s*:\s*"agentv_stream\.(?:stats|check|report|validation|import_report|import_plan)\.)'
)
"""How results and figures begin, and no log."""


class Header(Struct):
    """Facts about a session from its first records; None if they do not contain them. `started_ms` is UTC.

    `ran` is false if the whole log only identifies the session, as when it was opened and left.
    """

    provider: str
    dialect: str
    session_id: str | None = None
    cwd: str | None = None
    started_ms: int | None = None
    model: str | None = None
    version: str | None = None
    prompt: str | None = None
    parent: str | None = None
    title: str | None = None
    ran: bool = True
    lean: bool = False  # from the cache, which keeps no texts: prompt and title are not known yet

    @property
    def whole(self) -> bool:
        """Whether everything that a list shows is known."""
        return None not in (self.session_id, self.started_ms, self.model, self.prompt)

    def take(self, batch: Batch) -> None:
        """Adds the facts from the events of `batch`."""
        if batch.faults or batch.unknown:
            self.ran = True
        for event in batch.events:
            if not isinstance(event, DESCRIPTIONS):
                self.ran = True
            if self.started_ms is None:
                self.started_ms = event.source.time_ms
            if isinstance(event, SessionInfo):
                self.session_id = self.session_id or event.session_id
                self.cwd = self.cwd or event.cwd
                self.version = self.version or event.version
                self.parent = self.parent or event.parent_session_id
                self.title = event.title or self.title
            elif isinstance(event, Summary):
                self.title = event.summary
            elif isinstance(event, UserText) and self.prompt is None and not event.injected:
                if event.source.stream == MAIN:
                    self.prompt = event.text[:PROMPT_WIDTH] or None
            model: str | None = getattr(event, "model", None)
            if self.model is None and model is not None and not model.startswith("<"):  # "<synthetic>"
                self.model = model


def redacted_header(header: Header, redactor: "Redactor") -> Header:
    """The header with markers for secrets in its texts. A prompt that was cut loses the word that it ends with, which
    may be the beginning of a secret."""
    from agentv_stages.redaction.deltas import doubtful_from  # its rules take 40 ms

    prompt, title = header.prompt, header.title
    if prompt is not None:
        if len(prompt) == PROMPT_WIDTH:
            data = prompt.encode("utf-8", "replace")
            prompt = data[: doubtful_from(data)].decode("utf-8", "replace").rstrip() + "…"
        prompt = redactor.hide_text(prompt)
    return replace(header, prompt=prompt, title=None if title is None else redactor.hide_text(title))


def dialect_of(path: Path) -> str | None:
    """The dialect of a file that was given where something else was expected; None if it is no log."""
    try:
        header = read_header(str(path))
    except OSError:
        return None
    return header.dialect if header is not None else None


def read_header(path: str, only: Provider | None = None) -> Header | None:
    """Reads until the header is complete, or to the limit.

    Raises: OSError when the file cannot be read.
    """
    reader, header = LineReader(path), None
    opening = Opening(lambda provider: context_of(provider, path), only)
    with open_plain(Path(path)) as file:
        read, most = 0, MOST_DOCUMENT if path.endswith((".json", ".traj")) else MOST_BYTES
        while read < most:
            try:
                data = file.read(STEP)
            except damages() as error:
                raise OSError(str(error)) from error
            if not data:
                break
            if not read and _OURS.match(data):  # they may lie beside logs, and all dialects be tried in vain
                return None
            read += len(data)
            for batch in reader.push(Chunk(data, None, path)):
                header = _taken(header, opening, opening.push(batch))
            if header is not None and header.whole:
                return header
    last = reader.peek()
    if last is not None and (header is None or read < most):
        header = _taken(header, opening, opening.push(Batch(path, records=[last], unterminated=True)))
    try:  # at the end of the log come texts that Codex writes twice
        header = _taken(header, opening, opening.finish(whole=read < most))
    except UnknownFormat:
        return None
    if header is not None:
        header.ran = header.ran or read >= most
    return header


def _taken(header: Header | None, opening: Opening, batches: Iterable[Batch]) -> Header | None:
    """The header with the facts of decoded batches, once the dialect is known."""
    decoded = list(batches)
    if header is None and opening.named is not None:
        provider, dialect = opening.named
        header = Header(provider.name, dialect.name, ran=False)
    for batch in decoded:
        assert header is not None  # nothing is decoded before the dialect is known
        header.take(batch)
    return header


def first_bytes(path: str, limit: int) -> bytes:
    """The first decompressed bytes of a log; empty if it cannot be read."""
    try:
        with open_plain(Path(path)) as file:
            try:
                return file.read(limit)
            except damages():
                return b""
    except OSError:
        return b""


def damages() -> tuple[type[Exception], ...]:
    """The exceptions raised for damaged compressed data; zstandard's only if that is already imported."""
    module = sys.modules.get("zstandard")
    return (
        (EOFError, ValueError, zlib.error) if module is None else (EOFError, ValueError, zlib.error, module.ZstdError)
    )


class _Entry(Struct, array_like=True):
    """The header of a file when it was read as a log of the agent `asked`, or of any (None), and if it was complete."""

    size: int
    mtime_ns: int
    inode: int
    asked: str | None
    header: Header | None
    whole: bool


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Entry).decode


class HeaderCache:
    """Headers by path, kept in a file between runs, without texts (`Header.lean`). A log that has only grown keeps its
    header once complete. Another release or plug-in starts over: it may know logs that this one does not."""

    def __init__(self, file: Path | None) -> None:
        self._kept: KeptFile | None = None
        self._entries: dict[str, _Entry] = {}
        self._new: dict[str, _Entry] = {}
        self._by = ""
        if file is None:
            return
        from agentv_stream.discovery import kept_file
        from agentv_stream.release import reading_version

        self._by, self._kept = reading_version(), kept_file.KeptFile(file)
        with self._kept.opened() as database:
            if database is not None:
                for path, entry in database.execute("SELECT name, entry FROM headers WHERE mark = ?", (self._by,)):
                    data = kept_file.unsealed(path, entry)
                    if data is not None:
                        with suppress(msgspec.MsgspecError):
                            self._entries[path] = _decode(data)

    def get(self, path: str, stat: os.stat_result, only: Provider | None = None) -> Header | None:
        """The header, from the cache if the file is unchanged. Raises: OSError, as `read_header`."""
        known, asked = self._entries.get(path), only.name if only is not None else None
        if known is not None and known.inode == stat.st_ino and known.asked == asked:
            if known.size == stat.st_size and known.mtime_ns == stat.st_mtime_ns:
                return known.header
            if known.whole and stat.st_size > known.size:
                return known.header
        header = read_header(path, only)
        lean = header if header is None else replace(header, prompt=None, title=None, lean=True)
        whole = header is not None and header.whole
        entry = _Entry(stat.st_size, stat.st_mtime_ns, stat.st_ino, asked, lean, whole)
        self._entries[path] = self._new[path] = entry
        return header

    def save(self, paths: set[str]) -> None:
        """Writes the cache, without files that no longer exist; `paths` do exist, others below other roots may.

        Failure to write the cache is ignored.
        """
        if self._kept is None:
            return
        from agentv_stream.discovery.kept_file import sealed

        gone = [path for path in self._entries if path not in paths and is_gone(path)]
        rows = [
            (self._by, path, sealed(path, _encode(entry)))
            for path, entry in self._new.items()
            if printable_path(path) == path  # JSON must be UTF-8
        ]
        if not (rows or gone):
            return
        with self._kept.opened() as database:
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                database.execute("DELETE FROM headers WHERE mark != ?", (self._by,))
                database.executemany("DELETE FROM headers WHERE mark = ? AND name = ?", ((self._by, p) for p in gone))
                database.executemany("INSERT OR REPLACE INTO headers VALUES (?, ?, ?)", rows)
                database.execute("COMMIT")


def header_json(header: Header) -> dict[str, object]:
    """The public form: times in ISO 8601."""
    return {
        "session_id": header.session_id,
        "provider": header.provider,
        "dialect": header.dialect,
        "project": header.cwd,
        "started_at": iso(header.started_ms) if header.started_ms is not None else None,
        "model": header.model,
        "version": header.version,
        "prompt": header.prompt,
        "title": header.title,
        "parent": header.parent,
    }

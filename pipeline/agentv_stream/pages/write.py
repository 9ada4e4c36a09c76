"""Writes pages: sessions by name in, one HTML file for each out."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentv_stages.figures.result import Result
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.session.parts import Parts
from agentv_stream.discovery.places import Root
from agentv_stream.discovery.show import open_log
from agentv_stream.errors import UsageError
from agentv_stream.outputs.naming import safe_part
from agentv_stream.outputs.publish import publish_now
from agentv_stream.outputs.step_spool import StepSpool
from agentv_stream.pages.page import Page
from agentv_stream.sources.files import is_folder
from agentv_stream.summary import SessionReader

ENDING = ".html"


def write_pages(
    names: Sequence[str],
    place: Path | None,
    *,
    provider: str | None,
    roots: Sequence[Root],
    full: bool,
    redactor: Redactor | None,
) -> Iterator[Path]:
    """Writes a page for each session, and yields its path. `place` is a file for one session, otherwise a folder.

    Pages of equal names are numbered. Raises: UsageError, SourceError, NotALog, EmptyInput, SinkError.
    """
    as_file = place is not None and place.suffix.lower() in (ENDING, ".htm") and not is_folder(place)
    if as_file and len(names) > 1:
        raise UsageError(f"-o {place} is one file, and there are {len(names)} sessions; name a folder")
    used: set[str] = set()
    for name in names:
        spool = StepSpool()
        try:
            page, result = _read(name, provider, roots, full, redactor, spool)
            path = place if as_file and place is not None else (place or Path()) / _name(name, result, used)
            publish_now(path, page.document(result, spool.lines))
        finally:
            spool.close()
        yield path


def _read(
    name: str, provider: str | None, roots: Sequence[Root], full: bool, redactor: Redactor | None, spool: StepSpool
) -> tuple[Page, Result]:
    path, pieces = open_log(name, roots)
    reader = SessionReader(pieces, path, provider, messages=True, parts=Parts(redactor=redactor))
    page = Page(full)
    for batch in reader.batches():
        page.take(batch)
        for message in batch.messages:
            spool.add(message, page.message(message))
    return page, reader.result()


def _name(name: str, result: Result, used: set[str]) -> str:
    """`2026-01-31_claude_SESSION.html`, made of safe parts only."""
    session = result.session
    own = session.id or re.sub(r"\.jsonl?$", "", Path(name).name)
    day = (session.started_at or "")[:10]
    stem = "_".join(safe_part(part) for part in (day, session.provider, own) if part)
    found, number = stem, 2
    while found in used:
        found, number = f"{stem}-{number}", number + 1
    used.add(found)
    return found + ENDING

"""Writes pages: sessions by name in, one HTML file for each out."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentv_stages.figures.result import Result
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.session.parts import Parts
from agentv_stream.costs.rates import Rates
from agentv_stream.discovery.places import Root
from agentv_stream.discovery.show import open_log
from agentv_stream.errors import UsageError
from agentv_stream.outputs.naming import safe_part
from agentv_stream.outputs.publish import publish_now
from agentv_stream.pages.making import PAGE, PageMaker
from agentv_stream.sources.files import is_folder
from agentv_stream.summary import SessionReader

STDOUT = Path("/dev/stdout")


def write_pages(
    names: Sequence[str],
    place: Path | None,
    *,
    provider: str | None,
    roots: Sequence[Root],
    full: bool,
    redactor: Redactor | None,
    rates: Rates | None = None,
) -> Iterator[Path]:
    """Writes a page for each session, and yields its path. `place` is a file (or `STDOUT`) for one session, otherwise a
    folder.

    Pages of equal names are numbered. Raises: UsageError, SourceError, NotALog, EmptyInput, SinkError.
    """
    named = place is not None and place.suffix.lower() in (PAGE, ".htm") and not is_folder(place)
    as_file = named or place == STDOUT
    if as_file and len(names) > 1:
        shown = "- (standard output)" if place == STDOUT else place
        raise UsageError(f"-o {shown} is one file, and there are {len(names)} sessions; name a folder")
    used: set[str] = set()
    for name in names:
        maker = PageMaker(full=full, rates=rates)
        try:
            result = _read(name, provider, roots, redactor, maker)
            path = place if as_file and place is not None else (place or Path()) / _name(name, result, used)
            publish_now(path, maker.document(result))
        finally:
            maker.close()
        yield path


def _read(
    name: str, provider: str | None, roots: Sequence[Root], redactor: Redactor | None, maker: PageMaker
) -> Result:
    path, pieces = open_log(name, roots)
    reader = SessionReader(pieces, path, provider, messages=True, parts=Parts(redactor=redactor))
    for batch in reader.batches():
        maker.take(batch)
    return reader.result()


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
    return found + PAGE

"""The dialects that are read, each with the command that makes it, the versions seen, its end rule and its losses.

All facts come from the providers (`About`).
"""

from collections.abc import Iterable
from textwrap import wrap

from msgspec import Struct

from agentv_stages.model.provider import Dialect, LogRoot, Provider
from agentv_stages.providers import all_providers

MOST_PLACES = 4  # named in one line
STORED = "stored in"


class DialectRow(Struct, frozen=True):
    """One dialect, as `providers --json` prints it."""

    provider: str
    title: str
    aliases: tuple[str, ...]
    dialect: str
    live: bool
    produced_by: str | None
    lies_in: tuple[str, ...]
    versions: str | None
    has_end: bool
    end: str | None
    has_prompt: bool
    losses: tuple[str, ...]


def stream_command(program: str) -> str | None:
    """The command line with which an agent's program prints its stream; None for other programs."""
    streams = (d for provider in all_providers() for d in provider.dialects if d.live and not d.answer_only)
    live = (d.about.made_by or "" for d in streams)
    return next((line for line in live if line.split(maxsplit=1)[:1] == [program]), None)


def dialect_rows(providers: Iterable[Provider]) -> list[DialectRow]:
    """Every dialect of the providers, in their order."""
    return [_row(provider, dialect) for provider in providers for dialect in provider.dialects]


def _row(provider: Provider, dialect: Dialect) -> DialectRow:
    return DialectRow(
        provider.name,
        provider.title,
        provider.aliases,
        dialect.name,
        dialect.live,
        dialect.about.made_by,
        () if dialect.live else tuple(dict.fromkeys(_places(dialect, provider.roots))),
        dialect.about.versions,
        dialect.has_end,
        dialect.about.end,
        dialect.has_prompt,
        dialect.losses,
    )


def _places(dialect: Dialect, roots: Iterable[LogRoot]) -> Iterable[str]:
    for root in roots:
        # the first of several patterns is the newest layout; a root of other dialects has none of `places`
        places = dialect.about.places
        for pattern in root.patterns[:1] if places is None else [place for place in places if place in root.patterns]:
            yield f"{root.default}/{pattern}"


def text_table(rows: Iterable[DialectRow], width: int | None = None) -> str:
    """The rows for people; lines longer than `width` are wrapped between words."""
    out: list[str] = []
    provider = None
    for row in rows:
        if row.provider != provider:
            names = f", also {', '.join(row.aliases)}" if row.aliases else ""
            out += ["", f"{row.title} ({row.provider}{names})"]
            provider = row.provider
        out.append(f"  {row.dialect}  ({'live' if row.live else 'on disk'})")
        out += [f"    {label}: {_shortened(value) if label == STORED else value}" for label, value in facts_of(row)]
        out += [f"    missing: {loss}" for loss in row.losses]
    lines = out[1:]
    if width is not None:
        room = max(width, 40)
        lines = [piece for line in lines for piece in wrap(line, room, subsequent_indent=" " * 6) or [""]]
    return "\n".join(lines) + "\n"


def _shortened(places: str) -> str:
    """The places of an agent's logs for a terminal: the first ones, and how many others `--json` lists."""
    listed = places.split(", ")
    more = len(listed) - MOST_PLACES
    return places if more <= 0 else f"{', '.join(listed[:MOST_PLACES])} and {more} others (--json lists them)"


def facts_of(row: DialectRow) -> list[tuple[str, str]]:
    facts = [("from", row.produced_by)] if row.produced_by else []
    if row.lies_in:
        facts.append((STORED, ", ".join(row.lies_in)))
    if row.produced_by or row.versions:  # else its provider says neither
        facts.append(("versions", row.versions or "unknown (the log does not name them)"))
    facts.append(("end", row.end or ("an end record" if row.has_end else "none; its status is unknown")))
    if not row.has_prompt:
        facts.append(("prompt", "not in the log; --prompt adds it"))
    return facts

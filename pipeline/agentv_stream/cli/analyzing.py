"""The implementation of `analyze`: reads sessions one after the other and prints the findings of each."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

from msgspec import to_builtins

from agentv_stages.findings import Cite, Finding, Findings
from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import printable_json, printable_path
from agentv_stages.model.visible import counted, visible
from agentv_stages.session.parts import Parts
from agentv_stream.cli.interrupting import exit_code as ended_by
from agentv_stream.cli.interrupting import interruptible
from agentv_stream.cli.redacting import parts_for
from agentv_stream.cli.roots import roots_there
from agentv_stream.cli.telling import say, to_stdout
from agentv_stream.colour import Palette, palette
from agentv_stream.discovery.discover import find_sessions, only
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.places import Root, cache_file, find_roots
from agentv_stream.discovery.show import open_log
from agentv_stream.discovery.show_lines import whole_lines
from agentv_stream.errors import EXIT_FINE, EXIT_IO, AgentvStreamError
from agentv_stream.sources.files import is_folder
from agentv_stream.summary import SessionReader
from agentv_stream.units import count_text

PIPED = 200  # columns where there is no terminal
MOST_SHOWN = 3  # cites of a finding that people see
MOST_TEXT = 1000  # columns of a finding


def run_analyze(
    names: Sequence[str], provider: str | None, roots: Sequence[str], *, as_json: bool, redact: bool | None
) -> int:
    """Prints the findings of each session; returns the exit code. A session that cannot be read stops no other one."""
    code, unread = EXIT_FINE, list[str]()
    paint = palette(sys.stdout)
    try:
        parts, places = parts_for(redact), roots_there(roots, provider)
        with interruptible(), to_stdout():
            for name in _named(names, provider, unread.append):
                try:
                    path, found, more = _findings(name, provider, places, parts)
                except AgentvStreamError as error:
                    say(error)
                    code = EXIT_IO
                    continue
                rows = _json_lines(path, found, parts) if as_json else _lines(path, found, more, parts, paint)
                sys.stdout.writelines(rows)
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt as error:
        return ended_by(error)
    for message in unread:
        say(message)
    return EXIT_IO if unread else code


def _named(names: Sequence[str], provider: str | None, unread: Callable[[str], object]) -> Iterator[str]:
    """The sessions: those of a folder are found as `sessions` finds them."""
    wanted = only(provider)
    for name in names:
        if name == "-" or not is_folder(name):
            yield name
            continue
        roots = find_roots([name], provider=provider)
        for session in find_sessions(roots, HeaderCache(cache_file()), unread=unread):
            if wanted(session):
                yield session.path


def _findings(name: str, provider: str | None, roots: Sequence[Root], parts: Parts) -> tuple[str, list[Finding], int]:
    path, pieces = open_log(name, roots)
    reader, findings = SessionReader(pieces, path, provider, parts=parts), Findings()
    for batch in reader.batches():
        findings.observe(batch)
    return path, findings.finish(), findings.more


def _json_lines(path: str, found: list[Finding], parts: Parts) -> Iterator[str]:
    for finding in found:
        row = printable_json({"path": printable_path(path), **to_builtins(finding)})
        yield (row if parts.redactor is None else parts.redactor.hide(row)).decode() + "\n"


def _lines(path: str, found: list[Finding], more: int, parts: Parts, paint: Palette) -> Iterator[str]:
    width = max(60, shutil.get_terminal_size().columns) if sys.stdout.isatty() else PIPED
    yield paint("bold", visible(printable_path(path))) + "\n"  # never wrapped, so that it can be copied
    if not found:
        yield "  nothing found\n"
    for finding in found:
        text = finding.text
        if parts.redactor is not None:
            text = parts.redactor.hide(text.encode("utf-8", "replace")).decode()
        where = "" if finding.stream == MAIN else ", sub-agent"
        first, *rest = whole_lines(visible(text + where, MOST_TEXT), width - 24, 0)
        yield f"  {paint('warn', f'{finding.kind:<20}')} {first}\n"
        yield from (f"{'':<23}{line}\n" for line in rest)
        facts = [*_costs(finding), *map(_place, finding.cites[:MOST_SHOWN])]
        if len(finding.cites) > MOST_SHOWN:
            facts.append("…")
        if facts:
            for line in whole_lines(visible(" · ".join(facts), MOST_TEXT), width - 24, 0):
                yield f"{'':<23}{paint('dim', line)}\n"
    if more:
        yield f"  and {counted(more, 'further finding')}\n"
    yield "\n"


def _costs(finding: Finding) -> Iterator[str]:
    about = "~" if finding.basis == "estimated" else ""
    if finding.calls is not None:
        yield counted(finding.calls, "call")
    if finding.ms is not None:
        yield f"{finding.ms / 1000:,.0f} s"
    if finding.tokens is not None:
        yield f"{about}{count_text(finding.tokens)} tokens"


def _place(cite: Cite) -> str:
    where = f"turn {cite.turn}" if cite.turn is not None else f"record {cite.at.row}"
    return f"{where} {cite.at.tool}" if cite.at.tool else where

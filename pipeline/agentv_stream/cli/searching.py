"""The implementation of `search`: finds the places, then prints them for people or as JSON lines."""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import printable_json, printable_path
from agentv_stages.model.times import iso, nearest_date_ms
from agentv_stages.model.visible import columns, counted, visible
from agentv_stream.cli.interrupting import exit_code as ended_by
from agentv_stream.cli.interrupting import interruptible
from agentv_stream.cli.periods import When, chosen_period
from agentv_stream.cli.roots import roots_there
from agentv_stream.cli.telling import say, to_stdout
from agentv_stream.colour import Palette, palette
from agentv_stream.discovery.discover import Session, project_of
from agentv_stream.discovery.places import is_database
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_VERDICT, AgentvStreamError, UsageError
from agentv_stream.redaction.redaction import redaction_of, redactor_of
from agentv_stream.searching.scan import Place
from agentv_stream.searching.search import Hits, Outcome, search_sessions
from agentv_stream.settings import from_process
from agentv_stream.sources.files import absolute, is_folder
from agentv_stream.stores.store import split_stored
from agentv_stream.units import age_text

MOST_PLACES = 5  # of a session that are shown to people
LEAST_ABOUT = 10  # columns for the prompt; with less room it is left out
MOST_BEFORE = 30  # columns of a snippet before the text
PIPED = 200  # columns where there is no terminal


def run_search(
    text: str,
    paths: Sequence[str],
    *,
    roots: Sequence[str],
    when: When,
    as_json: bool,
    redact: bool | None,
    options: dict[str, Any],
) -> int:
    """Searches and prints; returns the exit code."""
    try:
        if not text.strip():
            raise UsageError('TEXT is empty; `agentv-stream search "some words"` looks for them in all sessions')
        period, _ = chosen_period(*when)
        redaction = redaction_of(from_process({"redact": redact}))
        folders = [path for path in paths if not split_stored(path)[1] and (is_folder(path) or is_database(path))]
        files = [path if split_stored(path)[1] else str(absolute(path)) for path in paths if path not in folders]
        elsewhere = [*folders, *roots]
        places = [] if files and not elsewhere else roots_there(elsewhere, options["provider"])
        with interruptible():
            outcome = search_sessions(text, places, files, period=period, redaction=redaction, **options)
        if redaction is not None:
            for hits in outcome.hits:
                hits.session.read_texts(redactor_of(redaction))
        named = "path" if paths or roots else "id"
        with to_stdout():
            sys.stdout.writelines(_json_lines(outcome, text, named) if as_json else _lines(outcome, text, named))
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt as error:
        return ended_by(error)
    for trouble in outcome.troubles:
        say(trouble)
    if outcome.unread:
        say(f"{counted(outcome.unread, 'older session')} may also hold it; --limit 0 reads all")
    return EXIT_IO if outcome.troubles else EXIT_FINE if outcome.hits else EXIT_VERDICT


def show_command(session: Session, named: str, text: str, turn: int | None = None) -> str:
    """The command that shows where a session holds a text; with `turn` only that turn."""
    name = session.path if named == "path" or not session.header.session_id else session.id
    words = ["agentv-stream", "show", name if not name.startswith("-") else f"./{name}"]
    words += ["--turn", str(turn)] if turn is not None else []
    words += [f"--grep={text}"] if text.startswith("-") else ["--grep", text]
    return shlex.join(printable_path(word) for word in words)


def _json_lines(outcome: Outcome, text: str, named: str) -> Iterator[str]:
    for hits in outcome.hits:
        header = hits.session.header
        for place in hits.places:
            row = {
                "session_id": hits.session.id,
                "provider": header.provider,
                "project": header.cwd,
                "path": hits.session.path,
                "turn": place.turn,
                "stream": place.stream,
                "role": place.role,
                "time": iso(nearest_date_ms(place.time_ms)) if place.time_ms is not None else None,
                "place": place.where,
                "tool": place.tool,
                "before": place.before,
                "found": place.found,
                "after": place.after,
                "command": show_command(hits.session, named, text, place.turn),
            }
            yield printable_json(row).decode() + "\n"


def _lines(outcome: Outcome, text: str, named: str) -> Iterator[str]:
    paint = palette(sys.stdout)
    terminal = sys.stdout.isatty()
    width = max(60, shutil.get_terminal_size().columns) if terminal else PIPED
    for hits in outcome.hits:
        yield from _session_lines(hits, text, named, width if terminal else None, paint)
    if not outcome.hits:
        yield f"no session holds {visible(text, 60)!r}; {counted(outcome.logs, 'log')} searched\n"


def _session_lines(hits: Hits, text: str, named: str, width: int | None, paint: Palette) -> Iterator[str]:
    session = hits.session
    session.read_texts()
    header = session.header
    age = age_text(max(0.0, time.time() - session.updated_ms / 1000))
    facts = visible(f"  {header.provider}  {project_of(header.cwd)}  {age}  ")
    name = visible(session.id, 60)
    about = header.title or header.prompt or ""
    room = (width or PIPED) - columns(name) - columns(facts)
    yield f"{paint('bold', name)}{facts}{visible(about, room) if about and room >= LEAST_ABOUT else ''}".rstrip() + "\n"
    shown = hits.places if width is None else hits.places[:MOST_PLACES]
    for place in shown:
        where = f"  turn {place.turn:<3} {_where(place):<16} "
        before, found, after = _snippet(place, (width or PIPED) - columns(where))
        yield f"{paint('dim', where)}{before}{paint('match', found)}{after}\n"
    if len(shown) < len(hits.places):
        yield paint("dim", f"  … {counted(len(hits.places) - len(shown), 'more place')}") + "\n"
    yield f"  {visible(show_command(session, named, text))}\n\n"


def _where(place: Place) -> str:
    label = f"{visible(place.tool, 20)} {place.where}" if place.tool is not None else place.where
    if place.where == "text":
        label = place.role
    return label if place.stream == MAIN else f"{label}, sub-agent"


def _snippet(place: Place, room: int) -> tuple[str, str, str]:
    """The text with what stands around it, in `room` columns; line ends and blanks become one blank."""
    before, found, after = (visible(part) for part in _plain(place))
    found = visible(found, max(room - 10, 10))
    lead = min(MOST_BEFORE, max(room - columns(found) - bool(after), 0))  # of what follows at least an ellipsis
    if columns(before) > lead:
        cut = len(before)
        while cut and columns(before[cut - 1 :]) < lead:
            cut -= 1
        before = "…" + before[cut:]
    return before, found, visible(after, max(room - columns(before) - columns(found), 1)) if after else ""


def _plain(place: Place) -> Iterator[str]:
    for part in (place.before, place.found, place.after):
        words = " ".join(part.split())
        yield f"{' ' if part[:1].isspace() else ''}{words}{' ' if words and part[-1:].isspace() else ''}"

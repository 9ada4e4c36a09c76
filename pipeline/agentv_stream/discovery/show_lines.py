"""Lines of a session for people: head, messages with their calls, foot. Nothing in them acts on a terminal."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING

from agentv_stages.figures.result import Result
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import MAIN, Notification
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import text_of
from agentv_stages.model.text_matches import output_of, strings_in
from agentv_stages.model.text_query import TextQuery
from agentv_stages.model.times import parse_iso
from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import columns, counted, fitting, visible
from agentv_stream.colour import STATUSES, Palette, Style
from agentv_stream.discovery.period import Zone

SIGNS = {"ok": "✓", "error": "✗", "denied": "⊘", "cancelled": "⊗", "unpaired": "?"}
STYLES: dict[str, Style] = {"ok": "pass", "error": "fail", "denied": "warn", "cancelled": "warn", "unpaired": "warn"}
LINES_OF_TEXT = 12
LINES_OF_LINE = 4
LINES_AROUND = 2  # shown before and after a line that holds the text
LEAST = 20  # columns

if TYPE_CHECKING:
    from agentv_stream.costs.rates import Rates


@dataclass(frozen=True)
class Look:
    """How a session is printed: `width` in columns; with `full` nothing is shortened; times are in `zone`.

    With `query`, texts show the lines that hold it and those around them. `window` is the context in tokens that the
    log states. `rates` estimate the cost if the agent reports none, and the context if the log states none.
    """

    width: int
    full: bool
    zone: Zone
    paint: Palette
    query: TextQuery | None = None
    window: int | None = None
    rates: "Rates | None" = None


def head_lines(result: Result, path: str, look: Look) -> Iterator[str]:
    session, paint = result.session, look.paint
    facts = (session.provider, session.model, session.version, session.cwd)
    for line in whole_lines(f"session {session.id or '?'}  {'  '.join(f for f in facts if f)}", look.width):
        yield paint("bold", line)
    started = parse_iso(session.started_at)
    when = f"{look.zone.at(started):%Y-%m-%d %H:%M:%S} {look.zone.name}" if started is not None else "?"
    yield from whole_lines(f"started {when}", look.width)
    reason = f"  {result.evidence.reason}" if result.evidence.reason and result.status != "complete" else ""
    for line in whole_lines(f"status {result.status}{reason}", look.width):
        yield paint(STATUSES.get(result.status, "warn"), line)
    yield f"log {visible(path)}"  # never wrapped, so that it can be copied
    yield ""


def message_lines(message: Message, look: Look) -> Iterator[str]:
    time_ms = message.source.time_ms
    when = f"{look.zone.at(time_ms):%H:%M:%S}" if time_ms is not None else " " * 8
    speaker = f"turn {message.turn}" if message.turn is not None else message.role
    where = "" if message.source.stream == MAIN else f" [{message.source.stream}]"
    notes = "".join(f" ({flag})" for flag in ("injected", "synthetic", "retracted", "late") if getattr(message, flag))
    indent = "" if message.source.stream == MAIN else "  │ "
    width = look.width - len(indent)
    head = f"{when} {speaker}{where}{notes}"
    for n, line in enumerate(whole_lines(f"{head}{_context(message, look)}", width, 9)):
        own = line[: len(head)] if not n and line.startswith(head) else line
        yield indent + look.paint("bold", own) + look.paint("dim", line[len(own) :])
    for block in message.content:
        if bytes(block)[:1] in (b'"', b"["):
            yield from (indent + line for line in _text(text_of(block), width, look))
    if look.query is not None:
        for block in message.thinking:
            if look.query.find(text := text_of(block)) is not None:
                yield f"{indent}    {look.paint('dim', '(thinking)')}"
                yield from (indent + line for line in _text(text, width, look))
    for paired in message.calls:
        yield from (indent + line for line in _call(paired, width, look))


def note_lines(note: Notification, look: Look) -> Iterator[str]:
    """The mark of a compaction."""
    about = f": {note.message}" if note.message else ""
    for line in whole_lines(f"── the context was compacted{about}", look.width, 3):
        yield look.paint("warn", line)


def foot_lines(result: Result, look: Look) -> Iterator[str]:
    summary, tokens, width = result.tool_use_summary, result.tokens, look.width
    yield ""
    most = sorted(summary["by_tool"].items(), key=lambda i: -i[1])
    tools = ", ".join([f"{name} {count}" for name, count in most[:8]] + (["…"] if len(most) > 8 else []))
    named = f" ({tools})" if tools else ""
    yield from whole_lines(f"turns {summary['turns']}, calls {summary['total_tool_calls']}{named}", width)
    cost = _cost(result, look)
    prompt = f"{tokens['input']:,}" if tokens["input"] is not None else "?"
    took = f", {result.duration_ms / 1000:.1f} s" if result.duration_ms is not None else ""
    first = summary["first_edit_turn"]
    edit = f", first edit turn {first}" if first is not None else ""
    yield from whole_lines(f"tokens in {prompt} out {output_text(tokens)}{cost}{took}{edit}", width)


def _cost(result: Result, look: Look) -> str:
    if result.cost_usd is not None:
        return f", cost ${result.cost_usd:.4f}"
    estimated = look.rates.of_result(result) if look.rates is not None else None
    if estimated is None or look.rates is None:
        return ""
    return f", cost ~${estimated:.4f} (estimated at list prices, {look.rates.table})"


def _context(message: Message, look: Look) -> str:
    usage = message.usage
    if usage is None or usage.input is None:
        return ""
    window, sign = look.window, ""
    if not window and look.rates is not None:
        window, sign = look.rates.window(message.model), "~"
    share = f" = {sign}{(200 * usage.input + window) // (2 * window)} % of {window:,}" if window else ""
    return f"  context {usage.input:,}{share}"


def _text(text: str, width: int, look: Look, indent: str = "    ") -> Iterator[str]:
    lines = list(dropwhile(lambda line: not line.strip(), text.rstrip().splitlines()))  # the first may be indented
    if look.query is not None and look.query.find(text) is not None:
        yield from _around(lines, look.query, width, look, indent)
        return
    shown = lines if look.full else lines[:LINES_OF_TEXT]
    for line in shown:
        yield from _line(line, width, look, indent)
    if len(shown) < len(lines):
        yield look.paint("dim", f"{indent}… {len(lines) - len(shown)} lines more")


def _around(lines: list[str], query: TextQuery, width: int, look: Look, indent: str) -> Iterator[str]:
    """The lines that hold the text, and those around them; gaps are marked. All lines if the text spans several."""
    at = [n for n, line in enumerate(lines) if query.find(line) is not None] or list(range(len(lines)))
    near = sorted({n for hit in at for n in range(hit - LINES_AROUND, hit + LINES_AROUND + 1) if 0 <= n < len(lines)})
    for n, before in zip(near, (-1, *near), strict=False):
        if n != before + 1:
            yield look.paint("dim", f"{indent}…")
        yield from _line(lines[n], width, look, indent)
    if near and near[-1] < len(lines) - 1:
        yield look.paint("dim", f"{indent}…")


def _line(line: str, width: int, look: Look, indent: str) -> Iterator[str]:
    """One line of a text, wrapped; of a long one the beginning, or the part that holds the text that is looked for."""
    pieces = wrapped(visible(line.rstrip()), max(width - len(indent), LEAST))
    query = look.query
    first = 0
    if query is not None and not look.full:
        first = next((n for n, piece in enumerate(pieces) if query.find(piece) is not None), 0)
        first = max(0, first - 1) if first >= LINES_OF_LINE else 0
    shown = pieces if look.full else pieces[first : first + LINES_OF_LINE]
    if first:
        yield look.paint("dim", f"{indent}…")
    for piece in shown:
        yield (indent + (marked(piece.rstrip(), query, look.paint) if query is not None else piece)).rstrip()
    if first + len(shown) < len(pieces):
        yield look.paint("dim", f"{indent}…")


def marked(text: str, query: TextQuery, paint: Palette) -> str:
    """The text with every match of the query in colour."""
    out, at = "", 0
    for start, end in query.spans(text) if paint.on else ():
        out += text[at:start] + paint("match", text[start:end])
        at = end
    return out + text[at:]


def _call(paired: PairedCall, width: int, look: Look) -> Iterator[str]:
    call, result = paired.call, paired.result
    outcome = "unpaired" if result is None else result.outcome or "ok"
    took = f" {result.duration_ms / 1000:.1f}s" if result is not None and result.duration_ms is not None else ""
    code = f" exit {result.exit_code}" if result is not None and result.exit_code else ""
    word = "" if outcome == "ok" else f" {outcome}"
    head = f"  {SIGNS[outcome]} {visible(call.tool or call.name)}{word}{code}"
    line = f"  {SIGNS[outcome]} {call.tool or call.name}{word}{code}{took}  {target_of(call)}"
    query = look.query
    for n, part in enumerate(whole_lines(line, width, 6) if look.full else [visible(line, width)]):
        own = len(head) if not n and part.startswith(head) else 0
        rest = marked(part[own:], query, look.paint) if query is not None else part[own:]
        yield look.paint(STYLES[outcome], part[:own]) + rest
    if query is not None and query.find(visible(line)) is None:
        for text in strings_in(call.input_json):
            if query.find(text) is not None:
                yield from _text(text, width, look, "      ")
                break
    output = output_of(result.output_json) if result is not None else ""
    if look.full or outcome in ("error", "denied") or (query is not None and query.find(output) is not None):
        yield from _text(output, width, look, "      ")


def selection_foot(shown: int, messages: int, look: Look) -> Iterator[str]:
    yield look.paint("dim", f"{shown:,} of {counted(messages, 'message')} shown")


def whole_lines(text: str, width: int, indent: int = 2) -> Iterator[str]:
    """A line that is never cut: what does not fit is continued on indented lines."""
    first, *rest = wrapped(visible(text), width)
    yield first.rstrip()
    for piece in wrapped("".join(rest), max(width - indent, LEAST)) if rest else ():
        yield " " * indent + piece.rstrip()


def wrapped(text: str, width: int) -> list[str]:
    """A line as lines of at most `width` columns, broken at spaces, else between wide characters, else anywhere.

    The blank at which a line is broken stays at its end, and may be one column too many.
    """
    if text.isascii():
        pieces = textwrap.wrap(text, width, drop_whitespace=False, break_on_hyphens=False) or [""]
        begun = [piece.startswith(" ") for piece in pieces[1:]]
        ended = [piece + " " * blank for piece, blank in zip(pieces, [*begun, False], strict=True)]
        return [ended[0], *(piece[blank:] for piece, blank in zip(ended[1:], begun, strict=True))]
    lines: list[str] = []
    while (fits := fitting(text, width)) < len(text):
        blank = text.rfind(" ", 0, fits) + 1
        cut = blank if blank and text[:fits].isascii() else max(fits, 1)
        for back in range(cut, max(cut - 20, 0), -1):  # the nearest possible line break
            if text[back - 1] == " " or columns(text[back - 1]) == 2:
                cut = back
                break
        lines.append(text[:cut])
        text = text[cut:]
    return [*lines, text]

"""A session to read. In: its log. Out: lines of printable text, without effect on the terminal, or JSON rows."""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

from agentv_stages.figures.result import Result
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import MAIN, ToolResult
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import text_of
from agentv_stages.model.times import iso
from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import columns, fitting, visible
from agentv_stages.session.parts import NONE, Parts
from agentv_stages.sinks.transcript import TranscriptRows, closing_members
from agentv_stream.discovery.discover import named_session
from agentv_stream.discovery.places import Root
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.outputs.session_name import Log, changed_ms, identity_of
from agentv_stream.sources.files import check_readable, is_folder, is_there, read_pieces, unpacked
from agentv_stream.stores.store import STORE_SIGN
from agentv_stream.summary import SessionReader

SIGNS = {"ok": "✓", "error": "✗", "denied": "⊘", "cancelled": "⊗", "unpaired": "?"}
LINES_OF_TEXT = 12
LINES_OF_LINE = 4


def show_session(
    name: str, provider: str | None, roots: Sequence[Root], width: int, full: bool, parts: Parts = NONE
) -> Iterator[str]:
    """Yields the lines. Raises: UsageError, SourceError, NotALog, EmptyInput."""
    width = width or shutil.get_terminal_size((100, 40)).columns
    path, reader, messages = _read(name, provider, roots, parts)
    result = reader.result()
    yield from _head(result, path, width)
    window = reader.observer.totals.state.context_window
    for message in messages:
        yield from _message(message, width, full, window)
    yield from _foot(result, width)


def session_rows(name: str, provider: str | None, roots: Sequence[Root], parts: Parts = NONE) -> Iterator[bytes]:
    """The rows of the session's transcript, in the messages' order, the totals in the first. Raises: as
    `show_session`."""
    path, reader, messages = _read(name, provider, roots, parts)
    observer, now_ms = reader.observer, time.time_ns() // 1_000_000
    piped = name == "-"
    log = Log(None, None, now_ms) if piped else Log(path, path, changed_ms(path, now_ms))
    identity = identity_of(observer, log)
    rows = TranscriptRows(identity, gap=False)
    for message in messages:
        yield rows.row(message, b"" if rows.rows else closing_members(observer))


def _read(
    name: str, provider: str | None, roots: Sequence[Root], parts: Parts
) -> tuple[str, SessionReader, list[Message]]:
    """The log, its reader, and its messages in order."""
    path, pieces = open_log(name, roots)
    reader = SessionReader(pieces, path, provider, messages=True, parts=parts)
    messages = [message for batch in reader.batches() for message in batch.messages]
    return path, reader, sorted(messages, key=lambda m: m.index)


def open_log(name: str, roots: Sequence[Root]) -> tuple[str, Iterable[bytes]]:
    """The path and the bytes of a session, named by its id, its beginning or its path; `-` is standard input.

    Raises: UsageError, SourceError.
    """
    if name == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("no input: standard input is a terminal")
        return "<stdin>", unpacked(sys.stdin.buffer, "standard input")
    path = name
    if STORE_SIGN not in name and not is_there(name):
        path = named_session(roots, name).path
    store, sign, session = path.partition(STORE_SIGN)
    if sign:
        from agentv_stream.stores.rows import read_session

        return path, (row + b"\n" for row in read_session(store, session))
    if is_folder(path):
        raise SourceError(
            f"cannot read {path}: it is a directory; `agentv-stream sessions --root {path}` lists the sessions in it"
        )
    check_readable(Path(path))
    return path, read_pieces(Path(path))


def _head(result: Result, path: str, width: int) -> Iterator[str]:
    session = result.session
    facts = (session.provider, session.model, session.version, session.cwd)
    yield from _whole(f"session {session.id or '?'}  {'  '.join(f for f in facts if f)}", width)
    yield from _whole(f"started {session.started_at or '?'}  status {result.status}", width)
    yield f"log {visible(path)}"  # never wrapped, so that it can be copied
    yield ""


def _message(message: Message, width: int, full: bool, window: int | None) -> Iterator[str]:
    when = iso(message.source.time_ms)[11:19] if message.source.time_ms is not None else "        "
    who = f"turn {message.turn}" if message.turn is not None else message.role
    where = "" if message.source.stream == MAIN else f" [{message.source.stream}]"
    notes = "".join(f" ({flag})" for flag in ("injected", "synthetic", "retracted", "late") if getattr(message, flag))
    usage = message.usage
    context = ""
    if usage is not None and usage.input is not None:
        share = f" = {(200 * usage.input + window) // (2 * window)} % of {window:,}" if window else ""
        context = f"  context {usage.input:,}{share}"
    yield from _whole(f"{when} {who}{where}{notes}{context}", width, 9)
    for text in (text_of(block) for block in message.content if bytes(block)[:1] in (b'"', b"[")):
        yield from _text(text, width, full)
    for paired in message.calls:
        yield from _call(paired, width, full)


def _text(text: str, width: int, full: bool, indent: str = "    ") -> Iterator[str]:
    lines = list(dropwhile(lambda line: not line.strip(), text.rstrip().splitlines()))  # the first may be indented
    shown = lines if full else lines[:LINES_OF_TEXT]
    for line in shown:
        room = max(width - len(indent), 20)
        safe = visible(line.rstrip())
        pieces = wrapped(safe, room)
        for piece in pieces if full else pieces[:LINES_OF_LINE]:
            yield (indent + piece).rstrip()
        if not full and len(pieces) > LINES_OF_LINE:
            yield indent + "…"
    if len(shown) < len(lines):
        yield f"{indent}… {len(lines) - len(shown)} lines more"


def _whole(text: str, width: int, indent: int = 2) -> Iterator[str]:
    """A line that is never cut: what does not fit is continued on indented lines."""
    first, *rest = wrapped(visible(text), width)
    yield first.rstrip()
    for piece in wrapped("".join(rest), max(width - indent, 20)) if rest else ():
        yield " " * indent + piece.rstrip()


def wrapped(text: str, width: int) -> list[str]:
    """A line as lines of at most `width` columns, broken at spaces, else between wide characters, else anywhere."""
    if text.isascii():
        return textwrap.wrap(text, width, drop_whitespace=False, break_on_hyphens=False) or [""]
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


def _call(paired: PairedCall, width: int, full: bool) -> Iterator[str]:
    call, result = paired.call, paired.result
    outcome = "unpaired" if result is None else result.outcome or "ok"
    took = f" {result.duration_ms / 1000:.1f}s" if result is not None and result.duration_ms is not None else ""
    code = f" exit {result.exit_code}" if result is not None and result.exit_code else ""
    told = "" if outcome == "ok" else f" {outcome}"
    line = f"  {SIGNS[outcome]} {call.tool or call.name}{told}{code}{took}  {target_of(call)}"
    yield from _whole(line, width, 6) if full else [visible(line, width)]
    if result is not None and (full or outcome in ("error", "denied")):
        yield from _text(_output(result), width, full, "      ")


def _output(result: ToolResult) -> str:
    if result.output_json is None:
        return ""
    return text_of(result.output_json) or bytes(result.output_json).decode("utf-8", "replace")


def _foot(result: Result, width: int) -> Iterator[str]:
    summary, tokens = result.tool_use_summary, result.tokens
    yield ""
    most = sorted(summary["by_tool"].items(), key=lambda i: -i[1])
    tools = ", ".join([f"{name} {count}" for name, count in most[:8]] + (["…"] if len(most) > 8 else []))
    named = f" ({tools})" if tools else ""
    yield from _whole(f"turns {summary['turns']}, calls {summary['total_tool_calls']}{named}", width)
    cost = f", cost ${result.cost_usd:.4f}" if result.cost_usd is not None else ""
    given = f"{tokens['input']:,}" if tokens["input"] is not None else "?"
    took = f", {result.duration_ms / 1000:.1f} s" if result.duration_ms is not None else ""
    first = summary["first_edit_turn"]
    edit = f", first edit turn {first}" if first is not None else ""
    yield from _whole(f"tokens in {given} out {output_text(tokens)}{cost}{took}{edit}", width)

"""A tool call as HTML: its outcome, its subject, its input (edits as diffs), its output."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import FAILED_OUTCOMES, ToolCall, ToolResult
from agentv_stages.model.message import PairedCall
from agentv_stages.model.payload import decode_json, text_of
from agentv_stages.sinks.plain_content import plain_content
from agentv_stream.discovery.show_lines import SIGNS
from agentv_stream.pages.text import diff, duration_text, escaped, replaced, terminal

HEAD_BYTES = 4 * 1024
TAIL_BYTES = 2 * 1024
SHORTEST_MS = 50  # a shorter duration is not shown
OPEN_LINES = 12  # a longer output is folded
_TARGET = 200
_FIRST_LINES = 40  # of a file that is written
_PAIRS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("oldString", "newString"))
_CONTENTS = ("content", "contents", "file_text", "fileText")
_PATCHES = ("patch", "patchText", "patch_text", "input", "diff", "command")


def outcome_of(paired: PairedCall) -> str:
    """The outcome; `unpaired` while there is no result."""
    return "unpaired" if paired.result is None else paired.result.outcome or "ok"


def call_html(paired: PairedCall, name: str, full: bool, folder: str = "") -> str:
    """One call as a `details` element on one line, open if it failed. `name` is its id in the page; a path below
    `folder` is shown without it."""
    call, result = paired.call, paired.result
    outcome = outcome_of(paired)
    about = [f'<span class="out">{SIGNS[outcome]} {outcome}</span>', f"<b>{escaped(call.tool or call.name)}</b>"]
    target = target_of(call).removeprefix(folder)
    if target:
        short = target if len(target) <= _TARGET else target[: _TARGET - 1] + "…"
        about.append(f"<code>{escaped(' '.join(short.split()))}</code>")
    if result is not None and result.exit_code:
        about.append(f"exit {result.exit_code}")
    took = result.duration_ms if result is not None else None
    if took is not None and took >= SHORTEST_MS:
        about.append(duration_text(took))
    body = _input(call, full) + _output(result, full)
    failed = outcome in FAILED_OUTCOMES
    state = " open" if failed else ""
    return f'<details class="call {outcome}" id="{name}"{state}><summary>{" ".join(about)}</summary>{body}</details>'


def _input(call: ToolCall, full: bool) -> str:
    try:
        value = decode_json(call.input_json)
    except (ValueError, RecursionError):
        return f"<pre>{escaped(_cut(bytes(call.input_json), full))}</pre>"
    changes = list(_changes(value)) if call.edit else []
    if changes:
        shown = changes if full else changes[:400]
        more = f"<p>{len(changes) - len(shown):,} lines more</p>" if len(shown) < len(changes) else ""
        return f'<pre class="diff">{diff(shown)}</pre>{more}'
    if (call.command is not None and len(call.command) > _TARGET) or "\n" in (call.command or ""):
        return f'<pre class="in">{escaped(_cut((call.command or "").encode("utf-8", "replace"), full))}</pre>'
    raw = bytes(call.input_json)
    if call.command is not None or raw == b"{}":
        return ""
    return f'<pre class="in">{escaped(_cut(raw, full))}</pre>'


def _changes(value: Any) -> Iterator[str]:
    """The lines of a diff for the input of an edit; none if its form is unknown."""
    if isinstance(value, str):
        yield from _patch_lines(value)
        return
    if not isinstance(value, Mapping):
        return
    members: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    for old, new in _PAIRS:
        if isinstance(members.get(old), str) and isinstance(members.get(new), str):
            yield from replaced(members[old], members[new])
            return
    edits: Any = members.get("edits")
    if isinstance(edits, list):
        for edit in edits[:100]:  # pyright: ignore[reportUnknownVariableType] - decoded JSON
            yield from _changes(edit)
        return
    for key in _CONTENTS:
        if isinstance(members.get(key), str):
            lines = members[key].splitlines()
            yield from (f"+{line}" for line in lines[:_FIRST_LINES])
            if len(lines) > _FIRST_LINES:
                yield f"… {len(lines) - _FIRST_LINES:,} lines more"
            return
    for key in _PATCHES:
        if isinstance(members.get(key), str):
            yield from _patch_lines(members[key])
            return


def _patch_lines(text: str) -> Iterator[str]:
    if "*** Begin Patch" in text or "\n@@" in text or text.startswith(("---", "@@", "diff ")):
        yield from text.splitlines()


def _output(result: ToolResult | None, full: bool) -> str:
    if result is None or result.output_json is None:
        return ""
    content, omitted = plain_content([result.output_json])
    text = text_of(content)
    notes = "".join(f"<p>{count} × {escaped(kind)}, not shown</p>" for kind, count in omitted.items())
    if not text:
        return notes
    data = text.encode("utf-8", "replace")
    body = terminal(_cut(data, full))
    if text.count("\n") < OPEN_LINES and len(data) <= HEAD_BYTES:
        return f'<pre class="res">{body}</pre>{notes}'
    size = f"{len(data):,} bytes" if len(data) < 10_000 else f"{len(data) / 1000:,.0f} KB"
    about = f"Output, {text.count(chr(10)) + 1:,} lines, {size}"
    return f'<details class="res"><summary>{about}</summary><pre>{body}</pre></details>{notes}'


def _cut(data: bytes, full: bool) -> str:
    """The text of some bytes, with the middle left out if they are many."""
    if full or len(data) <= HEAD_BYTES + TAIL_BYTES:
        return data.decode("utf-8", "replace")
    left = len(data) - HEAD_BYTES - TAIL_BYTES
    head, tail = data[:HEAD_BYTES].decode("utf-8", "ignore"), data[-TAIL_BYTES:].decode("utf-8", "ignore")
    return f"{head}\n… {left:,} bytes left out …\n{tail}"

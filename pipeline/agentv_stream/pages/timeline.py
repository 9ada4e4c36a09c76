"""The timeline of a session: its turns and calls as an SVG picture, each a link to its place in the page."""

from collections.abc import Sequence
from typing import NamedTuple

from agentv_stream.pages.text import duration_text

WIDTH = 1_000
MOST = 1_500  # marks; of a longer session every n-th, and all failures


class Mark(NamedTuple):
    """A message or a call: `row` 0 for messages, 1 for calls. Times are UTC ms, None where the log has none."""

    row: int
    kind: str
    target: str
    begin_ms: int | None
    end_ms: int | None
    title: str


def timeline(marks: Sequence[Mark]) -> str:
    """The picture; nothing for fewer than two marks. Without times the marks follow each other at equal distances."""
    if len(marks) < 2:
        return ""
    step = -(-len(marks) // MOST)
    shown = [mark for i, mark in enumerate(marks) if i % step == 0 or mark.kind == "x"]
    times = [mark.begin_ms for mark in shown if mark.begin_ms is not None]
    first, last = (min(times), max(m.end_ms or m.begin_ms or 0 for m in shown)) if times else (0, 0)
    timed = len(times) == len(shown) and last > first
    scale = WIDTH / (last - first) if timed else WIDTH / len(shown)
    pieces: list[str] = []
    for i, mark in enumerate(shown):
        left = (((mark.begin_ms or first) - first) if timed else i) * scale
        length = ((mark.end_ms or mark.begin_ms or 0) - (mark.begin_ms or 0)) * scale if timed else scale * 0.8
        width = min(max(length, 1.5), WIDTH - left + 1.5)
        pieces.append(
            f'<a href="#{mark.target}"><rect class="{mark.kind}" x="{left:.1f}" y="{8 + 20 * mark.row}" '
            f'width="{width:.1f}" height="14"><title>{mark.title}</title></rect></a>'
        )
    length_text = duration_text(last - first) if timed else f"{len(marks):,} steps"
    return (
        f'<svg viewBox="0 0 {WIDTH} 46" preserveAspectRatio="none" role="img" '
        'aria-label="Timeline of messages and calls">'
        f'<rect class="a" x="0" y="44" width="{WIDTH}" height="1"/>{"".join(pieces)}</svg>'
        f'<p class="axis"><span>messages above, calls below</span><span>{length_text}</span></p>'
    )

"""An index of pages: results and the places of pages in, one HTML file with totals, a plot and a table out.

The table can be sorted by each column and filtered by words; without scripts it is a plain table.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from agentv_stages.figures.result import Result
from agentv_stages.model.event import FAILED_OUTCOMES
from agentv_stages.model.visible import counted
from agentv_stream.pages.style import policy
from agentv_stream.pages.text import duration_text, escaped
from agentv_stream.units import count_text

INDEX = "index.html"
WIDTH, HEIGHT = 1_000, 90
LEAST_DAYS, MOST_DAYS = 30, 400
STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2630;--dim:#5a6672;--line:#d8dee5;--link:#1f5fa8;--bad:#b3261e;
--row:#f5f7f9}
@media(prefers-color-scheme:dark){:root{--bg:#12171d;--fg:#dde4eb;--dim:#97a4b1;--line:#2d3844;--link:#7db4f0;
--bad:#ff8a80;--row:#1a2129}}
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;background:var(--bg);color:var(--fg);margin:0 auto;
max-width:90rem;padding:1rem clamp(.7rem,3vw,2rem) 4rem}a{color:var(--link)}h1{font-size:1.4rem;margin:.3rem 0}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .5rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;white-space:nowrap}
td.title{white-space:normal;overflow-wrap:anywhere;min-width:12rem;width:45%}.n{text-align:right}
th button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
input{font:inherit;padding:.3rem .6rem;width:min(100%,30rem);color:inherit;background:var(--bg);
border:1px solid var(--line);border-radius:6px;margin:.6rem 0}svg{width:100%;height:auto;display:block;margin:.6rem 0}
svg rect{fill:var(--link)}svg text{fill:var(--dim);font:11px system-ui,sans-serif}.bad{color:var(--bad)}
.dim{color:var(--dim)}:focus-visible{outline:2px solid var(--link)}tbody tr:hover{background:var(--row)}
@media(max-width:64rem){.w1{display:none}}@media(max-width:40rem){.w2{display:none}th,td{padding:.3rem}}
@media(max-width:30rem){.w3{display:none}td.title{min-width:9rem}}
@media print{input{display:none}}
"""
SCRIPT = """
(()=>{const body=document.querySelector('tbody'),rows=[...body.rows],heads=[...document.querySelectorAll('th')];
const value=(row,i)=>{const v=row.cells[i].dataset.v;return v===undefined?row.cells[i].textContent.toLowerCase():+v};
heads.forEach((head,i)=>{const b=document.createElement('button');b.textContent=head.textContent;
head.replaceChildren(b);b.addEventListener('click',()=>{const down=head.getAttribute('aria-sort')==='descending';
heads.forEach(h=>h.removeAttribute('aria-sort'));head.setAttribute('aria-sort',down?'ascending':'descending');
const sign=down?1:-1;rows.sort((a,c)=>{const x=value(a,i),y=value(c,i);return x<y?-sign:x>y?sign:0});
body.append(...rows)})});const find=document.createElement('input');find.type='search';
find.placeholder='Filter by words: agent, model, title, folder, status';find.setAttribute('aria-label','Filter');
const count=document.createElement('span');count.className='dim';count.setAttribute('role','status');
document.querySelector('.scroll').before(find,' ',count);find.addEventListener('input',()=>{
const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);let n=0;for(const row of rows){
const text=row.textContent.toLowerCase();row.hidden=!words.every(w=>text.includes(w));n+=!row.hidden}
count.textContent=words.length?n+' of '+rows.length:''})})()
"""
_TEXTS = {"Title": "", "Started": "w3", "Agent": "w2", "Status": ""}
_NUMBERS = {
    "Turns": "n w1", "Calls": "n w2", "Failed": "n w2", "In": "n w1", "Out": "n w1", "Cost": "n",
    "Time": "n w1",
}  # fmt: skip
"""The columns, with classes that hide some of them in narrow windows. In and Out are tokens."""
_MEANINGS = {"In": "Input tokens", "Out": "Output tokens"}


class IndexRow(NamedTuple):
    """A session's row in the index; `link` is its page, relative to the index."""

    link: str
    title: str
    started: str
    provider: str
    model: str | None
    folder: str | None
    status: str
    turns: int | None
    calls: int
    failed: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    duration_ms: int | None


def row_of(result: Result, link: str, title: str | None) -> IndexRow:
    """The row of a result; `title` is that of the page."""
    session, summary, tokens = result.session, result.tool_use_summary, result.tokens
    return IndexRow(
        link,
        (title or session.id or link)[:200],
        session.started_at or "",
        session.provider,
        session.model,
        session.cwd,
        result.status,
        summary["turns"],
        summary["total_tool_calls"],
        sum(summary["by_outcome"].get(name, 0) for name in FAILED_OUTCOMES),
        tokens["input"],
        tokens["output"],
        result.cost_usd if result.cost_usd is not None else result.estimated_cost_usd or None,
        result.duration_ms,
    )


def index_page(sessions: Iterable[IndexRow]) -> Iterator[bytes]:
    """The document in pieces; newest sessions first."""
    found = sorted(sessions, key=lambda row: row.started, reverse=True)
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(STYLE, SCRIPT)}">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>Sessions</title><style>{STYLE}</style></head><body><main><h1>Sessions</h1>"
        f"<p>{_totals(found)}</p>{_plot(found)}<div class='scroll'><table><thead><tr>"
        f"{''.join(_head(*column) for column in (_TEXTS | _NUMBERS).items())}</tr></thead><tbody>\n"
    ).encode()
    for row in found:
        yield _row(row).encode("utf-8", "replace")
    yield f"</tbody></table></div></main><script>{SCRIPT}</script></body></html>\n".encode()


def _head(name: str, classes: str) -> str:
    about = f' title="{_MEANINGS[name]}"' if name in _MEANINGS else ""
    return f'<th class="{classes}"{about}>{name}</th>' if classes else f"<th>{name}</th>"


def _totals(sessions: list[IndexRow]) -> str:
    costs = [row.cost_usd for row in sessions if row.cost_usd is not None]
    turns, calls = sum(row.turns or 0 for row in sessions), sum(row.calls for row in sessions)
    parts = [counted(len(sessions), "session"), counted(turns, "turn"), counted(calls, "call")]
    if failed := sum(row.failed for row in sessions):
        parts.append(f'<span class="bad">{failed:,} failed</span>')
    if costs:
        unknown = len(sessions) - len(costs)
        parts.append(f"${sum(costs):,.2f}" + (f" ({counted(unknown, 'session')} without a cost)" if unknown else ""))
    return ", ".join(parts)


def _plot(sessions: list[IndexRow]) -> str:
    """A bar for each day on which sessions began, at its place in the calendar: the latest 400 days."""
    days = Counter(day for row in sessions if (day := _day(row.started)) is not None)
    if len(days) < 2:
        return ""
    last, most = max(days), max(days.values())
    count = max(LEAST_DAYS, min(MOST_DAYS, last - min(days) + 1))
    first, step = max(1, last - count + 1), WIDTH / count
    bars = "".join(
        f'<rect x="{(day - first) * step:.1f}" y="{HEIGHT - began / most * HEIGHT:.1f}" '
        f'width="{max(step - 1, 1):.1f}" height="{began / most * HEIGHT:.1f}">'
        f"<title>{date.fromordinal(day)}: {began:,}</title></rect>"
        for day, began in sorted(days.items())
        if day >= first
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 18}" role="img" aria-label="Sessions by day, at most {most:,}">{bars}'
        f'<text x="0" y="{HEIGHT + 14}">{date.fromordinal(first)}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">{date.fromordinal(last)}, at most {most:,} a day</text>'
        "</svg>"
    )


def _day(started: str) -> int | None:
    """The day's number since the year 1."""
    try:
        return date.fromisoformat(started[:10]).toordinal()
    except ValueError:
        return None


def _row(row: IndexRow) -> str:
    folder = f'<br><span class="dim">{escaped(row.folder)}</span>' if row.folder else ""
    bad = ' class="bad"' if row.status in ("error", "killed", "stalled") else ""
    cells = [
        f'<td class="title"><a href="{escaped(row.link)}">{escaped(row.title)}</a>{folder}</td>',
        f'<td class="w3">{escaped((row.started or "?")[:16].replace("T", " "))}</td>',
        f'<td class="w2">{escaped(row.provider)}<br><span class="dim">{escaped(row.model or "?")}</span></td>',
        f"<td{bad}>{escaped(row.status)}</td>",
    ]
    numbers = (
        *((value, f"{value or 0:,}") for value in (row.turns, row.calls, row.failed)),
        *((value, count_text(value)) for value in (row.tokens_in, row.tokens_out)),
        (row.cost_usd, f"${row.cost_usd or 0:,.2f}"),
        (row.duration_ms, duration_text(row.duration_ms or 0)),
    )
    cells += [_number(*number, classes) for number, classes in zip(numbers, _NUMBERS.values(), strict=True)]
    return f"<tr>{''.join(cells)}</tr>\n"


def _number(value: float | None, text: str, classes: str) -> str:
    """A cell, with the value by which it is sorted."""
    if value is None:
        return f'<td class="{classes}" data-v="-1">?</td>'
    return f'<td class="{classes}" data-v="{value}" title="{value:,}">{text}</td>'

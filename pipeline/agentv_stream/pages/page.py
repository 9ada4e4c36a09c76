"""A session as one HTML file: completed messages in, the page out. Nothing is loaded from elsewhere.

`message` renders a message as one line at once, which the caller stores. `document` gets the lines in the order of the
messages, stream by stream, and adds the facts that are known only at the end: totals, the list of prompts, the places
of sub-agents. So no message is kept in memory, however long the session.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentv_stages.figures.result import Result
from agentv_stages.findings import Finding
from agentv_stages.model.batch import Batch
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import FAILED_OUTCOMES, MAIN, Notification, SessionInfo, TokenUsage
from agentv_stages.model.message import Message
from agentv_stages.model.payload import text_of
from agentv_stages.model.times import iso
from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import counted
from agentv_stages.sinks.plain_content import plain_content
from agentv_stream.costs.rates import Rates
from agentv_stream.pages.calls import call_html, outcome_of
from agentv_stream.pages.style import POLICY, SCRIPT, STYLE
from agentv_stream.pages.text import duration_text, escaped, markdown
from agentv_stream.pages.timeline import Mark, timeline

MOST_LISTED = 500  # prompts and failures in the lists at the top
MOST_MARKS = 20_000
LONGEST_TEXT = 40_000  # characters of a message's text; without `full`, the rest is cut
_COMPACTION = "compact_boundary"
_TASK = "Task"
_SHORT = 90
MOST_REASONS = 5
MOST_CITED = 5  # turns of a finding that are links
LONGEST_REASON = 1_000

ReadLines = Callable[[str], Iterable[bytes]]
"""Returns the lines of a stream, in the order of the messages."""


class Page:
    """Renders one session. `full` keeps long texts and outputs whole; `rates` estimate costs that the agent does not
    report. `streams` are those seen, in order."""

    def __init__(self, full: bool = False, rates: Rates | None = None) -> None:
        self.streams: dict[str, int] = {}  # and their number of messages
        self._full = full
        self._rates = rates
        self._folder = ""  # the session's, with a slash: paths below it are shown without it
        self._models: dict[str, str] = {}  # by stream: of the last message
        self._prompts: list[tuple[int, str]] = []
        self._failures: list[tuple[str, str]] = []
        self._marks: list[Mark] = []
        self._compactions: dict[str, list[tuple[int, str]]] = {}  # by stream: row and text, in order
        self._agents: dict[tuple[str, int], list[str]] = {}  # by stream and message: sub-agents started there
        self._turns: set[int] = set()
        self._tasks: dict[str, tuple[str, int]] = {}  # by call id, for agents that are named after their call

    def take(self, batch: Batch) -> None:
        """Notes events that are no message: compactions, and the session's folder."""
        for event in batch.events:
            if type(event) is SessionInfo and event.cwd and not self._folder:
                self._folder = event.cwd.rstrip("/") + "/"
            if type(event) is Notification and event.name == _COMPACTION:
                found = self._compactions.setdefault(event.source.stream, [])
                if len(found) < MOST_LISTED:
                    found.append((event.source.row, event.message))

    def message(self, message: Message) -> bytes:
        """A message as one line: its index, its row, and its HTML, separated by tabs."""
        stream = message.source.stream
        self.streams[stream] = self.streams.get(stream, 0) + 1
        body = [self._head(message)]
        if message.thinking:
            thinking = self._text(text_of(plain_content(message.thinking)[0]))
            body.append(f'<details class="think"><summary>Thinking</summary><div>{markdown(thinking)}</div></details>')
        body.append(self._content(message))
        for n, paired in enumerate(message.calls):
            body.append(call_html(paired, f"c{message.index}-{n}", self._full, self._folder))
        self._note(message)
        classes = [message.role, *(name for name in ("injected", "retracted") if getattr(message, name))]
        name = f' id="m{message.index}"' if stream != MAIN or message.turn is None else f' id="turn-{message.turn}"'
        article = f'<article class="{" ".join(classes)}"{name}>{"".join(body)}</article>'
        return f"{message.index}\t{message.source.row}\t{article}\n".encode("utf-8", "replace")

    def _text(self, text: str) -> str:
        if self._full or len(text) <= LONGEST_TEXT:
            return text
        return f"{text[:LONGEST_TEXT]}\n\n… {len(text) - LONGEST_TEXT:,} characters left out …"

    def _head(self, message: Message) -> str:
        speaker = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Late results"}[message.role]
        if message.injected or message.synthetic:
            speaker = "Written by the program"
        if message.turn is not None:
            speaker = f"Turn {message.turn}"
        parts = [f'<a href="#{self._name(message)}">{speaker}</a>']
        if message.source.time_ms is not None:
            parts.append(f"<time>{iso(message.source.time_ms)[:19].replace('T', ' ')}</time>")
        stream = message.source.stream
        if message.model is not None and self._models.get(stream) != message.model:
            self._models[stream] = message.model
            parts.append(f"<span>{escaped(message.model)}</span>")
        usage = message.usage
        if usage is not None and usage.input is not None:
            cached = f" ({usage.cached:,} cached)" if usage.cached else ""
            output = f", {usage.output:,} out" if usage.output is not None and usage.output_final else ""
            parts.append(f"<span>{usage.input:,} tokens in{cached}{output}{self._cost(usage, message.model)}</span>")
        return f"<header>{''.join(parts)}</header>"

    def _cost(self, usage: TokenUsage, model: str | None) -> str:
        if usage.cost_usd is not None:
            return f", ${usage.cost_usd:.4f}"
        estimated = self._rates.of_call(usage, model) if self._rates is not None else None
        return "" if estimated is None else f", ~${estimated:.4f}"

    @staticmethod
    def _name(message: Message) -> str:
        main = message.source.stream == MAIN and message.turn is not None
        return f"turn-{message.turn}" if main else f"m{message.index}"

    def _content(self, message: Message) -> str:
        content, omitted = plain_content(message.content)
        text = text_of(content)
        more = "".join(f"<p>{count} × {escaped(kind)}, not shown</p>" for kind, count in omitted.items())
        if not text.strip():
            return more
        body = markdown(self._text(text))
        if message.injected and len(text) > _SHORT:
            first = escaped(_first_line(text))
            return f'<details><summary>{first}</summary><div class="text">{body}</div></details>{more}'
        return f'<div class="text" dir="auto">{body}</div>{more}'

    def _note(self, message: Message) -> None:
        """Keeps the facts for the lists at the top, the timeline and the places of sub-agents."""
        stream, name = message.source.stream, self._name(message)
        begin_ms = message.source.time_ms
        if stream == MAIN and message.turn is not None:
            self._turns.add(message.turn)
        if stream == MAIN and message.role == "user" and not message.injected and len(self._prompts) < MOST_LISTED:
            self._prompts.append((message.index, _first_line(message.text)))
        if stream == MAIN and len(self._marks) < MOST_MARKS:
            kind = "u" if message.role == "user" else "t"
            title = f"Turn {message.turn}" if message.turn is not None else message.role
            self._marks.append(Mark(0, kind, name, begin_ms, begin_ms, title))
        for n, paired in enumerate(message.calls):
            call, result, place = paired.call, paired.result, f"c{message.index}-{n}"
            outcome = outcome_of(paired)
            failed = outcome in FAILED_OUTCOMES
            if failed and len(self._failures) < MOST_LISTED:
                where = f"turn {message.turn}" if message.turn is not None else stream
                about = _first_line(target_of(call).removeprefix(self._folder))
                self._failures.append((place, f"{where}: {call.tool or call.name} {outcome}: {about}".rstrip(": ")))
            if stream == MAIN and len(self._marks) < MOST_MARKS:
                took = result.duration_ms if result is not None else None
                start = call.source.time_ms
                end = start + took if start is not None and took is not None else start
                self._marks.append(Mark(1, "x" if failed else "c", place, start, end, escaped(call.tool or call.name)))
            if call.tool == _TASK:
                self._tasks.setdefault(call.call_id, (stream, message.index))
            if result is not None and result.agent_id is not None:
                self._agents.setdefault((stream, message.index), []).append(result.agent_id)

    def document(self, about: Result, read: ReadLines, findings: Sequence[Finding] = ()) -> Iterator[bytes]:
        """The page in pieces; `about` is the result of the session."""
        yield self._top(about, findings).encode("utf-8", "replace")
        children = self._children()
        placed: set[str] = set()
        if MAIN in self.streams:
            yield from self._stream(MAIN, read, children, placed)
        for stream in self.streams:
            if stream not in placed and stream != MAIN:
                yield from self._folded(stream, read, children, placed)
        yield f"</main><script>{SCRIPT}</script></body></html>\n".encode()

    def _children(self) -> dict[tuple[str, int], list[str]]:
        """The sub-agents' streams by the stream and the message in which they were started."""
        by_id = {stream.partition(":")[2]: stream for stream in self.streams if stream != MAIN}
        children: dict[tuple[str, int], list[str]] = {}
        for place, agents in self._agents.items():
            children[place] = [by_id[agent] for agent in dict.fromkeys(agents) if agent in by_id]
        known = {stream for streams in children.values() for stream in streams}
        for name, stream in by_id.items():
            if stream not in known and name in self._tasks:
                children.setdefault(self._tasks[name], []).append(stream)
        return children

    def _stream(
        self, stream: str, read: ReadLines, children: dict[tuple[str, int], list[str]], placed: set[str]
    ) -> Iterator[bytes]:
        placed.add(stream)
        notes = iter(self._compactions.get(stream, ()))
        note = next(notes, None)
        for line in read(stream):
            index, row, article = line.split(b"\t", 2)
            while note is not None and note[0] <= int(row):
                yield _compaction(note[1])
                note = next(notes, None)
            yield article
            for child in children.get((stream, int(index)), ()):
                if child not in placed:
                    yield from self._folded(child, read, children, placed)
        while note is not None:
            yield _compaction(note[1])
            note = next(notes, None)

    def _folded(
        self, stream: str, read: ReadLines, children: dict[tuple[str, int], list[str]], placed: set[str]
    ) -> Iterator[bytes]:
        count = self.streams[stream]
        name = escaped(stream.partition(":")[2] or stream)
        about = f"Sub-agent {name}: {count:,} message{'s' if count != 1 else ''}"
        yield f'<details class="agent"><summary>{about}</summary>'.encode("utf-8", "replace")
        yield from self._stream(stream, read, children, placed)
        yield b"</details>\n"

    def title(self, about: Result) -> str:
        """The session's title, or the first line of its first prompt, or its id."""
        return str(about.session.title or (self._prompts[0][1] if self._prompts else about.session.id) or "Session")

    def _top(self, about: Result, findings: Sequence[Finding]) -> str:
        title = self.title(about)
        shown = escaped(title)
        facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _facts(about, self._rates))
        verdicts = _verdicts(about)
        prompts = "".join(f'<li><a href="#m{index}">{escaped(text)}</a></li>' for index, text in self._prompts)
        failures = "".join(f'<li><a href="#{place}">{escaped(text)}</a></li>' for place, text in self._failures)
        marks = (
            sorted(self._marks, key=lambda mark: mark.begin_ms or 0)
            if all(m.begin_ms for m in self._marks)
            else self._marks
        )
        lists = f"<nav aria-label='Prompts'><h2>Prompts</h2><ol>{prompts}</ol></nav>" if len(self._prompts) > 1 else ""
        if findings:
            items = "".join(_finding(found, self._turns) for found in findings)
            lists += f"<nav aria-label='Findings'><h2>Findings</h2><ol>{items}</ol></nav>"
        if failures:
            lists += f"<nav aria-label='Failures'><h2>Failed calls</h2><ol class='fail'>{failures}</ol></nav>"
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            f'<meta name="referrer" content="no-referrer"><title>{shown}</title><style>{STYLE}</style></head>'
            "<body><main>"
            f"<h1 dir='auto'>{shown}</h1><dl>{facts}</dl>{verdicts}{timeline(marks)}{lists}"
            '<p class="keys">Keys: <kbd>n</kbd> <kbd>p</kbd> next and previous failure, <kbd>j</kbd> <kbd>k</kbd> next '
            "and previous message, <kbd>o</kbd> open or close all.</p>\n"
        )


def _finding(found: Finding, turns: Container[int]) -> str:
    """A finding with its costs, and links to the turns of its first calls."""
    cited = dict.fromkeys(cite.turn for cite in found.cites if cite.turn is not None and cite.turn in turns)
    places = list(cited)[:MOST_CITED]
    links = ", ".join(f'<a href="#turn-{turn}">{turn}</a>' for turn in places)
    where = f" (turn{'s' if len(places) > 1 else ''} {links})" if places else ""
    about = "~" if found.basis == "estimated" else ""
    costs = "".join(
        f", {text}"
        for text in (
            counted(found.calls, "call") if found.calls else "",
            duration_text(found.ms) if found.ms else "",
            f"{about}{found.tokens:,} tokens" if found.tokens else "",
        )
        if text
    )
    return f"<li><b>{found.kind}</b>{costs}: {escaped(found.text)}{where}</li>"


def _facts(about: Result, rates: Rates | None) -> Iterator[tuple[str, str]]:
    session, summary, tokens = about.session, about.tool_use_summary, about.tokens
    agent = session.provider + (f" {session.version}" if session.version else "")
    yield "Agent", escaped(agent)
    if session.model:
        yield "Model", escaped(session.model)
    good = "pass" if about.status == "complete" else "fail" if about.status in ("error", "killed") else ""
    reason = f" ({escaped(about.evidence.reason)})" if about.evidence.reason else ""
    yield "Status", f'<span class="{good}">{about.status}</span>{reason}'
    if session.cwd:
        yield "Folder", escaped(session.cwd)
    if session.started_at:
        yield "Started", escaped(session.started_at[:19].replace("T", " ")) + " UTC"
    if about.duration_ms is not None:
        yield "Duration", duration_text(about.duration_ms)
    outcomes = summary["by_outcome"]
    failed = sum(outcomes.get(name, 0) for name in FAILED_OUTCOMES)
    calls = f"{summary['turns']:,} turns, {summary['total_tool_calls']:,} calls"
    yield "Work", calls + (f', <span class="fail">{failed:,} failed</span>' if failed else "")
    prompt = "?" if tokens["input"] is None else f"{tokens['input']:,}"
    cached = f" ({tokens['cached']:,} cached)" if tokens["cached"] else ""
    yield "Tokens", f"{prompt} in{cached}, {escaped(output_text(tokens))} out"
    if about.cost_usd is not None:
        yield "Cost", f"${about.cost_usd:,.4f}"
    elif rates is not None and (estimated := rates.of_result(about)) is not None:
        yield "Cost", f"~${estimated:,.4f}, estimated at list prices, {rates.table}"
    if about.faults:
        yield "Faults", escaped(", ".join(f"{count} {name}" for name, count in about.faults.items()))
    yield "Session", f"<code>{escaped(session.id or 'unknown')}</code>"


def _verdicts(about: Result) -> str:
    """The cases that the session was checked against: each evaluator, with the assertions that failed."""
    if not isinstance(about.verdicts, list) or not about.verdicts:
        return ""
    items: list[str] = []
    for case in about.verdicts:
        found = [f"<li>{_verdict(evaluator, 'name')}{_why(evaluator)}</li>" for evaluator in case.get("evaluators", ())]
        items.append(f"<li>{_verdict(case, 'case')}<ul>{''.join(found)}</ul></li>")
    return f"<h2>Verdicts</h2><ul>{''.join(items)}</ul>"


def _verdict(judged: Mapping[str, Any], name: str) -> str:
    verdict = str(judged.get("verdict"))
    kind = verdict if verdict in ("pass", "fail") else ""
    return f'<span class="{kind}">{escaped(verdict)}</span> {escaped(str(judged.get(name)))}'


def _why(evaluator: Mapping[str, Any]) -> str:
    """Why an evaluator failed or was skipped."""
    failed = [str(rule.get("text")) for rule in evaluator.get("assertions", ()) if not rule.get("passed")]
    reasons = [str(evaluator["reason"]), *failed] if evaluator.get("reason") else failed
    return f": {escaped('; '.join(reasons[:MOST_REASONS])[:LONGEST_REASON])}" if reasons else ""


def _compaction(text: str) -> bytes:
    more = f": {escaped(text)}" if text else ""
    return f'<p class="note">The history was compacted{more}</p>\n'.encode("utf-8", "replace")


def _first_line(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"

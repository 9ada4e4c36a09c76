"""Properties that hold for any log, whatever it contains, and for its calls and texts after it was changed.

Any chunking gives the same output; a chain restored after any record continues; sums agree; faults have a position;
rows fit the schema and can be read back; `consume`, `import` and the library agree. `check_kept`: nothing is lost;
`check_same`: what is repeated counts once.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import anyio
import msgspec

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Reasoning,
    Retract,
    SessionInfo,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
    call_key,
)
from agentv_stages.model.fault import Fault
from agentv_stages.model.message import Message
from agentv_stages.model.provider import DecodeContext
from agentv_stages.session.detect import sure_dialect
from agentv_stages.sinks.transcript import Identity, TranscriptRows, closing_members
from agentv_stream import import_sessions, summarize
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.live.session import StreamSession
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from support.mutating import ID, MARK, Log, Records, read_back
from support.schemas import fits

FIGURES = (
    "turns", "total_tool_calls", "by_tool", "by_kind", "by_outcome", "by_origin", "by_stream", "tool_sequence",
    "kind_sequence",
)  # fmt: skip
TOKENS = ("input", "cached", "cache_write", "output", "reasoning")


class Broken(AssertionError):
    """A property does not hold."""


class Chain:
    """All stages between the records of a log and its outputs."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.decode = Decode(log.dialect, DecodeContext("log"), sure_dialect)
        self.normalize, self.pair, self.consolidate = Normalize(log.provider.tools), Pair(), Consolidate()
        self.observer = Observer(log.provider, log.dialect)
        self.events: list[AnyEvent] = []
        self.faults: list[Fault] = []
        self.messages: list[Message] = []

    @property
    def parts(self) -> list[Any]:
        observer = self.observer
        stages: list[Any] = [self.decode, self.pair, self.consolidate]
        return [*stages, observer.facts_observer, observer.stats, observer.totals]

    def restored(self) -> "Chain":
        other = Chain(self.log)
        for one, new in zip(self.parts, other.parts, strict=True):
            state: msgspec.Struct = one.snapshot()
            new.restore(msgspec.json.decode(msgspec.json.encode(state), type=type(state)))
        other.observer.counters = self.observer.counters
        other.events, other.faults, other.messages = self.events, self.faults, self.messages
        return other

    def push(self, batch: Batch) -> None:
        self._through(self.decode.push(batch)[0])

    def _through(self, batch: Batch) -> None:
        self.normalize.push(batch)
        self._take(self.pair.push(batch)[0])

    def _take(self, batch: Batch) -> None:
        self.observer.observe(batch)
        self.consolidate.push(batch)
        self.events += batch.events
        self.faults += batch.faults
        self.messages += batch.messages

    def end(self) -> "Told":
        for batch in self.decode.flush():
            self._through(batch)
        for batch in self.pair.flush():
            self._take(batch)
        for batch in self.consolidate.flush():
            self.messages += batch.messages
        return Told(self)


class Told:
    """The output for a log."""

    def __init__(self, chain: Chain) -> None:
        self.events, self.faults, self.messages = chain.events, chain.faults, chain.messages
        self.result = json.loads(chain.observer.result(chain.pair.left).to_json())
        self.summary: dict[str, Any] = self.result["tool_use_summary"]
        rows = TranscriptRows(Identity("case", "target", "provider", "session", "dialect"), gap=False)
        self.transcript = rows.render(self.messages[:-1])
        if self.messages:
            self.transcript += rows.row(self.messages[-1], closing_members(chain.observer))
        self.rows = [json.loads(line) for line in self.transcript.splitlines()]
        self.calls = [event for event in self.events if isinstance(event, ToolCall)]

    @property
    def marks(self) -> Counter[str]:
        """The marks of texts, with the number of rows that contain each; of one in two parts, the second counts."""
        return self.marks_of(parts=True)

    def marks_of(self, parts: bool) -> Counter[str]:
        found: Counter[str] = Counter()
        before: dict[str, str] = {}
        for row in self.rows:
            content: Any = row.get("content") or ""
            about: Any = row["metadata"]["agentv_stream"]
            blocks = [content] if isinstance(content, str) else [block.get("text") for block in content]
            said = [text for text in (*blocks, *about.get("thinking", ())) if isinstance(text, str)]
            marks = set(MARK.findall("\n".join(said)))
            if parts and about.get("late") and said:
                begun = before.get(about["message_id"], "")
                marks |= set(MARK.findall(begun + said[0])) - set(MARK.findall(begun))
            before[about.get("message_id", "")] = said[-1] if said else ""
            found.update(mark for mark in marks if mark[-1] in "apt")
        return found

    @property
    def figures(self) -> dict[str, Any]:
        return {name: self.summary[name] for name in FIGURES}

    @property
    def texts(self) -> Counter[str]:
        return Counter(repr((row["role"], row.get("content"))) for row in self.rows)

    @property
    def whole(self) -> tuple[Any, ...]:
        return self.events, self.messages, self.transcript, self.result, sorted(map(repr, self.faults))


def batches(pieces: Iterable[bytes]) -> list[Batch]:
    reader = LineReader("log")
    return [batch for piece in pieces for batch in reader.push(Chunk(piece))] + list(reader.flush())


def told(log: Log, pieces: Iterable[bytes] | None = None) -> Told:
    chain = Chain(log)
    for batch in batches([log.data] if pieces is None else pieces):
        chain.push(batch)
    return chain.end()


def must(holds: bool, law: str, *shown: object) -> None:
    if not holds:
        raise Broken(f"{law}: {' / '.join(str(one)[:300] for one in shown)}")


def same(law: str, one: Any, other: Any) -> None:
    if one != other:
        if isinstance(one, dict):
            here, there = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
            differing = [name for name in here if here[name] != there.get(name)]
            one, other = [{name: side.get(name) for name in differing} for side in (here, there)]
        raise Broken(f"{law}: {str(one)[:400]} / {str(other)[:400]}")


def check_any(log: Log, chance: Random) -> Told:
    """Checks the properties of any log."""
    data = log.data
    whole = told(log)
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((1, 3, 30))))
    pieces = [data[a:b] for a, b in itertools.pairwise([0, *cuts, len(data)])]
    same_told("chunking by lines", told(log, data.splitlines(keepends=True)), whole)
    same_told("chunking", told(log, filter(None, pieces)), whole)
    same_told("restored", restored(log, chance), whole)
    check_sums(whole)
    check_faults(log, whole)
    check_rows(whole)
    return whole


def same_told(law: str, one: Told, other: Told) -> None:
    parts = ("events", "messages", "transcript", "result", "faults")
    for part, here, there in zip(parts, one.whole, other.whole, strict=True):
        same(f"{law}: {part}", here, there)


def restored(log: Log, chance: Random) -> Told:
    """The output of a chain that is saved and restored now and then."""
    given = batches(line + b"\n" for line in log.data.split(b"\n")[:-1])
    stops = {chance.randrange(len(given) + 1) for _ in range(4)}
    chain = Chain(log)
    for n, batch in enumerate(given):
        if n in stops:
            chain = chain.restored()
        chain.push(batch)
    return chain.end()


def check_sums(one: Told) -> None:
    summary, calls = one.summary, one.summary["total_tool_calls"]
    for name in ("by_tool", "by_kind", "by_outcome", "by_origin"):
        same(f"sum of {name}", sum(summary[name].values()), calls)
    same("sum of by_stream", sum(row["tool_calls"] for row in summary["by_stream"].values()), calls)
    same("sum of tools", sum(row["calls"] for row in summary["tools"].values()), calls)
    same("turns", summary["by_stream"]["main"]["turns"], summary["turns"])
    same("length of the sequences", len(summary["tool_sequence"]), len(summary["kind_sequence"]))
    same("events", one.result["events"], len(one.events))
    same("faults", sum(one.result["faults"].values()), len(one.faults))
    if not any(call.parent_call for call in one.calls) and not any(isinstance(e, Retract) for e in one.events):
        same("calls", calls, len(one.calls))
    ended = [call_key(e.call) for e in one.events if isinstance(e, ToolResult) and e.call is not None and not e.partial]
    same("each call ends once", Counter(ended), Counter(map(call_key, one.calls)))
    totals = [e for e in one.events if isinstance(e, TokenUsage) and e.scope != "call"]
    if not totals and not any(isinstance(e, SessionInfo) and e.another for e in one.events):
        for part in ("tokens_by_stream", "tokens_by_model"):
            for name in TOKENS:
                known = [row.get(name) for row in one.result[part].values() if row.get(name) is not None]
                total = one.result["tokens"].get(name)
                if total is not None:
                    enough = sum(known) == total or (part == "tokens_by_model" and sum(known) < total)
                    must(enough, f"{part} {name}", known, total)


def check_faults(log: Log, one: Told) -> None:
    data = log.data
    for fault in one.faults:
        end = fault.offset + fault.length
        must(fault.file == "log" and fault.row >= 0 and 0 <= fault.offset <= end <= len(data), "place", fault)
        must(not log.lines or fault.data in data, "bytes of a fault", fault)


def check_rows(one: Told) -> None:
    for row in one.rows:
        try:
            fits("transcript", row)
        except AssertionError as error:
            raise Broken(f"schema: {error}") from None
    if not one.rows:
        return
    again = told(read_back("log", one.transcript))
    same("calls read back", calls_of(again), calls_of(one))
    same("marks read back", set(again.marks_of(parts=False)), set(one.marks_of(parts=False)))


def calls_of(one: Told) -> Counter[str]:
    """The tools and kinds of the calls in the rows; not their outcomes, which may be in the row of a late result."""
    found = Counter(call["tool"] for row in one.rows for call in row.get("tool_calls", ()))
    facts = [row["metadata"]["agentv_stream"].get("calls", {}) for row in one.rows]
    return found + Counter(fact["kind"] for about in facts for fact in about.values())


def check_outputs(log: Log) -> None:
    """`consume`, `import` and the library give the same output for a file."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "log.jsonl")
        place.write_bytes(log.data)
        consumed, imported = Path(folder, "consumed"), Path(folder, "imported")
        try:
            library = json.loads(summarize(place).to_json())
        except (NotALog, EmptyInput):
            library = None

        async def consume() -> Result | None:
            return (await StreamSession(FileSource(place), Settings(out=consumed, quiet=True)).run()).result

        ended = anyio.run(consume)
        import_sessions([place], jsonl=Path(folder, "all.jsonl"), transcripts=imported, engine="serial")
        table = Path(folder, "all.jsonl")  # is not written if there is no session
        rows = list(map(json.loads, table.read_bytes().splitlines())) if table.exists() else []
        if library is None:
            same("import of no log", rows, [])
            return
        same("rows", len(rows), 1)
        live: dict[str, Any] = json.loads(ended.to_json()) if ended is not None else {}
        for name, made in (("import", rows[0]), ("consume", live)):
            made.pop("source", None)
            same(f"{name} and library", {**made, "outputs": library["outputs"]}, library)
        files = [sorted(where.glob("*.transcript.jsonl")) for where in (consumed, imported)]
        texts = [[path.read_bytes() for path in found] for found in files]
        same("transcripts", *([normal(data) for data in one] for one in texts))


def normal(transcript: bytes) -> list[Any]:
    rows = [json.loads(line) for line in transcript.splitlines()]
    for row in rows:
        row["test_id"] = row["source"] = None  # a log without a session id is named by its path
    return sorted(rows, key=lambda row: row["message_index"])


def rows_of(one: Told) -> dict[str, set[int]]:
    """The records that each mark comes from; several if the text comes in pieces."""
    texts: dict[tuple[Any, ...], tuple[list[str], set[int]]] = {}
    for event in one.events:
        if isinstance(event, (UserText, AssistantText, Reasoning)):
            source = event.source
            key = (type(event), source.stream, event.message_id, "" if event.delta else (source.row, event.part))
            text, rows = texts.setdefault(key, ([], set()))
            text.append(event.text)
            rows.add(source.row)
    return {mark: rows for text, rows in texts.values() for mark in MARK.findall("".join(text))}


def check_kept(log: Log, base: Told, records: Records, after: Told, in_order: bool = True) -> None:
    """Calls, texts and outputs of all remaining records are in the output; texts in pieces if these are in order."""
    there, known = Counter(records), Counter(log.records)
    gone = {n for n, record in enumerate(log.records) if there[record] < known[record]}
    # OpenClaw reports some calls only by their results, which need the answer that requested them
    calls = [call for call in base.calls if call.source.row not in gone and call.part != "-asked"]
    check_calls(calls, after)
    marks = {mark for mark, rows in rows_of(base).items() if not rows & gone and (in_order or len(rows) == 1)}
    marks &= base.marks.keys()
    must(not marks - after.marks.keys(), "texts lost", sorted(marks - after.marks.keys()))
    fewer = outputs(base, gone) - outputs(after)
    must(not fewer, "outputs lost", list(fewer))


def nameless(calls: list[ToolCall]) -> Counter[str]:
    """How often each name is called without an id of its own; without changes of plans, which Codex reports again."""
    return Counter(call.name for call in calls if not ID.search(call.call_id) and call.name != "todo_list")


def outputs(one: Told, gone: set[int] | None = None) -> Counter[str]:
    """The outputs of calls, except those whose call or result was in a removed record."""
    results = [e for e in one.events if isinstance(e, ToolResult)]
    left = [e for e in results if not gone or (e.call is not None and not {e.source.row, e.call.source.row} & gone)]
    return Counter(heard(bytes(e.output_json)) for e in left if e.output_json is not None)


def heard(output: bytes) -> str:
    """An output by its mark, because some records contain more of it than others; by its bytes if it has no mark."""
    text = output.decode("utf-8", "replace")
    marks = MARK.findall(text)
    return marks[0] if marks else text


def check_calls(calls: list[ToolCall], after: Told) -> None:
    """These calls are in the output: those with an id of their own by that id, the others by the number per name."""
    lost = {call.call_id for call in calls if ID.search(call.call_id)} - {call.call_id for call in after.calls}
    must(not lost, "calls lost", lost)
    fewer = nameless(calls) - nameless(after.calls)
    must(not fewer, "calls lost by name", fewer)


def check_not_more(base: Told, after: Told) -> None:
    ids = {call.call_id for call in after.calls if ID.search(call.call_id)} - {call.call_id for call in base.calls}
    must(not ids and len(after.calls) <= len(base.calls), "calls invented", ids)
    more = {mark: n for mark, n in after.marks.items() if n > base.marks[mark]}
    must(not more, "texts invented", more)


def check_same(base: Told, after: Told, tokens: bool = True) -> None:
    same("figures", after.figures, base.figures)
    same("texts", after.texts, base.texts)
    if tokens:
        same("tokens", after.result["tokens"], base.result["tokens"])

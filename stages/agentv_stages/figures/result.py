"""The result of a session, `agentv_stream.result.v1`: who, how it ended, statistics, tokens, cost, faults, outputs."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentv_stages.figures.dated import Dated
from agentv_stages.figures.facts import Facts, FactsObserver
from agentv_stages.figures.stats import Stats
from agentv_stages.figures.summary import ToolUseSummary, typed
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Status
from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.model.slices import SIZE, Slices, is_map_of_slices
from agentv_stages.model.times import iso
from agentv_stages.model.tokens import TokenTotals, token_totals

SCHEMA = "agentv_stream.result.v1"
MOST_INDENTED = 256 * 1024
DRIFT = 0.01  # the share of records of unknown types from which on a log has drifted from the known format
MOST_NAMES = 1_000  # of unknown and of ignored records
LONGEST_NAME = 500
INTERLEAVED = "records of several sessions are interleaved"
OTHER = "(other)"
PARTIAL = "partial"
"""The `redaction_level` of what was made from redacted records: secrets are markers, everything else is there."""
Members: TypeAlias = Iterable[tuple[str, Any]]


class SessionFacts(Struct, omit_defaults=False):
    """Facts that identify the session. Times are ISO 8601, UTC."""

    id: str | None
    provider: str
    dialect: str
    model: str | None = None
    version: str | None = None
    cwd: str | None = None
    started_at: str | None = None
    parent: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class Evidence(Struct):
    """The basis of the end state: the type of the last event and the offset of its record in bytes, the reason that
    the agent gave, the ids of calls without a result (at most 100), and how a process started by `run` ended."""

    last_event: str | None = None
    last_offset: int | None = None
    reason: str | None = None
    open_calls: list[str] = []
    exit_code: int | UnsetType = UNSET
    signal: str | UnsetType = UNSET


class Outputs(Struct):
    """Paths of the written outputs."""

    transcript: str | None = None
    trajectory: str | UnsetType = UNSET
    stream_log: str | UnsetType = UNSET
    dead_letters: str | UnsetType = UNSET
    page: str | UnsetType = UNSET
    trace: str | UnsetType = UNSET


class Result(Struct):
    """One session's result, as docs/outputs.md and docs/metrics.md describe it.

    `tokens` (and its parts by model and by stream) has the keys of docs/metrics.md: `input`, `cached`, `cache_write`,
    `cache_write_1h`, `output`, `reasoning`, and `output_at_least` where only a lower bound is known. `cost_usd` and
    `duration_ms` are the agent's own figures; without one, `duration_ms` is the time from the first event to the last.
    `records` and `events` count everything that was read, `model_calls` the calls for which the log gives tokens.
    `faults` counts dead letters by reason, `unknown` records by types that its decoder lacks, `ignored` records that
    carry nothing to keep. `losses` lists facts that this format cannot express. `verdicts` is set if the run was
    checked against a spec, `traces` with `--include-trace` (`traces_truncated`: there were more); `source`, the name of
    the log, in a line of `import --jsonl`; `redaction_level` if secrets were replaced by markers.

    None means that the log does not have a fact; a field that is UNSET does not appear in the JSON. Written by
    `to_json`, read by `msgspec.json.decode(data, type=Result)`.
    """

    session: SessionFacts
    status: Status
    evidence: Evidence
    tool_use_summary: ToolUseSummary
    tokens: TokenTotals
    cost_usd: float | None
    duration_ms: int | None
    records: int
    events: int
    faults: dict[str, int]
    unknown: dict[str, int]
    ignored: dict[str, int]
    losses: list[str]
    outputs: Outputs
    schema_version: str = SCHEMA
    tokens_by_model: dict[str, TokenTotals] = {}
    tokens_by_stream: dict[str, TokenTotals] = {}
    model_calls: int = 0
    estimated_cost_usd: float | UnsetType | None = UNSET
    price_table_date: str | UnsetType = UNSET
    agent_num_turns: int | UnsetType = UNSET
    verdicts: list[Any] | UnsetType = UNSET
    traces: list[Any] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET
    target: str | UnsetType = UNSET
    test_id: str | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    redaction_level: str | UnsetType = UNSET
    machine: str | UnsetType = UNSET

    def __repr__(self) -> str:
        session, summary = self.session, self.tool_use_summary
        counts = f"{summary.turns} turns, {summary.total_tool_calls} calls"
        return f"<Result of {session.provider} session {session.id!r}: {self.status}, {counts}>"

    def to_json(self) -> bytes:
        """The result as JSON with a line end, indented if it is short."""
        return b"".join(self.json_pieces())

    def json_pieces(self, summary: Members | None = None) -> Iterator[bytes]:
        """As `to_json`, piece by piece: that of a long session is megabytes, and three times as many if indented.

        `summary` replaces the members of `tool_use_summary`: those of `Stats.members`, or the same `settled`.
        """
        pieces = self._pieces(self.tool_use_summary.items() if summary is None else summary)
        short: list[bytes] = []
        size = 0
        for piece in pieces:
            short.append(piece)
            size += len(piece)
            if size > MOST_INDENTED:
                yield from short
                yield from pieces
                break
        else:
            yield msgspec.json.format(b"".join(short), indent=2)
        yield b"\n"

    def _pieces(self, summary: Members) -> Iterator[bytes]:
        before = b"{"
        for name in self.__struct_fields__:
            value: Any = getattr(self, name)
            if value is UNSET:
                continue
            if name == "tool_use_summary":
                yield before + b'"tool_use_summary":'
                yield from _members(summary)
            else:
                yield from _member(before, name, value)
            before = b","
        yield b"}"


def _members(values: Members) -> Iterator[bytes]:
    before = b"{"
    for name, value in values:
        yield from _member(before, name, value)
        before = b","
    yield b"}"


def settled(members: Members) -> list[tuple[str, Any]]:
    """Members that do not change any more, to be written while the figures go on: `Slices` remain, the rest is JSON."""
    return [
        (name, value if isinstance(value, Slices) or is_map_of_slices(value) else Raw(msgspec.json.encode(value)))
        for name, value in members
    ]


def _member(before: bytes, name: str, value: Any) -> Iterator[bytes]:
    """A member as JSON; a long list or map in slices, because one long piece is copied several times on its way."""
    yield before + msgspec.json.encode(name) + b":"
    if is_map_of_slices(value):
        yield from _members(value.items())
        return
    parts = _slices(value)
    first = msgspec.json.encode(next(parts))
    for part in parts:
        yield first[:-1]
        first = b"," + msgspec.json.encode(part)[1:]
    yield first


def _slices(value: Any) -> Iterator[Any]:
    """A long list or map in parts of the same type, everything else whole."""
    if isinstance(value, Slices):
        yield from value
    elif isinstance(value, list) and len(value) > SIZE:  # pyright: ignore[reportUnknownArgumentType] - anything JSON can hold
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - as above
        yield from Slices(len(items), lambda begin, end: items[begin:end])
    elif isinstance(value, dict) and len(value) > SIZE:  # pyright: ignore[reportUnknownArgumentType] - as above
        pairs: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] - as above
        members = iter(pairs.items())
        while part := dict(islice(members, SIZE)):
            yield part
    else:
        yield value


class Counters(Struct):
    """Sums of the counts in batches."""

    faults: dict[str, int] = {}
    unknown: dict[str, int] = {}
    ignored: dict[str, int] = {}


def _count(counts: dict[str, int], name: str, count: int) -> None:
    """Adds to a count by name. Names come from the log: past too many, and if overlong, they count under one name."""
    if name not in counts and (len(counts) >= MOST_NAMES or len(name) > LONGEST_NAME):
        name = OTHER
    counts[name] = counts.get(name, 0) + count


def has_drifted(unknown: Mapping[str, int], records: int) -> bool:
    """Whether so many records are of unknown types that figures may be incomplete."""
    return sum(unknown.values()) > DRIFT * records


class Observer:
    """Everything that watches a session for its result: facts, statistics, totals, counters; fed batch by batch.

    With `dated`, figures are also dated by their model calls and tool calls.
    """

    def __init__(
        self,
        provider: Provider,
        dialect: Dialect,
        watch: str | tuple[str, ...] = (),
        *,
        redacted: bool = False,
        dated: bool = False,
    ) -> None:
        self.provider = provider
        self.dialect = dialect
        self.redacted = redacted  # the records are: secrets in them are markers
        self.facts_observer = FactsObserver()
        self.stats = Stats(watch, lines=dialect.lines)
        self.totals = Totals()
        self.counters = Counters()
        self.dated = Dated(self.stats, self.totals) if dated else None

    @property
    def facts(self) -> Facts:
        """The log's facts about the session so far."""
        return self.facts_observer.facts

    @property
    def ran(self) -> bool:
        """Whether the log says more than which session it is: with a header alone, nothing ran."""
        facts, counters = self.facts, self.counters
        return facts.events > facts.described or bool(counters.faults or counters.unknown)

    def observe(self, batch: Batch) -> None:
        """Takes the next batch, after `Pair`."""
        self.facts_observer.observe(batch)
        self.stats.observe(batch)
        self.totals.observe(batch)
        if self.dated is not None:
            self.dated.observe(batch)
        self.totals.state.unknowable = self.facts.interleaved
        # the first event is not the earliest if a fork has a new header, or if a call has the time of its start
        self.stats.figures.first_time_ms = self.totals.state.first_ms
        counters = self.counters
        for fault in batch.faults:
            if fault.part in ("whole", "begin"):
                counters.faults[fault.reason] = counters.faults.get(fault.reason, 0) + 1
        for name, count in batch.unknown.items():
            _count(counters.unknown, name, count)
        for name, count in batch.ignored.items():
            _count(counters.ignored, name, count)

    def status(self, open_calls: int) -> Status:
        """How the session ended, as far as its log says; `open_calls` is the number of calls without a result."""
        return self.facts_observer.status(self.dialect.has_end, open_calls)

    @property
    def over(self) -> bool:
        """Whether the last run has ended, as far as its log says."""
        return self.facts.end is not None and not self.facts.open_end

    @property
    def reason(self) -> str | None:
        """The reason that the agent gave for the end; None where it continued afterwards, or gave none."""
        if self.facts.interleaved:
            return INTERLEAVED
        end = self.facts.end
        return end.reason if end is not None and not self.facts.open_end else None

    def result(self, open_calls: list[str], outputs: Outputs | None = None, lists: bool = True) -> Result:
        """The result so far; without `lists`, its `tool_use_summary` has only what does not grow with the session."""
        facts, totals = self.facts, self.totals
        tokens = totals.tokens()
        turns = None if facts.interleaved else totals.state.agent_num_turns
        return Result(
            session=SessionFacts(
                id=facts.session_id,
                provider=self.provider.name,
                dialect=self.dialect.name,
                model=facts.model,
                version=facts.version,
                cwd=facts.cwd,
                started_at=iso(facts.started_ms) if facts.started_ms is not None else None,
                parent=facts.parent_session_id or UNSET,
                title=facts.title or UNSET,
            ),
            status=self.status(len(open_calls)),
            evidence=Evidence(
                last_event=facts.last_event,
                last_offset=facts.last_offset,
                reason=self.reason,
                open_calls=open_calls[:100],
            ),
            tool_use_summary=typed(self.stats.summary(lists)),
            tokens=token_totals(tokens),
            tokens_by_model=totals.by_model(),
            tokens_by_stream=totals.by_stream(),
            model_calls=totals.state.model_calls,
            cost_usd=totals.cost_usd,
            duration_ms=totals.duration_ms,
            records=facts.records,
            events=facts.events,
            faults=dict(sorted(self.counters.faults.items())),
            unknown=dict(sorted(self.counters.unknown.items())),
            ignored=dict(sorted(self.counters.ignored.items())),
            losses=list(self.dialect.losses),
            outputs=outputs or Outputs(),
            agent_num_turns=UNSET if turns is None else turns,
            redaction_level=PARTIAL if self.redacted else UNSET,
        )

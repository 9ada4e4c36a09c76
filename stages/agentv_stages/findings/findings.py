"""Finds them while a session is read. In: batches that have passed `Pair`. Out: findings, at the end, in order.

The rules for going in circles are the evaluators' own (`trajectory.stuck`), with their default limits. Memory is
bounded: `MOST_FINDINGS` are kept, and `MOST_KNOWN` outputs and streams.
"""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

from msgspec import Struct

from agentv_stages.findings.finding import Basis, Cite, Finding, Kind
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionInfo,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.turns import Turns
from agentv_stages.trajectory.calls import same_call
from agentv_stages.trajectory.stuck import FAILING, MOST_KNOWN, Cycles, NoProgress, RepeatedFailures
from agentv_stages.trajectory.verdict import evidence_of

MOST_CITES = 10
MOST_FINDINGS = 1_000
MOST_FAILURES, MOST_ROUNDS, MOST_WITHOUT = 2, 2, 20
"""Default limits of `repeated-failures`, `cycles` and `no-progress`."""
LONGEST_CYCLE = 5
MOST_STREAMS = 1_000
REREAD_BYTES = 2_000  # of an output that came before, from which on it is named
BYTES_PER_TOKEN = 4
SLOW_MS = 60_000
FULL_PERCENT = 80  # of the context window
CACHED_INPUT, MISSED_PERCENT = 10_000, 50  # the cache misses if less of the previous input is read from it
SAME_HISTORY_PERCENT = 50  # a smaller input is another history: it was compacted, and the log does not say so
COMPACTION = "compact_boundary"
WAITING = frozenset(("ask", "plan", "read"))  # kinds whose durations are a person's, or a sub-agent's

Rule = TypeVar("Rule")


class _Streams(Generic[Rule]):
    """One rule for each stream: calls of several agents do not mix."""

    def __init__(self, make: Callable[[], Rule]) -> None:
        self._make = make
        self._rules: dict[str, Rule] = {}

    def of(self, stream: str) -> Rule:
        rule = self._rules.get(stream)
        if rule is None:
            rule = self._rules[stream] = self._make()
            if len(self._rules) > MOST_STREAMS:
                del self._rules[next(iter(self._rules))]
        return rule


class _Subagent(Struct):
    """The calls of a sub-agent; `changed` says whether one of them wrote."""

    first: Cite
    calls: int = 0
    changed: bool = False


class Findings:
    """See the module. `observe` takes batches in order; `finish` gives the findings."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.more = 0  # findings beyond `MOST_FINDINGS`
        self._turns = Turns()
        self._turn: dict[str, int | None] = {}  # of the open and the last calls, by call id
        self._failures = RepeatedFailures(MOST_FAILURES, all_streams=True)
        self._failing: dict[str, Finding] = {}
        self._circles = _Streams(lambda: Cycles(MOST_ROUNDS, LONGEST_CYCLE, all_streams=True))
        self._circle: dict[str, Finding] = {}
        self._progress = _Streams(lambda: NoProgress(MOST_WITHOUT, all_streams=True))
        self._idle: dict[str, Finding] = {}
        self._outputs: OrderedDict[str, tuple[bytes, Finding | None]] = OrderedDict()
        self._slow: dict[str, Finding] = {}
        self._denied: dict[str, Finding] = {}
        self._usage: TokenUsage | None = None
        self._before: TokenUsage | None = None
        self._caches = False  # whether any call of the session read from the cache
        self._misses: Finding | None = None
        self._window: int | None = None
        self._session: str | None = None
        self._full: Finding | None = None
        self._subagents: OrderedDict[str, _Subagent] = OrderedDict()

    def observe(self, batch: Batch) -> None:
        for event in batch.events:
            if isinstance(event, ToolCall):
                self._call(event)
            elif isinstance(event, ToolResult):
                if event.call is not None and not event.partial:
                    self._result(event, event.call)
            elif isinstance(event, AssistantText | Reasoning):
                self._turns.turn_of(event)
            elif isinstance(event, TokenUsage):
                self._tokens(event)
            elif isinstance(event, Notification):
                if event.name == COMPACTION:
                    self._compacted(event)
            elif isinstance(event, SessionInfo):
                self._window = event.context_window or self._window
                if event.session_id is not None:
                    self._session_is(event.session_id)

    def _session_is(self, session: str) -> None:
        """Another session in the same input begins with an empty history: it has read nothing, and cached nothing."""
        if self._session not in (None, session):
            self._settle_usage()
            self._outputs.clear()
            self._before = None
        self._session = session

    def finish(self) -> list[Finding]:
        self._settle_usage()
        for stream, agent in self._subagents.items():
            if not agent.changed:
                text = "no call of a sub-agent wrote a file; it may only have been asked to look"
                self._add(Finding("unchanging-subagent", text, stream, agent.calls, [agent.first]))
        return self.found

    # --- tool calls

    def _call(self, call: ToolCall) -> None:
        turn = self._turns.turn_of(call)
        self._turn[call.call_id] = turn
        if len(self._turn) > MOST_KNOWN:
            del self._turn[next(iter(self._turn))]
        rule = self._circles.of(call.source.stream)
        rule.observe(call)
        self._cycle(call, rule)
        if call.source.stream != MAIN:
            agent = self._subagents.get(call.source.stream)
            if agent is None:
                agent = self._subagents[call.source.stream] = _Subagent(self._cite(call))
                if len(self._subagents) > MOST_STREAMS:
                    self._subagents.popitem(last=False)
            agent.calls += 1

    def _cycle(self, call: ToolCall, rule: Cycles) -> None:
        stream, state = call.source.stream, rule.state
        for length in range(2, LONGEST_CYCLE + 1):
            times = state.equal[length] // length + 1
            if times > MOST_ROUNDS and len(set(state.keys[-length:])) > 1:
                saved = state.equal[length]
                finding = self._circle.get(stream)
                if finding is None:
                    finding = self._circle[stream] = self._new("cycles", "", stream)
                    finding.cites = [Cite(at, self._turn.get(at.call_id or "")) for at in state.recent[-MOST_CITES:]]
                if saved + length > finding.count:
                    finding.text = f"{' → '.join(state.titles[-length:])} came {times} times in a row"
                    finding.count, finding.calls = saved + length, saved
                return
        self._circle.pop(stream, None)

    def _result(self, result: ToolResult, call: ToolCall) -> None:
        self._failure(result, call)
        self._without(result, call)
        self._again(result, call)
        stream, tool = call.source.stream, call.tool or call.name
        if result.outcome == "denied":
            self._count(self._denied, "denied", tool, f"{tool} was denied", result)
        waited = call.edit or call.kind in WAITING  # to edit or to read takes no minute, but to be allowed to
        if result.duration_ms is not None and result.duration_ms >= SLOW_MS and not waited:
            finding = self._count(self._slow, "slow-calls", tool, f"{tool} took a minute or longer", result)
            finding.ms = (finding.ms or 0) + result.duration_ms
        may_change = call.kind in ("write", "other")  # an unknown tool may do anything
        if stream in self._subagents and may_change and (result.outcome not in FAILING or call.kind == "other"):
            self._subagents[stream].changed = True

    def _failure(self, result: ToolResult, call: ToolCall) -> None:
        self._failures.observe(result)
        state, key = self._failures.state, same_call(call)
        times = state.number.get(key, 0)
        if times > MOST_FAILURES:
            finding = self._failing.get(key)
            if finding is None:
                finding = self._failing[key] = self._new("repeated-failures", "", call.source.stream)
            finding.cites = [Cite(at, self._turn.get(at.call_id or "")) for at in state.failed[key][:MOST_CITES]]
            finding.text = f"the same call of {call.tool or call.name} failed {times} times with no change between"
            finding.count, finding.calls = times, times - 1
        if result.outcome not in FAILING:
            for known in [known for known in self._failing if known not in state.number]:
                del self._failing[known]

    def _without(self, result: ToolResult, call: ToolCall) -> None:
        if result.output_json is None:  # many logs hold no outputs, so nothing could be new
            return
        stream = call.source.stream
        rule = self._progress.of(stream)
        rule.observe(result)
        without = rule.state.without
        if without <= MOST_WITHOUT:
            self._idle.pop(stream, None)
            return
        finding = self._idle.get(stream)
        if finding is None:
            finding = self._idle[stream] = self._new("no-progress", "", stream)
        finding.cites = [Cite(at, self._turn.get(at.call_id or "")) for at in rule.state.recent[-MOST_CITES:]]
        finding.text = f"{without} calls in a row without a new file or output"
        finding.count = finding.calls = without

    def _again(self, result: ToolResult, call: ToolCall) -> None:
        """A file that is read again although it gave the same bytes before, with no compaction between."""
        if call.kind != "read" or not call.files or result.output_json is None or result.outcome in FAILING:
            return
        output = bytes(result.output_json)
        key, digest = same_call(call), blake2b(output, digest_size=12).digest()
        before, finding = self._outputs.pop(key, (b"", None))
        if before == digest and len(output) >= REREAD_BYTES:
            name = call.files[0]
            finding = finding or self._new("re-reads", f"{name} was read again unchanged", call.source.stream)
            self._cited(finding, result)
            finding.calls = finding.count
            finding.tokens, finding.basis = (finding.tokens or 0) + len(output) // BYTES_PER_TOKEN, "estimated"
        self._outputs[key] = (digest, finding if before == digest else None)
        if len(self._outputs) > MOST_KNOWN:
            self._outputs.popitem(last=False)

    # --- model calls of the main stream

    def _tokens(self, usage: TokenUsage) -> None:
        if usage.scope != "call" or usage.source.stream != MAIN or usage.input is None:
            return
        if self._usage is not None and self._usage.key != usage.key:
            self._settle_usage()
        self._usage = usage

    def _settle_usage(self) -> None:
        usage, before = self._usage, self._before
        if usage is None or usage.input is None:
            return
        self._usage, self._before = None, usage
        self._caches = self._caches or bool(usage.cached)
        if self._window and usage.input * 100 >= FULL_PERCENT * self._window:
            if self._full is None:
                text = f"the context is {usage.input * 100 // self._window} % full ({self._window:,} tokens)"
                self._full = self._new("context", text, MAIN)
            self._cited(self._full, usage)
        if before is None or before.input is None or not self._caches or usage.cached is None:
            return
        if usage.input * 100 < SAME_HISTORY_PERCENT * before.input:
            return
        least = min(before.input, usage.input)
        if least >= CACHED_INPUT and usage.cached * 100 < MISSED_PERCENT * least:
            if self._misses is None:
                self._misses = self._new("cache-misses", "input that the cache held a call earlier was read anew", MAIN)
            self._cited(self._misses, usage)
            self._misses.tokens = (self._misses.tokens or 0) + least - usage.cached

    def _compacted(self, event: Notification) -> None:
        self._settle_usage()
        self._outputs.clear()  # the read outputs are forgotten, so it may be read again
        used = self._before.input if self._before is not None else None
        self._before = None
        text = "the history was compacted" + (f" at {used:,} tokens of input" if used else "")
        self._cited(self._new("compaction", text, event.source.stream), event)

    # --- findings

    def _count(self, kept: dict[str, Finding], kind: Kind, tool: str, text: str, result: ToolResult) -> Finding:
        stream = result.source.stream
        finding = kept.get(f"{stream}\0{tool}")
        if finding is None:
            finding = kept[f"{stream}\0{tool}"] = self._new(kind, text, stream)
        self._cited(finding, result)
        return finding

    def _new(self, kind: Kind, text: str, stream: str, basis: Basis = "measured") -> Finding:
        return self._add(Finding(kind, text, stream, 0, [], basis=basis))

    def _add(self, finding: Finding) -> Finding:
        if len(self.found) < MOST_FINDINGS:
            self.found.append(finding)
        else:
            self.more += 1
        return finding

    def _cited(self, finding: Finding, event: AnyEvent) -> None:
        finding.count += 1
        if len(finding.cites) < MOST_CITES:
            finding.cites.append(self._cite(event))

    def _cite(self, event: AnyEvent) -> Cite:
        if isinstance(event, ToolCall | ToolResult):
            return Cite(evidence_of(event), self._turn.get(event.call_id))
        return Cite(evidence_of(event), self._turns.count if event.source.stream == MAIN else None)

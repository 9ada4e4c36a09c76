"""cycles, repeated-failures, no-progress: an agent that goes in circles. docs/metrics.md defines each.

Score 1, and 0 for good from the event on at which the limit is exceeded.
"""

import hashlib
from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult
from agentv_stages.trajectory.calls import counts, named, same_call
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of

FAILING = ("error", "denied")
MOST_KNOWN = 10_000
"""Calls, files and outputs that are remembered; of more, the oldest are forgotten."""


class StuckState(Struct):
    """`most` is the largest number so far, `text` the text that reached it, `evidence` the calls."""

    most: int = 0
    text: str = ""
    evidence: list[Evidence] = []
    done: bool = False


State = TypeVar("State", bound=StuckState)


class _Stuck(Generic[State]):
    """The common part of the three rules: a number that must not exceed `most`."""

    threshold: float | None = None

    def __init__(self, state: State, most: int, tools: Sequence[str] = (), all_streams: bool = False) -> None:
        self.state = state
        self._most = most
        self._tools = tuple(tools)
        self._all = all_streams

    def _looks_at(self, call: ToolCall) -> bool:
        return counts(call, self._all) and (not self._tools or any(named(tool, call) for tool in self._tools))

    def _reach(self, number: int, text: str, evidence: Sequence[Evidence]) -> bool:
        """Notes the number; True if it exceeds the limit. Once it does, the first case stays the proof."""
        state = self.state
        if number > state.most and state.most <= self._most:
            state.most, state.text, state.evidence = number, text, list(evidence[-MAX_EVIDENCE:])
        return state.most > self._most

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        if self.state.most > self._most:
            return Bounds(0.0, 0.0)
        return Bounds(1.0 if self.state.done else 0.0, 1.0)

    def broken(self) -> bool:
        return False

    def warnings(self) -> list[str]:
        return []


class CyclesState(StuckState):
    """`keys` are the last calls; `equal` counts, by length, calls in a row that equal those so many before."""

    keys: list[str] = []
    titles: list[str] = []
    recent: list[Evidence] = []
    equal: list[int] = []


class Cycles(_Stuck[CyclesState]):
    """A sequence of 2 to `longest` calls, not all the same, that comes more than `most` times in a row."""

    def __init__(self, most: int, longest: int = 5, tools: Sequence[str] = (), all_streams: bool = False) -> None:
        super().__init__(CyclesState(equal=[0] * (longest + 1)), most, tools, all_streams)
        self._longest = longest

    def observe(self, event: AnyEvent) -> bool:
        if type(event) is not ToolCall or not self._looks_at(event):
            return False
        state, key = self.state, same_call(event)
        for length in range(1, self._longest + 1):
            again = len(state.keys) >= length and state.keys[-length] == key
            state.equal[length] = state.equal[length] + 1 if again else 0
        keep = self._longest * (self._most + 1)
        state.keys = [*state.keys, key][-self._longest :]
        state.titles = [*state.titles, event.tool or event.name][-self._longest :]
        state.recent = [*state.recent, evidence_of(event)][-min(keep, MAX_EVIDENCE) :]
        broken = False
        for length in range(2, self._longest + 1):
            times = state.equal[length] // length + 1
            if times > 1 and len(set(state.keys[-length:])) > 1:
                broken = self._reach(times, " → ".join(state.titles[-length:]), state.recent) or broken
        return broken

    def prove(self, proof: Proof) -> None:
        state, kept = self.state, self.state.most <= self._most
        text = f"{state.text} came {state.most} times in a row" if state.most else "no sequence of calls came again"
        proof.add(f"{text} (at most {self._most})", kept, state.evidence)


class FailuresState(StuckState):
    """`failed` maps a call to its failures since the last change."""

    failed: dict[str, list[Evidence]] = {}
    number: dict[str, int] = {}


class RepeatedFailures(_Stuck[FailuresState]):
    """The same call fails more than `most` times, with no successful write between them."""

    def __init__(self, most: int, tools: Sequence[str] = (), all_streams: bool = False) -> None:
        super().__init__(FailuresState(), most, tools, all_streams)

    def observe(self, event: AnyEvent) -> bool:
        if type(event) is not ToolResult or event.partial or event.call is None:
            return False
        state, call = self.state, event.call
        if event.outcome not in FAILING:
            if call.kind == "write" and counts(call, self._all):
                state.failed, state.number = {}, {}  # what failed before may work now
            elif self._looks_at(call):
                state.failed.pop(key := same_call(call), None)
                state.number.pop(key, None)
            return False
        if not self._looks_at(call):
            return False
        key = same_call(call)
        state.number[key] = state.number.pop(key, 0) + 1
        where = state.failed.setdefault(key, [])
        if len(where) < MAX_EVIDENCE:
            where.append(evidence_of(event))
        if len(state.number) > MOST_KNOWN:
            oldest = next(iter(state.number))
            del state.number[oldest], state.failed[oldest]
        return self._reach(state.number[key], call.tool or call.name, where)

    def prove(self, proof: Proof) -> None:
        state, kept = self.state, self.state.most <= self._most
        times = "once" if state.most == 1 else f"{state.most} times"
        text = (
            f"the same call of {state.text} failed {times} with no change between" if state.most else "no call failed"
        )
        proof.add(f"{text} (at most {self._most})", kept, state.evidence)


class ProgressState(StuckState):
    """`known` are hashes of files and outputs, the oldest first; `without` the calls in a row without a new one."""

    known: dict[str, bool] = {}
    without: int = 0
    recent: list[Evidence] = []


class NoProgress(_Stuck[ProgressState]):
    """More than `most` calls in a row that change nothing, and show no file and no output that was not there before."""

    def __init__(self, most: int, tools: Sequence[str] = (), all_streams: bool = False) -> None:
        super().__init__(ProgressState(), most, tools, all_streams)

    def observe(self, event: AnyEvent) -> bool:
        if type(event) is not ToolResult or event.partial or event.call is None or not self._looks_at(event.call):
            return False
        state, call = self.state, event.call
        new = call.kind == "write" and event.outcome not in FAILING
        for name in call.files:
            new = self._learn(f"file\0{name}".encode("utf-8", "replace")) or new
        if event.output_json is not None:
            new = self._learn(b"output\0" + bytes(event.output_json)) or new
        if new:
            state.without, state.recent = 0, []
            return False
        state.without += 1
        state.recent = [*state.recent, evidence_of(event)][-MAX_EVIDENCE:]
        return self._reach(state.without, call.tool or call.name, state.recent)

    def _learn(self, content: bytes) -> bool:
        """Remembers a file or an output; True if it is new."""
        key = hashlib.blake2b(content, digest_size=12).hexdigest()
        known = self.state.known
        if key in known:
            return False
        known[key] = True
        if len(known) > MOST_KNOWN:
            del known[next(iter(known))]
        return True

    def prove(self, proof: Proof) -> None:
        state, kept = self.state, self.state.most <= self._most
        calls = "1 call" if state.most == 1 else f"{state.most} calls"
        text = f"{calls} in a row without a new file or output" if state.most else "every call brought something new"
        proof.add(f"{text} (at most {self._most})", kept, state.evidence)

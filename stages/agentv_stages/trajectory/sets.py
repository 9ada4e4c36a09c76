"""tool-trajectory, modes `superset` and `subset`: which calls there are, whatever their order.

superset: every step needs a call of its own; score: steps with a call ÷ expected. Satisfied as soon as met, which is
final. Calls are assigned so that as many steps as possible get one. A call that gets no step when it comes cannot get
one later (the sets of calls that can be assigned together form a matroid), so a call is kept only while it is assigned
to a step.
subset: every call must be allowed by a step, which may allow many; score: allowed calls ÷ calls, 1 if there are none.
Open until the end, unless no later call can make up for a refused one.
A step with `max_duration_ms` takes only calls that were short enough; a call of unknown duration is taken. A step that
says how its call ended takes only calls whose result fits.
"""

from collections.abc import Sequence

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult, call_key
from agentv_stages.trajectory.calls import Arguments, Step, steps_count
from agentv_stages.trajectory.endings import note_missing
from agentv_stages.trajectory.verdict import (
    EPSILON,
    MAX_ASSERTIONS,
    PASS,
    Bounds,
    Evidence,
    Proof,
    evidence_of,
)

MOST_WAITING = 10_000


class Holder(Struct, frozen=True):
    """A call, with the steps that it fits (`mask`)."""

    mask: int
    position: int
    evidence: Evidence
    tool: str = ""


class SupersetState(Struct):
    held: list[Holder | None]
    waiting: dict[str, Holder] = {}
    calls: int = 0
    done: bool = False
    notes: list[str] = []


class _Sets:
    """The common part of both modes: calls that wait for their duration."""

    def __init__(self, steps: Sequence[Step], all_streams: bool, compat: bool) -> None:
        self._steps = tuple(steps)
        self._all = all_streams
        self._compat = compat
        self._arguments = Arguments()
        timed = (i for i, s in enumerate(steps) if s.ending.waits or (s.max_duration_ms is not None and not compat))
        self._late = sum(1 << i for i in timed)  # steps that wait for a call's result

    def _mask(self, call: ToolCall) -> int:
        return sum(1 << i for i, step in enumerate(self._steps) if step.fits(call, self._arguments))

    def _ended(self, mask: int, result: ToolResult | None, notes: list[str]) -> int:
        """The steps in `mask` that a call with this result fits; None if it never got one."""
        ms = None if result is None else result.duration_ms
        for i, step in enumerate(self._steps):
            if not (self._late & mask) >> i & 1:
                continue
            note_missing(notes, step.title, step.ending, result)
            slow = ms is not None and step.max_duration_ms is not None and ms > step.max_duration_ms
            if slow or not step.ending.fits(result):
                mask &= ~(1 << i)
        return mask


class Superset(_Sets):
    """`compat`: AgentV 4.42, where each call stays at the first step that it fits; durations are separate."""

    threshold: float | None = None

    def __init__(self, steps: Sequence[Step], all_streams: bool = False, compat: bool = False) -> None:
        super().__init__(steps, all_streams, compat)
        self.state = SupersetState([None] * len(self._steps))

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall and steps_count(self._steps, event, self._all):
            position = state.calls
            state.calls += 1
            if all(h is not None for h in state.held):
                return False
            mask = self._mask(event)
            if mask & self._late:
                if len(state.waiting) >= MOST_WAITING:
                    self._deal(self._unended(state.waiting.pop(next(iter(state.waiting)))))
                state.waiting[call_key(event)] = Holder(mask, position, evidence_of(event))
            elif mask:
                return self._deal(Holder(mask, position, evidence_of(event)))
        elif type(event) is ToolResult and state.waiting and not event.partial:
            held = state.waiting.pop(call_key(event.call or event), None)
            if held is not None:
                mask = self._ended(held.mask, event, state.notes)
                return self._deal(Holder(mask, held.position, held.evidence))
        return False

    def _unended(self, call: Holder) -> Holder:
        return Holder(self._ended(call.mask, None, self.state.notes), call.position, call.evidence)

    def _deal(self, call: Holder) -> bool:
        """Assigns the call to a step, moving others if that makes room; False if impossible."""
        if self._compat:
            for i, held in enumerate(self.state.held):
                if held is None and call.mask >> i & 1:
                    self.state.held[i] = call
                    return True
            return False
        return self._augment(call)

    def _augment(self, call: Holder) -> bool:
        """Looks for the shortest chain of calls that move by one step each; a spec may have more steps than a recursion
        may be deep."""
        held = self.state.held
        moved_from: dict[int, int | None] = {}  # step -> the step whose call would move there; None is the new call
        reached: list[int] = []
        mask, at = call.mask, 0
        origin: int | None = None
        while True:
            for i in range(len(held)):
                if mask >> i & 1 and i not in moved_from:
                    moved_from[i] = origin
                    reached.append(i)
                    if held[i] is None:
                        self._move(i, moved_from, call)
                        return True
            if at == len(reached):
                return False
            origin = reached[at]
            owner = held[origin]
            mask = owner.mask if owner is not None else 0
            at += 1

    def _move(self, to: int, moved_from: dict[int, int | None], call: Holder) -> None:
        held = self.state.held
        while (origin := moved_from[to]) is not None:
            held[to] = held[origin]
            to = origin
        held[to] = call

    def finish(self) -> None:
        for call in self.state.waiting.values():
            self._deal(self._unended(call))
        self.state.waiting = {}
        self.state.done = True

    def bounds(self) -> Bounds:
        state = self.state
        if not self._steps:
            return Bounds(1.0, 1.0)
        score = sum(h is not None for h in state.held) / len(self._steps)
        return Bounds(score, score if state.done else 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        if not self._steps:
            proof.add("No expected tools specified", True)
        for step, held in zip(self._steps, self.state.held, strict=True):
            if held is None:
                proof.add(f"Expected {step.title} not found in actual trajectory", False)
            else:
                proof.add(f"Found {step.title} at position {held.position}", True, (held.evidence,))

    def warnings(self) -> list[str]:
        return list(self.state.notes)


class SubsetState(Struct):
    waiting: dict[str, Holder] = {}
    calls: int = 0
    allowed: int = 0
    refused: list[Holder] = []
    refusals: int = 0
    done: bool = False
    notes: list[str] = []


class Subset(_Sets):
    """`goal` is the score to reach, which decides whether later calls can make up for a refused one."""

    threshold: float | None = None

    def __init__(
        self, steps: Sequence[Step], all_streams: bool = False, compat: bool = False, goal: float = PASS
    ) -> None:
        super().__init__(steps, all_streams, compat)
        self.state = SubsetState()
        self._goal = goal

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall and steps_count(self._steps, event, self._all):
            position = state.calls
            state.calls += 1
            mask = self._mask(event)
            if mask and not mask & ~self._late:
                if len(state.waiting) >= MOST_WAITING:
                    self._judge(self._unended(state.waiting.pop(next(iter(state.waiting)))))
                state.waiting[call_key(event)] = Holder(mask, position, evidence_of(event), event.tool or event.name)
                return False
            self._judge(Holder(mask, position, evidence_of(event), event.tool or event.name))
            return True
        if type(event) is ToolResult and state.waiting and not event.partial:
            held = state.waiting.pop(call_key(event.call or event), None)
            if held is not None:
                mask = self._ended(held.mask, event, state.notes)
                self._judge(Holder(mask, held.position, held.evidence, held.tool))
                return True
        return False

    def _unended(self, call: Holder) -> Holder:
        return Holder(self._ended(call.mask, None, self.state.notes), call.position, call.evidence, call.tool)

    def _judge(self, call: Holder) -> None:
        state = self.state
        if call.mask:
            state.allowed += 1
            return
        state.refusals += 1
        if len(state.refused) < MAX_ASSERTIONS:
            state.refused.append(call)

    def finish(self) -> None:
        for call in self.state.waiting.values():
            self._judge(self._unended(call))
        self.state.waiting = {}
        self.state.done = True

    def bounds(self) -> Bounds:
        state = self.state
        judged = state.allowed + state.refusals
        if state.done:
            score = state.allowed / judged if judged else 1.0
            return Bounds(score, score)
        if not state.refusals:
            return Bounds(0.0, 1.0)
        # Enough allowed calls bring the ratio arbitrarily near to 1; there are none if nothing is allowed.
        return Bounds(0.0, 1.0 - EPSILON * 2 if self._steps else 0.0)

    def broken(self) -> bool:
        return self._goal > 1.0 - EPSILON and self.state.refusals > 0

    def prove(self, proof: Proof) -> None:
        state = self.state
        if not state.calls:
            proof.add("No actual tool calls (trivially a subset)", True)
            return
        if not self._steps:
            proof.add(f"{state.calls} unexpected tool call(s) with empty allowed list", False)
        if state.allowed:
            proof.add(f"{state.allowed} of {state.calls} tool calls are in allowed set", True)
        for call in state.refused:
            proof.add(f"Position {call.position}: {call.tool} is not in allowed set", False, (call.evidence,))

    def warnings(self) -> list[str]:
        return list(self.state.notes)

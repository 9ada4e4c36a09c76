"""tool-trajectory, mode `exact`, and `expected_messages`: call i is step i.

Score: passed checks ÷ checks. Each expected call in its place is a check; a step with `max_duration_ms` that is in its
place adds another one, if the duration is known. Unless the spec sets a threshold, `exact` passes only at 1.0 with no
further call, and is violated by the first call after which that is impossible. It is satisfied only at the end.
If no call is expected, any call scores 0.
"""

from collections.abc import Sequence

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult, call_key
from agentv_stages.trajectory.calls import Arguments, Step, steps_count
from agentv_stages.trajectory.endings import note_missing
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of, plain


class Place(Struct):
    """The call at one place. `fit`: tool and arguments are right; `args_only`: only the arguments are wrong.

    `pending`: how it ended is not known yet; `ended` says how it did, if not as expected. `waits`: its duration is not
    known yet; `fast` is None if it never became known.
    """

    fit: bool
    tool: str
    args_only: bool
    evidence: Evidence
    waits: bool = False
    fast: bool | None = None
    duration_ms: int | None = None
    pending: bool = False
    ended: str | None = None


class ExactState(Struct):
    places: list[Place] = []
    waiting: dict[str, int] = {}
    calls: int = 0
    extra: list[Evidence] = []
    done: bool = False
    notes: list[str] = []


class Exact:
    """`strict`: further calls break it, and the score must be 1.0 (the default of `exact`).

    `compat`: AgentV 4.42, where extra calls cost nothing, no expected call is always kept, and the duration of a step
    that is not in its place still counts as a check. `monotone`: more calls can only help (`expected_messages`), so it
    can be satisfied early.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        all_streams: bool = False,
        strict: bool = True,
        compat: bool = False,
        monotone: bool = False,
    ) -> None:
        self.state = ExactState()
        self.threshold: float | None = 1.0 if strict else None
        self._steps = tuple(steps)
        self._all = all_streams
        self._strict = strict
        self._compat = compat
        self._monotone = monotone
        self._arguments = Arguments()
        self._timed = sum(s.max_duration_ms is not None for s in steps)

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall:
            if not steps_count(self._steps, event, self._all):
                return False
            i = state.calls
            state.calls += 1
            if i < len(self._steps):
                step = self._steps[i]
                fit = step.fits(event, self._arguments)
                place = Place(fit, event.tool or event.name, not fit and step.names(event), evidence_of(event))
                if fit and (step.max_duration_ms is not None or step.ending.waits):
                    place.waits, place.pending = step.max_duration_ms is not None, step.ending.waits
                    state.waiting[call_key(event)] = i
                state.places.append(place)
            elif len(state.extra) < MAX_EVIDENCE:
                state.extra.append(evidence_of(event))
            return True
        if type(event) is ToolResult and state.waiting and not event.partial:
            at = state.waiting.pop(call_key(event.call or event), None)
            if at is not None:
                place = state.places[at]
                self._end(at, event)
                limit = self._steps[at].max_duration_ms
                place.waits = False
                place.duration_ms = event.duration_ms
                if event.duration_ms is not None and limit is not None:
                    place.fast = event.duration_ms <= limit
                return True
        return False

    def _end(self, at: int, result: ToolResult | None) -> None:
        """Judges how the call at a place ended; None is a call that never got a result."""
        place, step = self.state.places[at], self._steps[at]
        if place.pending:
            place.pending = False
            note_missing(self.state.notes, step.title, step.ending, result)
            if not step.ending.fits(result):
                place.fit = False
                place.ended = "unpaired" if result is None else result.outcome or "ok"

    def finish(self) -> None:
        for at, place in enumerate(self.state.places):
            self._end(at, None)
            place.waits = False
        self.state.waiting = {}
        self.state.done = True

    def bounds(self) -> Bounds:
        state, number = self.state, len(self._steps)
        if not number:
            if state.calls and not self._compat:
                return Bounds(0.0, 0.0)
            return Bounds(float(state.done), 1.0)
        placed = sum(p.fit and not p.pending for p in state.places)
        pending = sum(p.pending for p in state.places)
        fast = sum(p.fast is True for p in state.places)
        unknown = sum(
            p.fit and s.max_duration_ms is not None and not p.waits and p.fast is None for p, s in self._pairs()
        )
        if self._compat:
            checked = self._timed - unknown
        else:
            checked = sum(p.fast is not None for p in state.places)
        score = (placed + fast) / (number + checked)
        if state.done:
            return Bounds(score, score)
        waiting = sum(p.waits for p in state.places)
        ahead = self._steps[len(state.places) :]
        could = waiting + sum(s.max_duration_ms is not None for s in ahead)
        # The best case: every remaining step in its place, every duration known and short.
        best = number + checked + (0 if self._compat else could)
        high = (placed + pending + len(ahead) + fast + could) / best
        return Bounds(score if self._monotone else 0.0, min(high, 1.0))

    def _pairs(self) -> list[tuple[Place, Step]]:
        return list(zip(self.state.places, self._steps, strict=False))

    def broken(self) -> bool:
        return self._strict and self.state.calls > len(self._steps)

    def prove(self, proof: Proof) -> None:
        state, steps = self.state, self._steps
        if not steps:
            if state.calls and not self._compat:
                proof.add(f"Expected no tool call, got {state.calls}", False, state.extra)
            else:
                proof.add("No tool sequence specified", True)
            return
        if state.calls != len(steps) and not self._monotone:
            proof.add(f"Expected {len(steps)} tool calls, got {state.calls}", False, state.extra)
        for i, step in enumerate(steps):
            if i >= len(state.places):
                proof.add(f"Position {i}: expected {step.title}, got nothing", False)
                continue
            place = state.places[i]
            where = (place.evidence,)
            if place.fit:
                proof.add(f"Position {i}: {step.title}", True, where)
            elif place.ended is not None:
                proof.add(f"Position {i}: expected {step.title}, the call ended {place.ended}", False, where)
            elif place.args_only:
                proof.add(f"Position {i}: {step.title} args mismatch", False, where)
            else:
                proof.add(f"Position {i}: expected {step.title}, got {place.tool}", False, where)
            if place.fast is not None:
                prove_duration(proof, step, place.duration_ms or 0, place.fast, where)

    def warnings(self) -> list[str]:
        return [
            *self.state.notes,
            *(
                f"No duration data for {step.title}; latency assertion skipped"
                for place, step in self._pairs()
                if place.fit and step.max_duration_ms is not None and not place.waits and place.fast is None
            ),
        ]


def prove_duration(proof: Proof, step: Step, duration_ms: int, fast: bool, where: Sequence[Evidence]) -> None:
    """The assertion about one duration."""
    verb = "completed in" if fast else "took"
    proof.add(f"{step.title} {verb} {duration_ms}ms (max: {plain(step.max_duration_ms or 0)}ms)", fast, where)

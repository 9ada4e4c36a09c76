"""tool-trajectory, mode `in_order`: the steps come in this order, whatever comes between them.

Score: passed checks ÷ checks. Each expected step is a check; those in the longest chain of steps that the calls contain
in order pass, so a missing step costs only itself. A matched step with `max_duration_ms` adds another check, if the
duration is known. Satisfied as soon as met, which is final; violated only at the end.

The chain is a longest common subsequence, computed row by row: one cell per step, none for calls.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult, call_key
from agentv_stages.trajectory.calls import Arguments, Step, counts, steps_count
from agentv_stages.trajectory.endings import note_missing
from agentv_stages.trajectory.exact import prove_duration
from agentv_stages.trajectory.verdict import Bounds, Evidence, Proof, evidence_of

MOST_WAITING = 10_000


class Found(Struct, frozen=True):
    """A step and the call matched to it. `fast` is None if its duration is not limited or not known."""

    step: int
    position: int
    evidence: Evidence
    fast: bool | None = None
    duration_ms: int | None = None


class Cell(Struct, frozen=True):
    """The best chain over the first steps: `rank` compares chains by steps, then by kept minus broken durations."""

    matched: int = 0
    fast: int = 0
    checked: int = 0
    chain: tuple[Found, ...] = ()

    @property
    def rank(self) -> tuple[int, int]:
        return (self.matched, 2 * self.fast - self.checked)


class Waiting(Struct):
    """A call that fits the steps in `mask` and waits for its result, or for an earlier call that waits."""

    call: str
    mask: int
    position: int
    evidence: Evidence
    resolved: bool
    duration_ms: int | None = None


class InOrderState(Struct):
    row: list[Cell]
    best: Cell = field(default_factory=Cell)
    waiting: list[Waiting] = []
    calls: int = 0
    done: bool = False
    notes: list[str] = []


class InOrder:
    """The rule with the semantics of a subsequence; AgentV's own is `InOrderCompat`."""

    threshold: float | None = None

    def __init__(self, steps: Sequence[Step], all_streams: bool = False) -> None:
        self._steps = tuple(steps)
        self._all = all_streams
        self._arguments = Arguments()
        late = (i for i, s in enumerate(self._steps) if s.max_duration_ms is not None or s.ending.waits)
        self._late = sum(1 << i for i in late)  # steps that wait for a call's result
        self.state = InOrderState([Cell()] * (len(self._steps) + 1))

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall:
            return steps_count(self._steps, event, self._all) and self._call(event)
        if type(event) is ToolResult and state.waiting and not event.partial:
            key = call_key(event.call or event)
            for waiting in state.waiting:
                if waiting.call == key and not waiting.resolved:
                    self._resolve(waiting, event)
                    return self._drain()
        return False

    def _call(self, call: ToolCall) -> bool:
        state = self.state
        position = state.calls
        state.calls += 1
        mask = sum(1 << i for i, step in enumerate(self._steps) if step.fits(call, self._arguments))
        if not mask:
            return False
        late = bool(mask & self._late)
        if not late and not state.waiting:
            self._take(mask, position, evidence_of(call), None)
            return True
        if len(state.waiting) >= MOST_WAITING:
            self._resolve(state.waiting[0], None)
            self._drain()
        state.waiting.append(Waiting(call_key(call), mask, position, evidence_of(call), not late))
        return self._drain()

    def _resolve(self, waiting: Waiting, result: ToolResult | None) -> None:
        """Drops the steps that a call with this result does not fit; None if it never got one."""
        waiting.resolved = True
        waiting.duration_ms = None if result is None else result.duration_ms
        for i, step in enumerate(self._steps):
            if waiting.mask >> i & 1:
                note_missing(self.state.notes, step.title, step.ending, result)
                if not step.ending.fits(result):
                    waiting.mask &= ~(1 << i)

    def _drain(self) -> bool:
        """Processes the calls whose results are known, in order, up to the first that still waits."""
        state, matched = self.state, 0
        for waiting in state.waiting:
            if not waiting.resolved:
                break
            self._take(waiting.mask, waiting.position, waiting.evidence, waiting.duration_ms)
            matched += 1
        del state.waiting[:matched]
        return matched > 0

    def _take(self, mask: int, position: int, evidence: Evidence, duration_ms: int | None) -> None:
        """Computes one row of the table: for each number of steps the best of the old chain, the chain of one step
        less, and a chain with this call."""
        old = self.state.row
        row = [old[0]]
        for i, step in enumerate(self._steps):
            cell = old[i + 1] if old[i + 1].rank >= row[i].rank else row[i]
            if mask >> i & 1:
                longer = self._extend(old[i], i, step, position, evidence, duration_ms)
                if longer.rank > cell.rank:
                    cell = longer
            row.append(cell)
        self.state.row = row
        # Every prefix of the trace is part of the trace: the best chain of any of them counts.
        if self._score(row[-1]) > self._score(self.state.best):
            self.state.best = row[-1]

    def _extend(self, cell: Cell, i: int, step: Step, position: int, evidence: Evidence, ms: int | None) -> Cell:
        limit = step.max_duration_ms
        fast = None if limit is None or ms is None else ms <= limit
        found = Found(i, position, evidence, fast, ms if limit is not None else None)
        checked = cell.checked + (fast is not None)
        return Cell(cell.matched + 1, cell.fast + (fast is True), checked, (*cell.chain, found))

    def _score(self, cell: Cell) -> float:
        return (cell.matched + cell.fast) / (len(self._steps) + cell.checked)

    def finish(self) -> None:
        for waiting in self.state.waiting:
            if not waiting.resolved:
                self._resolve(waiting, None)
        self._drain()
        self.state.done = True

    def bounds(self) -> Bounds:
        state = self.state
        score = self._score(state.best) if self._steps else 1.0
        return Bounds(score, score if state.done else 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        if not self._steps:
            proof.add("No tool sequence specified", True)
            return
        chain = {f.step: f for f in self.state.best.chain}
        for i, step in enumerate(self._steps):
            found = chain.get(i)
            if found is None:
                proof.add(f"Expected {step.title} at position {i}, not found in order", False)
                continue
            where = (found.evidence,)
            proof.add(f"Found {step.title} at position {found.position}", True, where)
            if found.fast is not None:
                prove_duration(proof, step, found.duration_ms or 0, found.fast, where)

    def warnings(self) -> list[str]:
        return [
            *self.state.notes,
            *(
                f"No duration data for {self._steps[f.step].title}; latency assertion skipped"
                for f in self.state.best.chain
                if f.fast is None and self._steps[f.step].max_duration_ms is not None
            ),
        ]


class Scanned(Struct):
    """The outcome of AgentV's scan for one step."""

    hit: bool
    position: int
    evidence: Evidence
    waits: bool = False
    fast: bool | None = None
    duration_ms: int | None = None


class InOrderCompatState(Struct):
    scanned: list[Scanned] = []
    waiting: dict[str, int] = {}
    calls: int = 0
    done: bool = False


class InOrderCompat:
    """AgentV 4.42: one forward scan. A missing step consumes the rest of the trace; a call of the right tool with the
    wrong arguments is consumed as a miss; the duration of a missed step still counts as a check."""

    threshold: float | None = None

    def __init__(self, steps: Sequence[Step], all_streams: bool = False) -> None:
        self.state = InOrderCompatState()
        self._steps = tuple(steps)
        self._all = all_streams
        self._arguments = Arguments()
        self._timed = sum(s.max_duration_ms is not None for s in self._steps)

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall:
            if not counts(event, self._all):
                return False
            position = state.calls
            state.calls += 1
            i = len(state.scanned)
            if i >= len(self._steps) or not self._steps[i].names(event):
                return False
            step = self._steps[i]
            hit = step.fits(event, self._arguments)
            scanned = Scanned(hit, position, evidence_of(event))
            if hit and step.max_duration_ms is not None:
                scanned.waits = True
                state.waiting[call_key(event)] = i
            state.scanned.append(scanned)
            return True
        if type(event) is ToolResult and state.waiting and not event.partial:
            at = state.waiting.pop(call_key(event.call or event), None)
            if at is not None:
                scanned, limit = state.scanned[at], self._steps[at].max_duration_ms
                scanned.waits, scanned.duration_ms = False, event.duration_ms
                if event.duration_ms is not None and limit is not None:
                    scanned.fast = event.duration_ms <= limit
                return True
        return False

    def finish(self) -> None:
        for scanned in self.state.scanned:
            scanned.waits = False
        self.state.waiting = {}
        self.state.done = True

    def _skipped(self) -> list[int]:
        return [
            i
            for i, s in enumerate(self.state.scanned)
            if s.hit and not s.waits and s.fast is None and self._steps[i].max_duration_ms is not None
        ]

    def bounds(self) -> Bounds:
        state, number = self.state, len(self._steps)
        if not number:
            return Bounds(1.0, 1.0)
        checked = number + self._timed - len(self._skipped())
        points = sum(s.hit + (s.fast is True) for s in state.scanned)
        score = points / checked
        if state.done:
            return Bounds(score, score)
        ahead = self._steps[len(state.scanned) :]
        could = sum(s.waits for s in state.scanned) + sum(s.max_duration_ms is not None for s in ahead)
        return Bounds(score, min(1.0, (points + len(ahead) + could) / checked))

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        if not self._steps:
            proof.add("No tool sequence specified", True)
        for i, step in enumerate(self._steps):
            if i >= len(self.state.scanned):
                proof.add(f"Expected {step.title} at position {i}, not found in remaining trace", False)
                continue
            scanned = self.state.scanned[i]
            where = (scanned.evidence,)
            if scanned.hit:
                proof.add(f"Found {step.title} at position {scanned.position}", True, where)
            else:
                text = f"Expected {step.title} at position {i}: tool found at {scanned.position} but args mismatch"
                proof.add(text, False, where)
            if scanned.fast is not None:
                prove_duration(proof, step, scanned.duration_ms or 0, scanned.fast, where)

    def warnings(self) -> list[str]:
        return [f"No duration data for {self._steps[i].title}; latency assertion skipped" for i in self._skipped()]

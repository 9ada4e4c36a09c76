"""tool-trajectory, mode `any_order`: how often tools must be called at least.

Score: tools that reach their minimum ÷ tools with minimums; 1 if none is set. Satisfied as soon as met, which is final.
A minimum that says how its calls ended counts a call when its result comes.
"""

from collections.abc import Mapping

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult, call_key
from agentv_stages.trajectory.calls import counts, named
from agentv_stages.trajectory.endings import ANYHOW, Ending, note_missing, on_stream
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, NO_TRACE, Bounds, Evidence, Proof, evidence_of, plain

KIND = "kind:"
MOST_WAITING = 10_000


class Least(Struct, frozen=True):
    """How often calls of `name` (canonical or native, glob, or `kind:<kind>`) must end like this, on this stream."""

    name: str
    number: float
    ending: Ending = ANYHOW
    stream: str | None = None


class Open(Struct):
    """A call that waits for its result, with the minimums that it may count for."""

    minimums: list[str]
    evidence: Evidence


class MinimumsState(Struct):
    calls: int = 0
    counts: dict[str, int] = {}
    evidence: dict[str, list[Evidence]] = {}
    waiting: dict[str, Open] = {}
    notes: list[str] = []
    done: bool = False


class Minimums:
    """`minimums` maps a title, which the assertions show, to what must be called.

    `compat`: AgentV 4.42, which scores 0 if no call was made at all.
    """

    threshold: float | None = None

    def __init__(self, minimums: Mapping[str, float | Least], all_streams: bool = False, compat: bool = False) -> None:
        self.state = MinimumsState()
        self._minimums = {
            title: least if isinstance(least, Least) else Least(title, least) for title, least in minimums.items()
        }
        self._all = all_streams
        self._compat = compat

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolResult and state.waiting and not event.partial:
            open_call = state.waiting.pop(call_key(event.call or event), None)
            return open_call is not None and self._ended(open_call, event)
        if type(event) is not ToolCall:
            return False
        considered = counts(event, self._all)
        state.calls += considered
        late: list[str] = []
        for title, least in self._minimums.items():
            if on_stream(least.stream, event.source.stream, self._all) and self._names(least.name, event):
                if least.ending.waits:
                    late.append(title)
                else:
                    self._count(title, evidence_of(event))
        if late:
            if len(state.waiting) >= MOST_WAITING:
                self._ended(state.waiting.pop(next(iter(state.waiting))), None)
            state.waiting[call_key(event)] = Open(late, evidence_of(event))
        return True

    def _ended(self, call: Open, result: ToolResult | None) -> bool:
        """Counts a call that has ended, if it did so as wanted; None is a call that never got a result."""
        fit = [title for title in call.minimums if self._minimums[title].ending.fits(result)]
        for title in call.minimums:
            note_missing(self.state.notes, title, self._minimums[title].ending, result)
        for title in fit:
            self._count(title, call.evidence)
        return bool(fit)

    def _count(self, title: str, evidence: Evidence) -> None:
        state = self.state
        state.counts[title] = state.counts.get(title, 0) + 1
        found = state.evidence.setdefault(title, [])
        if len(found) < MAX_EVIDENCE:
            found.append(evidence)

    def _names(self, name: str, call: ToolCall) -> bool:
        if self._compat:
            return (call.tool or call.name) == name
        if name.startswith(KIND):
            return call.kind == name[len(KIND) :]
        return named(name, call)

    def finish(self) -> None:
        for call in self.state.waiting.values():
            self._ended(call, None)
        self.state.waiting = {}
        self.state.done = True

    def bounds(self) -> Bounds:
        reached = sum(self.state.counts.get(title, 0) >= least.number for title, least in self._minimums.items())
        score = reached / len(self._minimums) if self._minimums else 1.0
        if self._nothing():
            score = 0.0
        return Bounds(score, score if self.state.done else 1.0)

    def _nothing(self) -> bool:
        return self._compat and not self.state.calls

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        if self._nothing():
            proof.add(NO_TRACE, False)
            return
        if not self._minimums:
            proof.add("No tool requirements specified", True)
        for title, least in self._minimums.items():
            number = self.state.counts.get(title, 0)
            text = f"{title}: called {number} times (required >={plain(least.number)})"
            proof.add(text, number >= least.number, self.state.evidence.get(title, ()))

    def warnings(self) -> list[str]:
        return list(self.state.notes)

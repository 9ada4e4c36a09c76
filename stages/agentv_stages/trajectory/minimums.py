"""tool-trajectory, mode `any_order`: how often tools must be called at least.

Score: tools that reach their minimum ÷ tools with minimums; 1 if none is set. Satisfied as soon as met, which is final.
"""

from collections.abc import Mapping

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall
from agentv_stages.trajectory.calls import counts, named
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, NO_TRACE, Bounds, Evidence, Proof, evidence_of, plain

KIND = "kind:"


class MinimumsState(Struct):
    calls: int = 0
    counts: dict[str, int] = {}
    evidence: dict[str, list[Evidence]] = {}
    done: bool = False


class Minimums:
    """`minimums` maps a tool (canonical or native name, glob, or `kind:<kind>`) to the minimum number of calls.

    `compat`: AgentV 4.42, which scores 0 if no call was made at all.
    """

    threshold: float | None = None

    def __init__(self, minimums: Mapping[str, float], all_streams: bool = False, compat: bool = False) -> None:
        self.state = MinimumsState()
        self._minimums = dict(minimums)
        self._all = all_streams
        self._compat = compat

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is not ToolCall or not counts(event, self._all):
            return False
        state.calls += 1
        for name in self._minimums:
            if self._names(name, event):
                state.counts[name] = state.counts.get(name, 0) + 1
                found = state.evidence.setdefault(name, [])
                if len(found) < MAX_EVIDENCE:
                    found.append(evidence_of(event))
        return True

    def _names(self, name: str, call: ToolCall) -> bool:
        if self._compat:
            return (call.tool or call.name) == name
        if name.startswith(KIND):
            return call.kind == name[len(KIND) :]
        return named(name, call)

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        met = sum(self.state.counts.get(name, 0) >= least for name, least in self._minimums.items())
        score = met / len(self._minimums) if self._minimums else 1.0
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
        for name, least in self._minimums.items():
            number = self.state.counts.get(name, 0)
            text = f"{name}: called {number} times (required >={plain(least)})"
            proof.add(text, number >= least, self.state.evidence.get(name, ()))

    def warnings(self) -> list[str]:
        return []

"""forbid, watched_commands, max_repeats: what an agent must not do, must do, and must not repeat too often."""

import hashlib
from collections.abc import Sequence

from msgspec import Struct, json

from agentv_stages.model.event import MAIN, AnyEvent, SessionInfo, ToolCall
from agentv_stages.shell import classify_shell
from agentv_stages.trajectory.arguments import MISSING
from agentv_stages.trajectory.call_form import CallForm
from agentv_stages.trajectory.calls import arguments_of, counts, named
from agentv_stages.trajectory.verdict import MAX_ASSERTIONS, MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of


class ForbidState(Struct):
    found: list[tuple[int, Evidence]] = []
    number: int = 0
    done: bool = False
    folder: str | None = None


class Forbid:
    """Score 1; 0 from the first call on that has one of the forms. All streams count unless configured otherwise."""

    threshold: float | None = None

    def __init__(self, forms: Sequence[str], all_streams: bool = True) -> None:
        self.state = ForbidState()
        self._forms = tuple(CallForm(form) for form in forms)
        self._all = all_streams

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is SessionInfo and event.source.stream == MAIN and (event.another or state.folder is None):
            state.folder = event.cwd
        if type(event) is not ToolCall or not counts(event, self._all):
            return False
        for i, form in enumerate(self._forms):
            if form.fits(event, state.folder):
                state.number += 1
                if len(state.found) < MAX_ASSERTIONS:
                    state.found.append((i, evidence_of(event)))
        return state.number > 0

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        if self.state.number:
            return Bounds(0.0, 0.0)
        return Bounds(1.0 if self.state.done else 0.0, 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for i, form in enumerate(self._forms):
            where = [evidence for at, evidence in self.state.found if at == i]
            text = f"{form.form} was called" if where else f"{form.form} was not called"
            proof.add(text, not where, where)

    def warnings(self) -> list[str]:
        """Rules that paths of this session cannot match, because its home or its folder is not known."""
        found = {at for at, _ in self.state.found}
        reasons = [(f.form, f.unknown(self.state.folder)) for i, f in enumerate(self._forms) if i not in found]
        return [f"{form}: {reason}" for form, reason in reasons if reason is not None]


class WatchedState(Struct):
    counts: list[int] = []
    evidence: list[list[Evidence]] = []
    done: bool = False


class WatchedCommands:
    """Programs that shell calls must run (`used`) or must not run (`unused`); score: requirements met ÷
    requirements."""

    threshold: float | None = None

    def __init__(self, used: Sequence[str], unused: Sequence[str] = (), all_streams: bool = True) -> None:
        self._names = (*used, *unused)
        self._used = len(used)
        self._all = all_streams
        self.state = WatchedState([0] * len(self._names), [[] for _ in self._names])

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is not ToolCall or event.command is None or not counts(event, self._all):
            return False
        programs = {name for name, _ in classify_shell(event.command).programs}
        changed = False
        for i, name in enumerate(self._names):
            if name in programs:
                state.counts[i] += 1
                changed = True
                if len(state.evidence[i]) < MAX_EVIDENCE:
                    state.evidence[i].append(evidence_of(event))
        return changed

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        low = high = 0
        for i, number in enumerate(self.state.counts):
            if i < self._used:
                low += number > 0
                high += number > 0 or not self.state.done
            else:
                low += number == 0 and self.state.done
                high += number == 0
        return Bounds(low / len(self._names), high / len(self._names))

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for i, name in enumerate(self._names):
            number, wanted = self.state.counts[i], i < self._used
            text = f"{name} was run {number} times ({'to be used' if wanted else 'not to be used'})"
            proof.add(text, (number > 0) == wanted, self.state.evidence[i])

    def warnings(self) -> list[str]:
        return []


def _sorted(call: ToolCall) -> bytes:
    """The arguments as bytes that do not depend on the order of keys or on blanks."""
    value = arguments_of(call)
    if value is MISSING:
        return b""
    try:
        return json.encode(value, order="sorted")
    except (ValueError, TypeError, RecursionError):
        return bytes(call.input_json)


class RepeatsState(Struct):
    window: list[str] = []
    at: int = 0
    counts: dict[str, int] = {}
    most: int = 0
    text: str = ""
    evidence: Evidence | None = None
    done: bool = False


class MaxRepeats:
    """The same call (tool and arguments) at most `most` times among the last `window` calls. Score 1, and 0 for
    good."""

    threshold: float | None = None

    def __init__(self, most: int, window: int = 100, tools: Sequence[str] = (), all_streams: bool = False) -> None:
        self.state = RepeatsState()
        self._most = most
        self._window = window
        self._tools = tuple(tools)
        self._all = all_streams

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is not ToolCall or not counts(event, self._all):
            return False
        if self._tools and not any(named(tool, event) for tool in self._tools):
            return False
        tool = event.tool or event.name
        same = f"{event.source.stream}\0{tool}\0".encode("utf-8", "replace") + _sorted(event)
        key = hashlib.blake2b(same, digest_size=12).hexdigest()
        if len(state.window) < self._window:
            state.window.append(key)
        else:
            old, state.window[state.at] = state.window[state.at], key
            state.at = (state.at + 1) % self._window
            state.counts[old] -= 1
            if not state.counts[old]:
                del state.counts[old]
        number = state.counts[key] = state.counts.get(key, 0) + 1
        if number > state.most:
            state.most = number
            state.text, state.evidence = tool, evidence_of(event)
        return state.most > self._most

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        if self.state.most > self._most:
            return Bounds(0.0, 0.0)
        return Bounds(1.0 if self.state.done else 0.0, 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        state = self.state
        where = (state.evidence,) if state.evidence is not None else ()
        text = f"the same call of {state.text} came {state.most} times" if state.most else "no call came twice"
        proof.add(f"{text} (at most {self._most} of {self._window})", state.most <= self._most, where)

    def warnings(self) -> list[str]:
        return []

"""forbid, watched_commands, max_repeats: what an agent must not do, must do, and must not repeat too often."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from agentv_stages.model.event import MAIN, AnyEvent, SessionInfo, ToolCall, ToolResult, call_key
from agentv_stages.shell import classify_shell
from agentv_stages.trajectory.call_form import CallForm
from agentv_stages.trajectory.calls import counts, named, same_call
from agentv_stages.trajectory.endings import ANYHOW, Ending, note_missing, on_stream
from agentv_stages.trajectory.verdict import MAX_ASSERTIONS, MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A call that must not be made; with conditions, a call that must not end like that. `max_ms` is how long it may
    take: a longer call is forbidden."""

    form: CallForm
    ending: Ending = ANYHOW
    stream: str | None = None

    @property
    def title(self) -> str:
        return self.form.form + (f"@{self.stream}" if self.stream is not None else "") + self.ending.title

    def ended(self, result: ToolResult | None) -> bool:
        """Whether a call with this result is forbidden; None is a call that never got one."""
        ending = self.ending
        if not Ending(ending.outcome, ending.exit_code).fits(result):
            return False
        ms = None if result is None else result.duration_ms
        return ending.max_ms is None or (ms is not None and ms > ending.max_ms)


class OpenCall(Struct):
    """A call that waits for its result, with the forbidden calls that it may be."""

    forms: list[int]
    evidence: Evidence


class ForbidState(Struct):
    found: list[tuple[int, Evidence]] = []
    number: int = 0
    done: bool = False
    folder: str | None = None
    waiting: dict[str, OpenCall] = {}
    notes: list[str] = []


MOST_WAITING = 10_000


class Forbid:
    """Score 1; 0 from the first call on that has one of the forms, or ends like that. All streams count unless
    configured otherwise."""

    threshold: float | None = None

    def __init__(self, forms: Sequence[str | Forbidden], all_streams: bool = True) -> None:
        self.state = ForbidState()
        self._forms = tuple(form if isinstance(form, Forbidden) else Forbidden(CallForm(form)) for form in forms)
        self._all = all_streams

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is SessionInfo and event.source.stream == MAIN and (event.another or state.folder is None):
            state.folder = event.cwd
        if type(event) is ToolResult and state.waiting and not event.partial:
            open_call = state.waiting.pop(call_key(event.call or event), None)
            if open_call is not None:
                self._ended(open_call, event)
        elif type(event) is ToolCall:
            self._call(event)
        else:
            return False
        return state.number > 0

    def _call(self, call: ToolCall) -> None:
        state, late = self.state, list[int]()
        for i, ban in enumerate(self._forms):
            if on_stream(ban.stream, call.source.stream, self._all) and ban.form.fits(call, state.folder):
                if ban.ending.waits:
                    late.append(i)
                else:
                    self._found(i, evidence_of(call))
        if late:
            if len(state.waiting) >= MOST_WAITING:
                self._ended(state.waiting.pop(next(iter(state.waiting))), None)
            state.waiting[call_key(call)] = OpenCall(late, evidence_of(call))

    def _ended(self, call: OpenCall, result: ToolResult | None) -> None:
        for i in call.forms:
            note_missing(self.state.notes, self._forms[i].title, self._forms[i].ending, result)
            if self._forms[i].ended(result):
                self._found(i, call.evidence)

    def _found(self, i: int, evidence: Evidence) -> None:
        self.state.number += 1
        if len(self.state.found) < MAX_ASSERTIONS:
            self.state.found.append((i, evidence))

    def finish(self) -> None:
        for call in self.state.waiting.values():
            self._ended(call, None)
        self.state.waiting = {}
        self.state.done = True

    def bounds(self) -> Bounds:
        if self.state.number:
            return Bounds(0.0, 0.0)
        return Bounds(1.0 if self.state.done else 0.0, 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for i, ban in enumerate(self._forms):
            where = [evidence for at, evidence in self.state.found if at == i]
            text = f"{ban.title} was called" if where else f"{ban.title} was not called"
            proof.add(text, not where, where)

    def warnings(self) -> list[str]:
        """Rules that paths of this session cannot match, because its home or its folder is not known; and facts that
        the log lacks."""
        found = {at for at, _ in self.state.found}
        forms = [ban.form for i, ban in enumerate(self._forms) if i not in found]
        reasons = [(form.form, form.unknown(self.state.folder)) for form in forms]
        return [*self.state.notes, *(f"{form}: {reason}" for form, reason in reasons if reason is not None)]


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
        tool, key = event.tool or event.name, same_call(event)
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

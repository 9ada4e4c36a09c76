"""trajectory:tool-used, tool-args-match, tool-sequence, step-count: AgentV 5.3's checks, after promptfoo. All score 1
or 0.

A step is a tool call, a command (a tool call that runs a shell text), a message or a reasoning. Names are
case-insensitive globs that match one of a step's names: the canonical and the native tool, for a command also its text
and its first word.
`compat`: a call of exec_command, local_shell or shell is only a command, every other call only a tool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, AssistantText, Reasoning, ToolCall, ToolResult
from agentv_stages.model.recent import remember
from agentv_stages.trajectory.arguments import MISSING, contains, deep_equal, without
from agentv_stages.trajectory.calls import arguments_of, counts
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of
from agentv_stages.trajectory.wildcards import glob

STEP_TYPES = ("tool", "command", "message", "reasoning", "search", "span")
COMMAND_TOOLS = frozenset(("exec_command", "local_shell", "shell"))

_RECENT = 2_048


@dataclass(frozen=True, slots=True)
class Matcher:
    """Which steps are meant: those of a `type`, with a whole name that fits the case-insensitive glob `pattern`."""

    pattern: str = "*"
    type: str | None = None
    least: int = 1
    most: int | None = None

    @property
    def title(self) -> str:
        return f"{self.type} {self.pattern}" if self.type else self.pattern


def step_names(event: AnyEvent, compat: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types and the names of an event as a step; no types if it is not a step."""
    if isinstance(event, ToolCall):
        command = event.command
        tool = tuple(dict.fromkeys((event.tool or event.name, event.name)))
        words = (command, command.split()[0]) if command is not None and command.split() else ()
        if compat:
            if event.name.lower() in COMMAND_TOOLS and words:
                return ("command",), (*words, *tool)
            return ("tool",), tool
        types = ("tool", "command") if words else ("tool",)
        return ((*types, "search") if event.kind == "search" else types), (*tool, *words)
    if isinstance(event, Reasoning):
        return ("reasoning",), ("reasoning",)
    if isinstance(event, AssistantText):
        return ("message",), ("message",)
    if isinstance(event, ToolResult):
        return ("span",), ("tool_result",)
    return (), ()


def fits(matcher: Matcher, types: Sequence[str], names: Sequence[str]) -> bool:
    if matcher.type is not None and matcher.type not in types:
        return False
    test = glob(matcher.pattern)
    return any(test(name) for name in names)


class StepState(Struct):
    counts: list[int] = []
    evidence: list[list[Evidence]] = []
    answers: dict[str, None] = {}
    position: int = 0
    failed: bool = False
    done: bool = False


class _Steps:
    """The common part of the checks: which events are steps, and the negation by `inverse`."""

    threshold: float | None = None

    def __init__(self, number: int, inverse: bool, all_streams: bool, compat: bool) -> None:
        self.state = StepState([0] * number, [[] for _ in range(number)])
        self._inverse = inverse
        self._all = all_streams
        self._compat = compat

    def observe(self, event: AnyEvent) -> bool:
        if not counts(event, self._all):
            return False
        if isinstance(event, AssistantText | Reasoning):
            # Blocks and deltas of one answer are a single step of their type, whatever stands between them.
            if not self._begins(f"{type(event).__name__} {event.source.stream} {event.message_id}"):
                return False
        types, names = step_names(event, self._compat)
        return bool(types) and self._step(event, types, names)

    def _begins(self, answer: str) -> bool:
        """Whether nothing of this answer has come; the last `_RECENT` of them are remembered."""
        if answer in self.state.answers:
            return False
        remember(self.state.answers, answer, None, _RECENT)
        return True

    def _step(self, event: AnyEvent, types: Sequence[str], names: Sequence[str]) -> bool:
        raise NotImplementedError

    def _fulfilled(self) -> bool | None:
        """Whether the check, before `inverse`, is fulfilled; None while that can change."""
        raise NotImplementedError

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        fulfilled = self._fulfilled()
        if fulfilled is None:
            return Bounds(0.0, 1.0)
        score = float(fulfilled != self._inverse)
        return Bounds(score, score)

    def broken(self) -> bool:
        return False

    def warnings(self) -> list[str]:
        return []

    def _remember(self, i: int, event: AnyEvent) -> None:
        self.state.counts[i] += 1
        if len(self.state.evidence[i]) < MAX_EVIDENCE:
            self.state.evidence[i].append(evidence_of(event))


class StepCount(_Steps):
    """tool-used (several matchers, all needed; `inverse`: none) and step-count (one matcher)."""

    def __init__(
        self,
        matchers: Sequence[Matcher],
        inverse: bool = False,
        all_streams: bool = False,
        compat: bool = False,
    ) -> None:
        super().__init__(len(matchers), inverse, all_streams, compat)
        self._matchers = tuple(matchers)

    def _step(self, event: AnyEvent, types: Sequence[str], names: Sequence[str]) -> bool:
        changed = False
        for i, matcher in enumerate(self._matchers):
            if fits(matcher, types, names):
                self._remember(i, event)
                changed = True
        return changed

    def _fits(self, i: int) -> bool | None:
        matcher, number = self._matchers[i], self.state.counts[i]
        if matcher.most is not None and number > matcher.most:
            return False
        if number >= matcher.least and (matcher.most is None or self.state.done):
            return True
        return False if self.state.done else None

    def _fulfilled(self) -> bool | None:
        each = [self._fits(i) for i in range(len(self._matchers))]
        if self._inverse:
            # This means "none of them", not "not all of them": a single fulfilled step fails it.
            return True if True in each else (None if None in each else False)
        return False if False in each else (None if None in each else True)

    def prove(self, proof: Proof) -> None:
        for i, matcher in enumerate(self._matchers):
            most = f", <={matcher.most}" if matcher.most is not None else ""
            text = f"{matcher.title}: {self.state.counts[i]} steps (required >={matcher.least}{most})"
            fulfilled = (self._fits(i) is True) != self._inverse
            proof.add(text + (", inverse" if self._inverse else ""), fulfilled, self.state.evidence[i])


@dataclass(frozen=True)
class ArgsSpec:
    """Expected arguments: `exact`, else recursively contained; `ignore` are keys (globs) to skip, `defaults` values
    that a call may have without being expected."""

    args: Any
    exact: bool = False
    ignore: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = member(default_factory=dict[str, Any])


class ArgsCheck(_Steps):
    """tool-args-match: one call of the matcher has these arguments."""

    def __init__(
        self,
        matcher: Matcher,
        spec: ArgsSpec,
        inverse: bool = False,
        all_streams: bool = False,
        compat: bool = False,
    ) -> None:
        super().__init__(2, inverse, all_streams, compat)
        self._matcher = matcher
        self._spec = spec

    def _step(self, event: AnyEvent, types: Sequence[str], names: Sequence[str]) -> bool:
        if not isinstance(event, ToolCall) or not fits(self._matcher, types, names):
            return False
        self._remember(0, event)
        spec = self._spec
        actual = arguments_of(event)
        actual = without({} if actual is MISSING else actual, spec.ignore, spec.defaults, spec.args)
        expected = without(spec.args, spec.ignore, {}, None)
        if deep_equal(actual, expected) if spec.exact else contains(actual, expected):
            self._remember(1, event)
            return True
        return False

    def _fulfilled(self) -> bool | None:
        return True if self.state.counts[1] else (False if self.state.done else None)

    def prove(self, proof: Proof) -> None:
        fulfilled = self.state.counts[1] > 0
        text = (
            f"{self._matcher.title}: {self.state.counts[1]} of {self.state.counts[0]} calls have the expected arguments"
        )
        proof.add(text, fulfilled != self._inverse, self.state.evidence[1 if fulfilled else 0])


class ToolSequence(_Steps):
    """tool-sequence: `in_order` is a subsequence of the tool calls, `exact` is all of them."""

    def __init__(
        self,
        steps: Sequence[Matcher],
        exact: bool = False,
        inverse: bool = False,
        all_streams: bool = False,
        compat: bool = False,
    ) -> None:
        super().__init__(len(steps), inverse, all_streams, compat)
        self._steps = tuple(steps)
        self._exact = exact

    def _step(self, event: AnyEvent, types: Sequence[str], names: Sequence[str]) -> bool:
        if "tool" not in types:
            return False
        state = self.state
        i = state.position
        if i < len(self._steps) and fits(self._steps[i], types, names):
            self._remember(i, event)
            state.position += 1
            return True
        if self._exact:
            state.failed = True
        return self._exact

    def _fulfilled(self) -> bool | None:
        if self.state.failed:
            return False
        if self.state.position == len(self._steps) and (not self._exact or self.state.done):
            return True
        return False if self.state.done else None

    def prove(self, proof: Proof) -> None:
        for i, step in enumerate(self._steps):
            found = i < self.state.position
            text = f"Step {i}: {step.title} " + ("found" if found else "not found in order")
            proof.add(text, found != self._inverse, self.state.evidence[i])
        if self.state.failed:
            proof.add("Other tool calls stand between", self._inverse)

    def warnings(self) -> list[str]:
        return []

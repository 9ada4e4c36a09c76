"""Expectations about a trajectory, true or false in an `assert`, and the text that a failed one shows."""

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agentv_stages.model.visible import counted, padded, visible
from agentv_stream.api.call import Call

if TYPE_CHECKING:
    from types import CodeType

    import pytest

Properties: TypeAlias = list[tuple[str, object]]
AROUND = 3  # calls shown before and after a divergence
_TOOL, _ABOUT = 8, 72


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference between the expected and the found, and the indexes of the calls that show it, the first one in
    front. `lines` are further text."""

    expected: str
    found: str
    calls: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()


class Expected(Protocol):
    """The trajectory that expectations are about."""

    @property
    def journal(self) -> "Journal": ...

    @property
    def calls(self) -> Sequence[Call]: ...

    def calls_of(self, pattern: str) -> Sequence[Call]: ...


class Expectation:
    """An expectation with its outcome. It is true in an `assert` if it holds; a failure shows the trajectory around."""

    def __init__(self, trajectory: "Expected", title: str, divergences: Sequence[Divergence], held: Divergence) -> None:
        self.title = title
        self._trajectory = trajectory
        self._divergences = tuple(divergences)
        self._held = held
        trajectory.journal.add(self)

    def __bool__(self) -> bool:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - the assertion's
        self._trajectory.journal.evaluated(self, frame.f_code, frame.f_lineno)
        return not self._divergences

    @property
    def divergence(self) -> Divergence:
        """The first difference; if there is none, the calls that hold."""
        return self._divergences[0] if self._divergences else self._held

    def __repr__(self) -> str:
        return visible(f"<{self.title}: {'fails' if self._divergences else 'holds'}>", 200)

    def explain(self) -> str:
        """The expectation, the finding, and the calls around it, as text for people."""
        first = self.divergence
        lines = [f"{self.title}: expected {first.expected}", f"{' ' * len(self.title)}  found {first.found}"]
        lines = [visible(line, 400) for line in lines] + [visible(line, 400) for line in first.lines]
        return "\n".join([*lines, *_around(self._trajectory.calls, first.calls)])


class Used(Expectation):
    """That a call was used. Further conditions can follow: `used("Edit").after("Read").times(1)`."""

    def __init__(
        self,
        trajectory: "Expected",
        title: str,
        pattern: str,
        calls: Sequence[Call],
        divergences: Sequence[Divergence],
    ) -> None:
        self._pattern = pattern
        self._calls = calls
        held = Divergence("no such call", f"{_count(calls)} of {pattern}", tuple(call.index for call in calls))
        super().__init__(trajectory, title, divergences, held)

    def after(self, pattern: str) -> "Used":
        """The first call comes after a call of `pattern`."""
        earlier = self._trajectory.calls_of(pattern)
        return self._and(f"after {pattern}", self._order(pattern, earlier, self._pattern, self._calls))

    def before(self, pattern: str) -> "Used":
        """A call comes before the first call of `pattern`."""
        later = self._trajectory.calls_of(pattern)
        return self._and(f"before {pattern}", self._order(self._pattern, self._calls, pattern, later))

    def times(self, number: int) -> "Used":
        """Exactly so many calls."""
        return self._counted(f"exactly {number}", lambda count: count == number)

    def at_least(self, number: int) -> "Used":
        """So many calls or more."""
        return self._counted(f"at least {number}", lambda count: count >= number)

    def at_most(self, number: int) -> "Used":
        """So many calls or fewer."""
        return self._counted(f"at most {number}", lambda count: count <= number)

    def _counted(self, words: str, fits: Callable[[int], bool]) -> "Used":
        indexes = tuple(call.index for call in self._calls)
        failed = Divergence(f"{words} of {self._pattern}", _count(self._calls), indexes)
        return self._and(words, None if fits(len(self._calls)) else failed)

    def _order(self, first: str, firsts: Sequence[Call], then: str, thens: Sequence[Call]) -> Divergence | None:
        if not firsts:
            return Divergence(f"a call of {first}", "none", tuple(call.index for call in thens[:1]))
        if thens and firsts[0].index > thens[0].index:
            expected = f"a call of {first} before the first one of {then}"
            found = f"{then} at call {thens[0].index}, {first} first at call {firsts[0].index}"
            return Divergence(expected, found, (thens[0].index, firsts[0].index))
        return None

    def _and(self, words: str, failed: Divergence | None) -> "Used":
        self._trajectory.journal.continued(self)
        more = () if failed is None else (failed,)
        title = f"{self.title} {words}"
        return Used(self._trajectory, title, self._pattern, self._calls, (*self._divergences, *more))


def _count(calls: Sequence[Call]) -> str:
    return counted(len(calls), "call")


def _around(calls: Sequence[Call], marked: Sequence[int]) -> list[str]:
    """The calls around the first marked one, each on a line; the end of the trajectory if none is."""
    if not calls:
        return ["    (no tool calls)"]
    centre = marked[0] if marked else len(calls) - 1
    shown = [call for call in calls if abs(call.index - centre) <= AROUND]
    others = [calls[index] for index in marked[1:3] if abs(index - centre) > AROUND]
    lines = ["" if shown[0].index == 0 else f"    … {counted(shown[0].index, 'call')} before"]
    lines += [_line(call, call.index in marked) for call in shown]
    for call in others:
        lines += ["    …", _line(call, True)]
    last = max((*shown, *others), key=lambda call: call.index).index
    if last < len(calls) - 1:
        lines.append(f"    … {counted(len(calls) - 1 - last, 'call')} after")
    return [line for line in lines if line]


def _line(call: Call, marked: bool) -> str:
    where = f"turn {call.turn}" if call.turn is not None else padded(visible(call.stream, 8), 8)
    code = f" exit {call.exit_code}" if call.exit_code else ""
    about = padded(visible(" ".join(call.target.split()), _ABOUT), _ABOUT)
    sign = ">" if marked else " "
    ended = f"{call.outcome}{code}  row {call.row + 1}"
    return f"  {sign} call {call.index:<3} {where:8} {padded(call.tool, _TOOL)} {about} {ended}"


@dataclass
class Journal:
    """The expectations of one test: which were evaluated, and where. `properties` are those of its JUnit report."""

    properties: Properties = field(default_factory=Properties)
    _pending: list[Expectation] = field(default_factory=list[Expectation])
    _last: "tuple[Expectation, CodeType, int] | None" = None

    def add(self, expectation: Expectation) -> None:
        """Notes an expectation that has to be evaluated."""
        self._pending.append(expectation)

    def continued(self, expectation: Expectation) -> None:
        """Another expectation includes this one."""
        self._pending = [other for other in self._pending if other is not expectation]

    def evaluated(self, expectation: Expectation, code: "CodeType", line: int) -> None:
        """Notes where an expectation was evaluated."""
        self.continued(expectation)
        self._last = (expectation, code, line)

    def explain(self, failure: "pytest.ExceptionInfo[BaseException]", report: "pytest.TestReport") -> None:
        """Adds the explanation of the expectation that was evaluated in the failed assertion, if there is one."""
        if self._last is None or not failure.errisinstance(AssertionError):
            return
        expectation, code, line = self._last
        entries = [entry for entry in failure.traceback if entry.frame.code.raw is code]
        add_section: Callable[[str, str], None] | None = getattr(report.longrepr, "addsection", None)
        if entries and entries[-1].lineno + 1 <= line and add_section is not None:
            add_section("trajectory", expectation.explain())

    def warn_of_unused(self) -> None:
        """Warns of expectations without an `assert`: they would pass whatever the agent did."""
        titles = _unique(expectation.title for expectation in self._pending)
        if titles:
            warnings.warn(f"never asserted: {'; '.join(titles)} (write `assert` before it)", UserWarning, stacklevel=2)


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))

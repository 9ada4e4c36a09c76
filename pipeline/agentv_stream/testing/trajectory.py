"""An agent's trajectory in a test: its calls and figures, and expectations for plain asserts."""

import glob
from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

from agentv_stages.figures.summary import ToolUseSummary
from agentv_stages.model.event import Status
from agentv_stages.model.tokens import TokenTotals
from agentv_stages.model.visible import counted
from agentv_stages.trajectory.call_form import CallForm
from agentv_stream.api.call import Call
from agentv_stream.api.check import check
from agentv_stream.api.session import Session, read
from agentv_stream.checks.check_text import failure_lines
from agentv_stream.checks.spec_tools import nearly_tool
from agentv_stream.errors import UsageError
from agentv_stream.testing.expectation import Divergence, Expectation, Journal, Used

Limits = tuple[tuple[str, float | None, float | None, str], ...]


class Trajectory:
    """The work of an agent. Patterns are tool names, globs, kinds (`kind:read`) and permission rules (`Bash(rm *)`)."""

    def __init__(
        self,
        source: str | PathLike[str] | None = None,
        journal: Journal | None = None,
        folder: Path | None = None,
        status: Status | None = None,  # that of the process, if it was run here
    ) -> None:
        self.journal = Journal() if journal is None else journal
        self._source = source
        self._folder = folder
        self._status = status

    def __call__(self, path_or_id: str | PathLike[str]) -> "Trajectory":
        """Loads another one: a path, relative to the test's folder or to the current one, or an id. Raises: as
        `agentv_stream.read`."""
        other = Trajectory(path_or_id, self.journal, self._folder)
        _ = other.session
        return other

    @cached_property
    def session(self) -> Session:
        """The session. Raises: as `agentv_stream.read`; UsageError if the test names none."""
        if self._source is None:
            raise UsageError("no trajectory: call trajectory(PATH), or mark the test @pytest.mark.trajectory(PATH)")
        beside = None if self._folder is None else self._folder / self._source
        session = read(beside if beside is not None and beside.is_file() else self._source)
        figures = session.tool_use_summary
        self.journal.properties += [
            ("agent_provider", session.provider),
            ("agent_status", self._status or session.status),
            ("agent_turns", figures.turns),
            ("agent_tool_calls", figures.total_tool_calls),
            ("agent_cost_usd", session.cost_usd),
        ]
        return session

    @property
    def calls(self) -> list[Call]:
        """All tool calls in the order requested."""
        return self._calls

    @cached_property
    def _calls(self) -> list[Call]:
        return sorted(self.session.calls, key=lambda call: call.index)

    @property
    def turns(self) -> int:
        """Turns of the main stream."""
        return self.session.turns

    @property
    def tokens(self) -> TokenTotals:
        """Tokens of the whole session."""
        return self.session.tokens

    @property
    def cost_usd(self) -> float | None:
        """The cost that the agent reported, in US dollars."""
        return self.session.cost_usd

    @property
    def status(self) -> Status:
        """How the agent ended: as its process did, if this is a run."""
        return self.session.status if self._status is None else self._status  # pyright: ignore[reportReturnType] - a Status

    @property
    def tool_use_summary(self) -> ToolUseSummary:
        """Statistics of its tool calls."""
        return self.session.tool_use_summary

    @cached_property
    def answer(self) -> str:
        """The text of the last answer on the main stream."""
        texts = [m.text for m in self.session.messages if m.role == "assistant" and m.turn is not None]
        return texts[-1] if texts else ""

    def used(self, pattern: str) -> Used:
        """A call of this form was requested, whatever its outcome."""
        __tracebackhide__ = True
        calls = self.calls_of(pattern)
        missing = () if calls else (Divergence(f"a call of {pattern}", "none"),)
        return Used(self, f"used {pattern}", pattern, calls, missing)

    def never(self, *patterns: str) -> Expectation:
        """No call of these forms was requested."""
        __tracebackhide__ = True
        found = {pattern: calls for pattern in patterns if (calls := self.calls_of(pattern))}
        wrong = [
            Divergence(f"no call of {pattern}", counted(len(calls), "call"), tuple(call.index for call in calls))
            for pattern, calls in found.items()
        ]
        names = ", ".join(patterns)
        return Expectation(self, f"never {names}", wrong, Divergence(f"a call of {names}", "none"))

    def within(
        self,
        *,
        turns: int | None = None,
        usd: float | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
    ) -> Expectation:
        """At most so many turns, US dollars, calls, tokens (input and output) and seconds. A figure that the log does
        not have is a failure, because nothing shows that the limit was kept."""
        __tracebackhide__ = True
        session = self.session
        used = session.tokens
        both = None if used.input is None or used.output is None else used.input + used.output
        took = None if session.duration_ms is None else session.duration_ms / 1000
        limits: Limits = (
            ("turns", turns, session.turns, f"{session.turns} turns"),
            ("USD", usd, session.cost_usd, f"{session.cost_usd} USD"),
            ("calls", calls, len(self.calls), f"{len(self.calls)} calls"),
            ("tokens", tokens, both, f"{both} tokens"),
            ("seconds", seconds, took, f"{took} seconds"),
        )
        bounded = [limit for limit in limits if limit[1] is not None]
        if not bounded:
            raise UsageError("within() needs a limit: turns, usd, calls, tokens or seconds")
        wrong: list[Divergence] = []
        for unit, most, number, words in bounded:
            if number is None:
                wrong.append(Divergence(f"at most {most} {unit}", "nothing: the log does not record them"))
            elif most is not None and number > most:
                wrong.append(Divergence(f"at most {most} {unit}", words, self._first_beyond(unit, most)))
        title = "within " + ", ".join(f"{most} {unit}" for unit, most, _, _ in bounded)
        return Expectation(self, title, wrong, Divergence("more", ", ".join(words for *_, words in bounded)))

    def passes(self, spec: str | PathLike[str], *, case: str | None = None) -> Expectation:
        """The verdicts of a spec, relative to the test's folder or to the current one. Raises: SpecError."""
        __tracebackhide__ = True
        beside = None if self._folder is None else self._folder / spec
        path = beside if beside is not None and beside.is_file() else spec
        wrong: list[Divergence] = []
        for verdict in check(self.session, path, case=case):
            if verdict.verdict != "pass":
                lines = tuple(failure_lines(verdict, 120)) if verdict.verdict == "fail" else ()
                wrong.append(Divergence(f"the case {verdict.case} to pass", verdict.verdict, lines=lines))
        title = f"passes {fspath(spec)}"
        return Expectation(self, title, wrong, Divergence("a case that fails", "none"))

    def calls_of(self, pattern: str) -> Sequence[Call]:
        """The calls that fit a pattern. Raises: UsageError for a pattern that cannot be one, or that nearly names a
        tool."""
        __tracebackhide__ = True
        try:
            form = CallForm(pattern)
        except ValueError as error:
            raise UsageError(str(error)) from None
        folder = self.session.cwd
        found = [call for call in self.calls if form.fits(call.request, folder)]
        near_miss = nearly_tool(form.tool)
        if not found and near_miss is not None:
            raise UsageError(f"{pattern!r}: no agent has a tool {form.tool!r}; did you mean {near_miss!r}?")
        return found

    def _first_beyond(self, unit: str, most: float) -> tuple[int, ...]:
        if unit == "calls":
            return (int(most),)
        if unit == "turns":
            return next(((c.index,) for c in self.calls if c.turn is not None and c.turn > most), ())
        return ()

    def __repr__(self) -> str:
        return f"<Trajectory {'' if self._source is None else Path(self._source).name!r}>"


def sources_of(named: Sequence[str], folder: Path) -> list[tuple[str, str]]:
    """The logs that a mark names, with a name for each: a glob stands for its files in alphabetical order."""
    found: list[tuple[str, str]] = []
    for source in named:
        if not glob.has_magic(source):
            found.append((source, Path(source).stem))
            continue
        paths = sorted(glob.glob(source, root_dir=folder, recursive=True))  # noqa: PTH207 - may be absolute
        if not paths:
            raise UsageError(f"@pytest.mark.trajectory({source!r}): no file below {folder} fits")
        found += [(str(folder / path), Path(path).stem) for path in paths]
    return found

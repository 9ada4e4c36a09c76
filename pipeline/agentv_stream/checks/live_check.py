"""Checks a stream against specs while it runs: what `consume --check` and `run --check` share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from agentv_stages.figures.result import Result
from agentv_stages.model.provider import Provider
from agentv_stages.model.visible import visible
from agentv_stages.session.parts import Parts
from agentv_stages.trajectory import Case, CaseResult, Decision
from agentv_stream.checks.check import Checker, SourceCheck, cases_for, target_warnings, verdicts_json
from agentv_stream.checks.check_text import case_lines, decided, failure_lines, summary_line
from agentv_stream.checks.spec import SpecCase, check_judges, load_spec
from agentv_stream.errors import UsageError

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor

FailFast: TypeAlias = Literal["report", "close"]


class LiveCheck:
    """The checker of one stream, and what happens when a case has finally failed.

    `stop` is called once, at the first such violation, if `fail_fast` asks for it; `stopped` records the call.
    """

    def __init__(
        self, cases: Sequence[SpecCase], say: Callable[[str], None], fail_fast: FailFast | None = None
    ) -> None:
        self.checker = Checker(cases, self._fell)
        self.fail_fast = fail_fast
        self.stop: Callable[[], None] | None = None
        self.stopped: str | None = None
        self.verbose = False
        self.quiet = False  # violations are reported all the same
        self.before_telling: Callable[[], None] = lambda: None  # clears a live line before a message
        self._cases = list(cases)
        self._say = say

    def _fell(self, case: Case, decision: Decision) -> None:
        word = "VIOLATED" if decision.standing == "violated" else "satisfied"
        if decision.standing == "violated" or not self.quiet:
            self.before_telling()
            self._say(f"check {visible(case.name, 60)}: {word}, {decided(decision)}")
        if decision.standing == "violated" and self.fail_fast is not None and self.stopped is None:
            if self.stop is not None:
                self.stopped = case.name
                self.stop()

    def redact(self, redactor: "Redactor | None") -> None:
        """The session is redacted: cases see the original texts, and nothing quotes their secrets."""
        self.checker.parts = Parts(redactor=redactor)

    def verdicts(self) -> list[Any]:
        """The outcomes as plain values; the stream has ended."""
        return verdicts_json(self.checker.finish())

    def finish(self, result: Result | None, provider: Provider | None, quiet: bool = False) -> bool:
        """Puts the verdicts into the result and reports them; returns whether a case failed."""
        results = self.checker.finish()
        if result is not None:
            result.verdicts = verdicts_json(results)
        if provider is not None:
            for warning in target_warnings(self._cases, provider):
                self._say(f"warning: {warning}")
        if not quiet:
            self._report(results)
        return self.checker.failed

    def summary(self) -> str:
        """How many cases passed, failed and were skipped."""
        return summary_line([SourceCheck("", cases=self.checker.finish())]).rstrip()

    def _report(self, results: Sequence[CaseResult]) -> None:
        """Says what became of each case, what failed in full."""
        for case in results:
            if self.verbose:
                lines = case_lines(case)
            else:
                lines = case_lines(case, details=False)[:1]
                lines += failure_lines(case, 120, self.checker.turns) if case.verdict == "fail" else []
            for line in lines:
                self._say(line.rstrip())


def open_checks(
    specs: Sequence[Path],
    case: str | None,
    fail_fast: str | None,
    source: str,
    say: Callable[[str], None],
    threshold: float | None = None,
) -> LiveCheck | None:
    """Reads the specs; None if there are none. Unless `case` is given, `source` is the name by which cases are chosen.

    Raises: SpecError, UsageError.
    """
    if fail_fast is not None and fail_fast not in get_args(FailFast):
        raise UsageError(f"--fail-fast: expected report or close, not {fail_fast!r}")
    if not specs:
        if fail_fast is not None:
            raise UsageError("--fail-fast needs --check SPEC")
        if case is not None:
            raise UsageError("--case needs --check SPEC")
        if threshold is not None:
            raise UsageError("--threshold needs --check SPEC")
        return None
    loaded = [load_spec(path, threshold) for path in specs]
    check_judges(loaded)
    for spec in loaded:
        for warning in spec.warnings:
            say(f"warning: {warning}")
    mode: FailFast | None = None if fail_fast is None else ("close" if fail_fast == "close" else "report")
    return LiveCheck([member for _, member in cases_for(source, loaded, case)], say, mode)

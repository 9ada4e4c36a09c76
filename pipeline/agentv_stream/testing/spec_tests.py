"""Specs as tests: a file of cases becomes a test for each evaluator of each case, and for each run that it judges."""

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.model.visible import visible
from agentv_stages.trajectory import CaseResult, Result
from agentv_stream.checks.check import SourceCheck, cases_of_source, check_source, expand
from agentv_stream.checks.check_text import failure_lines
from agentv_stream.checks.spec import Spec, SpecCase, check_judges, load_spec
from agentv_stream.errors import AgentvStreamError, SourceError

DEFAULT_RUNS = ".agentv/runs"
_WIDTH = 110


class SpecFailure(Exception):
    """A verdict that fails, with the lines that explain it."""


class SpecFile(pytest.File):
    """A spec; collects its cases. A mistake in it is an error of collection."""

    def collect(self) -> Iterator[pytest.Collector]:
        try:
            self.spec = load_spec(self.path)
            check_judges([self.spec])
        except AgentvStreamError as error:
            raise self.CollectError(str(error)) from None
        self.checks: dict[Path, SourceCheck] = {}
        runs = _runs_of(self.config, self.spec)
        for case in self.spec.cases:
            of_case = [path for path, cases in runs if any(chosen is case for chosen in cases)]
            yield CaseTests.from_parent(self, name=visible(case.id, 200), case=case, runs=of_case)  # pyright: ignore[reportUnknownMemberType] - pytest's

    def checked(self, run: Path) -> SourceCheck:
        """The verdicts of all cases on a run; read once for all its tests."""
        if run not in self.checks:
            self.checks[run] = check_source(run, [self.spec])
        return self.checks[run]


class CaseTests(pytest.Collector):
    """A case; collects a test for each evaluator and run, and for each run the score of the whole case."""

    def __init__(self, case: SpecCase, runs: Sequence[Path], **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - pytest's
        self.case, self.runs = case, runs

    def collect(self) -> Iterator[pytest.Item]:
        names = [member.terms.name for member in self.case.build().members]
        runs: list[Path | None] = [*self.runs] or [None]
        for run in runs:
            suffix = f"[{visible(_short(run), 200)}]" if run is not None and len(self.runs) > 1 else ""
            for number, name in enumerate(names):
                test = names[: number + 1].count(name)
                own = name if test == 1 else f"{name} ({test})"
                yield SpecTest.from_parent(self, name=visible(own, 200) + suffix, run=run, number=number)  # pyright: ignore[reportUnknownMemberType] - pytest's
            yield SpecTest.from_parent(self, name=f"case{suffix}", run=run, number=None)  # pyright: ignore[reportUnknownMemberType] - pytest's


class SpecTest(pytest.Item):
    """One evaluator of a case on one run; the case itself with `number` None."""

    parent: CaseTests

    def __init__(self, run: Path | None, number: int | None, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - pytest's
        self.run, self.number = run, number

    def runtest(self) -> None:
        """Raises: SpecFailure. A verdict that cannot be given here is skipped."""
        if self.run is None:
            pytest.skip(f"no run of the case {self.parent.case.id!r} in {_folder(self.config)}")
        file = self.parent.parent
        assert isinstance(file, SpecFile)
        check = file.checked(self.run)
        if check.error is not None:
            raise check.error
        verdict = next(case for case in check.cases if case.case == self.parent.case.id)
        judged = verdict if self.number is None else verdict.evaluators[self.number]
        self.user_properties += [
            ("agent_run", str(self.run)),
            ("agent_provider", check.provider),
            ("agent_session", check.session_id),
            ("agent_status", check.status),
            ("agent_seconds", None if check.duration_ms is None else check.duration_ms / 1000),
            ("score", judged.score),
            ("threshold", judged.threshold),
        ]
        if judged.verdict == "skipped":
            reason = judged.reason if isinstance(judged, Result) else "every evaluator was skipped"
            pytest.skip(reason or "it is not judged here")
        if judged.verdict == "fail":
            raise SpecFailure("\n".join(_lines(verdict, judged, check)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **options: Any) -> Any:
        """The lines of a verdict, and one line for a run that cannot be read, instead of a traceback."""
        if isinstance(excinfo.value, SpecFailure | AgentvStreamError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **options)

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        """The place of the evaluator in the spec."""
        case = self.parent.case
        item = case.items[self.number] if self.number is not None and self.number < len(case.items) else None
        line = None if item is None else item.document.line(item.at) - 1
        return self.path, line, f"{case.id} :: {self.name}"


def _lines(verdict: CaseResult, judged: CaseResult | Result, check: SourceCheck) -> list[str]:
    if isinstance(judged, CaseResult):
        failed = ", ".join(result.name for result in judged.evaluators if result.verdict == "fail")
        words = f"{visible(check.source, 400)}: score {judged.score:.2f}, threshold {judged.threshold:g}"
        return [words, f"failed: {visible(failed, 400)}"]
    only = CaseResult(verdict.case, judged.score, "fail", judged.threshold, (judged,))
    return [visible(check.source, 400), *failure_lines(only, _WIDTH, check.turns)]


def _folder(config: pytest.Config) -> Path:
    option: str | None = config.getoption("--agent-runs")
    if option is not None:
        return config.invocation_params.dir / option
    ini: str = config.getini("agent_runs")
    return config.rootpath / (ini or DEFAULT_RUNS)


def _runs_of(config: pytest.Config, spec: Spec) -> list[tuple[Path, list[SpecCase]]]:
    """The runs in the folder, each with the cases that judge it."""
    try:
        found = expand([str(_folder(config))])
    except SourceError:
        return []
    return [(path, [case for _, case in cases_of_source(path, [spec], None)]) for path in found]


def _short(run: Path) -> str:
    return run.name.split(".")[0]

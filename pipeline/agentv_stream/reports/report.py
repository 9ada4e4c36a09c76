"""Compares approaches. In: result files. Out: figures per approach and task, paired differences with intervals.

Figures are defined in docs/metrics.md. Results of bobbin's evaluation are also read: if a raw stream is beside one its
figures are counted again, and the stored ones are kept as historical. Unknown values are None and excluded from means.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

import msgspec

from agentv_stages.model.payload import indented_json
from agentv_stream.discovery.header import dialect_of
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.names import suggestion
from agentv_stream.reports.intervals import Cell, average, certainty, settled
from agentv_stream.reports.report_runs import Run, read_run, result_files
from agentv_stream.sources.files import is_file

SCHEMA = "agentv_stream.report.v1"
SIGNIFICANT = 0.05
ALWAYS_WATCHED = "bobbin"  # also where no command asks for it: a figure only if it was run


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that is compared. `digits` is the number of decimals shown; `percent` marks a share."""

    key: str
    title: str
    value: Callable[[Run], float | None]
    digits: int = 1
    percent: bool = False

    def rounded(self, value: float) -> float:
        """The value as precisely as it is shown."""
        return round(value * 100 if self.percent else value, self.digits)


@dataclass(frozen=True, slots=True)
class Difference:
    """`approach` minus baseline over pairs of one task and one model; `low` and `high` bound the mean with 95 %.

    `over` names the resampled units: the pairs (and their runs within them), or the attempts of a single pair. The
    bounds are None if there is only one of either, or if all resamples are the same: the variation is then unknown.
    `p` is that of an exact permutation test, `too_few` that even the clearest data would not get it to 5 %. `clear`:
    these runs show that the approaches differ.
    """

    metric: str
    approach: str
    pairs: int
    baseline: float
    candidate: float
    mean: float
    low: float | None
    high: float | None
    over: str | None = None
    p: float | None = None
    too_few: bool = False
    clear: bool = False


@dataclass
class Comparison:
    """Everything that a report shows."""

    runs: list[Run]
    approaches: list[str]
    tasks: list[str]
    metrics: list[Metric]
    baseline: str | None
    candidates: list[str]
    differences: list[Difference]
    apart: list[tuple[str, str]]
    warnings: list[str]
    paired: set[Path] = field(default_factory=set[Path])
    notes: list[str] = field(default_factory=list[str])
    folder: Path | None = None  # of the report, for links; None is the current one

    def compared(self, approach: str) -> int | None:
        """The number of the approach's runs in the differences; None if there is nothing to compare with."""
        return sum(run.path in self.paired for run in self.of(approach)) if self.candidates else None

    def counted(self, path: str) -> bool:
        """Whether the run counts under Approaches and Tasks."""
        return any(run.counts for run in self.runs if str(run.path) == path)

    def of(self, approach: str, task: str | None = None) -> list[Run]:
        """The runs of an approach that began and ended, also those that no other run can be compared with."""
        return [r for r in self.runs if r.approach == approach and (task is None or r.task == task) and r.counts]


def compare(
    sources: Sequence[Path], baseline: str | None = None, candidate: str | None = None, streams: bool = True
) -> Comparison:
    """Reads result files (or folders of them) and compares.

    `streams`: raw streams beside old results are read. Raises: SourceError if nothing can be read, UsageError for an
    unknown approach.
    """
    warnings: list[str] = []
    runs: list[Run] = []
    for path in result_files(sources):
        try:
            run = read_run(path, streams)
        except SourceError as error:
            warnings.append(str(error))
            continue
        if run is not None:
            runs.append(run)
    runs.sort(key=lambda run: (run.task, run.approach, run.model or "", run.attempt or 0, str(run.path)))
    if not runs:
        log = next((source for source in sources if is_file(source) and dialect_of(source)), None)
        if log is not None:
            raise SourceError(f"{log} is a log, not a result; `agentv-stream consume {log} --stats FILE` makes one")
        reason = f": {warnings[0]}" if warnings else ""
        makers = "; results are what `agentv-stream run` and `consume --stats FILE` write" if not reason else ""
        raise SourceError(f"no result was found in {', '.join(map(str, sources))}{reason}{makers}")
    approaches = sorted({run.approach for run in runs})
    if baseline is None:
        others = [a for a in approaches if a != candidate]
        plain = [a for a in others if a.startswith(("no-", "base", "without"))]
        baseline = plain[0] if len(plain) == 1 else others[0] if len(approaches) == 2 else None
    for option, name in (("--baseline", baseline), ("--candidate", candidate)):
        if name is not None and name not in approaches:
            hint = suggestion(name, approaches, approaches)
            raise UsageError(f"{option}: no result is of the approach {name!r}{hint}")
    if candidate is not None and baseline in (None, candidate):
        raise UsageError(f"--candidate {candidate}: give the approach to compare it with, as --baseline")
    if baseline is not None:  # first, because the others are compared with it
        approaches = [baseline, *(name for name in approaches if name != baseline)]
    metrics = metrics_of(runs)
    tasks = sorted({run.task for run in runs})
    candidates = [] if baseline is None else [candidate] if candidate else [a for a in approaches if a != baseline]
    comparison = Comparison(runs, approaches, tasks, metrics, baseline, candidates, [], [], warnings)
    for other in candidates:
        assert baseline is not None
        pairs = pair_runs(runs, baseline, other)
        comparison.paired |= {run.path for pair in pairs for side in pair for run in side}
        found = (difference(metric, other, pairs) for metric in metrics)
        comparison.differences += [known for known in found if known is not None]
    reasons = ((run, _reason(run, comparison)) for run in runs if run.path not in comparison.paired)
    comparison.apart = sorted((str(run.path), reason) for run, reason in reasons if reason is not None)
    if baseline is None and len(approaches) > 1:
        comparison.notes.append(
            f"none of the {len(approaches)} approaches is the baseline, so nothing is compared: give --baseline"
        )
    return comparison


def _reason(run: Run, comparison: Comparison) -> str | None:
    """Why a run is in no difference; None if that needs no word."""
    if run.apart is not None:
        return run.apart
    if run.approach in comparison.candidates:
        return f"{comparison.baseline} has no run of {run.task} with {run.model}"
    if run.approach == comparison.baseline and comparison.candidates:
        return f"no other approach has a run of {run.task} with {run.model}"
    return None


def metrics_of(runs: Sequence[Run]) -> list[Metric]:
    """The figures of a report: the fixed ones, and one for each watched command."""
    counted = {name for run in runs for name, number in run.watched.items() if number or name != ALWAYS_WATCHED}
    counted |= {ALWAYS_WATCHED for run in runs if run.historical.get("bobbin_commands") is not None}
    names = sorted(counted)
    watched = [
        Metric(f"watched:{name}", f"Avg {name[:1].upper()}{name[1:]} Commands", _watched(name)) for name in names
    ]
    return [
        Metric("passed", "Pass Rate", lambda r: None if r.passed is None else float(r.passed), 1, True),
        Metric("tool_calls", "Avg Tool Calls", lambda r: r.tool_calls),
        Metric("first_edit_turn", "Avg First Edit Turn", lambda r: r.first_edit_turn),
        *watched,
        Metric("turns", "Avg Turns", lambda r: r.turns),
        Metric("input", "Avg Input Tokens", lambda r: r.input, 0),
        Metric("output", "Avg Output Tokens", lambda r: r.output, 0),
        Metric("cost_usd", "Avg Cost (USD)", lambda r: r.cost_usd, 4),
        Metric("duration_s", "Avg Duration (s)", lambda r: r.duration_s),
        Metric("error_rate", "Tool Error Rate", lambda r: r.error_rate, 1, True),
    ]


def _watched(name: str) -> Callable[[Run], float | None]:
    # A run whose figures were never counted has an unknown number of watched commands, not 0.
    return lambda run: float(run.watched[name]) if name in run.watched else None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the known values, the same in any order; None if there are none."""
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


Pair = tuple[list[Run], list[Run]]


def pair_runs(runs: Sequence[Run], baseline: str, candidate: str) -> list[Pair]:
    """Pairs of runs of both approaches on the same task with the same model.

    A run that names no model counts as a run with the model that its approach's other runs name. Where those name
    several, or none, a run that printed no stream (it crashed before a model could answer) counts with each of them, or
    with the models of the other side: a failure must not be left out because it came early.
    """
    sides = [run for run in runs if run.counts and run.approach in (baseline, candidate)]
    cells: dict[tuple[str, str], Pair] = {}
    for run in sides:
        for model in [run.model] if run.model is not None else _models(run, sides):
            cell = cells.setdefault((run.task, model), ([], []))
            cell[0 if run.approach == baseline else 1].append(run)
    return [pair for _, pair in sorted(cells.items()) if pair[0] and pair[1]]


NO_MODEL = ""


def _models(run: Run, sides: Sequence[Run]) -> list[str]:
    """The models with which a run that names none is compared."""
    named = [other for other in sides if other.model is not None]
    own = [other for other in named if other.approach == run.approach]
    for others in (own, named):
        for among in ([other for other in others if other.task == run.task], others):
            models = sorted({str(other.model) for other in among})
            if models and (run.silent or (others is own and len(models) == 1)):
                return models
            if models and others is own:
                return []
    return [NO_MODEL] if run.silent else []


def difference(metric: Metric, approach: str, pairs: Sequence[Pair]) -> Difference | None:
    """The mean difference of a figure, each task and model counting once, and how certain it is."""
    cells: list[Cell] = []
    for left, right in pairs:
        before = [v for v in map(metric.value, left) if v is not None]
        after = [v for v in map(metric.value, right) if v is not None]
        if before and after:
            cells.append((before, after))
    if not cells:
        return None
    before_mean, after_mean = average(average(c[0]) for c in cells), average(average(c[1]) for c in cells)
    delta = settled(after_mean - before_mean, max(abs(before_mean), abs(after_mean)))
    found = certainty(cells)
    low, high = (None if bound is None else metric.rounded(bound) for bound in (found.low, found.high))
    outside = low is None or high is None or low > 0 or high < 0
    clear = found.p is not None and found.p <= SIGNIFICANT and outside and metric.rounded(delta) != 0
    return Difference(metric.key, approach, len(cells), before_mean, after_mean, delta, *found, clear)


def report_json(comparison: Comparison) -> bytes:
    """The report as one indented JSON object with a line end."""
    by_approach = {
        approach: {
            "runs": len(comparison.of(approach)),
            "compared": comparison.compared(approach),
            **_means(comparison, approach),
        }
        for approach in comparison.approaches
    }
    by_task = [
        {"task": task, "approach": approach, "runs": len(runs), **_means(comparison, approach, task)}
        for task in comparison.tasks
        for approach in comparison.approaches
        if (runs := comparison.of(approach, task))
    ]
    value = {
        "schema_version": SCHEMA,
        "approaches": by_approach,
        "tasks": by_task,
        "baseline": comparison.baseline,
        "candidates": comparison.candidates,
        "differences": [msgspec.to_builtins(d) for d in comparison.differences],
        "set_apart": [
            {"path": path, "reason": reason, "counted": comparison.counted(path)} for path, reason in comparison.apart
        ],
        "runs": [_plain(run) for run in comparison.runs],
        "warnings": comparison.warnings,
        "notes": comparison.notes,
    }
    return indented_json(value)


def _plain(run: Run) -> dict[str, Any]:
    return {**asdict(run), "path": str(run.path)}


def _means(comparison: Comparison, approach: str, task: str | None = None) -> dict[str, float | None]:
    runs = comparison.of(approach, task)
    return {metric.key: mean(map(metric.value, runs)) for metric in comparison.metrics}

"""Findings of runs in a report. In: a run's stream, otherwise its transcript. Out: their number and cost by kind."""

from collections.abc import Sequence
from typing import get_args

from agentv_stages.findings.finding import Kind
from agentv_stages.model.tokens import known_sum
from agentv_stream.errors import AgentvStreamError
from agentv_stream.outputs.naming import RAW_LOG
from agentv_stream.reports.report import Comparison
from agentv_stream.reports.report_runs import KindTotal, Run
from agentv_stream.reports.run_rows import places_of
from agentv_stream.summary import SessionReader, read_file

KINDS: tuple[str, ...] = get_args(Kind)
ABOUT_FINDINGS = (
    "What cost runs calls, time or tokens, as `analyze` names it in their streams; ~ is estimated. "
    "Of a run without a stream and without a transcript nothing is known."
)
HEAD = ["Approach", "Finding", "Runs", "Findings", "Calls", "Seconds", "Tokens", "First"]


def find_in(comparison: Comparison) -> None:
    """Reads the runs that count; the findings of each are in `Run.findings`."""
    for run in comparison.runs:
        if run.counts:
            run.findings = _found(run)


def _found(run: Run) -> dict[str, KindTotal] | None:
    """The totals by kind; None if the run has neither a stream nor a transcript that can be read."""
    from agentv_stages.findings import Findings  # with the evaluators

    for place in (run.path.with_suffix(RAW_LOG), *places_of(run)):
        if "\0" in str(place) or not place.is_file():
            continue
        findings = Findings()
        try:
            for batch in SessionReader(read_file(str(place)), str(place)).batches():
                findings.observe(batch)
        except AgentvStreamError:
            continue
        totals: dict[str, KindTotal] = {}
        for finding in findings.finish():
            totals.setdefault(finding.kind, KindTotal()).add(finding)
        return {kind: totals[kind] for kind in KINDS if kind in totals}
    return None


def finding_rows(comparison: Comparison) -> list[list[str]]:
    """A row for each approach and kind that one of its runs has; only the head if none has any."""
    rows = [HEAD]
    for approach in comparison.approaches:
        runs = [run for run in comparison.of(approach) if run.findings is not None]
        for kind in KINDS:
            found = [(run, run.findings[kind]) for run in runs if run.findings and kind in run.findings]
            if found:
                totals = [total for _, total in found]
                rows.append(
                    [
                        approach,
                        kind,
                        f"{len(found)} of {len(runs)}",
                        f"{sum(total.findings for total in totals):,}",
                        *_costs(totals),
                        _first(*found[0]),
                    ]
                )
    return rows


def _costs(totals: Sequence[KindTotal]) -> list[str]:
    calls, milliseconds, tokens = (
        known_sum(getattr(total, name) for total in totals) for name in ("calls", "duration_ms", "tokens")
    )
    about = "~" if any(total.estimated for total in totals) else ""
    return [
        "" if calls is None else f"{calls:,}",
        "" if milliseconds is None else f"{milliseconds / 1000:,.0f}",
        "" if tokens is None else f"{about}{tokens:,}",
    ]


def _first(run: Run, total: KindTotal) -> str:
    attempt = "" if run.attempt is None else f" {run.attempt}"
    return f"{run.task}{attempt}" + ("" if total.first_turn is None else f", turn {total.first_turn}")

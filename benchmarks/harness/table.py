"""Renders results as Markdown: figures, ratios, budgets met or missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.measure import Series


@dataclass(frozen=True)
class Budget:
    """One line of the budget table. `met` is None where nothing could be measured."""

    what: str
    budget: str
    measured: str
    met: bool | None

    def row(self) -> list[str]:
        mark = "not measured" if self.met is None else "met" if self.met else "**missed**"
        return [self.what, self.budget, self.measured, mark]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def speeds(all_series: Sequence[Series], size: int, reference: str) -> str:
    """One row per program. The ratios are the reference's time over this one's: 2.0x is twice as fast."""
    base = next((s for s in all_series if s.program.name == reference and s.runs), None)
    rows: list[list[str]] = []
    for series in all_series:
        if not series.runs:
            rows.append([series.program.name, "–", "–", "–", "–", "–", series.failure or "–"])
            continue
        ratio = f"{base.wall / series.wall:.2f}x" if base else "–"
        less = f"{base.processor / series.processor:.2f}x" if base and series.processor else "–"
        rows.append(
            [
                series.program.name,
                ratio,
                less,
                f"{series.wall:.2f}",
                f"{series.processor:.2f}",
                f"{size / series.wall / 1e6:,.0f}",
                f"{series.peak / 1e6:,.0f}",
            ]
        )
    head = ["program", f"speed against {reference}", "by processor time", "wall s", "processor s", "MB/s", "peak MB"]
    return markdown(head, rows)

"""A report recomputed from result files alone, with fractions and without our code: figures in, tables of numbers out.

It follows docs/report.md and docs/metrics.md, not the implementation.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
FIGURES = (
    *("passed", "tool_calls", "first_edit_turn", "watched:bobbin", "turns", "input", "output"),
    *("cost_usd", "duration_s", "error_rate"),
)
EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def own_row(path: Path) -> Row:
    """A result of ours, as a row of figures."""
    value = json.loads(path.read_bytes())
    summary: Any = value["tool_use_summary"]
    tokens: dict[str, Any] = value["tokens"] or {}
    verdicts = [v["verdict"] for v in value.get("verdicts", ()) if v["verdict"] in ("pass", "fail")]
    row: Row = dict.fromkeys(FIGURES)
    row |= {"path": str(path), "task": value["task_id"], "approach": value["approach"], "status": value["status"]}
    row |= {"model": value["session"]["model"], "stream": summary is not None, "cost_usd": value["cost_usd"]}
    row["passed"] = all(v == "pass" for v in verdicts) if verdicts else None
    row["duration_s"] = None if value["duration_ms"] is None else Fraction(value["duration_ms"], 1000)
    if summary is None:
        if value["run"]["stream_bytes"] and row["duration_s"] is None:
            row["duration_s"] = value["run"]["duration_seconds"]
        return row
    calls = summary["total_tool_calls"]
    failed = sum(summary["by_outcome"].get(name, 0) for name in ("error", "denied", "cancelled"))
    row |= {"tool_calls": calls, "turns": summary["turns"], "first_edit_turn": summary["first_edit_turn"]}
    row |= {
        "input": tokens["input"],
        "output": tokens["output"],
        "error_rate": Fraction(failed, calls) if calls else None,
    }
    row["watched:bobbin"] = len(summary["watched_commands"]["bobbin"])
    return row


def bobbin_row(path: Path, derived: Mapping[str, str]) -> Row:
    """A result of bobbin's evaluation: what its stream says, counted here, and what `derived.csv` says of it."""
    value = json.loads(path.read_bytes())
    lines = path.with_name(path.stem + ".stream.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    end = [record for record in records if record["type"] == "result"][-1]  # its sums are those of the session
    used = end["modelUsage"].values()
    blocks = [
        b
        for r in records
        if r["type"] == "user" and isinstance(r["message"]["content"], list)
        for b in r["message"]["content"]
    ]
    failed = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result" and b.get("is_error")}
    calls = int(derived["tool_calls_main"]) + int(derived["tool_calls_sub"])
    edit = derived["first_edit_message_index"]
    row: Row = {"path": str(path), "task": value["task_id"], "approach": value["approach"], "status": value["status"]}
    models = sorted(name for name in end["modelUsage"] if "haiku" not in name)
    row |= {"model": "+".join(models), "stream": True, "passed": value["test_result"]["passed"], "tool_calls": calls}
    row |= {
        "turns": int(derived["main_messages"]),
        "first_edit_turn": int(edit) + 1 if edit not in ("", "-1") else None,
    }
    row["watched:bobbin"] = int(derived["bobbin_command_position"])
    row["input"] = sum(u["inputTokens"] + u["cacheReadInputTokens"] + u["cacheCreationInputTokens"] for u in used)
    row["output"] = sum(u["outputTokens"] for u in used)
    row |= {"cost_usd": end["total_cost_usd"], "duration_s": value["agent_result"]["duration_seconds"]}
    row["error_rate"] = Fraction(len(failed), calls) if calls else None
    return row


def ended(rows: Iterable[Row]) -> list[Row]:
    over = [row for row in rows if row["status"] not in ("workspace_error", "bobbin_setup_error", "running")]
    return [row for row in over if row["stream"] or row["passed"] is not None or row["cost_usd"] is not None]


def mean(values: Iterable[Any]) -> Fraction | None:
    known = [Fraction(value) for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def means(rows: Sequence[Row], **where: str) -> dict[str, Fraction | None]:
    """The mean of each figure over the runs that ended and fit."""
    chosen = [row for row in ended(rows) if all(row[key] == value for key, value in where.items())]
    return {figure: mean(row[figure] for row in chosen) for figure in FIGURES}


def models_of(row: Row, rows: Sequence[Row]) -> set[str | None]:
    """The models with which a run is compared."""
    if row["model"] is not None:
        return {row["model"]}
    named = [other for other in rows if other["model"] is not None]
    own = [other for other in named if other["approach"] == row["approach"]]
    tried = [other["model"] for other in own if other["task"] == row["task"]] or [other["model"] for other in own]
    if tried and (not row["stream"] or len(set(tried)) == 1):
        return set(tried)
    if row["stream"] or tried:
        return set()
    there = [other["model"] for other in named if other["task"] == row["task"]] or [other["model"] for other in named]
    return set(there) or {None}


def pairs(rows: Sequence[Row], baseline: str, candidate: str) -> list[tuple[list[Row], list[Row]]]:
    rows = [row for row in ended(rows) if row["approach"] in (baseline, candidate)]
    cells: dict[Any, tuple[list[Row], list[Row]]] = {}
    for row in rows:
        for model in models_of(row, rows):
            both: tuple[list[Row], list[Row]] = cells.setdefault((row["task"], model), ([], []))
            (both[1] if row["approach"] == candidate else both[0]).append(row)
    return [cell for cell in cells.values() if all(cell)]


def differences(rows: Sequence[Row], baseline: str, candidate: str) -> dict[str, Row]:
    """For each figure: number of pairs, both means, their difference, and the p of the permutation test."""
    out: dict[str, Row] = {}
    for figure in FIGURES:
        cells: list[list[list[Fraction]]] = []
        for pair in pairs(rows, baseline, candidate):
            cell = [[Fraction(row[figure]) for row in side if row[figure] is not None] for side in pair]
            if all(cell):
                cells.append(cell)
        if cells:
            before, after = (mean(mean(cell[side]) for cell in cells) for side in (0, 1))
            assert before is not None and after is not None
            out[figure] = {"pairs": len(cells), "baseline": before, "candidate": after, "p": p_of(cells)}
    return out


def p_of(cells: list[list[list[Fraction]]]) -> Fraction | None:
    """The share of arrangements at least as extreme; None where none but one is possible, or they are too many."""
    if len(cells) > 1:
        deltas = [delta(left, right) for left, right in cells]
        if len(deltas) > 12:
            return None
        signs = product((1, -1), repeat=len(deltas))
        sums = [sum((s * d for s, d in zip(chosen, deltas, strict=True)), Fraction(0)) for chosen in signs]
        return share(sums, sum(deltas, Fraction(0)))
    left, right = cells[0]
    if min(len(left), len(right)) < 2 or comb(len(left) + len(right), len(left)) > 20_000:
        return None
    values = [*left, *right]
    found: list[Fraction] = []
    for chosen in combinations(range(len(values)), len(left)):
        others = [value for i, value in enumerate(values) if i not in chosen]
        found.append(delta([values[i] for i in chosen], others))
    return share(found, delta(left, right))


def delta(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return (mean(right) or Fraction(0)) - (mean(left) or Fraction(0))


def share(found: Sequence[Fraction], observed: Fraction) -> Fraction:
    return Fraction(sum(abs(one) >= abs(observed) for one in found), len(found))


def tables_of(text: str) -> dict[str, list[list[str]]]:
    """The tables of a report in Markdown: the heading above each, its rows as plain cells."""
    tables: dict[str, list[list[str]]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:].partition(" from ")[0]
        elif line.startswith("|") and not line.startswith("|---"):
            cells = [cell.strip().strip("*") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            tables.setdefault(heading, []).append([re.sub(r"\\(.)", r"\1", cell) for cell in cells])
    return tables


def number(cell: str) -> Fraction | None:
    """The number in a cell; None for a blank one."""
    plain = cell.replace(",", "").replace(" %", "").replace(" pp", "")
    return Fraction(plain) if plain else None


def fits(cell: str, value: Any) -> bool:
    """Whether a cell shows the value, rounded to the digits that it shows."""
    shown = number(cell)
    if value is None or shown is None:
        return value is None and shown is None
    exact = Fraction(value) * (100 if cell.endswith(("%", "pp")) else 1)
    digits = len(cell.rstrip(" %p").partition(".")[2])
    return bool(abs(shown - exact) <= Fraction(501, 1000) / 10**digits)

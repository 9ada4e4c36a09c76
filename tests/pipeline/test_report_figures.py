"""Every figure of a report against one recomputed by hand; permuting the inputs changes nothing."""

import csv
import json
import random
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.reports.report import compare, report_json
from agentv_stream.reports.report_html import html
from agentv_stream.reports.report_text import markdown
from support.decoding import corpus
from support.report_by_hand import (
    FIGURES,
    Row,
    bobbin_row,
    differences,
    ended,
    fits,
    means,
    own_row,
    pairs,
    tables_of,
)

TITLES = {
    "passed": "Pass Rate",
    "tool_calls": "Avg Tool Calls",
    "first_edit_turn": "Avg First Edit Turn",
    "watched:bobbin": "Avg Bobbin Commands",
    "turns": "Avg Turns",
    "input": "Avg Input Tokens",
    "output": "Avg Output Tokens",
    "cost_usd": "Avg Cost (USD)",
    "duration_s": "Avg Duration (s)",
    "error_rate": "Tool Error Rate",
}


def made(folder: Path, seed: int) -> list[Path]:
    """Random results: crashes, unknown models, runs that go on, missing figures, unequal numbers of runs."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    approaches = ["base", "b", "c"][: chance.choice((2, 2, 3))]
    models = ["m", "n"][: chance.choice((1, 1, 2))]
    constant = chance.random() < 0.3
    for task in [f"t{i}" for i in range(chance.choice((1, 2, 3, 7)))]:
        for approach in approaches:
            for attempt in range(chance.choice((1, 2, 3, 4) if task == "t0" else (0, 1, 2, 3, 4))):
                paths.append(folder / f"{task}_{approach}_{attempt}.json")
                paths[-1].write_text(json.dumps(result(chance, task, approach, attempt, models, constant)))
    return paths


def result(chance: random.Random, task: str, approach: str, attempt: int, models: list[str], constant: bool) -> Any:
    silent = chance.random() < 0.2
    calls = 5 if constant else chance.randint(0, 40)
    summary: dict[str, Any] = {
        "by_tool": {"Read": calls},
        "total_tool_calls": calls,
        "first_edit_turn": chance.choice((None, 2, 7)),
        "turns": chance.randint(1, 30),
        "by_outcome": {"ok": calls, "error": chance.randint(0, 3), "denied": chance.randint(0, 1)},
        "watched_commands": {"bobbin": [{}] * chance.randint(0, 3)},
    }
    model = None if silent or chance.random() < 0.15 else chance.choice(models)
    verdicts = [
        {"case": task, "verdict": chance.choice(("pass", "fail", "skipped"))} for _ in range(chance.randint(0, 2))
    ]
    return {
        "schema_version": "agentv_stream.output.v1" if silent else "agentv_stream.result.v1",
        "task_id": task,
        "approach": approach,
        "attempt": attempt,
        "status": "error" if silent else chance.choice(("complete", "complete", "killed", "running")),
        "session": {"provider": "claude", "model": model},
        "tool_use_summary": None if silent else summary,
        "tokens": None if silent else {"input": chance.randint(0, 10**6), "output": chance.choice((None, 70))},
        "cost_usd": None if silent else chance.choice((0.1, 0.1) if constant else (0.1, 0.25, None)),
        "duration_ms": None if silent else 100 if constant else chance.randint(1, 10**6),
        "verdicts": verdicts,
        "run": {"stream_bytes": chance.choice((0, 9)), "duration_seconds": 1.25},
    }


def hold(rows: list[Row], paths: list[Path], baseline: str) -> int:
    """Holds every figure of the report on these files against the rows; returns how many there were."""
    comparison = compare(paths, baseline)
    tables = tables_of(markdown(comparison))
    told = json.loads(report_json(comparison))
    checked = 0
    head, *lines = tables["Approaches"]
    by_title = {line[0]: line[1:] for line in lines}
    for i, approach in enumerate(head[1:]):
        assert int(by_title["Runs"][i]) == sum(row["approach"] == approach for row in ended(rows))
        for figure, value in means(rows, approach=approach).items():
            assert fits(by_title[TITLES[figure]][i], value), (approach, figure)
            exact = told["approaches"][approach][figure]
            assert exact == (None if value is None else pytest.approx(float(value), abs=1e-12))
            checked += 1
    for line in tables["Tasks"][1:]:
        shown = dict(zip(tables["Tasks"][0], line, strict=True))
        wanted_means = means(rows, task=shown["Task"], approach=shown["Approach"])
        for figure in FIGURES:
            if figure != "tool_calls":
                assert fits(shown[TITLES[figure].removeprefix("Avg ")], wanted_means[figure]), (shown, figure)
                checked += 1
        calls = shown["Tools"].partition(" ")[0]
        assert fits(calls, wanted_means["tool_calls"])
    paired: set[str] = set()
    wanted: dict[tuple[str, str], Row] = {}
    for approach in comparison.candidates:
        wanted |= {(figure, approach): row for figure, row in differences(rows, baseline, approach).items()}
        paired |= {row["path"] for pair in pairs(rows, baseline, approach) for side in pair for row in side}
    for line, one in zip(tables.get("Differences", [[]])[1:], told["differences"], strict=True):
        by_hand = wanted.pop((one["metric"], one["approach"]))
        assert (line[0], line[1], int(line[2])) == (TITLES[one["metric"]], one["approach"], by_hand["pairs"])
        delta = by_hand["candidate"] - by_hand["baseline"]
        assert fits(line[3], by_hand["baseline"]) and fits(line[4], by_hand["candidate"]) and fits(line[5], delta)
        if by_hand["p"] is not None:
            assert one["p"] == pytest.approx(float(by_hand["p"]))
            assert one["clear"] <= (by_hand["p"] <= 0.05)
        if one["low"] is not None:
            assert one["low"] < one["high"]
            assert not one["clear"] or not one["low"] <= 0 <= one["high"]
        assert one["clear"] <= (delta != 0)
        checked += 5
    assert wanted == {}
    assert {str(path) for path in comparison.paired} == paired
    if comparison.candidates:
        unpaired = {row["path"] for row in rows if row["approach"] in (baseline, *comparison.candidates)} - paired
        assert {one["path"] for one in told["set_apart"]} == unpaired
    return checked


class Cells(HTMLParser):
    """The texts of the cells of all tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = self.inside or tag in ("td", "th")
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.cells[-1] += data


@pytest.mark.parametrize("seed", range(16))
def test_every_figure_is_that_which_is_recomputed_by_hand(tmp_path: Path, seed: int) -> None:
    paths = made(tmp_path, seed)
    rows = [own_row(path) for path in paths]
    for baseline in sorted({row["approach"] for row in rows}):
        assert hold(rows, paths, baseline) > 0


def test_the_figures_of_bobbins_results_are_those_which_are_recomputed_by_hand() -> None:
    root = corpus("bobbin")
    with (root / "derived.csv").open(encoding="utf-8", newline="") as file:
        derived = {root / row["stream"].replace(".stream.jsonl", ".json"): row for row in csv.DictReader(file)}
    paths = sorted(path for path in derived if path.exists())
    assert len(paths) >= 20
    assert hold([bobbin_row(path, derived[path]) for path in paths], paths, "no-bobbin") > 100


@pytest.mark.parametrize("seed", range(6))
def test_permuting_the_inputs_and_their_names_changes_nothing(tmp_path: Path, seed: int) -> None:
    """Intervals depended on the order of arguments and on the names of files."""
    paths = made(tmp_path / "one", seed)
    chance = random.Random(seed)
    comparison = compare(paths, "base")
    text, page, data = markdown(comparison), html(comparison), report_json(comparison)
    for _ in range(3):
        chance.shuffle(paths)
        again = compare(paths, "base")
        assert (markdown(again), html(again), report_json(again)) == (text, page, data)
    for i, path in enumerate(paths):
        other = tmp_path / f"folder {chance.randint(0, 3)}" / f"{chance.randint(0, 10**9)} {i}.json"
        other.parent.mkdir(exist_ok=True)
        shutil.copy(path, other)
    folders = list(tmp_path.glob("folder*"))
    chance.shuffle(folders)
    renamed = compare(folders, "base")
    assert tables_of(markdown(renamed)) == tables_of(text)
    assert renamed.differences == comparison.differences


@pytest.mark.parametrize("seed", range(5))
def test_the_page_has_the_figures_of_the_markdown(tmp_path: Path, seed: int) -> None:
    comparison = compare(made(tmp_path, seed), "base")
    reader = Cells()
    reader.feed(html(comparison))
    told = {metric.title for metric in comparison.metrics if any(metric.value(r) is not None for r in comparison.runs)}
    rows = tables_of(markdown(comparison))
    wanted = [line for line in rows["Approaches"] if line[0] not in set(TITLES.values()) - told]
    wanted += rows.get("Differences", [])
    cells = "\n".join(reader.cells)
    for line in wanted:
        assert "\n".join(line) in cells

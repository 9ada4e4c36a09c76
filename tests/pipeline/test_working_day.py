"""A day's work of seven agents: each question of the guide is one command, and its answer is right."""

import csv
import io
import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from support.consuming import finished_text
from support.working_day import DAY, HOUR, PLACES, make_day

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
MIDNIGHT = round(datetime(2026, 11, 24, tzinfo=UTC).timestamp() * 1000)  # a Tuesday


def run(home: Path, *words: str) -> str:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "COLUMNS": "160"}
    environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    done = finished_text(*words, folder=home, environ=environment)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def asked(beginning: str) -> list[str]:
    """A command of the guide's section, as words."""
    section = GUIDE.partition("## See what your agents did today\n")[2].partition("\n## ")[0]
    (line,) = [line for line in section.splitlines() if line.startswith(f"agentv-stream {beginning}")]
    return re.split(r"\s+[|#]", line)[0].split()[1:]


@pytest.fixture
def now(tmp_path: Path) -> dict[str, Path]:
    return make_day(tmp_path, time.time_ns() // 1_000_000)


def test_what_today_cost_by_model(tmp_path: Path, now: dict[str, Path]) -> None:
    shown = run(tmp_path, *asked("stats --since today --by model"))
    assert re.match(r"since \d{4}-\d\d-\d\d 00:00 \(UTC\)\nmodel +sessions", shown)
    assert "claude-x" in shown
    whole = json.loads(run(tmp_path, "stats", "--json", "-", "--by", "provider"))
    assert whole["groups"].keys() == PLACES.keys()
    results = [summarize(path) for path in now.values()]
    assert whole["total"]["tool_calls"] == sum(r.tool_use_summary["total_tool_calls"] for r in results)


def test_which_sessions_are_stuck_and_why(tmp_path: Path, now: dict[str, Path]) -> None:
    shown = run(tmp_path, *asked("watch"))
    first, *others = [line for line in shown.splitlines() if line[:3] in ("!  ", "✓  ", "✗  ", "?  ")]
    assert len(others) == len(now) - 1
    assert "57c4c4ed" in first and "Bash open for " in first


def test_the_failed_calls_of_one_session(tmp_path: Path, now: dict[str, Path]) -> None:
    shown = run(tmp_path, *asked("show"))
    assert "Bash error exit 2" in shown and "python -m pytest -q" in shown
    assert "Edit" not in shown


def table(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_totals_by_week_and_project_and_the_same_in_another_zone(tmp_path: Path) -> None:
    """All that was done between midnight and six is of the evening before in New York, on Monday of the last week."""
    make_day(tmp_path, MIDNIGHT - DAY + 13 * HOUR // 2)  # Monday, 6:30 UTC, back to 0:30
    run(tmp_path, *asked("stats --by week,project --csv weeks.csv"))
    weeks = table((tmp_path / "weeks.csv").read_text(encoding="utf-8"))
    tokyo = table(run(tmp_path, *asked("stats --by week,project --csv --timezone")))
    york = table(run(tmp_path, "stats", "--by", "week,project", "--timezone", "America/New_York", "--csv", "-"))
    assert {row["week"] for row in weeks} == {row["week"] for row in tokyo} == {"2026-W48"}
    assert {row["week"] for row in york} == {"2026-W47", "2026-W48"}
    for name in ("turns", "tool_calls", "failed_calls", "input_tokens", "output_tokens", "cost_usd"):
        sums = {round(sum(float(row[name] or 0) for row in rows), 9) for rows in (weeks, tokyo, york)}
        assert len(sums) == 1 and sums != {0.0}, name
    assert {row["project"] for row in weeks} >= {"/home/ada/orchard", "/w/app", "/w"}


def test_a_session_over_midnight_is_split_over_its_days(tmp_path: Path) -> None:
    logs = make_day(tmp_path, MIDNIGHT + 6_000)  # the last events of one session are after midnight
    days = json.loads(run(tmp_path, "stats", str(logs["claude"]), "--by", "day", "--json", "-"))
    assert list(days["groups"]) == ["2026-11-23", "2026-11-24"]
    parts = list(days["groups"].values())
    whole = summarize(logs["claude"])
    assert all(part["turns"] for part in parts)
    assert sum(part["turns"] for part in parts) == whole.tool_use_summary["turns"]
    assert sum(part["tokens"]["input"] for part in parts) == whole.tokens.input == days["total"]["tokens"]["input"]
    assert (days["total"]["sessions"], [part["sessions"] for part in parts]) == (1, [1, 1])


def test_the_list_has_status_and_cost_of_each_session(tmp_path: Path, now: dict[str, Path]) -> None:
    rows = [json.loads(line) for line in run(tmp_path, "sessions", "--json").splitlines()]
    results = {summarize(path).session.id: summarize(path) for path in now.values()}
    assert {row["session_id"] for row in rows} == results.keys()
    for row in rows:
        result = results[row["session_id"]]
        known = (result.status, result.cost_usd, result.tokens.input, result.tool_use_summary["turns"])
        assert (row["status"], row["cost_usd"], row["input_tokens"], row["turns"]) == known
    again = run(tmp_path, "sessions", "--json", "--no-cache")
    assert [json.loads(line) for line in again.splitlines()] == rows
    assert "status" not in json.loads(run(tmp_path, "sessions", "--json", "--no-figures").splitlines()[0])
    (line,) = [line for line in run(tmp_path, "sessions").splitlines() if line.startswith("s-3")]
    assert "complete" in line and " 0.75 " in line


def test_the_list_is_a_table_for_spreadsheets(tmp_path: Path, now: dict[str, Path]) -> None:
    now["claude"].write_bytes(now["claude"].read_bytes().replace(b'"fix add"', b'"=cmd(),\\n1"'))
    assert run(tmp_path, "sessions", "--csv", "list.csv") == ""
    rows = {row["session_id"]: row for row in table((tmp_path / "list.csv").read_text(encoding="utf-8"))}
    assert len(rows) == len(now)
    claude = next(row for name, row in rows.items() if name.startswith("0f3c2a10"))
    assert (claude["subagents"], claude["status"]) == ("1", "complete")
    assert claude["prompt"].startswith("'=cmd(),")
    assert rows["s-3"]["cost_usd"] == "0.75"


def test_a_project_is_found_by_any_form_of_its_folder(tmp_path: Path, now: dict[str, Path]) -> None:
    lists = [
        run(tmp_path, "sessions", "--json", "--project", name) for name in ("/w/app", "/w/app/", "app", "/w/../w/app")
    ]
    assert len(set(lists)) == 1 and lists[0].count("\n") == 2
    assert run(tmp_path, "sessions", "--json", "--project", "/w").count("\n") == 4

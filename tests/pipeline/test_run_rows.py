"""The tables of a report about single runs: verdicts with their reason, links, passes of judged runs, distributions."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.cli.reporting import write_report
from agentv_stream.reports.report import compare
from agentv_stream.reports.report_html import html
from agentv_stream.reports.report_text import markdown
from agentv_stream.reports.run_rows import distribution_rows, run_rows, share_rows


def stored(
    folder: Path, name: str, verdict: str | None, turns: int = 4, text: str = "Turns 4 > 3", **more: object
) -> None:
    """A result as `run` stores it; `verdict` None: it was not judged."""
    task, approach, attempt = name.split("_")
    member = {"name": "limit", "verdict": verdict, "assertions": [{"text": text, "passed": verdict != "fail"}]}
    value: dict[str, Any] = {
        "schema_version": "agentv_stream.result.v1",
        "task_id": task, "approach": approach, "attempt": int(attempt), "status": "complete",
        "session": {"provider": "claude", "model": "m"},
        "tool_use_summary": {"total_tool_calls": 5, "turns": turns, "watched_commands": {"bobbin": []}},
        "verdicts": [] if verdict is None else [{"case": task, "verdict": verdict, "evaluators": [member]}],
        **more,
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(value))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "r"
    for i, verdict in enumerate(("pass", "fail", None, "pass"), 1):
        stored(folder, f"fix_base_{i}", verdict, turns=i)
    return folder


def test_each_run_is_a_row_failures_first_with_their_reason(results: Path) -> None:
    rows, _ = run_rows(compare([results]))
    assert [row[:6] for row in rows[1:]] == [
        ["fix", "base", "2", "complete", "FAIL", "fix · limit: Turns 4 > 3"],
        ["fix", "base", "1", "complete", "pass", ""],
        ["fix", "base", "3", "complete", "not judged", ""],
        ["fix", "base", "4", "complete", "pass", ""],
    ]


def test_passes_are_a_share_of_judged_runs(results: Path) -> None:
    assert share_rows(compare([results]))[1:] == [["base", "3", "2", "66.7 %", "21 … 94 %", "1"]]


def test_a_distribution_has_the_quartiles(results: Path) -> None:
    comparison = compare([results])
    rows = {row[0]: row[1:] for row in distribution_rows(comparison, comparison.metrics)}
    assert rows["Turns"] == ["base", "4", "1.0", "1.8", "2.5", "3.2", "4.0"]
    assert "Pass Rate" not in rows


def test_a_watched_command_is_a_figure_only_where_it_was_watched(results: Path) -> None:
    assert "Bobbin" not in markdown(compare([results]))
    summary: dict[str, Any] = {"total_tool_calls": 5, "turns": 4, "watched_commands": {"bobbin": [{}], "make": []}}
    stored(results, "fix_other_1", "pass", tool_use_summary=summary)
    assert "Avg Bobbin Commands" in markdown(compare([results]))
    assert "Avg Make Commands" in markdown(compare([results]))


def test_links_lead_to_the_page_or_the_transcript_from_where_the_report_is(results: Path, tmp_path: Path) -> None:
    stored(results, "fix_linked_1", "pass", outputs={"transcript": "moved/away/a b.transcript.jsonl"})
    stored(results, "fix_linked_2", "pass", outputs={"transcript": "javascript:alert(1)"})
    (results / "a b.transcript.jsonl").touch()
    (results / "fix_base_1.html").touch()
    out = tmp_path / "out"
    out.mkdir()
    write_report([results], out / "report.html", None, None, None, True)
    page = (out / "report.html").read_text()
    assert 'href="../r/a%20b.transcript.jsonl"' in page
    assert 'href="../r/fix_base_1.html"' in page
    assert page.count("href=") == 2
    write_report([results], out / "report.md", None, None, None, True)
    assert "| [fix](../r/fix_base_1.html) |" in (out / "report.md").read_text()


def test_text_of_agents_is_no_markup(results: Path) -> None:
    stored(results, "fix_hostile_1", "fail", text="<script>|`x` @octocat\x1b[31m")
    comparison = compare([results])
    assert "<script>" not in html(comparison)
    text = markdown(comparison)
    assert "<script>" not in text
    assert "\x1b" not in text
    (row,) = (line for line in text.splitlines() if "octocat" in line)
    assert "@octocat" not in row

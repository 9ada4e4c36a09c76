"""Reports: what is read of results, means and differences, and that nothing hostile acts in them."""

import csv
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from agentv_stream.cli.analyzing import run_analyze
from agentv_stream.cli.reporting import write_report
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_USAGE, SourceError, UsageError
from agentv_stream.reports.report import compare, mean, metrics_of, report_json
from agentv_stream.reports.report_html import html
from agentv_stream.reports.report_runs import Run, read_run
from agentv_stream.reports.report_text import escape, markdown
from agentv_stream.reports.run_findings import find_in, finding_rows
from agentv_stream.summary import summarize
from support.consuming import consume
from support.decoding import corpus
from support.fake_agents import READ_EDIT, stream
from support.made_sessions import claude_session


def own(
    folder: Path, task: str, approach: str, attempt: int, calls: int | None = 5, model: str | None = "m", **more: Any
) -> Path:
    summary: Any = {
        "by_tool": {"Read": calls},
        "total_tool_calls": calls,
        "first_edit_turn": 2,
        "turns": 4,
        "by_outcome": {"ok": calls, "error": 1},
        "watched_commands": {"bobbin": [{"command": "bobbin x", "turn": 1, "stream": "main"}], "rg": []},
    }
    value = {
        "schema_version": "agentv_stream.result.v1",
        "task_id": task,
        "approach": approach,
        "attempt": attempt,
        "status": "complete",
        "session": {"provider": "claude", "model": model},
        "tool_use_summary": summary if calls is not None else None,
        "tokens": {"input": 100, "cached": 10, "output": None},
        "cost_usd": 0.5,
        "duration_ms": 2000,
        "verdicts": [{"case": task, "verdict": "pass"}],
        **more,
    }
    path = folder / f"{task}_{approach}_{attempt}.json"
    folder.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def old(folder: Path, task: str, approach: str, attempt: int, **more: Any) -> Path:
    """A result as bobbin's evaluation writes it."""
    value: dict[str, Any] = {
        "task_id": task,
        "approach": approach,
        "attempt": attempt,
        "status": "completed",
        "agent_result": {"exit_code": 0, "duration_seconds": 12.5, "timed_out": False},
        "token_usage": {
            "total_cost_usd": 0.75,
            "input_tokens": 5,
            "cache_read_tokens": 90,
            "cache_creation_tokens": 5,
            "output_tokens": 7,
            "model_usage": {"claude-x": {}, "claude-haiku": {}},
        },
        "test_result": {"passed": True},
        "tool_use_summary": {
            "by_tool": {"Read": 2, "Bash": 1},
            "tool_sequence": ["Read", "Read", "Bash"],
            "first_edit_turn": 30,
            "bobbin_commands": ["ls /tmp/bobbin-eval"],
        },
        **more,
    }
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{task}_{approach}_{attempt}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def read(path: Path) -> Run:
    run = read_run(path)
    assert run is not None
    return run


def test_our_results_are_read(tmp_path: Path) -> None:
    run = read(own(tmp_path, "t", "base", 1))
    assert (run.task, run.approach, run.attempt, run.model, run.passed) == ("t", "base", 1, "m", True)
    assert (run.tool_calls, run.first_edit_turn, run.turns, run.duration_s) == (5, 2, 4, 2.0)
    assert (run.input, run.output, run.watched) == (100, None, {"bobbin": 1, "rg": 0})
    assert run.error_rate == 0.2


def test_old_results_keep_their_own_figures_as_historical(tmp_path: Path) -> None:
    run = read(old(tmp_path, "t", "no-bobbin", 0))
    assert (run.tool_calls, run.first_edit_turn, run.watched) == (3, None, {})
    assert run.historical == {"tool_calls": 3, "first_edit_turn_lines": 30, "bobbin_commands": 1}
    assert (run.input, run.cached, run.cost_usd, run.model) == (100, 90, 0.75, "claude-x")


def test_old_results_are_counted_anew_from_the_stream_beside_them(tmp_path: Path) -> None:
    path = old(tmp_path, "t", "with-bobbin", 0)
    path.with_name("t_with-bobbin_0.stream.jsonl").write_bytes(stream(READ_EDIT))
    run = read(path)
    assert (run.first_edit_turn, run.watched["bobbin"], run.historical["first_edit_turn_lines"]) == (3, 1, 30)
    plain = read_run(path, streams=False)
    assert plain is not None and plain.first_edit_turn is None


@pytest.mark.parametrize("summary", [None, {}, {"by_tool": None}, 3])
def test_old_results_without_a_summary_still_work(tmp_path: Path, summary: Any) -> None:
    old(tmp_path, "t", "no-bobbin", 0, tool_use_summary=summary)
    old(tmp_path, "t", "with-bobbin", 0)
    text = markdown(compare([tmp_path]))
    assert "| Avg Tool Calls |" in text


def test_nulls_where_old_results_have_objects_are_survived(tmp_path: Path) -> None:
    path = old(tmp_path, "t", "a", 0, agent_result=None, token_usage=None, test_result=None)
    run = read(path)
    assert (run.cost_usd, run.passed, run.model) == (None, None, None)
    assert run.apart == "nothing says which model answered"


def test_means_of_nothing_are_blank_not_0(tmp_path: Path) -> None:
    own(tmp_path, "t", "a", 1)
    own(tmp_path, "t", "b", 1)
    text = markdown(compare([tmp_path])).partition("## Differences")[0]
    rows = {row.split("|")[1].strip(): row for row in text.splitlines() if row.startswith("|")}
    assert rows["Avg Output Tokens"] == "| Avg Output Tokens |  |  |"
    assert rows["Avg Bobbin Commands"] == "| Avg Bobbin Commands | 1.0 | 1.0 |"
    assert rows["Avg Rg Commands"] == "| Avg Rg Commands | 0.0 | 0.0 |"
    assert mean([]) is None and mean([None]) is None


def test_a_run_without_figures_leaves_the_mean_alone(tmp_path: Path) -> None:
    own(tmp_path, "t", "a", 1, calls=4)
    own(tmp_path, "t", "a", 2, calls=None)
    comparison = compare([tmp_path])
    calls = next(m for m in comparison.metrics if m.key == "tool_calls")
    assert mean(map(calls.value, comparison.of("a"))) == 4
    assert [reason for _, reason in comparison.apart] == [
        "it has no tool_use_summary: the agent printed no stream of events"
    ]


def test_a_run_that_printed_nothing_has_no_duration(tmp_path: Path) -> None:
    said_nothing: dict[str, Any] = {"duration_ms": None, "run": {"duration_seconds": 0.02, "stream_bytes": 0}}
    said_something: dict[str, Any] = {"duration_ms": None, "run": {"duration_seconds": 4.0, "stream_bytes": 9}}
    own(tmp_path, "t", "a", 1)
    own(tmp_path, "t", "a", 2, calls=None, **said_nothing)
    own(tmp_path, "t", "a", 3, calls=None, **said_something)
    assert [read(path).duration_s for path in sorted(tmp_path.iterdir())] == [2.0, None, 4.0]


def paired(tmp_path: Path) -> Path:
    for task, before, after in (("t1", (4, 6), (8, 10)), ("t2", (10, 10), (12, 16)), ("t3", (3, 3), (3, 5))):
        for i in (0, 1):
            own(tmp_path, task, "base", i + 1, calls=before[i])
            own(tmp_path, task, "new", i + 1, calls=after[i])
    return tmp_path


def test_differences_are_paired_by_task_each_counting_once(tmp_path: Path) -> None:
    comparison = compare([paired(tmp_path)])
    assert (comparison.baseline, comparison.candidates) == ("base", ["new"])
    one = next(d for d in comparison.differences if d.metric == "tool_calls")
    assert (one.pairs, one.baseline, one.candidate) == (3, 6.0, 9.0)
    assert one.mean == pytest.approx(3.0)
    assert one.low is not None and one.high is not None
    assert one.low < 3.0 < one.high
    assert one.over == "pairs"


def test_runs_that_cannot_be_compared_are_set_apart_with_the_reason(tmp_path: Path) -> None:
    own(tmp_path, "t1", "base", 1)
    own(tmp_path, "t1", "new", 1)
    own(tmp_path, "t1", "new", 2, model="other")
    own(tmp_path, "t2", "new", 1)
    own(tmp_path, "t3", "base", 1)
    own(tmp_path, "t1", "new", 3, model=None)
    old(tmp_path, "t1", "new", 4, status="workspace_error")
    comparison = compare([tmp_path], "base", "new")
    apart = {Path(path).name: reason for path, reason in comparison.apart}
    assert apart == {
        "t1_new_2.json": "base has no run of t1 with other",
        "t2_new_1.json": "base has no run of t2 with m",
        "t3_base_1.json": "no other approach has a run of t3 with m",
        "t1_new_3.json": "its log does not say which model answered",
        "t1_new_4.json": "the agent never ran (workspace_error)",
    }
    one = next(d for d in comparison.differences if d.metric == "tool_calls")
    assert one.pairs == 1
    rows = [line for line in markdown(comparison).splitlines() if line.startswith(("| Runs", "| Of these"))]
    assert rows == ["| Runs | 2 | 4 |", "| Of these in the differences | 1 | 1 |"]
    assert "Of these in the differences" in html(comparison)
    told = json.loads(report_json(comparison))["approaches"]
    assert {name: (about["runs"], about["compared"]) for name, about in told.items()} == {"base": (2, 1), "new": (4, 1)}


def test_where_nothing_is_set_apart_or_nothing_compared_no_row_says_how_many_are(tmp_path: Path) -> None:
    comparison = compare([paired(tmp_path / "all")])
    assert "Of these" not in markdown(comparison)
    assert comparison.compared("new") == len(comparison.of("new"))
    own(tmp_path / "one", "t", "a", 1, model=None)
    alone = compare([tmp_path / "one"])
    assert "Of these" not in markdown(alone) and alone.compared("a") is None


def test_what_is_no_result_is_passed_over_and_what_is_broken_is_told(tmp_path: Path) -> None:
    own(tmp_path, "t", "a", 1)
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    comparison = compare([tmp_path])
    assert len(comparison.runs) == 1
    assert [w for w in comparison.warnings if "bad.json" in w]
    with pytest.raises(SourceError, match="no result"):
        compare([tmp_path / "list.json"])
    with pytest.raises(SourceError, match="no such file"):
        compare([tmp_path / "none"])
    with pytest.raises(UsageError, match="of the approach"):
        compare([tmp_path], baseline="zzz")


@pytest.mark.parametrize("broken", ["", "t_b_1.json"], ids=["whole", "broken"])
def test_a_result_that_cannot_be_read_shows_in_the_exit_code(tmp_path: Path, broken: str) -> None:
    own(tmp_path / "r", "t", "a", 1)
    if broken:
        (tmp_path / "r" / broken).write_text("{", encoding="utf-8")
    for place in (tmp_path / "report.md", None):
        assert write_report([tmp_path / "r"], place, None, None, None, True) == (EXIT_IO if broken else EXIT_FINE)
    assert "1 run" in (tmp_path / "report.md").read_text(encoding="utf-8")


HOSTILE = "<script>alert(1)</script>\x1b[31m|`*_[x](javascript:1)\u202e"


def test_hostile_text_is_escaped_in_every_form(tmp_path: Path) -> None:
    for i, approach in enumerate((HOSTILE, '"><img src=x onerror=1>')):
        path = own(tmp_path, "x", "y", i)
        value = {**json.loads(path.read_bytes()), "task_id": HOSTILE, "approach": approach}
        path.write_text(json.dumps(value), encoding="utf-8")
    comparison = compare([tmp_path])
    page = html(comparison)
    assert "<script" not in page and "<img" not in page and "\x1b" not in page and "\u202e" not in page
    assert "default-src 'none'" in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    text = markdown(comparison)
    assert "<script" not in text and "\x1b" not in text and "\\[x\\](javascript" in text
    for row in text.splitlines():
        if row.startswith("|"):
            assert not re.search(r"(?<!\\)`", row)
    json.loads(report_json(comparison))


def test_plots_are_well_formed_and_drawn_inline(tmp_path: Path) -> None:
    page = html(compare([paired(tmp_path)]), "now")
    plots = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(plots) >= 10
    for plot in plots:
        ElementTree.fromstring(plot)
    assert "nan" not in page.lower().replace("nano", "")


def test_names_in_markdown_notify_nobody_and_link_nowhere() -> None:
    shown = escape("@ada see org/repo#12, https://x.example WWW.x.example; a @ b # c: d")
    assert shown.replace("<!-- -->", "|") == "@|ada see org/repo#|12, https:|//x.example WWW|.x.example; a @ b # c: d"


def test_markdown_specials_are_escaped() -> None:
    assert escape("a|b<c>_d_`e`&\nf") == "a\\|b&lt;c&gt;\\_d\\_\\`e\\`&amp;⏎f"


def test_the_command_writes_the_form_that_the_file_asks_for(tmp_path: Path) -> None:
    paired(tmp_path / "r")
    for name, begin in (("o.md", b"# Agent"), ("o.html", b"<!doctype html>"), ("o.json", b"{")):
        assert write_report([tmp_path / "r"], tmp_path / name, None, None, None, True) == EXIT_FINE
        assert (tmp_path / name).read_bytes().startswith(begin)
    assert write_report([tmp_path / "r"], tmp_path / "o.doc", None, None, None, True) == EXIT_USAGE
    assert write_report([tmp_path / "none"], None, None, None, None, True) == EXIT_IO


def test_what_is_neither_file_nor_folder_is_told_as_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert write_report([pipe], None, None, None, None, True) == EXIT_IO
    assert f"cannot read {pipe}: it is neither a file nor a folder" in capsys.readouterr().err


def test_every_metric_gives_none_for_a_run_that_tells_nothing() -> None:
    run = Run(Path("x"), "t", "a")
    assert {metric.value(run) for metric in metrics_of([run])} == {None}


def test_bobbins_recordings_agree_with_the_figures_derived_from_them() -> None:
    root = corpus("bobbin")
    with (root / "derived.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    checked = 0
    for row in rows:
        stream_path = root / row["stream"]
        result_path = stream_path.with_name(stream_path.name.removesuffix(".stream.jsonl") + ".json")
        if not stream_path.exists() or not result_path.exists():
            continue
        run = read(result_path)
        index = row["first_edit_message_index"]
        assert run.first_edit_turn == (int(index) + 1 if index not in ("", "-1") else None), row["stream"]
        assert run.watched["bobbin"] == int(row["bobbin_command_position"]), row["stream"]
        assert run.turns == int(row["main_messages"]), row["stream"]
        assert run.tool_calls == int(row["tool_calls_main"]) + int(row["tool_calls_sub"]), row["stream"]
        lines = row["first_edit_line_index"]
        assert run.historical["first_edit_turn_lines"] == (int(lines) if lines not in ("", "-1") else None)
        checked += 1
    assert checked >= 30


def test_recounted_figures_are_those_of_the_stream(tmp_path: Path) -> None:
    path = old(tmp_path, "t", "a", 0)
    beside = path.with_name("t_a_0.stream.jsonl")
    beside.write_bytes(stream(READ_EDIT))
    summary = summarize(beside).tool_use_summary
    run = read(path)
    assert (run.tool_calls, run.turns) == (summary["total_tool_calls"], summary["turns"])


def test_a_log_in_the_place_of_a_result_is_told_with_what_makes_one() -> None:
    log = Path(__file__).parents[2] / "examples" / "claude.jsonl"
    with pytest.raises(SourceError, match=r"is a log, not a result; `agentv-stream consume .* --stats FILE` makes one"):
        compare([log])


def test_a_candidate_is_compared_with_another_approach(tmp_path: Path) -> None:
    for approach in ("alpha", "beta"):
        own(tmp_path, "fix", approach, 1)
    made = compare([tmp_path], candidate="alpha")
    assert (made.baseline, made.candidates, made.differences[0].approach) == ("beta", ["alpha"], "alpha")
    with pytest.raises(UsageError, match="--candidate alpha: give the approach"):
        compare([tmp_path], baseline="alpha", candidate="alpha")
    own(tmp_path, "fix", "gamma", 1)
    with pytest.raises(UsageError, match="--candidate alpha: give the approach"):
        compare([tmp_path], candidate="alpha")


def test_a_result_that_is_named_twice_or_linked_is_one_run(tmp_path: Path) -> None:
    one, two = own(tmp_path, "fix", "base", 1), own(tmp_path, "fix", "base", 2)
    (tmp_path / "a.json").symlink_to(two)
    made = compare([one, tmp_path, tmp_path / ".." / tmp_path.name / one.name])
    assert [run.path for run in made.runs] == [one, two]


def test_several_results_in_one_file_are_told_as_such(tmp_path: Path) -> None:
    one = own(tmp_path, "t", "a", 1).read_bytes()
    several = tmp_path / "results.jsonl"
    several.write_bytes(json.dumps(json.loads(one)).encode() * 2)
    with pytest.raises(SourceError, match="holds several results, as `import` writes them"):
        compare([several])


@pytest.mark.parametrize("figure", [10**400, 1e300, -5, True, "7"])
def test_a_figure_that_no_run_can_come_to_is_none(tmp_path: Path, figure: Any) -> None:
    own(tmp_path, "t", "a", 1, cost_usd=figure, tokens={"input": figure})
    own(tmp_path, "t", "a", 2)
    comparison = compare([tmp_path])
    assert (comparison.runs[0].cost_usd, comparison.runs[0].input) == (None, None)
    assert "0.5000" in markdown(comparison) and "nan" not in html(comparison)


@pytest.mark.parametrize("tools", [None, [1], "x", {"Read": "many"}])
def test_calls_that_nobody_counted_are_not_0(tmp_path: Path, tools: Any) -> None:
    assert one(own(tmp_path, "t", "a", 1, tool_use_summary={"by_tool": tools})).tool_calls is None
    assert one(old(tmp_path, "t", "b", 1, tool_use_summary={"by_tool": tools})).tool_calls is None
    assert one(own(tmp_path, "t", "a", 2, tool_use_summary={"by_tool": {}})).tool_calls == 0


@pytest.mark.parametrize("tools", [{"Read": 2}, {}, None])
def test_a_stored_total_stands_where_the_tools_are_elided(tmp_path: Path, tools: Any) -> None:
    summary = {"by_tool": tools, "total_tool_calls": 40}
    for run in (
        own(tmp_path, "t", "a", 1, tool_use_summary=summary),
        old(tmp_path, "t", "b", 1, tool_use_summary=summary),
    ):
        assert one(run).tool_calls == 40
    assert one(old(tmp_path, "t", "b", 1, tool_use_summary=summary)).historical["tool_calls"] == 40


def test_what_is_no_verdict_fails_no_run(tmp_path: Path) -> None:
    assert one(own(tmp_path, "t", "a", 1, verdicts=[None, {"verdict": None}, {"verdict": ["pass"]}])).passed is None
    assert one(own(tmp_path, "t", "a", 2, verdicts=[None, {"verdict": "pass"}])).passed is True


def test_a_task_or_approach_that_is_no_name_makes_no_result(tmp_path: Path) -> None:
    path = old(tmp_path, "t", "a", 1)
    for key in ("task_id", "approach"):
        value = {**json.loads(path.read_bytes()), key: {"a": 1}}
        path.write_text(json.dumps(value), encoding="utf-8")
        assert read_run(path) is None


def test_the_page_names_rows_and_columns_and_tells_the_tools(tmp_path: Path) -> None:
    own(tmp_path, "a task with a name of its own", "base", 1)
    page = html(compare([tmp_path]))
    assert '<th scope="col">base</th>' in page
    assert '<th scope="row">Avg Tool Calls</th>' in page
    assert '<th scope="row" class="long">a task with a name of its own</th>' in page
    assert 'aria-label="Tasks"' in page and "5.0 (Read 5.0)" in page


def test_the_page_cuts_long_names_where_they_do_not_differ_and_breaks_them_at_their_joints(tmp_path: Path) -> None:
    for flag in ("depth=0", "weight=3"):
        own(tmp_path, "t", f"with-search+coupling_{flag}", 1)
    page = html(compare([tmp_path]))
    assert ">with-sea…pling_depth=0<" in page and ">with-sea…ling_weight=3<" in page
    assert '<th scope="col" class="long">with-<wbr>search+<wbr>coupling_<wbr>depth=0</th>' in page
    assert '<th scope="col" class="text">Approach</th>' in page


def differing(folder: Path) -> Path:
    """Six tasks: `zero` makes as many calls as `base`, `added` four more; nobody tells of watched commands."""
    for task in "abcdef":
        for approach, calls in (("added", 9), ("base", 5), ("zero", 5)):
            for attempt in (1, 2):
                path = own(folder, task, approach, attempt, calls)
                value = json.loads(path.read_bytes())
                value["tool_use_summary"]["watched_commands"] = {}
                value["verdicts"] = [{"case": task, "verdict": "pass" if attempt == 1 else "fail"}]
                path.write_text(json.dumps(value), encoding="utf-8")
    return folder


def test_what_differs_for_certain_stands_out(tmp_path: Path) -> None:
    comparison = compare([differing(tmp_path)], baseline="base")
    assert comparison.approaches == ["base", "added", "zero"]
    page = html(comparison)
    assert '<td class="text">added</td><td>6</td><td>5.0</td><td>9.0</td><td><b>+4.0</b></td>' in page
    assert '<td class="text">zero</td><td>6</td><td>5.0</td><td>5.0</td><td>+0.0</td>' in page
    drawn = page.split("<h2>Differences")[1].split("<figcaption>Avg Tool Calls")[1].split("</figure>")[0]
    assert drawn.count("fill:Canvas") == 1  # of `zero`
    text = markdown(comparison)
    assert "| Avg Tool Calls | added | 6 | 5.0 | 9.0 | **+4.0** |  | pairs |" in text


def test_a_share_is_a_bar_that_says_how_many_and_a_figure_that_nobody_tells_is_left_out(tmp_path: Path) -> None:
    comparison = compare([differing(tmp_path)], baseline="base")
    page = html(comparison)
    assert page.count(">6 of 12</text>") == 3
    assert "Bobbin" not in page
    assert "Bobbin" not in markdown(comparison)


def one(path: Path) -> Run:
    run = read_run(path)
    assert run is not None
    return run


def test_how_much_is_compared_is_told_in_the_right_number(tmp_path: Path) -> None:
    own(tmp_path, "fix", "base", 1)
    one = compare([tmp_path])
    assert "\n1 run, 1 approach, 1 task.\n" in markdown(one)
    assert "<p>1 run, 1 approach, 1 task.</p>" in html(one)
    own(tmp_path, "fix", "search", 1)
    own(tmp_path, "add", "base", 1)
    assert "\n3 runs, 2 approaches, 2 tasks.\n" in markdown(compare([tmp_path]))


def test_a_run_that_has_not_ended_is_in_no_difference(tmp_path: Path) -> None:
    """The file of `--stats` of a running stream, or of one that was killed, was compared with finished runs."""
    own(tmp_path, "t", "base", 1, calls=10)
    own(tmp_path, "t", "base", 2, calls=1, status="running")
    own(tmp_path, "t", "new", 1, calls=20)
    made = compare([tmp_path])
    assert [(Path(path).name, reason) for path, reason in made.apart] == [
        ("t_base_2.json", "it has not ended, or its end was not recorded")
    ]
    (calls,) = [one for one in made.differences if one.metric == "tool_calls"]
    assert (calls.baseline, calls.candidate) == (10, 20)


def test_a_result_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = own(tmp_path, "t", "base", 1)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read(path).tool_calls == 5


SAID_NOTHING: dict[str, Any] = {"duration_ms": None, "run": {"duration_seconds": 0.1, "stream_bytes": 0}}
FAILED = [{"case": "t", "verdict": "fail"}]


def crashed(folder: Path, task: str, approach: str, attempt: int) -> Path:
    """A run that printed no stream, so that its model is not known; judged all the same."""
    more = {**SAID_NOTHING, "status": "error", "verdicts": FAILED, "schema_version": "agentv_stream.output.v1"}
    return own(folder, task, approach, attempt, None, None, **more)


def rates(folder: Path) -> tuple[float | None, float | None]:
    """The pass rates of `base` and of the other approach, if Approaches and Differences agree on them."""
    made = compare([folder], "base")
    (one,) = [one for one in made.differences if one.metric == "passed"]
    means = json.loads(report_json(made))["approaches"]
    found = means["base"]["passed"], means[one.approach]["passed"]
    assert (one.baseline, one.candidate) == found
    return found


def test_a_run_that_crashed_at_once_counts_in_the_difference_of_the_pass_rate(tmp_path: Path) -> None:
    """Approaches said 50 %, Differences 100 % against 100 %: the failure was left out because it came early."""
    for attempt in (1, 2):
        own(tmp_path, "t", "base", attempt)
    own(tmp_path, "t", "crashy", 1)
    crashed(tmp_path, "t", "crashy", 2)
    assert rates(tmp_path) == (1.0, 0.5)
    assert compare([tmp_path], "base").apart == []


def test_an_approach_that_always_crashes_counts_too(tmp_path: Path) -> None:
    own(tmp_path, "t", "base", 1)
    crashed(tmp_path, "t", "crashy", 1)
    assert rates(tmp_path) == (1.0, 0.0)


def test_approaches_that_both_crash_are_compared_all_the_same(tmp_path: Path) -> None:
    for approach in ("base", "crashy"):
        crashed(tmp_path, "t", approach, 1)
    assert rates(tmp_path) == (0.0, 0.0)


def test_a_stream_that_names_no_model_counts_with_the_one_model_of_its_approach(tmp_path: Path) -> None:
    own(tmp_path, "t", "base", 1)
    own(tmp_path, "t", "new", 1, calls=7)
    own(tmp_path, "t", "new", 2, calls=1, model=None, verdicts=FAILED)
    assert rates(tmp_path) == (1.0, 0.5)


def test_a_run_of_which_nothing_is_known_is_in_no_table(tmp_path: Path) -> None:
    own(tmp_path, "t", "base", 1)
    own(tmp_path, "t", "new", 1)
    silent: dict[str, Any] = {"verdicts": [], "run": {"duration_seconds": 9.0, "stream_bytes": 4}, "duration_ms": None}
    own(tmp_path, "t", "new", 2, None, None, cost_usd=None, **silent)
    made = compare([tmp_path])
    told = json.loads(report_json(made))
    assert (told["approaches"]["new"]["runs"], told["approaches"]["new"]["duration_s"]) == (1, 2.0)
    assert [one["counted"] for one in told["set_apart"]] == [False]
    own(tmp_path, "t", "new", 3, None, None, cost_usd=1.5, **silent)
    (cost,) = [one for one in compare([tmp_path]).differences if one.metric == "cost_usd"]
    assert (cost.candidate, json.loads(report_json(compare([tmp_path])))["approaches"]["new"]["cost_usd"]) == (1.0, 1.0)


def test_what_has_not_ended_is_in_no_table(tmp_path: Path) -> None:
    own(tmp_path, "t", "base", 1, calls=10)
    own(tmp_path, "t", "base", 2, calls=1, status="running")
    own(tmp_path, "t", "new", 1, calls=20)
    made = compare([tmp_path])
    told = json.loads(report_json(made))
    assert told["approaches"]["base"]["tool_calls"] == 10 and told["tasks"][0]["runs"] == 1
    assert [one["counted"] for one in told["set_apart"]] == [False]
    assert "## Set apart from every table" in markdown(made)


def test_a_constant_figure_differs_by_nothing_whatever_the_numbers_of_runs(tmp_path: Path) -> None:
    """Sums of 0.1 gave "**-0.0000 … -0.0000**"."""
    for task in "abcdefgh":
        for approach, number in (("base", 3), ("new", 1)):
            for attempt in range(number):
                more: dict[str, Any] = {"cost_usd": 0.1, "duration_ms": 100, "verdicts": [{"verdict": "pass"}]}
                own(tmp_path, task, approach, attempt, **more)
    made = compare([tmp_path])
    assert {one.mean for one in made.differences} == {0.0}
    assert {(one.low, one.high, one.clear) for one in made.differences} == {(None, None, False)}
    assert "-0.0" not in markdown(made) and "**" not in markdown(made).partition("## Diff")[2]


def test_a_difference_below_the_precision_that_is_shown_is_none(tmp_path: Path) -> None:
    for i, task in enumerate("abcdefgh"):
        own(tmp_path, task, "base", 1, cost_usd=0.5)
        own(tmp_path, task, "new", 1, cost_usd=0.500001 + i / 10**7)
    (cost,) = [one for one in compare([tmp_path]).differences if one.metric == "cost_usd"]
    assert cost.mean > 0 and not cost.clear


@pytest.mark.parametrize("tasks", ["t", "tu"])
def test_few_pairs_are_never_bold_and_said_to_be_few(tmp_path: Path, tasks: str) -> None:
    """Two pairs, or three attempts of one, with the same difference: "**+100.0 pp … +100.0 pp**"."""
    for task in tasks:
        for attempt in (1, 2, 3):
            own(tmp_path, task, "base", attempt, verdicts=FAILED)
            own(tmp_path, task, "new", attempt)
    text = markdown(compare([tmp_path]))
    over = "pairs" if len(tasks) > 1 else "attempts"
    assert f"| Pass Rate | new | {len(tasks)} | 0.0 % | 100.0 % | +100.0 pp |  | {over}, too few |" in text


def test_several_approaches_without_a_baseline_are_told_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There was no table of differences, and no word about it."""
    for approach in "abc":
        own(tmp_path / "r", "t", approach, 1)
    assert write_report([tmp_path / "r"], tmp_path / "o.md", None, None, None, True) == EXIT_FINE
    said = "none of the 3 approaches is the baseline, so nothing is compared: give --baseline"
    assert said in capsys.readouterr().err
    assert escape(said) in (tmp_path / "o.md").read_text(encoding="utf-8")
    assert said in html(compare([tmp_path / "r"]))
    assert compare([tmp_path / "r"], baseline="b").notes == []


def test_findings_of_runs_are_those_of_analyze(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = re.sub(rb'("content": "out \d+")}', rb'\1, "is_error": true}', claude_session(1, 60))
    for attempt in (1, 2):
        path = own(tmp_path, "fix", "base", attempt)
        path.with_suffix(".stream.jsonl").write_bytes(log)
    own(tmp_path, "fix", "base", 3)  # without a stream
    fine = own(tmp_path, "fix", "new", 1, outputs={"transcript": "/gone/fix.transcript.jsonl"})
    assert consume(tmp_path, "--stats", "s.json", "--out", "t", given=claude_session(2, 3)).code == 0
    (transcript,) = (tmp_path / "t").rglob("*.transcript.jsonl")
    transcript.rename(fine.with_name("fix.transcript.jsonl"))
    assert run_analyze([str(tmp_path / "fix_base_1.stream.jsonl")], None, (), as_json=True, redact=False) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found
    (tmp_path / "s.json").unlink()
    out = tmp_path / "report.json"
    assert write_report([tmp_path], out, None, None, None, True) == EXIT_FINE
    runs = {Path(run["path"]).name: run for run in json.loads(out.read_text())["runs"]}
    for name in ("fix_base_1.json", "fix_base_2.json"):
        totals = runs[name]["findings"]
        assert {kind: total["findings"] for kind, total in totals.items()} == Counter(f["kind"] for f in found)
        for kind, total in totals.items():
            ours = [finding for finding in found if finding["kind"] == kind]
            for cost, told in (("calls", "calls"), ("duration_ms", "ms"), ("tokens", "tokens")):
                known = [finding[told] for finding in ours if finding.get(told) is not None]
                assert total[cost] == (sum(known) if known else None)
            assert total["first_turn"] == ours[0]["cites"][0]["turn"]
    assert runs["fix_base_3.json"]["findings"] is None
    assert runs["fix_new_1.json"]["findings"] == {}
    comparison = compare([tmp_path])
    assert "## Findings" not in markdown(comparison)
    find_in(comparison)
    rows = {row[1]: row for row in finding_rows(comparison)[1:]}
    assert rows["repeated-failures"][:3] == ["base", "repeated-failures", "2 of 2"]
    assert rows["repeated-failures"][-1].startswith("fix 1, turn ")
    assert "repeated-failures" in html(comparison)
    assert "| base | repeated-failures | 2 of 2 |" in markdown(comparison)

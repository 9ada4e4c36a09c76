"""Groups of sessions: by anything, in any zone, in any period; the parts add up to the whole."""

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from agentv_stages.figures.dated import SLOT_MS, Span, ToolSpan
from agentv_stages.figures.merge import Figures
from agentv_stages.figures.session_figures import SessionFigures, add_span
from agentv_stages.model.tokens import Tokens
from agentv_stream.bulk.grouping import DIMENSIONS, TIMES, Dimension, Grouping, dimensions_of, time_name
from agentv_stream.cli.figure_rows import Order, cost_cell, groups_json, rows_csv, rows_of, safe_cell
from agentv_stream.discovery.period import ALWAYS, IN_UTC, Period, Zone, named_zone
from agentv_stream.discovery.project import normal_folder, project_root
from agentv_stream.errors import UsageError

ZONES = [
    named_zone(name) for name in ("Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "UTC")
]
START = round(datetime(2026, 10, 24, tzinfo=UTC).timestamp() * 1000) // SLOT_MS  # a day before clocks change
SUMS = ("turns", "tool_calls", "edits", "records", "duration_ms", "cost_pico", "filled_pico", "estimated_pico")


def session(
    spans: Sequence[Span], *, name: str = "s", cost: bool = False, cwd: str | None = "/w", branch: str | None = None
) -> SessionFigures:
    """A session with these spans, as a worker makes it."""
    figures = Figures(1, 10, 20, duration_ms=5_000, timed=1, by_status={"complete": 1}, faults={"torn": 1})
    for span in spans:
        add_span(figures, span)
    figures.costed = int(cost)
    figures.silent = {} if cost else {"cost_usd": 1}
    slots = [span.slot for span in spans if span.slot is not None]
    began = min(slots) * SLOT_MS + 1 if slots else None
    model = spans[0].model if spans else None
    return SessionFigures(
        "claude", "claude-session", name, model, cwd, branch, began, figures, Raw(msgspec.json.encode(list(spans)))
    )


@st.composite
def sessions(draw: st.DrawFn) -> SessionFigures:
    spans: dict[tuple[int | None, str | None], Span] = {}
    costed = draw(st.booleans())
    for _ in range(draw(st.integers(0, 6))):
        slot = draw(st.none() | st.integers(START, START + 400))
        model = draw(st.sampled_from(("big", "small", None)))
        tokens = Tokens(draw(st.integers(0, 99)), 0, output=draw(st.integers(0, 9)), cost_pico=5 if costed else None)
        tools = [
            ToolSpan(tool, "read", calls, 1, 3, 4, {"ok": calls - 1, "error": 1})
            for tool in draw(st.sets(st.sampled_from(("Read", "Bash"))))
            for calls in [draw(st.integers(1, 4))]
        ]
        spans[slot, model] = Span(slot, model, draw(st.integers(0, 3)), 1, tokens, tools)
    project, branch = draw(st.sampled_from(("/a", "/b/", None))), draw(st.sampled_from(("main", None)))
    return session(list(spans.values()), name=draw(st.sampled_from("xyz")), cost=costed, cwd=project, branch=branch)


def grouped(
    several: Sequence[SessionFigures], by: Sequence[Dimension], zone: Zone = IN_UTC, period: Period = ALWAYS
) -> Grouping:
    grouping = Grouping(by, zone, period, lambda figures, spans: [7 * (span.tokens.input or 0) for span in spans])
    for figures in several:
        grouping.add(figures)
    return grouping


def sums(parts: Sequence[Figures]) -> dict[str, Any]:
    out: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in SUMS}
    for name in ("by_kind", "by_outcome", "by_status", "faults"):
        keys = {key for part in parts for key in getattr(part, name)}
        out[name] = {key: sum(getattr(part, name).get(key, 0) for part in parts) for key in keys}
    tokens = {key for part in parts for key in part.tokens.sums}
    out["tokens"] = {key: sum(part.tokens.sums.get(key, 0) for part in parts) for key in tokens}
    tools = {key for part in parts for key in part.tools}
    out["tools"] = {key: sum(part.tools[key].calls for part in parts if key in part.tools) for key in tools}
    return out


PATIENT = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])  # with other work
BY = st.lists(st.sampled_from(DIMENSIONS), min_size=1, max_size=2, unique=True)


@PATIENT
@given(st.lists(sessions(), max_size=5), BY, st.sampled_from(ZONES))
def test_the_groups_of_any_grouping_and_zone_add_up_to_the_total(
    several: list[SessionFigures], by: list[Dimension], zone: Zone
) -> None:
    summary = grouped(several, by, zone).summary
    total = summary.total()
    assert sums(list(summary.groups.values())) == sums([total]) or not several
    for name, below in summary.below.items():
        assert sums(list(below.values())) == sums([summary.groups[name]])
    assert sums([total]) == sums([grouped(several, ["all"]).summary.total()])
    assert total.sessions == len(several)
    for figures in summary.groups.values():
        assert figures.sessions <= total.sessions


@PATIENT
@given(st.lists(sessions(), max_size=5), BY, st.sampled_from(ZONES), st.integers(START - 9, START + 409))
def test_two_periods_that_meet_add_up_to_both(
    several: list[SessionFigures], by: list[Dimension], zone: Zone, slot: int
) -> None:
    """At any moment that ends one period and begins the other. Sessions without a time are in neither."""
    dated = [f for f in several if f.slot is not None and all(span.slot is not None for span in f.spans())]
    at = slot * SLOT_MS + 12_345
    halves = [grouped(dated, by, zone, period).summary.total() for period in (Period(None, at), Period(at, None))]
    assert sums(halves) == sums([grouped(dated, by, zone).summary.total()]) or not dated


def test_the_same_quarter_of_an_hour_is_another_day_in_another_zone() -> None:
    late = START * SLOT_MS + 23 * 3_600_000  # 2026-10-24 23:00 UTC
    single = session([Span(late // SLOT_MS, "big", 1, 1, Tokens(5, output=1))])
    for zone, day in ((IN_UTC, "2026-10-24"), (ZONES[0], "2026-10-25"), (ZONES[2], "2026-10-24")):
        assert list(grouped([single], ["day"], zone).summary.groups) == [day]


def test_the_hour_that_comes_twice_is_two_hours() -> None:
    berlin = ZONES[0]
    slots = [START + 4 * hour for hour in (24, 25)]  # 00:00 and 01:00 UTC on 25 October: 02:00 twice in Berlin
    assert [time_name("hour", slot, berlin) for slot in slots] == ["2026-10-25T00:00Z", "2026-10-25T01:00Z"]
    assert {berlin.at(slot * SLOT_MS).hour for slot in slots} == {2}
    kathmandu = ZONES[1]  # 5:45 ahead: its hours begin at a quarter past
    assert time_name("hour", START + 1, kathmandu) == "2026-10-24T00:15Z"


def test_weeks_are_those_of_the_calendar() -> None:
    new_year = round(datetime(2027, 1, 1, tzinfo=UTC).timestamp() * 1000) // SLOT_MS
    assert time_name("week", new_year, IN_UTC) == "2026-W53"
    assert [time_name(name, None, IN_UTC) for name in TIMES] == ["unknown"] * 4


def test_without_times_a_session_is_in_no_period_and_that_is_said() -> None:
    undated = session([Span(None, "big", 1, 1, Tokens(5, output=1))])
    grouping = grouped([undated, session([Span(START, "big", 1)])], ["day"], period=Period(0, None))
    assert (grouping.undated, grouping.summary.total().sessions) == (1, 1)


def test_costs_say_which_part_is_estimated() -> None:
    reported = session([Span(START, "big", 1, 1, Tokens(5, output=1, cost_pico=2 * 10**12))], cost=True)
    silent = session([Span(START, "big", 1, 1, Tokens(10**12, output=1))])
    cells = [
        cost_cell(grouped(several, ["all"]).summary.total())
        for several in ([reported], [silent], [reported, silent], [])
    ]
    assert cells == ["2.00", "~7.00", "9.00 (~7.00)", "?"]
    unpriced = Grouping(["all"], IN_UTC, ALWAYS, lambda figures, spans: None)
    unpriced.add(reported)
    unpriced.add(silent)
    assert cost_cell(unpriced.summary.total()) == "≥2.00"


def test_rows_are_sorted_and_limited() -> None:
    several = [
        session([Span(START + 96 * n, model, n + 1, 1, Tokens(10 - n, output=n), [ToolSpan("Read", "read", n + 1)])])
        for n, model in enumerate(("a", "b", "c"))
    ]

    def names(by: str, order: Order) -> list[tuple[str, ...]]:
        dimensions = dimensions_of(by)
        return [row.names for row in rows_of(grouped(several, dimensions).summary, dimensions, order)[0]]

    assert names("model", Order()) == [("c",), ("b",), ("a",)]
    assert names("model", Order("input", 2)) == [("a",), ("b",)]
    assert names("model", Order("name")) == [("a",), ("b",), ("c",)]
    assert names("day", Order(None, 2)) == [("2026-10-25",), ("2026-10-26",)]
    assert names("day,model", Order(None, 1)) == [("2026-10-26",), ("2026-10-26", "c")]
    assert names("tool,model", Order()) == [("Read",), ("Read", "c"), ("Read", "b"), ("Read", "a")]


def test_json_has_the_groups_within_groups_and_csv_the_smallest() -> None:
    single = session([Span(START, "a,b", 1, 1, Tokens(5, output=2)), Span(START, "=cmd()", 2, 1, Tokens(7, output=2))])
    summary = grouped([single], ("day", "model")).summary
    shown = json.loads(msgspec.json.encode(groups_json(summary, ("day", "model"), Order())))
    assert shown["2026-10-24"]["turns"] == 3
    assert shown["2026-10-24"]["groups"]["a,b"]["tokens"]["input"] == 5
    head, *lines = rows_csv(summary, ("day", "model"), Order("name")).decode().splitlines()
    assert head.startswith("day,model,sessions,turns,tool_calls,failed_calls,edits,input_tokens,")
    assert [line.split(",sessions")[0][:25] for line in lines] == [
        "2026-10-24,'=cmd(),1,2,0,",
        '2026-10-24,"a,b",1,1,0,0,',
    ]
    assert safe_cell("-1") == "'-1" and safe_cell("\x1b[2J") == "\\x1b[2J"


@pytest.mark.parametrize("by", ["moon", "day,day", "day,model,tool", ""])
def test_any_other_grouping_is_wrong_usage(by: str) -> None:
    with pytest.raises(UsageError, match="--by"):
        dimensions_of(by)


@pytest.mark.skipif(which("git") is None, reason="needs git")
def test_a_project_is_its_repository_worktrees_included(tmp_path: Path) -> None:
    repository, beside, plain = tmp_path / "app", tmp_path / "trees" / "fix", tmp_path / "notes"
    for folder in (repository / "src" / "deep", plain):
        folder.mkdir(parents=True)

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=repository, check=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", str(beside))
    for place in (repository, repository / "src" / "deep", beside, repository / "gone", f"{repository}/"):
        assert project_root(str(place)) == str(repository)
    assert project_root(f"{plain}/") == str(plain)


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("c:\\Users\\ada\\app\\", "C:/Users/ada/app"),
        ("C:/Users/ada/app", "C:/Users/ada/app"),
        ("\\\\nas\\x\\", "//nas/x"),
        ("/", "/"),
        ("a/", "a"),
    ],
)
def test_folders_are_compared_in_one_form(folder: str, form: str) -> None:
    assert normal_folder(folder) == form


@pytest.mark.parametrize(
    ("dimension", "name"),
    [("day", "0001-01-03"), ("month", "0001-01"), ("week", "0001-W01"), ("hour", "0001-01-03T00:00Z")],
)
def test_years_have_four_digits(dimension: str, name: str) -> None:
    third_ms = round(datetime(1, 1, 3, tzinfo=UTC).timestamp() * 1000)
    assert time_name(dimension, third_ms // SLOT_MS, IN_UTC) == name

"""Checks while a session runs: what is told when, what stops the stream, what is asked for wrongly."""

from pathlib import Path

import pytest

from agentv_stages.providers import get_provider
from agentv_stream.checks.live_check import FailFast, LiveCheck, open_checks
from agentv_stream.checks.spec import load_spec
from agentv_stream.errors import UsageError
from agentv_stream.summary import SessionReader
from support.fake_agents import READ_EDIT, stream

SPEC = """
target: codex
tests:
  - id: good
    assertions: [{type: tool-trajectory, mode: superset, expected: [{tool: Edit}]}]
  - id: bad
    assertions: [{type: forbid, calls: [Edit]}]
  - id: worse
    assertions: [{type: forbid, calls: [Read]}]
  - id: open
    assertions: [{type: forbid, calls: [WebSearch]}]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return path


class Live:
    """A check that has seen a whole session; `told` is what it said, `|` where a live line had to make room."""

    def __init__(self, spec: Path, fail_fast: FailFast | None = None, *, quiet: bool = False) -> None:
        self.told: list[str] = []
        self.stops = 0
        self.check = LiveCheck(load_spec(spec).cases, self.told.append, fail_fast)
        self.check.before_telling = lambda: self.told.append("|")
        self.check.quiet = quiet
        self.check.stop = self._stop
        self.reader = SessionReader(stream(READ_EDIT).splitlines(keepends=True), "log.jsonl")
        for batch in self.reader.batches():
            self.check.checker.observe(batch)

    def _stop(self) -> None:
        self.stops += 1

    def words(self) -> list[str]:
        return [line if line == "|" else " ".join(line.split()[1:3]).rstrip(",") for line in self.told]


def test_a_verdict_is_told_when_it_is_final_and_a_live_line_makes_room(spec: Path) -> None:
    live = Live(spec)
    assert sorted(live.words()) == ["bad: VIOLATED", "good: satisfied", "worse: VIOLATED", "|", "|", "|"]
    assert live.words()[:2] == ["|", "worse: VIOLATED"]
    assert (live.stops, live.check.stopped) == (0, None)


def test_who_is_to_be_quiet_tells_violations_all_the_same(spec: Path) -> None:
    assert sorted(Live(spec, quiet=True).words()) == ["bad: VIOLATED", "worse: VIOLATED", "|", "|"]


@pytest.mark.parametrize("fail_fast", ["report", "close"])
def test_the_first_violation_stops_the_stream_once_where_that_is_asked_for(spec: Path, fail_fast: FailFast) -> None:
    live = Live(spec, fail_fast)
    assert (live.stops, live.check.stopped) == (1, "worse")


def test_at_the_end_verdicts_go_into_the_result_and_are_told_unless_quiet(spec: Path) -> None:
    for quiet in (False, True):
        live = Live(spec)
        live.told.clear()
        result = live.reader.result()
        assert live.check.finish(result, live.reader.provider, quiet)
        assert isinstance(result.verdicts, list)
        assert [one["verdict"] for one in result.verdicts] == ["pass", "fail", "fail", "pass"]
        warnings = [line for line in live.told if line.startswith("warning: ")]
        assert len(warnings) == 4 and "meant for codex" in warnings[0]
        assert (len(live.told) > len(warnings)) is not quiet
    spec.write_text(SPEC.partition("  - id: bad")[0], encoding="utf-8")
    assert not Live(spec).check.finish(None, get_provider("codex"), quiet=True)


def test_what_is_asked_for_without_a_spec_or_wrongly_is_refused(spec: Path) -> None:
    told: list[str] = []
    assert open_checks([], None, None, "log", told.append) is None
    for specs, case, fail_fast, part in (
        ([], None, "report", "--fail-fast needs --check"),
        ([], "good", None, "--case needs --check"),
        ([spec], None, "soon", "expected report or close"),
    ):
        with pytest.raises(UsageError, match=part):
            open_checks(specs, case, fail_fast, "log", told.append)
    assert told == []
    spec.write_text(SPEC + "  - id: empty\n", encoding="utf-8")
    opened = open_checks([spec], None, "close", "log", told.append)
    assert opened is not None and opened.fail_fast == "close"
    assert len(told) == 1 and told[0].startswith("warning: ")

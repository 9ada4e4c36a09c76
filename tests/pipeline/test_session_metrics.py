"""Metrics of sessions: each token counts once, over restarts, re-reads and failures; labels are bounded."""

from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from agentv_stream.errors import SinkError
from agentv_stream.following.follow_outputs import FollowOutputs
from agentv_stream.following.metric_families import MOST_SERIES, OTHER, Counter, Histogram, Page
from agentv_stream.following.session_metrics import SessionMetrics
from agentv_stream.following.standings import Standings
from support.consuming import SESSION
from support.following import Desk, catch_up
from support.growing_logs import claude_records

ID = "11111111-2222-3333-4444-555555555555"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl"))


def records(turns: int, session: str = ID) -> list[bytes]:
    return [line + b"\n" for line in claude_records(session, turns)]


class Measured:
    """Followers of one desk, each with metrics of its own."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.log = self.desk.logs / f"{ID}.jsonl"
        self.metrics = SessionMetrics()

    def follow(self, **plan: Any) -> SessionMetrics:
        """Runs a follower until nothing is left to read; returns its metrics."""
        self.metrics = SessionMetrics()
        self.desk.catch_up(listeners=[self.metrics], standings=Standings(), **plan)
        return self.metrics

    def grow(self, lines: list[bytes]) -> None:
        with self.log.open("ab") as file:
            file.writelines(lines)


def tokens(metrics: SessionMetrics) -> float:
    return sum(count for _, count in metrics.tokens.series())


@pytest.mark.parametrize("recording", EXAMPLES, ids=lambda path: path.name)
def test_the_types_add_up_to_the_tokens_of_the_session(recording: Path, tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    (measured.desk.logs / recording.name).write_bytes(recording.read_bytes())
    metrics, result = measured.follow(), summarize(recording)
    assert tokens(metrics) == (result.tokens.input or 0) + (result.tokens.output or 0) > 0
    assert sum(cost for _, cost in metrics.reported.series()) == pytest.approx(result.cost_usd or 0)
    ((labels, count),) = metrics.ended.series()
    assert (labels["status"], count) == ("complete", 1)


def test_a_restart_counts_only_what_is_new(tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    lines = records(5)
    measured.grow(lines[:7])  # two turns
    assert tokens(measured.follow()) == 30 + 31
    measured.grow(lines[7:])
    assert tokens(measured.follow()) == 32 + 33 + 34
    assert tokens(measured.follow()) == 0


def test_what_comes_before_the_end_is_not_counted(tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    lines = records(5)
    measured.grow(lines[:7])
    assert tokens(measured.follow(begin="end")) == 0
    measured.grow(lines[7:])
    assert tokens(measured.follow(begin="end")) == 32 + 33 + 34


def test_a_session_that_cannot_be_written_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is committed: it is read again under another number."""
    measured = Measured(tmp_path)
    measured.grow(records(5))
    now = [0.0]
    measured.desk.clock = lambda: now[0]
    metrics = SessionMetrics()
    follower = measured.desk.follower(listeners=[metrics], standings=Standings(), settle_seconds=1.0)
    settle, failures = FollowOutputs.settle, [SinkError("out", OSError(28, "No space left on device"))] * 2

    def failing(outputs: FollowOutputs, *words: Any) -> Any:
        if failures:
            raise failures.pop()
        return settle(outputs, *words)

    monkeypatch.setattr(FollowOutputs, "settle", failing)
    for _ in range(20):
        now[0] += 40
        follower.round()
    catch_up(follower)
    assert failures == []
    assert not follower.troubles
    assert tokens(metrics) == sum(30 + turn for turn in range(5))
    follower.close()


def test_a_log_that_is_read_again_is_counted_once(tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    measured.grow(records(3))
    metrics = SessionMetrics()
    follower = measured.desk.follower(listeners=[metrics], standings=Standings())
    catch_up(follower)
    ((number, session),) = follower.hot.items()
    session.begin_again()
    follower._register.due.add(number)  # pyright: ignore[reportPrivateUsage] - as its reading again does
    catch_up(follower)
    assert tokens(metrics) == 30 + 31 + 32
    follower.close()


def test_an_end_counts_once_over_restarts(tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    (measured.desk.logs / SESSION.name).write_bytes(SESSION.read_bytes())
    assert [(labels["status"], n) for labels, n in measured.follow().ended.series()] == [("complete", 1)]
    with (measured.desk.logs / SESSION.name).open("ab") as file:
        file.write(b'{"type":"ai-title","aiTitle":"Other","sessionId":"%s"}\n' % SESSION.stem.encode())
    assert measured.follow().ended.series() == []


def test_the_status_of_sessions_survives_a_restart(tmp_path: Path) -> None:
    measured = Measured(tmp_path)
    (measured.desk.logs / SESSION.name).write_bytes(SESSION.read_bytes())
    measured.grow(records(2))
    measured.follow()
    for _ in range(2):
        standings = Standings()
        measured.desk.catch_up(standings=standings)
        assert standings.by_status() == {("claude", "complete"): 1, ("claude", "unknown"): 1}
        standings.keep_only(set())
        assert standings.by_status() == {}


def test_a_counter_never_shows_less_than_before() -> None:
    counter = Counter(("model",))
    counter.add(("a",), 10)
    assert counter.series() == [({"model": "a"}, 10)]
    counter.add(("a",), -4)
    assert counter.series() == [({"model": "a"}, 10)]
    counter.add(("a",), 5)
    assert counter.series() == [({"model": "a"}, 11)]


def test_labels_have_a_bounded_number_of_values() -> None:
    counter = Counter(("tool", "outcome"), free=("tool",))
    for n in range(5 * MOST_SERIES):
        counter.add((f"{n}" * 1000, "ok"))
    counter.add(("1" * 1000, "ok"))
    series = counter.series()
    assert len(series) == MOST_SERIES + 1
    assert sum(count for _, count in series) == 5 * MOST_SERIES + 1
    assert max(len(labels["tool"]) for labels, _ in series) == 100
    assert {labels["tool"]: count for labels, count in series}[OTHER] > 1


def test_a_histogram_is_cumulative_and_labels_are_escaped() -> None:
    histogram = Histogram("kind", (1, 5))
    for seconds in (0.5, 1, 3, 60):
        histogram.add('re"ad\n', seconds)
    page = Page()
    page.histogram("x", "Help.", histogram)
    head = 'agentv_stream_x_bucket{kind="re\\"ad\\n",le='
    assert page.text().splitlines()[2:] == [
        f'{head}"1"}} 2',
        f'{head}"5"}} 3',
        f'{head}"+Inf"}} 4',
        'agentv_stream_x_sum{kind="re\\"ad\\n"} 64.5',
        'agentv_stream_x_count{kind="re\\"ad\\n"} 4',
    ]

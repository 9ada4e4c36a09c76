"""The rule for sessions that make no progress."""

import pytest

from agentv_stages.model.event import AnyEvent, Notification, SessionEnd
from agentv_stream.live.stall import ABANDONED_SECONDS, Progress
from support.events import at, call, result, text

START = 1_767_225_600_000
DAY_MS = int(ABANDONED_SECONDS * 1000)


def progress(*events: AnyEvent) -> Progress:
    taken = Progress()
    for event in events:
        taken.take(event, START)
    return taken


def reason(taken: Progress, after_ms: int, *, ended: bool = False, has_end: bool = True) -> str | None:
    stall = taken.stalled(START + after_ms, ended, has_end)
    return stall.reason if stall is not None else None


def asks(row: int) -> AnyEvent:
    return Notification(at(row, START), "", "permission_request", "may it?")


def failing(times: int) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    for n in range(times):
        made = call(2 * n, f"c{n}", "Bash", given={"command": "make"}, time_ms=START)
        events += [made, result(2 * n + 1, f"c{n}", "error", call=made, time_ms=START)]
    return events


RETRIES: list[AnyEvent] = [Notification(at(n, START), "", "api_retry", "overloaded") for n in range(3)]


@pytest.mark.parametrize(
    ("events", "after_ms", "expected"),
    [
        ([], DAY_MS, None),
        ([text(0, "hi", time_ms=START)], 119_000, None),
        ([text(0, "hi", time_ms=START)], 121_000, "silence"),
        ([text(0, "hi", time_ms=START)], DAY_MS + 1000, None),
        ([call(0, "a", time_ms=START)], 299_000, None),
        ([call(0, "a", time_ms=START)], 301_000, "open-call"),
        ([call(0, "a", time_ms=START), result(1, "a", time_ms=START)], 301_000, "silence"),
        (RETRIES, 0, "retries"),
        ([*RETRIES, text(4, "hi", time_ms=START)], 0, None),
        (failing(2), 0, None),
        (failing(3), 0, "repeated-failure"),
        ([asks(0)], 0, "permission"),
        ([asks(0)], DAY_MS + 1000, None),
        ([asks(0), text(1, "hi", time_ms=START)], 0, None),
        ([asks(0), SessionEnd(at(1, START), "", "complete")], 0, None),
    ],
)
def test_what_is_no_progress(events: list[AnyEvent], after_ms: int, expected: str | None) -> None:
    assert reason(progress(*events), after_ms) == expected


def test_a_session_that_has_ended_stalls_only_when_it_asks_again() -> None:
    assert reason(progress(*RETRIES), 0, ended=True) is None
    assert reason(progress(asks(0)), 0, ended=True) == "permission"


def test_an_answer_is_the_last_word_where_the_agent_writes_no_end() -> None:
    answered = progress(text(0, "done", time_ms=START))
    assert reason(answered, 200_000, has_end=False) is None
    assert reason(answered, 200_000, has_end=True) == "silence"

"""The summary log: one readable line an event, nothing in it that acts on a terminal."""

import pytest
from msgspec.structs import replace

from agentv_stages.model.event import AnyEvent, Notification, Retract, SessionInfo, SlashCommand
from agentv_stages.sinks.summary_log import SummaryLog
from support.events import at, batch, call, end, result, text, usage, user


def log(*events: AnyEvent, width: int = 200, arrived_ms: int | None = None) -> list[str]:
    summary = SummaryLog(width)
    one = batch(*events)
    one.arrived_ms = arrived_ms
    return (summary.render(one) + summary.flush()).decode().splitlines()


def said(*events: AnyEvent) -> list[str]:
    """The lines without their times."""
    return [line[8:] for line in log(*events)]


def test_each_event_that_is_worth_one_has_a_line() -> None:
    read = call(2, "t1", "Read", files=("a.py",))
    bash = call(4, "t2", "Bash", command="make test")
    assert said(
        SessionInfo(at(0), "", "s-1", "model-1"),
        user(1, "fix it"),
        read,
        result(3, "t1", call=read, duration_ms=1234),
        bash,
        result(5, "t2", "error", call=bash, exit_code=2),
        text(6, "done\n\n"),
        usage(7, "m1"),  # of one call: the totals come at the end
        end(8, reason="success"),
    ) == [
        "session s-1 model-1",
        "user: fix it",
        "→ Read a.py",
        "✓ Read 1.2s",
        "→ Bash make test",
        "✗ Bash error exit 2",
        "assistant: done",
        "end complete: success",
    ]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (result(0, "t", "denied"), "✗ t denied"),
        (result(0, "t", "unpaired"), "? t no result"),
        (result(0, "t", None), "✓ t"),
        (Notification(at(0), "", "hook", "failed", "error"), "error hook: failed"),
        (SlashCommand(at(0), "", "/compact", "now"), "command /compact now"),
        (Retract(at(0), "", ("m1", "m2"), "rewind"), "taken back: 2 messages (rewind)"),
        (replace(user(0, "the story so far"), injected=True), "user (injected): the story so far"),
        (usage(0, "s", scope="session", input=1234, output=None), "tokens in 1,234 out ?"),
    ],
)
def test_what_an_event_says(event: AnyEvent, line: str) -> None:
    assert said(event) == [line]


@pytest.mark.parametrize(
    "event", [text(0, "  \n"), user(0, ""), Notification(at(0), "", "n", "m", "debug"), SessionInfo(at(0), "")]
)
def test_an_event_that_says_nothing_has_no_line(event: AnyEvent) -> None:
    assert log(event) == []


def test_pieces_of_a_text_are_one_line_when_the_text_has_ended() -> None:
    pieces = [text(i, part, delta=True) for i, part in enumerate(("Hel", "lo ", "there"))]
    assert said(*pieces, call(3, "t")) == ["assistant: Hello there", "→ Read"]
    assert said(*pieces) == ["assistant: Hello there"]
    other = text(1, "mine", stream="sidechain:a", delta=True)
    assert said(pieces[0], other, *pieces[1:]) == ["assistant: Hello there", "[sidechain:a] assistant: mine"]


def test_a_text_is_one_line_whatever_the_batches_are() -> None:
    summary = SummaryLog()
    out = b""
    for i, part in enumerate(("Hel", "lo")):
        out += summary.render(batch(text(i, part, delta=True)))
    out += summary.render(batch(end(2))) + summary.flush()
    assert out.decode().splitlines() == ["        assistant: Hello", "        end complete"]


def test_time_runs_from_the_first_event_by_the_log_or_by_arrival() -> None:
    timed = log(text(0, "a", time_ms=10_000), text(1, "b", time_ms=12_500), text(2, "no time of its own"))
    assert [line[:7] for line in timed] == ["    0.0", "    2.5", "    2.5"]
    assert [line[:7] for line in log(text(0, "a"), arrived_ms=5_000)] == ["    0.0"]
    assert [line[:7] for line in log(text(0, "a"))] == ["       "]


def test_nothing_acts_on_a_terminal_and_long_lines_are_cut() -> None:
    (line,) = log(text(0, "\x1b[2J\x07red\nnext\u202e" + "x" * 500), width=40)
    assert line[8:].isprintable()
    assert "\\x1b[2J" in line
    assert len(line) == 8 + 40
    assert line.endswith("…")
    assert len(log(call(0, "t", "\x1b]0;owned\x07", given={"a": "\x1b[31m"}))) == 1


def test_totals_that_did_not_change_are_told_once_over_a_restart_too() -> None:
    total, more = usage(0, "s", scope="session", input=5, output=1), usage(2, "s", scope="session", input=7, output=1)
    first, second = SummaryLog(), SummaryLog()
    told = first.render(batch(total, total))
    second.restore(first.snapshot())
    told += second.render(batch(total, more, total))
    assert [line[8:] for line in told.decode().splitlines()] == [
        "tokens in 5 out 1", "tokens in 7 out 1", "tokens in 5 out 1"]  # fmt: skip

"""The live view: what it says of sessions, and how it looks in 80 columns."""

import json
import time
from pathlib import Path

import pytest

from agentv_stream import summarize
from agentv_stream.discovery.discover import project_of
from agentv_stream.discovery.places import find_roots
from agentv_stream.following import forgetting
from agentv_stream.following.follow_plan import Plan
from agentv_stream.watch import feed as feeds
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.lines import line_of
from support.fake_agents import READ_EDIT, stream
from support.growing_logs import claude_records

START = 1_767_225_600_000  # 2026-01-01, when the records of growing_logs begin


def feed_of(folder: Path) -> Feed:
    feed = Feed(Plan(find_roots([str(folder)])))
    while feed.round():
        pass
    return feed


def write(folder: Path, session: str, turns: int, cut: int | None = None) -> Path:
    path = folder / f"{session}.jsonl"
    path.write_bytes(b"\n".join(claude_records(session, turns)[:cut]) + b"\n")
    return path


def test_a_row_tells_turn_calls_and_the_last_tool(tmp_path: Path) -> None:
    write(tmp_path, "aaaa-1", 3)
    (look,) = feed_of(tmp_path).looks(START + 12_000)
    assert (look.agent, look.project, look.turn, look.calls, look.open_calls) == ("claude", "app", 3, 3, 0)
    assert look.last_tool == "Bash ls 2"
    assert look.live


def test_an_open_call_is_shown_and_stalls_after_five_minutes(tmp_path: Path) -> None:
    write(tmp_path, "aaaa-1", 2, cut=6)
    feed = feed_of(tmp_path)
    (look,) = feed.looks(START + 10_000)
    assert (look.open_calls, look.stalled) == (1, "")
    (look,) = feed.looks(START + 400_000)
    assert look.stalled == "Bash open for 6m"


def test_open_calls_of_two_sub_agents_under_one_id_are_two(tmp_path: Path) -> None:
    records = [json.loads(r) for r in claude_records("aaaa-1", 2)[:6]]
    call, again = records[-1], json.loads(json.dumps(records[-1]))
    call |= {"isSidechain": True, "agentId": "a"}
    again |= {"isSidechain": True, "agentId": "b", "uuid": "another"}
    again["message"]["id"] = "another"
    log = tmp_path / "aaaa-1.jsonl"
    log.write_text("".join(json.dumps(r) + "\n" for r in (*records, again)))
    (look,) = feed_of(tmp_path).looks(START + 10_000)
    assert (look.calls, look.open_calls) == (3, 2)


def failing(folder: Path, turns: int) -> None:
    """A session in which the same call fails in each turn."""
    records = [json.loads(r) for r in claude_records("aaaa-1", turns)]
    for record in records:
        for block in record["message"]["content"]:
            if isinstance(block, dict) and block["type"] == "tool_use":
                block["input"] = {"command": "make"}
            elif isinstance(block, dict) and block["type"] == "tool_result":
                block["is_error"] = True
    (folder / "aaaa-1.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


def test_rows_are_made_without_a_look_at_what_the_reading_thread_is_changing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums that two threads brought up to date at once could stay wrong, and a table that grew ended the view."""
    write(tmp_path, "aaaa-1", 3)
    feed = feed_of(tmp_path)
    (session,) = feed.follower.hot.values()
    monkeypatch.setattr(session, "chain", None)
    (look,) = feed.looks(START + 12_000)
    found = feed.events(look.key, START + 12_000)
    assert found is not None
    assert found[0] == look
    assert (look.turn, bool(found[2])) == (3, True)
    assert feed.events(look.key + 1, START) is None


def test_a_session_that_is_read_again_counts_its_errors_once(tmp_path: Path) -> None:
    """As one that turns out to begin with another session's records."""
    failing(tmp_path, 4)
    feed = feed_of(tmp_path)
    ((number, session),) = feed.follower.hot.items()
    session.begin_again()
    feed.follower._register.due.add(number)  # pyright: ignore[reportPrivateUsage] - as its reading again does
    feed.round()
    (look,) = feed.looks(START + 13_000)
    assert (look.calls, look.errors, look.stalled) == (4, 4, "same call failed 4 times")


def test_an_output_that_is_only_a_lower_bound_is_told_as_one(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.table import details

    (tmp_path / "s.jsonl").write_bytes(stream(READ_EDIT, whole=False))
    (look,) = feed_of(tmp_path).looks(START)
    assert (look.tokens_out_whole, line_of(look)["output_tokens"]) == (False, None)
    assert f"out ≥{look.tokens_out} " in details(look, 100).plain


def test_an_end_with_an_open_call_is_none_where_the_log_has_no_end_record(tmp_path: Path) -> None:
    """The other commands call that `unknown`."""
    first, *_, call, _ = claude_records("aaaa-1", 2)
    answer = json.loads(claude_records("aaaa-1", 3)[-2])
    answer["message"] |= {"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}
    log = tmp_path / "aaaa-1.jsonl"
    log.write_bytes(b"\n".join((first, call, json.dumps(answer).encode(), b"")))
    (look,) = feed_of(tmp_path).looks(START + 400_000)
    assert look.status == summarize(log).status == "unknown"
    pytest.importorskip("textual")
    from agentv_stream.watch.table import sign

    assert sign(look).plain == "?"


def test_silence_after_a_result_is_told(tmp_path: Path) -> None:
    write(tmp_path, "aaaa-1", 2)
    (look,) = feed_of(tmp_path).looks(START + 200_000)
    assert look.stalled == "no events for 3m"


def test_the_same_call_failing_again_and_again_is_told(tmp_path: Path) -> None:
    failing(tmp_path, 4)
    (look,) = feed_of(tmp_path).looks(START + 13_000)
    assert look.stalled == "same call failed 4 times"
    assert look.errors == 4


def test_a_session_whose_log_has_been_gone_for_long_leaves_the_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(forgetting, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(feeds, "FORGET_MS", 0)
    gone, there = write(tmp_path, "aaaa-1", 2), write(tmp_path, "bbbb-2", 2)
    feed = Feed(Plan(find_roots([str(tmp_path)]), settle_seconds=0.0))
    for _ in range(3):
        feed.round()
        now[0] += 10
    assert len(feed.looks(START)) == 2
    gone.unlink()
    for _ in range(3):
        feed.round()
        now[0] += 10
    (look,) = feed.looks(START)
    assert look.session == there.stem
    assert len(feed.views) == len(feed.follower.hot) == 1


def test_growth_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path, "aaaa-1", 4, cut=4)
    feed = feed_of(tmp_path)
    assert feed.looks(START)[0].turn == 1
    path.write_bytes(b"\n".join(claude_records("aaaa-1", 4)) + b"\n")
    feed.round()
    assert feed.looks(START)[0].turn == 4


async def test_the_application_lists_sessions_and_enters_one(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import Events, WatchApp

    for n in range(3):
        write(tmp_path, f"{n}aaa-1", n + 2)
    feed = feed_of(tmp_path)
    app = WatchApp(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.pause()
        assert app.table.row_count == 3
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Events)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, Events)
    feed.close()


@pytest.mark.parametrize(("sessions", "told"), [(100, "100 sessions, "), (101, "the latest 100 of 101 sessions, ")])
async def test_sessions_that_have_no_row_are_counted(tmp_path: Path, sessions: int, told: str) -> None:
    pytest.importorskip("textual")
    from textual.widgets import Static

    from agentv_stream.watch.app import WatchApp

    for n in range(sessions):
        write(tmp_path, f"{n:03}-1", 1)
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        while str(app.query_one("#status", Static).render()).startswith("reading"):
            await pilot.pause()
            app.refresh_rows()
        assert app.table.row_count == 100
        assert str(app.query_one("#status", Static).render()).startswith(told)
    app.feed.close()


@pytest.mark.parametrize("terminal", [60, 64, 80, 120, 200])
async def test_the_columns_take_what_the_terminal_has(tmp_path: Path, terminal: int) -> None:
    pytest.importorskip("textual")
    from textual.widgets import Static

    from agentv_stream.watch.app import WatchApp

    write(tmp_path, "aaaa-1", 2)
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.resize_terminal(terminal, 24)
        await pilot.pause()
        app.refresh_rows()
        columns = list(app.table.columns.values())
        assert [str(column.label) for column in columns][-2:] == ["age", "prompt"]
        assert terminal - 8 <= sum(column.width + 2 for column in columns) <= terminal - 2  # and a scroll bar
        assert app.table.row_count == 1
        told = str(app.query_one("#details", Static).render()).split("\n")
        assert len(told) == 3
        assert told[0].startswith("unknown  aaaa-1")
        assert max(map(len, told)) <= terminal - 2
    app.feed.close()


async def test_the_footer_says_what_the_keys_do(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import WatchApp

    write(tmp_path, "aaaa-1", 2)
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.pause()
        assert {
            binding.binding.description for binding in app.screen.active_bindings.values() if binding.binding.show
        } == {
            "events",
            "filter",
            "sort",
            "keys",
            "quit",
        }
        await pilot.press("enter")
        await pilot.pause()
        shown = [binding.binding.description for binding in app.screen.active_bindings.values() if binding.binding.show]
        assert "back" in shown
        assert "events" not in shown
    app.feed.close()


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/home/ada/orchard", "orchard"), ("/home/ada/orchard/", "orchard"), ("C:\\ada\\orchard", "orchard"), ("/", "/"),
     ("", "?"), (None, "?")],
)  # fmt: skip
def test_a_project_is_the_last_name_of_its_folder(folder: str | None, name: str) -> None:
    assert project_of(folder) == name


async def test_hostile_text_does_not_act(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import WatchApp

    hostile = "\x1b[red]x\u202e"
    text = json.dumps(hostile)[1:-1].encode()
    records = [r.replace(b"ls 1", text).replace(b"please", text) for r in claude_records("aaaa-1", 2)]
    (tmp_path / "aaaa-1.jsonl").write_bytes(b"\n".join(records) + b"\n")
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.pause()
        shown = app.export_screenshot()
        assert "\x1b" not in shown
        assert "[red]" in shown.replace("&#160;", " ")


@pytest.mark.parametrize("inside", [False, True])
async def test_ctrl_c_ends_it_wherever_one_is(tmp_path: Path, inside: bool) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import WatchApp

    write(tmp_path, "aaaa-1", 2)
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.pause()
        if inside:
            await pilot.press("enter")
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert not app.is_running


def test_an_event_of_a_sub_agent_does_not_undo_the_end(tmp_path: Path) -> None:
    records = [json.loads(record) for record in claude_records("aaaa-1", 2)]
    answer = json.loads(claude_records("aaaa-1", 3)[-2])
    answer["message"] |= {"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}
    late = json.loads(claude_records("aaaa-1", 4)[-2]) | {"uuid": "late", "isSidechain": True, "agentId": "a"}
    late["message"] |= {"id": "late", "content": [{"type": "text", "text": "found it"}]}
    log = tmp_path / "aaaa-1.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in (*records, answer, late)))
    (look,) = feed_of(tmp_path).looks(START + 400_000)
    assert (look.status, look.stalled) == (summarize(log).status, "") == ("complete", "")


def test_a_session_that_was_left_for_a_day_does_not_hang(tmp_path: Path) -> None:
    log = write(tmp_path, "aaaa-1", 2, cut=6)
    feed = feed_of(tmp_path)
    (hangs,) = feed.looks(START + 3_600_000)
    assert (hangs.status, hangs.stalled) == ("stalled", "Bash open for 59m")
    (left,) = feed.looks(START + 90_000_000)
    assert (left.status, left.stalled) == (summarize(log).status, "")


def test_a_session_that_waits_for_its_user_does_not_hang(tmp_path: Path) -> None:
    """Most agents write no end on disk: the last answer is the last that there is."""
    answer = json.loads(claude_records("aaaa-1", 3)[-2])
    answer["message"] |= {"content": [{"type": "text", "text": "done"}], "stop_reason": None}
    log = tmp_path / "aaaa-1.jsonl"
    log.write_bytes(b"\n".join((*claude_records("aaaa-1", 2), json.dumps(answer).encode(), b"")))
    (look,) = feed_of(tmp_path).looks(START + 400_000)
    assert (look.status, look.stalled) == (summarize(log).status, "")


def test_a_hang_comes_first_even_before_later_sessions(tmp_path: Path) -> None:
    write(tmp_path, "aaaa-1", 2, cut=6)
    for n in range(3):
        write(tmp_path, f"later-{n}", 80 + n)
    first, second = feed_of(tmp_path).looks(START + 330_000, most=2)
    assert (first.session, first.stalled) == ("aaaa-1", "Bash open for 5m")
    assert (second.session, second.stalled) == ("later-2", "")


async def test_rows_keep_their_places_while_one_is_chosen(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import WatchApp

    for n in range(4):
        write(tmp_path, f"{n}aaa-1", n + 2)
    app = WatchApp(feed_of(tmp_path))

    def sessions() -> list[str]:
        return [str(app.table.get_row_at(n)[1]) for n in range(app.table.row_count)]

    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.pause()
        assert (sessions(), app.table.cursor_row) == (["3aaa-1", "2aaa-1", "1aaa-1", "0aaa-1"], 0)
        await pilot.press("down", "down")
        write(tmp_path, "0aaa-1", 9)
        write(tmp_path, "4aaa-1", 12)
        app.feed._next_scan = 0.0  # pyright: ignore[reportPrivateUsage] - not to wait for the next one
        while app.feed.round() or app.feed.session_count < 5:
            pass
        app.refresh_rows()
        await pilot.pause()
        assert (sessions(), app.table.cursor_row) == (["3aaa-1", "2aaa-1", "1aaa-1", "0aaa-1", "4aaa-1"], 2)
        await pilot.press("home")
        await pilot.pause()
        assert (sessions()[:2], app.table.cursor_row) == (["4aaa-1", "0aaa-1"], 0)
    app.feed.close()


async def test_a_filter_shows_rows_that_hold_its_words_and_escape_shows_all(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.app import Help, WatchApp

    for n in range(3):
        write(tmp_path, f"{n}aaa-1", n + 2)
    app = WatchApp(feed_of(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.press("slash", *"CLAUDE 1aaa")
        await pilot.pause()
        assert app.table.row_count == 1
        assert str(app.status.render()).startswith(("1 of 3 sessions match", "reading…  1 of 3 sessions match"))
        await pilot.press("enter", "escape")
        await pilot.pause()
        assert app.table.row_count == 3
        await pilot.press("s")
        assert "sorted by last event" in str(app.status.render())
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, Help)
        await pilot.press("x")
        await pilot.pause()
        assert not isinstance(app.screen, Help)
    app.feed.close()


async def test_the_events_of_a_session_are_followed(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from textual.widgets import RichLog

    from agentv_stream.watch.app import Events, WatchApp

    log = write(tmp_path, "aaaa-1", 3)
    app = WatchApp(feed_of(tmp_path))

    def lines() -> list[str]:
        return [strip.text for strip in app.screen.query_one("#events", RichLog).lines]

    async with app.run_test(size=(80, 24)) as pilot:
        app.refresh_rows()
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Events)
        before = lines()
        write(tmp_path, log.stem, 5)
        while app.feed.views and next(iter(app.feed.views.values())).known.turn < 5:
            app.feed.round()
        app.screen.refresh_events()
        await pilot.pause()
        assert lines()[: len(before)] == before
        assert len([line for line in lines() if "→ Bash ls" in line]) == 5
        await pilot.press("slash", "s")  # keys of the table
        assert isinstance(app.screen, Events)
    app.feed.close()


def test_the_view_says_that_it_is_reading(tmp_path: Path) -> None:
    write(tmp_path, "aaaa-1", 2)
    assert not Feed(Plan(find_roots([str(tmp_path)]))).caught_up


def test_a_row_has_the_id_and_the_beginning_of_the_prompt(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from agentv_stream.watch.table import row, widths

    write(tmp_path, "aaaa-1", 2)
    (look,) = feed_of(tmp_path).looks(START + 10_000)
    for terminal in (60, 80, 120, 200):
        room = widths(terminal - 2)
        cells = dict(zip(room, row(look, room), strict=True))
        assert cells["id"].plain == "aaaa-1"
        assert cells["prompt"].plain.rstrip("…") in "please work on aaaa-1"
        assert sum(room.values()) + 2 * len(room) <= terminal - 2
        assert room["last tool"] >= len("Bash open for 12m")
        room = widths(terminal + 1, 1, reason=24)
        assert room["last tool"] >= 24 and sum(room.values()) + len(room) - 1 <= terminal

"""The wall clock is set back, and on, while a follower runs: only arrival times tell; nothing is lost or told twice."""

import os
from collections import Counter
from pathlib import Path

from support.following import Desk, split
from support.growing_logs import claude_records
from support.live_follower import LiveFollower

SESSION = "11111111-2222-3333-4444-555555555555"
OTHER = "1111111-2222-3333-4444-555555555555"
# The program with a wall clock that is off by what stands in a file; the machine's is not touched.
CODE = """
import sys, time
from pathlib import Path
offset = Path({place!r})
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + float(offset.read_text())
time.time_ns = lambda: real_ns() + int(float(offset.read_text()) * 1e9)
from agentv_stream.cli import main
main()
"""
DAY = 86_400


def test_a_clock_that_jumps_changes_arrival_times_only(tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("0")
    desk = Desk(tmp_path / "live")
    records = claude_records(SESSION, 6)
    log = desk.logs / f"{SESSION}.jsonl"
    cuts = [len(claude_records(SESSION, turns)) for turns in (2, 4, 6)]
    log.write_bytes(b"\n".join(records[: cuts[0]]) + b"\n")
    follower = LiveFollower([desk.logs], desk.out, desk.state, CODE.format(place=str(offset)))
    try:
        follower.until_calls(2)
        for jump, begin, end, calls in ((-DAY, cuts[0], cuts[1], 5), (DAY, cuts[1], cuts[2], 8)):
            temporary = tmp_path / "next"
            temporary.write_text(str(jump))
            temporary.rename(offset)
            with log.open("ab") as file:
                file.write(b"\n".join(records[begin:end]) + b"\n")
            # A log that is new is only found by a look at all: those go on, too.
            new = f"{calls}{OTHER}"
            (desk.logs / f"{new}.jsonl").write_bytes(b"\n".join(claude_records(new, 1, 50)) + b"\n")
            follower.until_calls(calls)
        assert follower.stop() == 0
    finally:
        follower.kill()
    told = Counter(one["id"] for one in follower.told)
    clean = Desk(tmp_path / "clean")
    for path in desk.logs.iterdir():
        (clean.logs / path.name).write_bytes(path.read_bytes())
    clean.catch_up()
    assert told == clean.event_ids()
    found, expected = desk.transcripts(), clean.transcripts()
    assert {name: split(rows) for name, rows in found.items()} == {n: split(r) for n, r in expected.items()}


def test_a_log_of_the_far_future_holds_up_nobody(tmp_path: Path) -> None:
    """Its time in ns is more than a SQLite integer holds."""
    desk = Desk(tmp_path)
    for name in (SESSION, OTHER):
        (desk.logs / f"{name}.jsonl").write_bytes(b"\n".join(claude_records(name, 2)) + b"\n")
    os.utime(desk.logs / f"{OTHER}.jsonl", (10_000_000_000, 10_000_000_000))
    desk.catch_up()
    assert set(desk.transcripts()) == {SESSION, OTHER}
    before = len(desk.emitted)
    desk.catch_up()
    assert len(desk.emitted) == before, "it is known"

"""Two followers with outputs of their own share one database of cursors: neither takes the other's sessions."""

from pathlib import Path

from support.following import Desk, catch_up
from support.growing_logs import claude_records

NAMES = [f"{n}0000000-aaaa-bbbb-cccc-dddddddddddd" for n in range(4)]


def grow(logs: Path, begin: int, end: int) -> None:
    for name in NAMES:
        with (logs / f"{name}.jsonl").open("ab") as file:
            file.write(b"".join(record + b"\n" for record in claude_records(name, 8)[begin:end]))


def test_each_goes_on_where_it_was_after_a_crash_of_both(tmp_path: Path) -> None:
    one, two, alone = (Desk(tmp_path / name, consumer=name) for name in ("one", "two", "alone"))
    two.logs, two.state = one.logs, one.state
    grow(one.logs, 0, 9)
    first, second = one.follower(), two.follower()
    for follower in (first, second):
        catch_up(follower)
        follower.close()
    grow(one.logs, 9, 17)
    for desk in (one, two):
        follower = desk.follower()
        assert [session.main for session in follower.store.sessions()] == [  # type: ignore[union-attr]  # it has one
            str(one.logs / f"{name}.jsonl") for name in NAMES
        ]
        catch_up(follower)
        follower.settle_all()
        follower.close()
        desk.close()
    alone.logs = one.logs
    alone.catch_up()
    assert one.transcripts() == two.transcripts() == alone.transcripts()
    assert len(one.transcripts()) == len(NAMES)
    for desk in (one, two):
        assert set(desk.event_ids().values()) == {1}, "nothing is told twice"

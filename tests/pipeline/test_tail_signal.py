"""A follower that is told to stop takes no further session, and leaves what would take long to the next start."""

from pathlib import Path

from agentv_stages.model.batch import Batch
from agentv_stream.following.follow import Follower
from agentv_stream.following.followed import Followed, Listener
from support.following import Desk, catch_up
from support.growing_logs import claude_records

NAMES = [f"{n:08}-aaaa-bbbb-cccc-dddddddddddd" for n in range(12)]


def written(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in desk.out.glob("*.transcript.jsonl")}


def results(desk: Desk) -> int:
    return len(list(desk.out.glob("*.result.json")))


class Stopping(Listener):
    """Tells a follower to stop while it reads its first session."""

    def __init__(self) -> None:
        self.follower: Follower | None = None
        self.sessions: set[int] = set()

    def observe(self, session: Followed, batch: Batch) -> None:
        self.sessions.add(session.number)
        assert self.follower is not None
        self.follower.stopping = True


def fill(desk: Desk) -> None:
    for name in NAMES:
        (desk.logs / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in claude_records(name, 3)))


def test_no_further_session_is_read(tmp_path: Path) -> None:
    desk, stopping = Desk(tmp_path), Stopping()
    fill(desk)
    follower = stopping.follower = desk.follower(listeners=[stopping])
    follower.round()
    follower.finish(False)
    follower.close()
    assert len(stopping.sessions) == 1, stopping.sessions
    assert len(written(desk)) == 1


def test_what_takes_long_is_left_to_the_next_start(tmp_path: Path) -> None:
    """The clock says that each session takes a second to be put to rest."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.25
        return now[0]

    desk, whole = Desk(tmp_path / "a", clock), Desk(tmp_path / "b")
    for one in (desk, whole):
        fill(one)
    follower = desk.follower(settle_seconds=1e9)
    catch_up(follower)
    follower.stopping = True
    follower.finish(False)
    follower.close()
    assert 0 < results(desk) < len(NAMES)
    desk.catch_up()
    whole.catch_up()
    assert results(desk) == len(NAMES)
    assert [bare(data, desk) for data in written(desk).values()] == [
        bare(data, whole) for data in written(whole).values()
    ]


def bare(data: bytes, desk: Desk) -> bytes:
    return data.replace(str(desk.logs).encode(), b"")

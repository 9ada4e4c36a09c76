"""A scan in slices gives what one at once gives, and what happens between two slices is not mistaken."""

from itertools import count
from pathlib import Path

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.scan import Scan
from agentv_stream.following.stored import Stores
from support.following import Desk, catch_up
from support.growing_logs import claude_records


def quiet(event: str, **facts: object) -> None:
    """Tells nothing."""


def test_slices_give_what_one_listing_gives(tmp_path: Path) -> None:
    for n in range(300):
        place = tmp_path / f"p{n % 3}"
        place.mkdir(exist_ok=True)
        (place / f"{n}.jsonl").write_bytes(b"{}\n")
    scan = Scan(Plan(find_roots([str(tmp_path)])), Stores(quiet))
    whole = scan.take()
    clock = count()
    slices = 1
    while not scan.go_on(0.5, lambda: next(clock)):
        slices += 1
    assert slices == 300 // 32 + 1
    assert scan.go_on(0.5)  # it stays complete until it is taken
    assert scan.take() == whole
    assert len(whole) == 300
    assert scan.take() == whole  # the next one begins anew


def test_what_happens_between_a_slice_and_the_round(tmp_path: Path) -> None:
    """Rotated, removed, appended to, begun: the listing is older than all of it."""
    desk = Desk(tmp_path / "live")
    records = {name: claude_records(f"{name}-session", 8) for name in ("rotated", "removed", "grown", "begun")}

    def write(name: str, start: int, end: int) -> None:
        with (desk.logs / f"{name}.jsonl").open("ab") as file:
            file.write(b"".join(record + b"\n" for record in records[name][start:end]))

    follower = desk.follower()
    for name in ("rotated", "grown"):
        write(name, 0, 10)
    catch_up(follower)
    write("removed", 0, 10)
    while not follower.look_around(1.0):
        pass
    (desk.logs / "rotated.jsonl").rename(desk.logs / "rotated.jsonl.1")
    write("rotated", 10, 25)
    (desk.logs / "removed.jsonl").unlink()
    write("grown", 10, 25)
    write("begun", 0, 25)
    follower.round(scan=False)
    follower.round()
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert "deleted" not in desk.said
    clean = Desk(tmp_path / "clean")
    for name in ("rotated", "grown", "begun"):
        (clean.logs / f"{name}.jsonl").write_bytes(b"\n".join(records[name]) + b"\n")
    clean.catch_up()
    assert set(desk.event_ids()) == set(clean.event_ids())
    assert max(desk.event_ids().values()) == 1
    assert desk.transcripts().keys() == clean.transcripts().keys()

"""A record over the cap that comes piece by piece: as `consume` leaves it, whatever the rests and restarts in it."""

from pathlib import Path

import pytest
from msgspec import json

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from support.consumed_and_followed import consume_into
from support.following import catch_up
from support.growing_logs import claude_records
from support.made_sessions import tree

SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)
GIANT = b'{"type":"user","x":"' + b"g" * 50_000 + b'"}'
CAP = 10_000


def say(event: str, **facts: object) -> None:
    """Nobody listens."""


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize(
    "log",
    [
        b"\n".join([*RECORDS[:6], GIANT, *RECORDS[6:]]) + b"\n",
        b"\n".join([*RECORDS, GIANT]),
        b"\n".join([*RECORDS, GIANT[:40_000]]),
    ],
    ids=["in the middle", "without a line end", "half"],
)
def test_it_is_one_dead_letter_and_counts_once(log: bytes, restarts: bool, tmp_path: Path) -> None:
    path = tmp_path / "logs" / f"{SESSION}.jsonl"
    path.parent.mkdir()
    settings = Settings(out=tmp_path / "followed", quiet=True, max_record=CAP)

    def begin() -> tuple[Follower, CursorStore]:
        store = CursorStore(tmp_path / "state", "test")
        plan = Plan(find_roots([str(path.parent)]), settings, settle_seconds=0.0)
        follower = Follower(plan, store, say)
        follower.begin()
        return follower, store

    follower, store = begin()
    for at in range(0, len(log), 7_000):
        with path.open("ab") as file:
            file.write(log[at : at + 7_000])
        catch_up(follower)
        if restarts:
            follower.settle_all()
            follower.close()
            store.close()
            follower, store = begin()
    catch_up(follower)
    follower.settle_all()
    follower.close()
    store.close()
    (result,) = (tmp_path / "followed").glob("*.result.json")
    assert json.decode(result.read_bytes())["faults"] == {"too-large": 1}
    result.unlink()
    consume_into(FileSource(path), tmp_path / "consumed", max_record=CAP)
    assert tree(tmp_path / "followed") == tree(tmp_path / "consumed")

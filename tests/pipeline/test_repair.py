"""Outputs of sessions at rest that somebody shortened, replaced or removed are written again, at a start and later."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.following.keep import keep_rule
from support.following import Desk, catch_up
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


def replaced(path: Path) -> None:
    """Another file of the same length."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-200] + b" " * 199 + b"\n")


DAMAGES: tuple[Callable[[Path], object], ...] = (
    lambda path: os.truncate(path, 0),
    lambda path: os.truncate(path, 100),
    lambda path: os.truncate(path, path.stat().st_size - 1),
    lambda path: path.unlink(),
    lambda path: path.write_bytes(path.read_bytes() + b"more\n"),
    lambda path: path.write_bytes(path.read_bytes()[:-20] + b"\0" * 20),
    replaced,
)
damages = pytest.mark.parametrize("damage", DAMAGES, ids=["empty", "short", "a byte", "gone", "more", "zeros", "other"])
suffixes = pytest.mark.parametrize("suffix", [".transcript.jsonl", ".result.json", ".stream.log"])


def outputs(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in desk.out.iterdir() if path.is_file()}


def rested(folder: Path, clock: Callable[[], float]) -> Desk:
    desk = Desk(folder, clock)
    for name in (SESSION, OTHER):
        (desk.logs / f"{name}.jsonl").write_bytes(b"".join(one + b"\n" for one in claude_records(name, 8)))
    desk.catch_up(stream_log="summary")
    return desk


def output_of(desk: Desk, suffix: str) -> Path:
    return next(path for path in desk.out.iterdir() if path.name.endswith(f"{SESSION}{suffix}"))


@suffixes
@damages
def test_it_is_noticed_at_the_start(tmp_path: Path, suffix: str, damage: Callable[[Path], object]) -> None:
    desk = rested(tmp_path, lambda: 0.0)
    before = outputs(desk)
    damage(output_of(desk, suffix))
    assert not desk.catch_up(stream_log="summary").troubles
    assert outputs(desk) == before
    desk.said.clear()
    desk.catch_up(stream_log="summary")
    assert desk.said == []  # once is enough


@suffixes
@damages
def test_it_is_noticed_while_it_runs(tmp_path: Path, suffix: str, damage: Callable[[Path], object]) -> None:
    now = [0.0]
    desk = rested(tmp_path, lambda: now[0])
    before = outputs(desk)
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    damage(output_of(desk, suffix))
    now[0] += 10.0
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    assert outputs(desk) == before
    follower.close()


def test_what_keep_removed_stays_removed(tmp_path: Path) -> None:
    now = [0.0]
    desk = rested(tmp_path, lambda: now[0])
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    keep_rule("1K")(follower)
    assert outputs(desk) == {}
    now[0] += 10.0
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.catch_up(stream_log="summary")
    assert outputs(desk) == {}


def test_what_is_left_stays_where_the_log_is_gone(tmp_path: Path) -> None:
    desk = rested(tmp_path, lambda: 0.0)
    (desk.logs / f"{SESSION}.jsonl").unlink()
    os.truncate(output_of(desk, ".transcript.jsonl"), 100)
    assert not desk.catch_up(stream_log="summary").troubles
    assert output_of(desk, ".transcript.jsonl").stat().st_size == 100
    assert "an output was changed and cannot be made again: its log is gone" in desk.said

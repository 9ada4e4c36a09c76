"""Outputs of sessions at rest that somebody shortened, replaced or removed are written again, at a start and later."""

import json
import os
import re
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


def blanked(path: Path) -> None:
    """Other bytes, as many."""
    path.write_bytes(b" " * (path.stat().st_size - 1) + b"\n")


def with_agent(folder: Path, clock: Callable[[], float]) -> tuple[Desk, Path, Path]:
    """A session at rest, its log and that of its sub-agent."""
    desk = Desk(folder, clock)
    main, agent = desk.logs / f"{SESSION}.jsonl", desk.logs / SESSION / "subagents" / "agent-a1.jsonl"
    main.write_bytes(b"".join(one + b"\n" for one in claude_records(SESSION, 8)))
    agent.parent.mkdir(parents=True)
    of_agent = b"".join(one + b"\n" for one in claude_records(SESSION, 6, start=100, seed=1))
    agent.write_bytes(re.sub(rb'"isSidechain": ?false', b'"isSidechain":true', of_agent))
    desk.catch_up(stream_log="summary")
    return desk, main, agent


def grow(log: Path) -> None:
    with log.open("ab") as file:
        file.writelines(one + b"\n" for one in claude_records(SESSION, 16)[8:])


def shortened(path: Path) -> None:
    os.truncate(path, 100)


@pytest.mark.parametrize("damage", [shortened, blanked], ids=["short", "other"])
def test_a_lost_output_gets_no_more_rows_while_one_of_its_logs_is_gone(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    now = [0.0]
    desk, main, agent = with_agent(tmp_path, lambda: now[0])
    transcript = output_of(desk, ".transcript.jsonl")
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    kept = agent.read_bytes()
    agent.unlink()
    damage(transcript)
    damaged = transcript.read_bytes()
    now[0] += 10.0
    catch_up(follower)
    grow(main)
    for _ in range(3):
        now[0] += 60.0
        catch_up(follower)
    follower.settle_all()
    assert transcript.read_bytes() == damaged
    assert desk.said.count("an output was changed and cannot be made again: its log is gone") == 1

    agent.write_bytes(kept)
    now[0] += 60.0
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    follower.close()
    again = Desk(tmp_path / "again", lambda: 0.0)
    (again.logs / SESSION / "subagents").mkdir(parents=True)
    (again.logs / main.name).write_bytes(main.read_bytes())
    (again.logs / SESSION / "subagents" / agent.name).write_bytes(kept)
    again.catch_up(stream_log="summary")
    assert rows_of(transcript) == rows_of(output_of(again, ".transcript.jsonl"))


def rows_of(path: Path) -> list[str]:
    """The rows by message, without the name of the log, which stands in each."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return sorted(json.dumps(row | {"metadata": None, "source": None}) for row in rows)

"""What wakes the poller: files that changed; where that cannot be had it is told, and polling continues."""

import sys
import types
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from agentv_stream.following.follow import Follower
from agentv_stream.following.running import Running
from agentv_stream.following.tail import tail
from support.following import Desk
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)


def module(name: str, error: Exception | None) -> types.ModuleType:
    """A watcher that fails, as one does without watches left, or one that never sees anything."""

    async def awatch(*folders: str, **options: object) -> AsyncIterator[set[tuple[int, str]]]:
        if error is not None:
            raise error
        await anyio.sleep_forever()
        yield set()

    made = types.ModuleType(name)
    made.__dict__["awatch"] = awatch
    return made


def followed(desk: Desk, log: Path) -> Running:
    """Follows a log that grows once while it is followed."""
    running = Running(until_idle=0.6)
    log.write_bytes(b"".join(one + b"\n" for one in RECORDS[:7]))
    follower: Follower = desk.follower()
    plain = follower.round

    def grows(scan: bool = True) -> bool:
        read = plain(scan)
        if read and log.read_bytes().count(b"\n") == 7:
            with log.open("ab") as file:
                file.write(b"".join(one + b"\n" for one in RECORDS[7:]))
        return read

    follower.round = grows  # type: ignore[method-assign]  # the log grows behind the first look
    anyio.run(tail, follower, running, desk.say)
    follower.close()
    desk.close()
    return running


@pytest.mark.parametrize(
    ("error", "watching"),
    [
        (OSError(28, "no inotify watches left"), "degraded: [Errno 28] no inotify watches left"),
        (RuntimeError("not on this file system"), "degraded: not on this file system"),
        (None, "watchfiles"),
    ],
)
def test_polling_finds_everything_whatever_becomes_of_the_watching(
    error: Exception | None, watching: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", module("watchfiles", error))
    desk = Desk(tmp_path)
    running = followed(desk, desk.logs / "a.jsonl")
    assert running.watching == watching
    assert ("watching failed, polling continues" in desk.said) == (error is not None)
    assert sum(len(row.get("tool_calls", ())) for row in desk.transcripts()[SESSION]) == 4


def test_without_a_watcher_there_is_polling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    desk = Desk(tmp_path)
    assert followed(desk, desk.logs / "a.jsonl").watching == "polling"
    assert sum(len(row.get("tool_calls", ())) for row in desk.transcripts()[SESSION]) == 4

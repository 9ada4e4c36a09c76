"""`follow`: batches of many growing logs from Python; what was not worked off comes again, nothing else does."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, ToolCall
from agentv_stream import FollowedSession, Result, SourceError, UsageError, follow, open_stream, summarize
from agentv_stream.following import follow_stream
from agentv_stream.following.cursor_database import CursorError
from support.consuming import STREAM
from support.fixture_logs import LOGS
from support.made_sessions import claude_session

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
LOG = STREAM.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    shutil.copy(STREAM, tmp_path / "logs" / "a.jsonl")
    (tmp_path / "logs" / "b.jsonl").write_bytes(claude_session(7, 5))
    return tmp_path / "logs"


async def followed(folder: Path, **options: Any) -> dict[str, list[AnyEvent]]:
    found: dict[str, list[AnyEvent]] = {}
    async with follow(folder, once=True, **options) as stream:
        async for session, event in stream.events():
            found.setdefault(Path(session.path).name, []).append(event)
    return found


@BACKENDS
def test_each_session_gives_what_its_log_gives_alone(folder: Path, backend: str) -> None:
    async def main() -> None:
        found = await followed(folder)
        assert set(found) == {"a.jsonl", "b.jsonl"}
        for name, events in found.items():
            async with open_stream(folder / name) as stream:
                assert [type(event) async for event in stream.events()] == [type(event) for event in events]

    anyio.run(main, backend=backend)


@BACKENDS
def test_what_grows_comes_and_leaving_ends_it(folder: Path, backend: str) -> None:
    """The writer goes on when what it wrote has come: nobody looks at a clock."""
    lines = LOG.splitlines(keepends=True)
    path = folder / "grows.jsonl"
    path.write_bytes(b"")

    async def main() -> None:
        written = taken = 0
        session: FollowedSession | None = None
        async with follow(path) as stream, anyio.create_task_group() as tasks:
            tasks.cancel_scope.deadline = anyio.current_time() + 60
            path.write_bytes(lines[0])
            async for found, batch in stream.batches():
                session = found
                taken += len(batch.records)
                if taken > written:
                    written = taken
                    if written == len(lines):
                        break
                    with path.open("ab") as file:
                        file.write(lines[written])
            assert session is not None
            assert session.provider == "claude"
            assert session.result().tool_use_summary == session.statistics == summarize(STREAM).tool_use_summary
        assert taken == len(lines)

    anyio.run(main, backend=backend)


async def result_of(path: Path) -> Result | None:
    result = None
    async with follow(path, once=True) as stream:
        async for session, _ in stream.batches():
            result = session.result()
    return result


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
async def test_a_result_is_as_if_the_log_ended_here(path: Path) -> None:
    """Some formats tell only with the end of the log how the session ended; documents have ended when they come."""
    result = await result_of(path)
    assert result is None or result == summarize(path)


async def test_a_result_counts_calls_that_are_open(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(LOG[: LOG.index(b"\n", LOG.index(b'"tool_use"')) + 1])
    result = await result_of(path)
    assert result is not None
    assert result == summarize(path)
    assert result.evidence.open_calls


async def test_who_is_cancelled_when_a_batch_comes_gets_it_next_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was lost, and the follower waited for ever until it was processed."""
    hand_over = follow_stream._hand_over  # pyright: ignore[reportPrivateUsage] - the instant is in it
    asking: list[asyncio.Future[tuple[FollowedSession, Batch]]] = []

    def cancel(question: asyncio.Future[tuple[FollowedSession, Batch]], turns: int) -> None:
        if turns:
            asyncio.get_running_loop().call_soon(cancel, question, turns - 1)
        else:
            question.cancel()

    async def cancelling(*given: Any) -> bool:
        for question in asking[-1:]:
            cancel(question, len(asking) % 6)
        return await hand_over(*given)

    monkeypatch.setattr(follow_stream, "_hand_over", cancelling)
    found: list[str] = []
    for number in range(10):
        (folder / f"{number}.jsonl").write_bytes(claude_session(number + 10, 5))
    with anyio.fail_after(30):
        async with follow(folder, once=True) as stream:
            batches = stream.batches()
            while True:
                asking.append(asyncio.ensure_future(anext(batches)))
                try:
                    found.append(Path((await asking[-1])[0].path).name)
                except asyncio.CancelledError:
                    continue
                except StopAsyncIteration:
                    break
    assert set(found) == {path.name for path in folder.iterdir()}
    assert len(asking) > len(found) + 1  # some were cancelled


@BACKENDS
@pytest.mark.parametrize("how", ["left", "failed", "cancelled"])
def test_what_was_not_worked_off_comes_again(folder: Path, tmp_path: Path, backend: str, how: str) -> None:
    async def main() -> None:
        whole = sum(len(events) for events in (await followed(folder)).values())
        with anyio.CancelScope() as scope:
            try:
                async with follow(folder, state=tmp_path / "state", once=True) as stream:
                    async for _ in stream.events():
                        if how == "left":
                            break
                        if how == "failed":
                            raise LookupError
                        scope.cancel()
                        await anyio.sleep_forever()
            except LookupError:
                assert how == "failed"
        again = await followed(folder, state=tmp_path / "state")
        assert sum(len(events) for events in again.values()) == whole
        assert await followed(folder, state=tmp_path / "state") == {}
        assert await followed(folder, state=tmp_path / "state", name="another") != {}

    anyio.run(main, backend=backend)


async def test_a_log_that_goes_on_goes_on_behind_its_cursor(folder: Path, tmp_path: Path) -> None:
    path = folder / "a.jsonl"
    cut = LOG.index(b"\n", len(LOG) // 2) + 1
    path.write_bytes(LOG[:cut])
    first = (await followed(folder, state=tmp_path / "state"))["a.jsonl"]
    path.write_bytes(LOG)
    (second,) = (await followed(folder, state=tmp_path / "state")).values()
    assert sum(isinstance(event, ToolCall) for event in [*first, *second]) == 9
    assert {event.source.row for event in first} & {event.source.row for event in second} == set()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"paths": "nowhere"}, SourceError),
        ({"begin": "cursor"}, UsageError),
        ({"provider": "nobody"}, UsageError),
    ],
)
async def test_slips_are_told_before_anything_is_read(folder: Path, given: dict[str, Any], error: type) -> None:
    given.setdefault("paths", folder)
    with pytest.raises(error):
        async with follow(**given):
            raise AssertionError("the block was entered")


async def test_cursors_that_cannot_be_read_end_the_block(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with closing(sqlite3.connect(tmp_path / "state" / "cursors.db")) as newer:
        newer.execute("PRAGMA user_version=99")
    with pytest.raises(CursorError):
        await followed(folder, state=tmp_path / "state")


async def test_a_path_of_any_kind_is_followed(folder: Path) -> None:
    with os.scandir(folder) as found:
        entry = next(entry for entry in found if entry.name == "a.jsonl")
    async with follow(entry, once=True) as stream:
        assert {Path(session.path).name async for session, _ in stream.batches()} == {"a.jsonl"}


async def test_it_is_iterated_once_and_inside_the_block(folder: Path) -> None:
    async with follow(folder, once=True) as stream:
        items = stream.messages()
        with pytest.raises(UsageError):
            stream.events()
        session, message = await anext(items)
        assert message.role in ("user", "assistant")
        assert session.dialect.startswith("claude")
    with pytest.raises(UsageError, match="has ended"):
        await anext(items)

"""The live line: what it says, and that nothing in it acts on a terminal."""

import io
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import wait_all_tasks_blocked

from agentv_stages.model.batch import Batch
from agentv_stream.live.live_line import LiveLine, is_wanted
from agentv_stream.live.live_stream import BytesSource
from agentv_stream.live.session import StreamSession
from agentv_stream.settings import Settings
from support.consuming import STREAM
from support.fake_agents import call, init

LINES = STREAM.read_bytes().splitlines(keepends=True)


class Said:
    """What the line says after each batch."""

    def __init__(self, width: int | None) -> None:
        self.width = width
        self.line: LiveLine | None = None
        self.texts: list[str] = []

    def observe(self, batch: Batch) -> None:
        assert self.line is not None
        self.texts.append(self.line.text(self.width))


async def said(data: bytes, folder: Path, width: int | None = None) -> list[str]:
    async def pieces() -> AsyncIterator[bytes]:
        for line in data.splitlines(keepends=True):
            yield line
            for _ in range(20):  # an agent that waits until every stage has seen it
                await anyio.lowlevel.checkpoint()

    watcher = Said(width)
    session = StreamSession(BytesSource(pieces()), Settings(out=folder), watchers=[watcher])
    watcher.line = LiveLine(session, io.StringIO())
    assert watcher.line.text() == "waiting for the first records …"
    await session.run()
    watcher.texts.append(watcher.line.text())
    return watcher.texts


async def test_a_line_that_nobody_takes_stops_nothing(tmp_path: Path) -> None:
    """A pipe that nobody read, or a terminal paused by Ctrl-S, stopped the reading, the timeouts and the signals."""
    read, write = os.pipe()
    os.set_blocking(write, False)  # so that a write fails here rather than waits
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    session = StreamSession(BytesSource(b""), Settings(out=tmp_path))
    with os.fdopen(write, "w", encoding="utf-8", buffering=1) as stream:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(LiveLine(session, stream).run)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    os.close(read)


async def test_it_tells_turns_calls_tokens_cost_and_the_first_edit(tmp_path: Path) -> None:
    last = (await said(STREAM.read_bytes(), tmp_path))[-1]
    assert last.startswith("turn 8 · ")
    for part in ("calls (", "Edit ", "in 1.2k out ", "$", "first edit turn "):
        assert part in last, part
    assert "running" not in last


async def test_an_open_call_is_told_until_it_is_answered(tmp_path: Path) -> None:
    asked, answered = call(1, "Bash", {"command": "make"}).splitlines(keepends=True)
    texts = await said(init() + asked + answered, tmp_path)
    assert any("running Bash 0s" in text for text in texts)
    assert "running" not in texts[-1]


async def test_open_calls_of_several_streams_under_one_id_are_each_told(tmp_path: Path) -> None:
    asked = json.loads(call(1, "Read", {}).splitlines()[0])
    lines = [{**asked, "parent_tool_use_id": parent, "uuid": parent} for parent in (None, "a", "b")]
    texts = await said(init() + b"".join(json.dumps(one).encode() + b"\n" for one in lines), tmp_path)
    assert any("running Read 0s, Read 0s, Read 0s" in text for text in texts)


async def test_of_many_open_calls_three_are_named(tmp_path: Path) -> None:
    asked = [call(i, "Read", {}).splitlines(keepends=True)[0] for i in range(5)]
    texts = await said(init() + b"".join(asked), tmp_path)
    assert any("Read 0s, Read 0s, Read 0s, and 2 more" in text for text in texts)


@pytest.mark.parametrize("width", [119, 99, 89])
async def test_in_few_columns_fewer_calls_are_named_and_every_figure_is_told(tmp_path: Path, width: int) -> None:
    asked = [call(i, "mcp__docs__lookup", {}).splitlines(keepends=True)[0] for i in range(5)]
    texts = await said(STREAM.read_bytes() + b"noise\n" + b"".join(asked), tmp_path, width)
    text = [text for text in texts if " · running " in text][-1]
    assert len(text) <= width
    pattern = r"turn 1\d · \d+ calls.* · running .* · in \S+ out ≥50\d · \$0\.01 · first edit turn 2 · 1 fault"
    assert re.fullmatch(pattern, text), text


async def test_tools_that_are_not_named_are_hinted_at(tmp_path: Path) -> None:
    """`9 calls (Bash 3)` looked as if the others were of no tool."""
    log = (Path(__file__).parents[2] / "examples" / "codex.jsonl").read_bytes()
    whole = (await said(log, tmp_path, 200))[-1]
    (named,) = re.findall(r"\((.*?)\)", whole)
    assert "…" not in named
    (fewer,) = re.findall(r"\((.*?)\)", (await said(log, tmp_path, len(whole) - 1))[-2])
    assert fewer.endswith(" …")
    assert named.startswith(fewer[:-2])


async def test_faults_are_told(tmp_path: Path) -> None:
    assert (await said(b"".join([*LINES[:3], b"noise\n", *LINES[3:]]), tmp_path))[-1].endswith(" · 1 fault")


async def test_what_is_drawn_is_one_printable_line_and_is_taken_away(tmp_path: Path) -> None:
    hostile = init() + call(1, "\x1b[31mred\x07\n", {})
    session = StreamSession(BytesSource(hostile), Settings(out=tmp_path))
    await session.run()
    stream = io.StringIO()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(LiveLine(session, stream).run)
        await wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    drawn = stream.getvalue()
    assert drawn.endswith("\r\x1b[K")
    shown = drawn.replace("\r\x1b[K", "")
    assert shown.isprintable()
    assert "\\x1b[31mred" in shown
    assert len(shown) < 80


def test_it_stands_where_it_is_asked_for_else_in_a_terminal_that_shall_not_be_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr("sys.stderr", stream)
        assert is_wanted(Settings(live=True))
        assert not is_wanted(Settings(live=False))
        assert is_wanted(Settings()) is terminal
        assert not is_wanted(Settings(quiet=True))

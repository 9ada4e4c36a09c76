"""Signals: the first Ctrl-C is noted and reading a pipe goes on, a second one or SIGTERM writes what is there and ends.

What comes after that ends nothing.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Literal

import anyio
import anyio.lowlevel
import pytest

from agentv_stages.model.batch import Batch
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.live.signals import heeded
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from support.consuming import LIMIT_SECONDS, STREAM, command, environment, rows_of, start
from support.growing_logs import claude_records
from support.made_sessions import claude_session, tree

LOG = STREAM.read_bytes()
LINES = LOG.splitlines(keepends=True)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix")


def begun(folder: Path, *more: str) -> "Popen[bytes]":
    """A run that has read half of the stream: what it passes on says how far it is."""
    process = start(folder, "--tee", "--stats", "s.json", *more)
    assert process.stdin is not None
    assert process.stdout is not None
    half = b"".join(LINES[: len(LINES) // 2])
    process.stdin.write(half)
    process.stdin.flush()
    seen = b""
    while len(seen) < len(half):
        seen += os.read(process.stdout.fileno(), 1 << 16)
    return process


def told_to_end(process: "Popen[bytes]") -> None:
    """Two interrupts, the second when the first one has been noted."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    process.stdin.write(LINES[len(LINES) // 2])
    process.stdin.flush()
    assert os.read(process.stdout.fileno(), 1 << 16)
    process.send_signal(signal.SIGINT)


def ended(process: "Popen[bytes]", rest: bytes | None = b"") -> tuple[int, str]:
    _, err = process.communicate(rest, timeout=LIMIT_SECONDS)
    assert b"Traceback" not in err
    return process.returncode, err.decode()


async def test_signals_are_told_and_do_nothing_else() -> None:
    told: list[int] = []
    with anyio.fail_after(LIMIT_SECONDS):
        async with heeded(told.append):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
                before = len(told)
                os.kill(os.getpid(), number)
                while len(told) == before:
                    await anyio.lowlevel.checkpoint()
    assert told == [signal.SIGINT, signal.SIGTERM, signal.SIGINT]


async def test_what_fails_within_is_raised_as_it_is_and_signals_do_again_what_they_did() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError, match="mine"):
        async with heeded(lambda number: None):
            assert signal.getsignal(signal.SIGTERM) != before
            raise KeyError("mine")
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_hangup_that_is_ignored_stays_so() -> None:
    """As `nohup` asks for."""
    told: list[int] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with heeded(told.append):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            with anyio.fail_after(LIMIT_SECONDS):
                while not told:
                    await anyio.lowlevel.checkpoint()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert told == [signal.SIGTERM]


def test_one_interrupt_lets_the_agent_finish(tmp_path: Path) -> None:
    process = begun(tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    half = len(LINES) // 2
    for line in LINES[half : half + 3]:  # the second one is read when the signal has been noted
        process.stdin.write(line)
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 1 << 16)
    code, _ = ended(process, b"".join(LINES[half + 3 :]))
    assert code == 0
    assert json.loads((tmp_path / "s.json").read_bytes())["status"] == "complete"


def test_a_stream_that_ends_after_an_interrupt_is_told_as_it_ended(tmp_path: Path) -> None:
    process = begun(tmp_path)
    process.send_signal(signal.SIGINT)
    code, _ = ended(process)
    assert code == 3
    result = json.loads((tmp_path / "s.json").read_bytes())
    assert result["status"] in ("incomplete", "interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_last_signal_writes_what_is_there_and_is_the_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    process = begun(tmp_path)
    assert process.stderr is not None
    if number == signal.SIGINT:
        told_to_end(process)
    else:
        process.send_signal(number)
    process.wait(LIMIT_SECONDS)
    err = process.stderr.read().decode()
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    (path,) = tmp_path.rglob("*.transcript.jsonl")
    rows = rows_of(path)
    assert "transcript_cost_usd" in rows[0]
    assert json.loads((tmp_path / "s.json").read_bytes())["status"] == "incomplete"
    assert {c["id"] for r in rows for c in r.get("tool_calls", [])} >= {"t_read", "t_grep", "t_edit"}


def test_further_signals_end_no_final_writing(tmp_path: Path) -> None:
    """The outputs wait for the reader of the transcript, so that the third signal is sure to meet the final writing."""
    pipe = tmp_path / "rows.pipe"
    os.mkfifo(pipe)
    process = begun(tmp_path, "--transcript", str(pipe), "--stream-log", "raw")
    told_to_end(process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    with pipe.open("rb") as file:
        data = file.readline()
        process.send_signal(signal.SIGINT)
        data += file.read()
    code, err = ended(process)
    rows = [json.loads(line) for line in data.splitlines()]
    assert "transcript_cost_usd" in rows[-1]
    assert {c["id"] for r in rows for c in r.get("tool_calls", [])} >= {"t_read", "t_grep", "t_edit"}
    assert json.loads((tmp_path / "s.json").read_bytes())["outputs"]["transcript"] == str(pipe)
    (log,) = tmp_path.rglob("*.stream.jsonl")
    assert len(log.read_bytes().splitlines()) == len(LINES) // 2 + 1
    assert not list(tmp_path.rglob("*.tmp"))
    assert "was given up" not in err
    assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)  # signals of two kinds come in no certain order


def test_signals_while_the_statistics_are_written_leave_no_half_file(tmp_path: Path) -> None:
    pipe = tmp_path / "stats.pipe"
    os.mkfifo(pipe)
    process = start(tmp_path, "--stats", str(pipe))
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"\n".join(claude_records("5e55", 6_000)))
    process.stdin.close()
    process.stdin = None
    reader = os.open(pipe, os.O_RDONLY)  # opens when the statistics are being written
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    with os.fdopen(reader, "rb") as file:
        told = file.read()
    code, err = ended(process, None)
    assert len(told) > 1 << 16, "more than a pipe holds: the writing waited for the reader when the signals came"
    assert json.loads(told)["tool_use_summary"]["total_tool_calls"] == 6_000
    assert (code, err.count("\n")) == (0, 3)


def test_nobody_waits_for_ever_for_a_reader_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentv_stream.live.reading.Reading.grace_seconds", 0.05)
    pipe = tmp_path / "rows.pipe"
    os.mkfifo(pipe)

    async def run() -> Report:
        session = StreamSession(FileSource(STREAM), Settings(out=tmp_path, transcript=str(pipe)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            while session.observer is None or session.observer.facts.records < len(LINES):
                await anyio.lowlevel.checkpoint()
            session.interrupt(signal.SIGINT)
            session.interrupt(signal.SIGINT)
        return session.report

    report = anyio.run(run)
    assert [str(failure) for failure in report.failures] == [f"cannot write {pipe}: nobody reads it"]
    assert report.result is not None


class Press:
    """Presses Ctrl-C when the first batch comes by."""

    def __init__(self, session: StreamSession) -> None:
        self.session = session
        session.watchers.append(self)

    def observe(self, batch: Batch) -> None:
        if self.session.report.signalled is None:
            self.session.interrupt(signal.SIGINT)


@pytest.mark.parametrize("shape", ["message", "case", "atif"])
def test_ctrl_c_ends_the_reading_of_a_file_at_once_and_the_whole_outputs_of_before_stand(
    tmp_path: Path, shape: Literal["message", "case", "atif"]
) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_bytes(claude_session(1, 6_000))  # some pieces of a MiB

    async def run(*, press: bool) -> StreamSession:
        session = StreamSession(FileSource(log), Settings(out=out, transcript_shape=shape))
        if press:
            Press(session)
        await session.run()
        return session

    anyio.run(partial(run, press=False))
    before = tree(out)
    cut = anyio.run(partial(run, press=True))
    assert cut.cut_short
    assert cut.report.result is not None
    assert cut.report.result.tool_use_summary["total_tool_calls"] < 6_000
    assert cut.report.result.outputs.transcript is None
    assert cut.report.warnings == ["not all was read: the outputs of an earlier reading were kept"]
    assert tree(out) == before
    (tmp_path / "out").rename(tmp_path / "away")
    anyio.run(partial(run, press=True))
    assert len(tree(out)) == len(before), "where there was none before, what was read is written"


@pytest.mark.parametrize(
    "words",
    [("consume", "--tee", "-q"), ("consume", "--stats", "-", "-q"), ("show", "--full")],
    ids=lambda words: words[0],
)
def test_who_does_not_read_what_we_print_keeps_no_signal_from_ending_us(tmp_path: Path, words: tuple[str, ...]) -> None:
    log = tmp_path / "long.jsonl"
    log.write_bytes(claude_session(1, 4000))  # more of everything than a pipe holds
    read, write = os.pipe()
    process = Popen(command(words[0], log, *words[1:]), stdout=write, stderr=PIPE, cwd=tmp_path, env=environment())
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as reader, process:
        assert reader.read(1)
        for number in (signal.SIGINT, signal.SIGINT):
            process.send_signal(number)
            with suppress(TimeoutExpired):
                process.wait(3)
        assert process.wait(LIMIT_SECONDS) in (128 + signal.SIGINT, -signal.SIGINT)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    if words[0] == "consume":
        assert list(tmp_path.rglob("*.transcript.jsonl"))

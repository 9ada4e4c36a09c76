"""Workers that die, or are ended, in the middle of an answer: nobody waits for the other half."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from agentv_stream.bulk import engine, leaving
from agentv_stream.bulk.engine import open_engine
from agentv_stream.bulk.pools import dead_in, end_pool
from agentv_stream.bulk.unit import Task, Unit, Work
from agentv_stream.bulk.worker import do_task
from support.dying import die_in_answer, stop_in_answer
from support.growing_logs import claude_records

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # forking a process with threads, on new Pythons
    pytest.mark.timeout(60),
]


def test_who_is_killed_in_the_middle_of_an_answer_costs_that_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LOOK_SECONDS", 0.1)
    with open_engine("process", 2) as crew:
        came = dict(crew.run(die_in_answer, range(8), lambda number: [number]))
    assert {number for number, answer in came.items() if answer is None} == {3}
    assert {len(answer) for answer in came.values() if answer is not None} == {200_000}
    assert len(came) == 8


def test_ctrl_c_in_the_middle_of_an_answer_ends_the_pool(tmp_path: Path) -> None:
    noted = tmp_path / "half is sent"

    def press() -> None:
        with open_engine("process", 2) as crew:
            crew.executor.submit(stop_in_answer, noted)
            deadline = time.monotonic() + 30
            while not noted.exists():
                assert time.monotonic() < deadline
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        press()


def test_ctrl_c_ends_a_thread_in_the_middle_of_a_session(tmp_path: Path) -> None:
    """It was read to its end first, and its outputs were written."""
    log, out = tmp_path / "endless.jsonl", tmp_path / "out"
    os.mkfifo(log)
    read = threading.Event()

    def write() -> None:
        with suppress(BrokenPipeError), log.open("wb", buffering=0) as file:
            file.write(b"\n".join(claude_records("aaaa-1", 2000)) + b"\n")
            read.set()
            while True:
                file.write(claude_records("aaaa-1", 1)[0] + b"\n")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    work = Work(transcripts=str(out))

    def press() -> None:
        with open_engine("thread", 1) as crew:
            crew.executor.submit(do_task, work, Task(0, (Unit(str(log)),)))
            assert read.wait(30)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        press()
    writer.join(30)
    assert not writer.is_alive()
    assert not list(out.iterdir() if out.exists() else ())


def test_a_pool_that_is_ended_has_no_worker_left() -> None:
    pool = engine.process_pool(2)
    process = pool.submit(os.getpid).result()
    assert dead_in(pool) == set()
    os.kill(process, signal.SIGKILL)
    end_pool(pool)
    assert process not in {child.pid for child in multiprocessing.active_children()}


def test_a_worker_that_is_ended_leaves_no_file_behind_whatever_it_was_at(tmp_path: Path) -> None:
    def work() -> None:
        place, _ = leaving.make_temporary(tmp_path, "x")
        (tmp_path / "kept").touch()
        leaving.temporary(tmp_path, "x").mkdir()
        leaving.known(tmp_path / "of another process")
        (tmp_path / "of another process").touch()
        assert place.exists()
        signal.signal(signal.SIGTERM, lambda number, frame: leaving.end())
        os.kill(os.getpid(), signal.SIGTERM)

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
    assert worker.exitcode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_signal_that_another_thread_takes_does_not_disturb_the_start_of_a_process() -> None:
    """A progress line's thread took Ctrl-C: its handler then raised in the main thread, whose signals were blocked."""
    over, reached = threading.Event(), False
    other = threading.Thread(target=over.wait)
    other.start()
    taken, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    before = signal.set_wakeup_fd(wakeup)
    try:
        with pytest.raises(KeyboardInterrupt), leaving.undisturbed():
            assert other.ident is not None
            signal.pthread_kill(other.ident, signal.SIGINT)
            os.read(taken, 1)
            reached = True
        assert reached
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        other.join()
        os.close(taken)
        os.close(wakeup)

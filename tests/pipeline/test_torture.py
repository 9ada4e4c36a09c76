"""Writers mistreat their files while the follower crashes: in the end everything is there, once."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.bulk.feeding import Order
from agentv_stream.following import follow, followed
from agentv_stream.following.dataset_feed import DatasetFeed
from agentv_stream.following.follow import Follower
from support.datasets import BatchHere, imported, rows_of
from support.following import Desk, bare, catch_up, split
from support.growing_logs import Writer


class Crash(BaseException):
    """The process dies here."""


def clean_pass(tmp_path: Path, writers: list[Writer]) -> Desk:
    """What one reading of all records, each once, gives."""
    desk = Desk(tmp_path / "clean")
    for n, writer in enumerate(writers):
        (desk.logs / f"s{n}.jsonl").write_bytes(b"\n".join(writer.written) + b"\n")
    desk.catch_up()
    return desk


def check(desk: Desk, clean: Desk, writers: list[Writer]) -> None:
    """The same as one clean pass: row by row where a log stayed in one file, else by content and ids (see `bare`)."""
    expected, found = clean.transcripts(), desk.transcripts()
    assert found.keys() == expected.keys()
    for writer in writers:
        rows, ours = expected[writer.session], found[writer.session]
        assert bare(ours) == bare(rows), writer.session
        if not writer.rotated:
            assert split(ours) == split(rows), writer.session
    assert set(desk.event_ids()) == set(clean.event_ids())


def feed_of(desk: Desk, follower: Follower, dataset: Path) -> DatasetFeed:
    """A data set beside the other outputs; a batch may begin whenever it is asked for."""
    order = Order(dataset=str(dataset), sync=False)
    return DatasetFeed(follower, order, desk.say, desk.clock, every=0.0, start=BatchHere)


def check_dataset(desk: Desk, dataset: Path, once: Path) -> None:
    """The rows are those of an import of all files that are there now."""
    rotated = sorted(desk.logs.glob("*.jsonl.[0-9]*"))
    found = rows_of(dataset)
    for table, expected in imported([desk.logs, *rotated], once).items():
        assert (expected - found[table], found[table] - expected) == ({}, {}), table


def ticking(seed: int, *more: float) -> Callable[[], float]:
    """A clock of its own, so that a seed repeats the same commits at the same places whatever the machine does."""
    rng = random.Random(seed)
    steps = (0.0, 0.0, 0.001, 0.02, *more)
    now = 1000.0

    def clock() -> float:
        nonlocal now
        now += rng.choice(steps)
        return now

    return clock


def crash_at_random(monkeypatch: pytest.MonkeyPatch, rng: random.Random, share: float, full: bool) -> None:
    """Some writes of outputs break off in the middle, and the process with them; `full`: most for want of room only."""
    real = os.pwrite

    def pwrite(descriptor: int, data: bytes, offset: int, /) -> int:
        if rng.random() < share:
            real(descriptor, bytes(data)[: rng.randrange(len(data) + 1)], offset)
            if full and rng.random() < 0.7:
                raise OSError(28, "No space left on device")
            raise Crash
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)


SEED = int(os.environ.get("AGENTV_STREAM_SEED", "0"))  # the soak test varies it
LONG = os.environ.get("AGENTV_STREAM_SOAK") == "1"  # and makes each round longer
ROUNDS, TURNS, KILLS = (600, 250, 30) if LONG else (60, 25, 8)


@pytest.mark.parametrize("seed", range(SEED, SEED + (3 if LONG else 12)))
def test_nothing_is_lost_or_doubled_whatever_happens_to_the_files(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:  # so little in one round that reading never keeps up with what happens
        monkeypatch.setattr(follow, "BUDGET", 2000)
        monkeypatch.setattr(followed, "CHUNK_BYTES", 700)
    rng = random.Random(seed)
    full = seed % 4 > 1
    desk = Desk(tmp_path / "live", ticking(seed, *[0.3] * full))  # what is blocked is tried again after half a second
    writers = [Writer(desk.logs / f"s{n}.jsonl", f"{n}{seed:07}-session", TURNS, rng) for n in range(3)]
    clean_writes = os.pwrite
    crash_at_random(monkeypatch, rng, 0.03, full)
    follower, dataset, batches = desk.follower(), tmp_path / "dataset", random.Random(seed)
    with_dataset = LONG or seed % 3 == 0
    if with_dataset:
        pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
    feed = feed_of(desk, follower, dataset)
    for _ in range(ROUNDS):
        # One thing at a time per file between two looks: what nobody could have read may be lost.
        for writer in rng.sample(writers, rng.randrange(1, 3)):
            writer.step()
        try:
            if rng.random() < 0.8:
                follower.round()
            if with_dataset and batches.random() < 0.1:
                feed.look()  # begins a batch
                feed.look()  # takes its outcome
            if rng.random() < 0.15:
                raise Crash
        except Crash:
            feed.close()
            follower.close()
            follower = desk.follower()
            feed = feed_of(desk, follower, dataset)
    monkeypatch.setattr(os, "pwrite", clean_writes)
    follower.close()
    follower = desk.follower()
    feed = feed_of(desk, follower, dataset)
    for writer in writers:
        catch_up(follower)
        writer.finish()
    catch_up(follower)
    follower.settle_all()
    if with_dataset:
        feed.finish()
        assert feed.trouble is None
        check_dataset(desk, dataset, tmp_path / "once")
    follower.close()
    desk.close()
    check(desk, clean_pass(tmp_path, writers), writers)


@pytest.mark.parametrize("seed", [SEED + 1])
def test_sigkill_at_any_time_leaves_outputs_as_if_nothing_had_happened(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    desk = Desk(tmp_path / "live")
    writers = [Writer(desk.logs / f"s{n}.jsonl", f"{n}{seed:07}-killed", TURNS, rng) for n in range(3)]
    events = tmp_path / "events.jsonl"
    command = [sys.executable, "-m", "agentv_stream", "tail", str(desk.logs), "--events", "--out", str(desk.out)]
    command += ["--state", str(desk.state), "--settle", "0", "-q"]
    with events.open("ab") as target:
        for _ in range(KILLS):
            for writer in writers:
                writer.step()
            process = subprocess.Popen(command, stdout=target, stderr=subprocess.DEVNULL)
            for _ in range(rng.randrange(1, 12)):
                try:
                    process.wait(rng.random() * 0.2)
                except subprocess.TimeoutExpired:
                    rng.choice(writers).step()
            process.kill()
            process.wait()
            # What stands in no file any more cannot be asked for: the follower gets a chance to see it.
            subprocess.run([*command, "--once"], stdout=target, stderr=subprocess.DEVNULL, check=True)
        for writer in writers:
            writer.finish()
        subprocess.run([*command, "--once"], stdout=target, stderr=subprocess.DEVNULL, check=True)
    desk.emitted = [events.read_bytes()]
    check(desk, clean_pass(tmp_path, writers), writers)

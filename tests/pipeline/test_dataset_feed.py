"""`tail --parquet`: the data set of growing logs is that of an import, whatever is killed, rotated or full."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.bulk import feeding, import_sessions, object_store
from agentv_stream.bulk.feeding import Delivery, Order, check_dataset, deliver
from agentv_stream.bulk.manifest import read_manifest
from agentv_stream.bulk.shards import MERGED_FILES
from agentv_stream.errors import UsageError
from agentv_stream.following.dataset_feed import EVERY_SECONDS, BatchProcess, DatasetFeed, StartedBatch
from support.consuming import SESSION, run
from support.datasets import BatchHere, imported, rows_of, sessions_in
from support.following import Desk, catch_up
from support.growing_logs import claude_records

pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")


class Fed:
    """A follower with a data set, and a clock that goes only when it is told to."""

    start: Callable[[Order], StartedBatch] = BatchHere

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 1000.0
        self.desk = Desk(folder / "live", lambda: self.now)
        self.dataset = folder / "dataset"
        self.imports = 0
        self.begin()

    def restart(self) -> None:
        """A new follower goes on where the one before was killed."""
        self.feed.close()
        self.follower.close()
        self.begin()

    def begin(self) -> None:
        self.follower = self.desk.follower(settle_seconds=1.0)
        order = Order(dataset=str(self.dataset), sync=False)
        self.feed = DatasetFeed(self.follower, order, self.desk.say, lambda: self.now, start=type(self).start)

    def write(self, name: str, records: list[bytes]) -> None:
        with (self.desk.logs / name).open("ab") as file:
            file.write(b"".join(record + b"\n" for record in records))

    def read(self, rest: bool = True) -> None:
        """Reads all there is, and with `rest` lets the sessions rest."""
        catch_up(self.follower)
        if rest:
            self.now += 2 * EVERY_SECONDS
            catch_up(self.follower)

    def batch(self) -> bool:
        """Lets a batch begin, if one is due, and waits for its end; returns whether there was one."""
        self.feed.look()
        if self.feed.batch is None:
            return False
        assert self.feed.batch.wait(60.0)
        self.feed.look()
        return True

    def check(self, *more: Path) -> None:
        """The data set is that of an import of the same logs."""
        self.imports += 1
        expected = imported([self.desk.logs, *more], self.folder / f"imported-{self.imports}")
        assert rows_of(self.dataset) == expected
        assert expected["messages"]


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def session(number: int) -> tuple[str, list[bytes]]:
    name = f"{number:08d}-0000-4000-8000-000000000000"
    return f"{name}.jsonl", claude_records(name, 6)


def test_sessions_are_written_at_rest_and_replaced_when_they_grow(fed: Fed) -> None:
    for number in range(3):
        name, records = session(number)
        fed.write(name, records[:4])
    fed.read()
    assert fed.batch()
    fed.check()
    name, records = session(1)
    fed.write(name, records[4:])
    fed.read(rest=False)
    fed.now += EVERY_SECONDS
    assert not fed.batch()  # the session that has grown does not rest
    fed.read()
    assert fed.batch()
    fed.check()
    assert len(sessions_in(fed.dataset)) == 3
    fed.now += 10 * EVERY_SECONDS
    assert not fed.batch()
    assert (fed.feed.batches, fed.feed.sessions) == (2, 4)


def test_a_session_that_grows_waits_and_the_others_do_not(fed: Fed) -> None:
    for number in range(2):
        fed.write(*session(number))
    fed.read()
    name, records = session(2)
    fed.write(name, records[:3])
    fed.read(rest=False)
    assert fed.batch()
    assert len(sessions_in(fed.dataset)) == 2
    fed.read()
    assert fed.batch()
    fed.check()


def test_batches_keep_their_distance(fed: Fed) -> None:
    fed.write(*session(0))
    fed.read()
    assert fed.batch()
    fed.write(*session(1))
    fed.now += 2
    fed.read(rest=False)
    fed.now += 2
    fed.read(rest=False)
    assert not fed.batch()
    fed.now += EVERY_SECONDS
    assert fed.batch()
    fed.check()


def test_a_restart_goes_on_and_what_grew_meanwhile_is_there(fed: Fed) -> None:
    name, records = session(0)
    fed.write(name, records[:3])
    fed.write(*session(1))
    fed.read()
    assert fed.batch()
    fed.desk.close()
    fed.write(name, records[3:])
    fed.restart()
    fed.read()
    assert fed.batch()
    fed.check()
    before = {path: path.stat().st_mtime_ns for path in fed.dataset.rglob("*.parquet")}
    fed.restart()
    fed.read()
    assert fed.batch()  # which compares, and finds nothing to do
    assert {path: path.stat().st_mtime_ns for path in fed.dataset.rglob("*.parquet")} == before


class FedByProcesses(Fed):
    """Each batch is a process, as usual."""

    start = BatchProcess


def test_killed_with_its_batch_it_goes_on(tmp_path: Path) -> None:
    fed = FedByProcesses(tmp_path)
    dice = random.Random(3)
    for number in range(4):
        name, records = session(number)
        fed.write(name, records[:3])
        fed.read()
        fed.feed.look()
        assert isinstance(fed.feed.batch, BatchProcess)
        process = fed.feed.batch.process
        assert process.stdin is not None
        process.stdin.close()  # as if the follower had been killed: the batch ends by itself
        if dice.random() < 0.5:
            process.kill()
        assert process.wait(60.0)
        fed.restart()
        fed.write(name, records[3:])
    fed.read()
    assert fed.batch()
    fed.check()


class Stop(BaseException):
    """Stands for a death."""


@pytest.mark.parametrize("moment", range(12))
def test_a_death_at_any_write_leaves_the_old_data_set_or_the_new_one(
    fed: Fed, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [session(number) for number in range(3)]
    for name, records in files[:2]:
        fed.write(name, records[:4])
    order = Order(
        dataset=str(fed.dataset), places=[os.fsencode(fed.desk.logs)],
        followed=[os.fsencode(fed.desk.logs / name) for name, _ in files], sync=False,
    )  # fmt: skip
    assert deliver(order) == Delivery(sessions=2)
    old = rows_of(fed.dataset)
    fed.write(files[0][0], files[0][1][4:])
    fed.write(*files[2])
    steps = 0
    for name in ("put", "put_file", "remove", "remove_tree"):
        real = getattr(object_store, name)

        def call(*args: object, real: object = real) -> object:
            nonlocal steps
            if steps == moment:
                raise Stop
            steps += 1
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(object_store, name, call)
    died = False
    try:
        deliver(order)
    except Stop:
        died = True
    monkeypatch.undo()
    new = imported([fed.desk.logs], fed.folder / "expected")
    assert rows_of(fed.dataset) in ((old, new) if died else (new,))
    deliver(order)
    assert rows_of(fed.dataset) == new


def test_rotated_parts_are_read_as_an_import_reads_them(fed: Fed) -> None:
    name, records = session(0)
    path = fed.desk.logs / name
    fed.write(name, records[:3])
    fed.read()
    assert fed.batch()
    rotated = path.with_name(f"{name}.1")
    path.rename(rotated)
    fed.write(name, records[3:])
    fed.read()
    assert fed.batch()
    fed.check(rotated)
    assert len(sessions_in(fed.dataset)) == 2
    path.write_bytes(b"")  # truncated in place
    fed.write(name, records[4:])
    fed.read()
    assert fed.batch()
    fed.check(rotated)


def test_a_log_that_is_renamed_and_grows_is_not_doubled(fed: Fed) -> None:
    name, records = session(0)
    fed.write(name, records[:5])
    fed.write(*session(1))
    fed.read()
    assert fed.batch()
    (fed.desk.logs / name).rename(fed.desk.logs / "renamed.jsonl")
    fed.write("renamed.jsonl", records[5:])
    fed.read()
    assert fed.batch()
    fed.check()
    assert len(sessions_in(fed.dataset)) == 2


def test_small_files_become_one(fed: Fed) -> None:
    for number in range(3 * MERGED_FILES):
        name, records = session(number)
        fed.write(name, records)
        import_sessions([fed.desk.logs], parquet=fed.dataset, engine="serial", resume=True, sync=False)
    manifest = read_manifest(str(fed.dataset))
    assert manifest is not None
    for table in ("sessions", "messages"):
        assert len(manifest.of_table(table)) < MERGED_FILES
    assert {str(path.relative_to(fed.dataset)) for path in fed.dataset.rglob("*.parquet")} == {
        file.path for file in manifest.files
    }
    fed.check()


def test_a_data_set_that_cannot_be_written_is_told_once_and_tried_again(fed: Fed) -> None:
    fed.dataset.write_bytes(b"")
    fed.write(*session(0))
    fed.read()
    for _ in range(3):
        assert fed.batch()
        fed.now += EVERY_SECONDS
    assert fed.desk.said.count("the data set cannot be written") == 1
    assert fed.feed.trouble is not None
    fed.dataset.unlink()
    assert fed.batch()
    assert fed.desk.said.count("the data set is written again") == 1
    assert fed.feed.trouble is None
    fed.check()


def test_other_options_are_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / SESSION.name).write_bytes(SESSION.read_bytes())
    tail = ("tail", "logs", "--once", "--state", "state", "--parquet", "dataset")
    assert run(tmp_path, *tail).code == 0
    assert rows_of(tmp_path / "dataset") == imported([tmp_path / "logs"], tmp_path / "expected")
    refused = run(tmp_path, *tail, "--watch", "bobbin")
    assert refused.code == 2
    assert "was written with other options" in refused.err


def test_an_import_and_tail_go_on_with_one_data_set(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / SESSION.name).write_bytes(SESSION.read_bytes())
    import_sessions([logs], parquet=tmp_path / "dataset", engine="serial")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "dataset").rglob("*.parquet")}
    check_dataset(Order(dataset=str(tmp_path / "dataset")))
    done = run(tmp_path, "tail", "logs", "--once", "--state", "state", "--parquet", "dataset")
    assert done.code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "dataset").rglob("*.parquet")} == before
    assert import_sessions([logs], parquet=tmp_path / "dataset", engine="serial", resume=True).skipped == 1
    with pytest.raises(UsageError):
        check_dataset(Order(dataset=str(tmp_path / "dataset"), provider="claude"))


def test_a_batch_reports_less_than_a_pipe_holds(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads the report before the process has ended."""
    monkeypatch.setattr(feeding, "import_sessions", _fail)
    assert len(feeding.deliver(Order(dataset=str(fed.dataset))).error or "") == 5000


def _fail(*_: object, **__: object) -> None:
    raise UsageError("x" * 100_000)

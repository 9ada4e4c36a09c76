"""What a power cut leaves: files are on the disk before their names, and outputs before the cursors that count on them.

The disk is a record of `fsync`: what was not waited for may be lost.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import Settings
from agentv_stream.following.cursors import CursorStore, SessionRow
from agentv_stream.outputs.durable import SYNC, sync_paths, together
from agentv_stream.outputs.publish import publish_now
from agentv_stream.sources.source import FileSource
from support.consumed_and_followed import consume_into
from support.consuming import STREAM, run
from support.dying import import_all
from support.following import Desk
from support.growing_logs import claude_records
from support.made_sessions import make_folder, tree

parquet = pytest.importorskip("pyarrow.parquet", reason="the Parquet extra is not installed")

SESSION = "11111111-2222-3333-4444-555555555555"


class Disk:
    """Records what is waited for: `lengths` of files and `steps` in their order. Everything is really done."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, str]] = []
        self.lengths: dict[str, int] = {}
        fsync, replace = os.fsync, Path.replace

        def synced(descriptor: int) -> None:
            fsync(descriptor)
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            self.steps.append(("sync", path))
            self.lengths[path] = os.fstat(descriptor).st_size

        def replaced(path: Path, target: Path) -> Path:
            self.steps.append(("move", str(target)))
            self.lengths[str(target)] = self.lengths.get(str(path), -1)
            return replace(path, target)

        patch.setattr(os, "fsync", synced)
        patch.setattr(Path, "replace", replaced)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    return Disk(monkeypatch)


def test_a_file_is_on_the_disk_before_its_name(tmp_path: Path, disk: Disk) -> None:
    publish_now(tmp_path / "a.json", b"{}")
    (first, temporary), *rest = disk.steps
    assert (first, disk.lengths[temporary]) == ("sync", 2)
    assert rest == [("move", str(tmp_path / "a.json")), ("sync", str(tmp_path))]


def test_files_that_appear_together_wait_together(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "b").mkdir()
    with together() as batch:
        for name in ("x", "y", "b/z"):
            publish_now(tmp_path / name, name.encode())
        publish_now(tmp_path / "x", b"later")
        assert not (tmp_path / "x").exists()
    kinds = [kind for kind, _ in disk.steps]
    assert kinds == ["sync"] * 3 + ["move"] * 3 + ["sync"] * 2
    assert (tmp_path / "x").read_bytes() == b"later"
    assert not batch.failed
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["x", "y", "z"]


def test_one_that_cannot_appear_keeps_none_of_the_others_away(tmp_path: Path) -> None:
    with together() as batch:
        for name in ("x", "y"):
            publish_now(tmp_path / name, b"1")
        (tmp_path / "x").mkdir()
    assert list(batch.failed) == [tmp_path / "x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_nothing_appears_when_the_work_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), together():
        publish_now(tmp_path / "x", b"1")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_without_sync_nothing_is_waited_for(tmp_path: Path, disk: Disk) -> None:
    before = SYNC.set(False)
    try:
        publish_now(tmp_path / "a", b"1")
        with together():
            publish_now(tmp_path / "b", b"1")
        assert sync_paths([tmp_path / "a"]) == {}
    finally:
        SYNC.reset(before)
    assert [kind for kind, _ in disk.steps] == ["move", "move"]
    assert Settings(sync=False).sync is False


def test_outputs_are_on_the_disk_before_the_cursors_count_on_them(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = CursorStore.put
    commits = 0

    def checked(store: CursorStore, row: SessionRow) -> None:
        nonlocal commits
        put(store, row)
        outputs = row.outputs
        if outputs is None:
            return
        commits += 1
        kept = {".transcript.jsonl": outputs.transcript, ".stream.jsonl": outputs.log}
        for suffix, length in kept.items():
            assert disk.lengths.get(str(outputs.path(suffix)), 0) >= length
        if row.settled:
            assert disk.lengths[str(outputs.path(".transcript.jsonl"))] == outputs.settled
            assert disk.lengths[str(outputs.path(".result.json"))] > 0
        assert ("sync", outputs.folder) in disk.steps

    monkeypatch.setattr(CursorStore, "put", checked)
    desk = Desk(tmp_path)
    follower = desk.follower(stream_log="raw")
    log = desk.logs / f"{SESSION}.jsonl"
    for record in claude_records(log.stem, 12):
        with log.open("ab") as file:
            file.write(record + b"\n")
        follower.round()
        follower.commit(list(follower.hot.values()), force=True)
    follower.settle_all()
    follower.close()
    assert commits > 5


def test_a_session_that_was_consumed_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    consume_into(FileSource(STREAM), tmp_path / "o", stream_log="raw")
    made = [path for path in (tmp_path / "o").iterdir() if path.is_file()]
    assert len(made) > 1
    assert {str(path): disk.lengths[str(path)] for path in made} == {str(path): path.stat().st_size for path in made}
    assert disk.steps[-1] == ("sync", str(tmp_path / "o"))


def contents(out: Path) -> dict[str, Any]:
    """The outputs of an import; of a data set the rows, because the names of its files may differ."""
    found: dict[str, Any] = {name: data for name, data in tree(out).items() if not name.startswith("d/")}
    for path in sorted((out / "d").glob("*/*/*/*.parquet")):
        rows: list[Any] = found.setdefault(str(path.parent.relative_to(out)), [])
        rows += parquet.ParquetFile(path).read().to_pylist()
    return found


@pytest.mark.parametrize("left", [b"", b"\0" * 4096, None], ids=["empty", "zeros", "half"])
@pytest.mark.parametrize(
    ("what", "notes"),
    [
        ("t/*.transcript.jsonl", 0),
        ("a/*.json", 0),
        ("s.jsonl", 0),
        ("d/messages/*/*/*.parquet", 1),
        ("d/_dataset.json", 1),
        ("d/_state/recipe.json", 1),
        ("d/_state/done/*.jsonl", 1),
    ],
)
def test_what_a_power_cut_tore_is_made_again(tmp_path: Path, what: str, notes: int, left: bytes | None) -> None:
    make_folder(tmp_path / "in", 6)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    expected = contents(out)
    torn = sorted(out.glob(what))
    for path in torn[: max(1, len(torn) // 2)]:
        path.write_bytes(left if left is not None else path.read_bytes()[: path.stat().st_size // 2])
    outcome = import_all(tmp_path / "in", out)
    assert len(outcome.notes) == notes, outcome.notes
    assert contents(out) == expected
    assert not outcome.failures
    last = import_all(tmp_path / "in", out)
    assert (last.done, last.notes) == (0, [])


def test_a_damaged_database_of_cursors_is_set_aside(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / f"{SESSION}.jsonl").write_bytes(b"\n".join(claude_records(SESSION, 8)) + b"\n")
    desk.catch_up()
    before = tree(desk.out)
    database = desk.state / "cursors.db"
    for damage in (b"\0" * 8192, b"no database " * 1000, database.read_bytes()[:6000]):
        database.write_bytes(damage)
        desk.catch_up()
        assert (desk.state / "cursors.db.damaged").read_bytes() == damage
        assert tree(desk.out) == before


def test_a_damaged_cache_of_figures_is_set_aside_and_told(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    cache = tmp_path / "cache" / "agentv-stream" / "figures.db"
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"no database " * 1000)
    ran = run(tmp_path, "stats", "in", "--cache", "--json", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert ran.code == 0
    assert ran.err.count("the cache was damaged") == 1
    assert cache.with_name("figures.db.damaged").is_file()

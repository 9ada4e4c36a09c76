"""One log file that grows: what a look says became of it, and that reading goes on where it was."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from agentv_stages.model.batch import Batch
from agentv_stream.following.growing import GrowingFile, Mark, OpenFiles
from support.growing_logs import claude_records

LOG = b"\n".join(claude_records("97011106", 40)) + b"\n"
HALF = LOG.index(b"\n", len(LOG) // 2) + 1


def records(batches: tuple[Batch, ...]) -> list[bytes]:
    return [bytes(record.data) for batch in batches for record in batch.records]


def read_on(file: GrowingFile) -> list[bytes]:
    """The records up to the end of what there is."""
    found: list[bytes] = []
    while data := file.read(1000):
        found += records(file.feed(data, None))
    return found


def opened(path: Path, mark: Mark | None = None) -> GrowingFile:
    return GrowingFile(str(path), OpenFiles(), mark)


def half_read(path: Path) -> GrowingFile:
    """A file that holds the first half, all of it read."""
    path.write_bytes(LOG[:HALF])
    file = opened(path)
    assert file.look() == "grown"
    read_on(file)
    assert file.look() == "same"
    return file


def test_what_comes_later_is_read_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    file = opened(path)
    assert file.look() == "same"
    found: list[bytes] = []
    for at in range(0, len(LOG), 3777):
        with path.open("ab") as log:
            log.write(LOG[at : at + 3777])
        assert file.look() == "grown"
        found += read_on(file)
    assert b"\n".join(found) + b"\n" == LOG


def test_a_file_that_took_the_path_between_the_look_and_the_reading_is_not_read(tmp_path: Path) -> None:
    """It would be read from the position in the old one. Only a file that is not open can be mistaken so."""
    path = tmp_path / "log"
    file = half_read(path)
    with path.open("ab") as log:
        log.write(LOG[HALF:])
    assert file.look() == "grown"
    file.files.close(file)
    (tmp_path / "new").write_bytes(b"x" * 2 * len(LOG))
    (tmp_path / "new").replace(path)
    assert file.read() == b""
    assert file.look() == "replaced"


def test_what_is_appended_between_the_look_and_the_reading_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = half_read(path)
    with path.open("ab") as log:
        log.write(LOG[HALF : HALF + 100])
        log.flush()
        assert file.look() == "grown"
        log.write(LOG[HALF + 100 :])
    found = read_on(file)
    assert b"\n".join(found) + b"\n" == LOG[HALF:]
    assert file.look() == "touched"  # longer than it was at the last look, and all of it is read
    assert read_on(file) == []


def test_a_mark_stands_behind_a_line_end_and_another_reader_goes_on_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LOG[: HALF + 10])
    file = opened(path)
    file.look()
    before = read_on(file)
    mark = file.mark()
    assert (mark.offset, mark.row) == (HALF, len(before))
    path.write_bytes(LOG)
    other = opened(path, mark)
    assert other.look() == "grown"
    assert b"\n".join(before + read_on(other)) + b"\n" == LOG


@pytest.mark.parametrize(
    ("content", "change"),
    [
        (LOG[: HALF // 3], "truncated"),
        (LOG.replace(b"please work", b"PLEASE work"), "rewritten"),
        (LOG[: HALF - 9] + b"X" + LOG[HALF - 8 :], "rewritten"),
        (LOG, "grown"),
    ],
    ids=["shorter", "other-head", "other-tail", "more"],
)
def test_a_file_is_recognised_by_its_first_and_its_last_bytes(tmp_path: Path, content: bytes, change: str) -> None:
    path = tmp_path / "a.jsonl"
    file = half_read(path)
    path.write_bytes(content)  # the same inode
    assert file.look() == change


def test_a_new_time_alone_is_no_change_of_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    file = half_read(path)
    os.utime(path, ns=(1, 1))
    assert file.look() == "touched"
    assert read_on(file) == []


def test_an_unfinished_line_that_was_rewritten_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LOG[:HALF] + b'{"half":')
    file = opened(path)
    file.look()
    read_on(file)
    path.write_bytes(LOG[:HALF] + b'{"whole":1}\n')
    assert file.look() == "partial-changed"
    assert file.drop_partial() == len(b'{"half":')
    assert read_on(file) == [b'{"whole":1}']


def test_another_file_at_the_path_is_replaced_unless_it_holds_the_same(tmp_path: Path) -> None:
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    file = half_read(path)
    other.write_bytes(LOG)
    other.replace(path)
    assert file.look() == "grown"  # an editor's copy
    read_on(file)
    other.write_bytes(LOG.replace(b"97011106", b"97011107"))
    other.replace(path)
    assert file.look() == "replaced"
    fresh = file.next_generation()
    fresh.look()
    assert len(read_on(fresh)) == LOG.count(b"\n")
    assert fresh.reader.row == 2 * LOG.count(b"\n")  # rows go on: ids hang on them


def test_a_deleted_file_is_gone_and_an_open_one_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LOG)
    file = opened(path)
    file.look()
    found = records(file.feed(file.read(1000), None))
    path.unlink()
    assert file.look() == "gone"
    assert b"\n".join(found + read_on(file)) + b"\n" == LOG


def test_a_compressed_file_holds_what_was_read_plain(tmp_path: Path) -> None:
    file = half_read(tmp_path / "a.jsonl")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(LOG))
    assert opened(packed).continues(file.mark())
    packed.write_bytes(gzip.compress(LOG.replace(b"97011106", b"97011107")))
    assert not opened(packed).continues(file.mark())


def test_few_files_stay_open(tmp_path: Path) -> None:
    files = OpenFiles(limit=2)
    logs: list[GrowingFile] = []
    for name in "abc":
        (tmp_path / name).write_bytes(LOG)
        logs.append(GrowingFile(str(tmp_path / name), files))
        assert logs[-1].read(10) == LOG[:10]
    assert (len(files), [files.has(log) for log in logs]) == (2, [False, True, True])
    assert logs[0].read(10) == LOG[:10]
    files.close_all()
    assert len(files) == 0


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_a_compressed_file_is_known_again_by_its_mark_and_no_record_is_read_twice(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.jsonl.packed"
    path.write_bytes(pack(LOG[:HALF]))
    file = opened(path)
    assert file.look() == "grown"
    before = read_on(file)
    other = opened(path, file.mark())
    assert other.look() == "grown"  # of a compressed one only reading tells how long it is
    assert read_on(other) == []
    path.write_bytes(pack(LOG))
    again = opened(path, other.mark())
    assert again.look() == "grown"
    assert b"\n".join(before + read_on(again)) + b"\n" == LOG

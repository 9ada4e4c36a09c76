"""Each thing that happens to a log file: it is noticed, told, and nothing is lost or taken twice."""

import gzip
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from agentv_stream.following import follow, followed
from agentv_stream.following.follow import Follower
from support.following import Desk, bare, begin, catch_up, split
from support.growing_logs import claude_records

# A crash before a state is kept, then a rotation: the parts are read in the order of their writing, as one session.
#
# What the follower tells of a session (its version, its model) hangs on the record that says it first: parts that
# were read in another order, or as sessions of their own, told it again, with ids that no clean reading gives.

CRASHED = "10000101-session"
CRASHED_RECORDS = claude_records(CRASHED, 8)


class Log:
    """A log and its follower; every write bears a time of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.desk = Desk(tmp_path / "live")
        self.path = self.desk.logs / "s.jsonl"
        self.written: list[bytes] = []
        self.follower = self.desk.follower()

    def write(self, count: int) -> None:
        records = CRASHED_RECORDS[len(self.written) : len(self.written) + count]
        with self.path.open("ab") as file:
            file.write(b"".join(record + b"\n" for record in records))
        self.written += records
        self._stamp()

    def rotate(self, count: int) -> None:
        self.path.rename(self.path.with_name("s.jsonl.1"))
        self.write(count)

    def recreate(self) -> None:
        """The same content in another file, as editors do it."""
        content, copy = self.path.read_bytes(), self.path.with_name("copy")
        copy.write_bytes(content)
        copy.rename(self.path)
        self._stamp()

    def _stamp(self) -> None:
        when = 1_700_000_000 + len(self.written)
        os.utime(self.path, (when, when))

    def crash(self) -> Follower:
        self.follower.close()
        self.follower = self.desk.follower()
        return self.follower

    def check(self) -> None:
        catch_up(self.follower)
        self.follower.settle_all()
        self.follower.close()
        self.desk.close()
        clean = Desk(self.tmp_path / "clean")
        (clean.logs / "s.jsonl").write_bytes(b"".join(record + b"\n" for record in self.written))
        clean.catch_up()
        assert set(self.desk.event_ids()) == set(clean.event_ids())
        assert len(list(self.desk.out.glob("*.transcript.jsonl"))) == 1
        assert split(self.desk.transcripts()[CRASHED]) == split(clean.transcripts()[CRASHED])


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """One record was read, which names no model: its cursor has no state."""
    log = Log(tmp_path)
    log.write(1)
    catch_up(log.follower)
    return log


def test_rotated_and_read_before_the_crash(log: Log) -> None:
    log.rotate(1)
    log.follower.round()
    log.follower.round()
    log.crash()
    log.write(5)
    log.check()


def test_rotated_while_nobody_looked(log: Log) -> None:
    log.follower.close()
    log.desk.close()
    log.rotate(5)
    log.follower = log.desk.follower()
    log.check()


def test_rotated_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(5)
    log.crash()
    log.rotate(5)
    log.check()


def test_replaced_by_a_copy_and_rotated_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(3)
    log.recreate()
    log.crash()
    log.rotate(5)
    log.check()


def test_replaced_by_a_copy_and_rotated_between_two_looks(log: Log) -> None:
    log.write(2)
    log.recreate()
    log.rotate(5)
    log.check()


def test_compressed_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(5)
    log.crash()
    log.path.with_name("s.jsonl.gz").write_bytes(gzip.compress(log.path.read_bytes()))
    log.path.unlink()
    log.check()


SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 14)
FIRST, LAST = RECORDS[:25], RECORDS[25:]


def lines(records: list[bytes]) -> bytes:
    return b"\n".join(records) + b"\n"


def begun(tmp_path: Path) -> tuple[Desk, Path]:
    desk = Desk(tmp_path / "live")
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(lines(FIRST))
    return desk, log


def check(
    desk: Desk, tmp_path: Path, follower: Follower, records: list[bytes] = RECORDS, *, in_order: bool = False
) -> None:
    """Everything is there once, as after one clean reading; `in_order` row by row."""
    catch_up(follower)
    follower.settle_all()
    follower.close()
    clean = Desk(tmp_path / "clean")
    (clean.logs / f"{SESSION}.jsonl").write_bytes(lines(records))
    clean.catch_up()
    found, expected = desk.transcripts(), clean.transcripts()
    assert {s: bare(rows) for s, rows in found.items()} == {s: bare(rows) for s, rows in expected.items()}
    if in_order:
        assert {s: split(rows) for s, rows in found.items()} == {s: split(rows) for s, rows in expected.items()}
    ids = desk.event_ids()
    assert set(ids) == set(clean.event_ids())
    assert max(ids.values()) == 1
    desk.close()


@pytest.fixture(params=["running", "restarted"])
def restart(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "restarted")


def go_on(desk: Desk, follower: Follower, restart: bool) -> Follower:
    if restart:
        follower.close()
        return desk.follower()
    return follower


def test_truncated_and_written_anew(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    log.write_bytes(lines(RECORDS[:5]))
    catch_up(follower)
    with log.open("ab") as file:
        file.write(lines(RECORDS[5:]))
    check(desk, tmp_path, follower)
    assert any(said.startswith("truncated") for said in desk.said)


def test_edited_in_the_middle_so_that_the_position_is_within_a_line(tmp_path: Path, restart: bool) -> None:
    """No cursor is trusted that does not stand behind what was read: nothing is read from within a line."""
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    note = RECORDS[0].replace(b'"uuid": "', b'"uuid": "f').replace(b"please work", b"please think")
    log.write_bytes(lines([*RECORDS[:10], note, *RECORDS[10:]]))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    clean = Desk(tmp_path / "clean")
    (clean.logs / log.name).write_bytes(lines([*RECORDS, note]))
    clean.catch_up()
    assert not list(desk.out.glob("*.dead-letters.jsonl"))
    assert bare(desk.transcripts()[SESSION]) == bare(clean.transcripts()[SESSION])
    assert max(desk.event_ids().values()) == 1


def test_truncated_and_new_records(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    log.write_bytes(lines(LAST))
    check(desk, tmp_path, follower)


def test_rewritten_in_place_with_size_and_time_kept(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    stat = log.stat()
    changed = [*FIRST[:-1], FIRST[-1].replace(b'"uuid": "', b'"uuid": "f')[: len(FIRST[-1]) - 3] + b'Z"}']
    data = lines(changed)[: stat.st_size]
    with log.open("r+b") as file:
        file.write(data)
    os.utime(log, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert log.stat().st_size == stat.st_size
    catch_up(follower)
    assert any(said.startswith("rewritten") for said in desk.said)
    follower.close()
    desk.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_new_contents_are_not_read_from_within_their_first_line(tmp_path: Path, replaced: bool) -> None:
    """The first line is longer than all that was read before, and not whole when the follower looks."""
    desk, log = begun(tmp_path)
    follower = desk.follower()
    catch_up(follower)
    long = LAST[0].replace(b"{", b'{"padding":"' + b"x" * 50_000 + b'",', 1)
    if replaced:
        (tmp_path / "new").write_bytes(long)
        (tmp_path / "new").replace(log)
    else:
        log.write_bytes(long)
    for _ in range(3):
        follower.round()
    with log.open("ab") as file:
        file.write(b"\n" + lines(LAST[1:]))
    check(desk, tmp_path, follower, [*FIRST, long, *LAST[1:]])
    assert not list(desk.out.glob("*.dead-letters.jsonl"))


def test_new_contents_of_another_session_are_its_own_though_their_first_line_was_not_whole(tmp_path: Path) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, False)
    other = "99999999-2222-3333-4444-555555555555"
    data = lines(claude_records(other, 2))
    log.write_bytes(data[:100])
    catch_up(follower)
    with log.open("ab") as file:
        file.write(data[100:])
    catch_up(follower)
    follower.settle_all()
    follower.close()
    assert desk.transcripts().keys() == {SESSION, other}
    clean = Desk(tmp_path / "clean")
    (clean.logs / log.name).write_bytes(lines(FIRST))
    clean.catch_up()
    assert bare(desk.transcripts()[SESSION]) == bare(clean.transcripts()[SESSION])
    desk.close()


def test_new_contents_with_a_huge_first_line_are_read(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    huge = LAST[0].replace(b"{", b'{"padding":"' + b"x" * 1_500_000 + b'",', 1)
    log.write_bytes(lines([huge, *LAST[1:]]))
    check(desk, tmp_path, follower, [*FIRST, huge, *LAST[1:]])
    assert not list(desk.out.glob("*.dead-letters.jsonl"))


def test_renamed(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    moved = log.rename(desk.logs / "other-name.jsonl")
    with moved.open("ab") as file:
        file.write(lines(LAST))
    check(desk, tmp_path, follower)
    assert "renamed" in desk.said


def test_renamed_while_another_file_is_removed_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for the new name goes on although a file that was listed is gone."""
    desk, log = begun(tmp_path)
    follower = desk.follower()
    catch_up(follower)
    listed = Path.iterdir

    def with_one_that_is_gone(folder: Path) -> Iterator[Path]:
        return iter([folder / ".removed", *listed(folder)])

    monkeypatch.setattr(Path, "iterdir", with_one_that_is_gone)
    moved = log.rename(desk.logs / "other-name.jsonl")
    with moved.open("ab") as file:
        file.write(lines(LAST))
    follower.round(scan=False)
    monkeypatch.undo()
    assert "renamed" in desk.said
    assert "deleted" not in desk.said
    check(desk, tmp_path, follower)


def test_renamed_before_its_first_line_was_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "live")
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(RECORDS[0][:100])
    follower = desk.follower(settle_seconds=1e9)
    catch_up(follower)
    moved = log.rename(desk.logs / "other-name.jsonl")
    catch_up(follower)
    assert desk.said == ["renamed"]
    with moved.open("ab") as file:
        file.write(RECORDS[0][100:] + b"\n" + lines(RECORDS[1:]))
    check(desk, tmp_path, follower)


def test_a_renamed_log_has_its_sub_agents_beside_its_new_name(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    moved = log.rename(desk.logs / "other-name.jsonl")
    catch_up(follower)
    follower.settle_all()
    follower = go_on(desk, follower, restart)
    agent = moved.with_suffix("") / "subagents" / "agent-abc.jsonl"
    agent.parent.mkdir(parents=True)
    records = claude_records(SESSION, 2, 100, 9)
    agent.write_bytes(lines([r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in records]))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    (rows,) = desk.transcripts().values()
    assert {row["metadata"]["agentv_stream"]["stream"] for row in rows} == {"main", "sidechain:abc"}


def test_rotated_with_a_rest_in_the_old_file(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    with log.open("ab") as file:
        file.write(lines(LAST[:4]))
    log.rename(log.with_name(log.name + ".1"))
    log.write_bytes(lines(LAST[4:]))
    check(desk, tmp_path, follower)
    assert "rotated" in desk.said or "renamed" in desk.said


def test_copied_and_truncated(tmp_path: Path, restart: bool) -> None:
    """As logrotate does it. It looks the same when a new file at the path gets the inode that the old one had."""
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    with log.open("ab") as file:
        file.write(lines(LAST[:4]))
    shutil.copy(log, log.with_name(log.name + ".2"))
    log.write_bytes(lines(LAST[4:]))
    check(desk, tmp_path, follower, in_order=True)
    assert "rotated" in desk.said


def test_copied_and_truncated_and_the_log_is_longer_than_it_was(tmp_path: Path, restart: bool) -> None:
    desk = Desk(tmp_path / "live")
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(lines(RECORDS[:6]))
    follower = begin(desk, restart)
    with log.open("ab") as file:
        file.write(lines(RECORDS[6:8]))
    shutil.copy(log, log.with_name(log.name + ".1"))
    log.write_bytes(lines(RECORDS[8:]))
    follower.round(False)  # only what grew lately is looked at: the copy was not listed yet
    check(desk, tmp_path, follower, in_order=True)


def test_an_inode_that_another_session_got_is_not_taken_for_a_part_that_was_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of that part nothing is known but its inode."""
    monkeypatch.setattr(follow, "BUDGET", 1000)
    monkeypatch.setattr(followed, "CHUNK_BYTES", 500)
    desk, log = begun(tmp_path)
    log.rename(log.with_name(log.name + ".1"))
    log.write_bytes(lines(LAST[:2]))
    os.utime(log.with_name(log.name + ".1"), (1_700_000_000, 1_700_000_000))
    follower = desk.follower()
    follower.round()
    follower.commit(list(follower.hot.values()), force=True)
    other = claude_records("99999999-aaaa", 3)
    log.write_bytes(lines(other))
    log.rename(log.with_name("other.jsonl"))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    rows = desk.transcripts()
    assert rows.keys() == {SESSION, "99999999-aaaa"}
    assert len(rows["99999999-aaaa"]) == 4
    assert len(rows[SESSION]) == len(FIRST) // 3 + 1


def test_a_part_that_comes_back_repeats_what_another_one_told_meanwhile(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    log.rename(log.with_name(log.name + ".1"))
    log.write_bytes(lines(LAST[:4]))
    os.utime(log.with_name(log.name + ".1"), (1_700_000_000, 1_700_000_000))
    follower = begin(desk, restart)
    log.unlink()
    other = log.with_name("other-name.jsonl")
    other.write_bytes(lines(LAST[:9]))
    catch_up(follower)
    log.write_bytes(lines(LAST[:10]))
    catch_up(follower)
    with other.open("ab") as file:
        file.write(lines(LAST[9:]))
    check(desk, tmp_path, follower, in_order=True)


def test_parts_that_take_several_rounds_are_read_one_after_the_other(
    tmp_path: Path, restart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later part repeats what the earlier one holds, and its rows go on behind it, however long that one is."""
    monkeypatch.setattr(follow, "BUDGET", 1000)
    monkeypatch.setattr(followed, "CHUNK_BYTES", 500)
    desk, log = begun(tmp_path)
    log.rename(log.with_name(log.name + ".1"))
    log.write_bytes(lines(RECORDS[20:]))
    os.utime(log.with_name(log.name + ".1"), (1_700_000_000, 1_700_000_000))
    follower = desk.follower()
    follower.round()
    if restart:
        follower.commit(list(follower.hot.values()), force=True)
    follower = go_on(desk, follower, restart)
    check(desk, tmp_path, follower, in_order=True)


def test_a_line_that_was_finished_just_before_its_file_was_made_anew_under_another_name(
    tmp_path: Path, restart: bool
) -> None:
    """The old file is gone, but still open: its rest is read before the other one is told apart from it."""
    desk, log = begun(tmp_path)
    half = len(LAST[0]) // 2
    with log.open("ab") as file:
        file.write(LAST[0][:half])
    follower = begin(desk, restart)
    catch_up(follower)
    with log.open("ab") as file:
        file.write(LAST[0][half:] + b"\n" + lines(LAST[1:3]))
    log.unlink()
    log.with_name("other-name.jsonl").write_bytes(lines(RECORDS))
    check(desk, tmp_path, follower, in_order=True)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed(tmp_path: Path, restart: bool, suffix: str) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    with log.open("ab") as file:
        file.write(lines(LAST))
    data = log.read_bytes()
    packed = gzip.compress(data) if suffix == ".gz" else zstandard.ZstdCompressor().compress(data)
    log.with_name(log.name + suffix).write_bytes(packed)
    log.unlink()
    check(desk, tmp_path, follower)
    assert "compressed" in desk.said


def test_compressed_while_the_log_is_still_there(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    log.with_name(log.name + ".gz").write_bytes(gzip.compress(log.read_bytes()))
    catch_up(follower)
    assert "a copy of a log that is followed" in desk.said
    follower = go_on(desk, follower, restart)
    log.unlink()
    check(desk, tmp_path, follower, FIRST)


def test_moved_to_an_archive_folder_by_copying(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    archive = desk.logs / "archived"
    archive.mkdir()
    with log.open("ab") as file:
        file.write(lines(LAST))
    shutil.copy2(log, archive / log.name)
    log.unlink()
    check(desk, tmp_path, follower)
    assert "moved" in desk.said


def test_both_copies_present_are_one_log(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    archive = desk.logs / "archived"
    archive.mkdir()
    shutil.copy2(log, archive / log.name)
    catch_up(follower)
    follower = go_on(desk, follower, restart)
    with log.open("ab") as file:
        file.write(lines(LAST))
    check(desk, tmp_path, follower)


def test_deleted_and_made_again(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    log.unlink()
    log.write_bytes(lines(RECORDS))
    check(desk, tmp_path, follower)


def test_deleted_with_another_session_at_its_place(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    other = claude_records("99999999-aaaa", 3)
    log.unlink()
    log.write_bytes(lines(other))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    rows = desk.transcripts()
    assert rows.keys() == {SESSION, "99999999-aaaa"}
    assert len(rows["99999999-aaaa"]) == 4


@pytest.mark.parametrize("turns", [2, 40])
def test_a_further_part_that_another_session_overwrites(tmp_path: Path, restart: bool, turns: int) -> None:
    """It went into the transcript of the session that the part had belonged to."""
    desk, log = begun(tmp_path)
    part = log.with_name("part.jsonl")
    part.write_bytes(lines(LAST))
    follower = begin(desk, restart)
    part.write_bytes(lines(claude_records("99999999-aaaa", turns)))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    rows = desk.transcripts()
    assert {session: len(told) for session, told in rows.items()} == {SESSION: 15, "99999999-aaaa": turns + 1}


def test_replaced_by_a_longer_copy_as_editors_do(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    new = log.with_name("new.tmp")
    new.write_bytes(lines(RECORDS))
    new.rename(log)
    check(desk, tmp_path, follower)
    assert not any(said.startswith(("rewritten", "replaced")) for said in desk.said)


def test_a_deleted_log_is_told_once_whoever_follows_and_goes_on_when_it_comes_back(tmp_path: Path) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, False)
    log.rename(tmp_path / "away")
    for _ in range(3):
        catch_up(follower)
        follower.settle_all()
        follower.close()
        follower = desk.follower()
    assert desk.said.count("deleted") == 1
    (tmp_path / "away").rename(log)
    catch_up(follower)
    with log.open("ab") as file:
        file.write(lines(LAST))
    check(desk, tmp_path, follower, in_order=True)


def test_a_deleted_log_keeps_its_transcript(tmp_path: Path, restart: bool) -> None:
    desk, log = begun(tmp_path)
    follower = begin(desk, restart)
    log.unlink()
    check(desk, tmp_path, follower, FIRST)
    assert "deleted" in desk.said

"""Permissions that are taken away while a follower runs, and given back: told, and nothing lost or told twice."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stream.following.cursors import CursorStore
from support.following import Desk, split
from support.growing_logs import claude_records
from support.live_follower import LiveFollower, permissions_count

SESSION, OTHER, ASIDE = (f"{n}1111111-2222-3333-4444-555555555555" for n in "123")
RECORDS = claude_records(SESSION, 6)
HALF = len(claude_records(SESSION, 3))
WELL = {"caught up", "a session begins"}
BLOCKED = "blocked, nothing is committed"
pytestmark = pytest.mark.skipif(not permissions_count(), reason="every file may be read here")


def write(path: Path, records: list[bytes], mode: int = 0o600) -> None:
    path.touch(mode)
    with path.open("wb") as file:
        path.chmod(mode)
        file.write(b"\n".join(records) + b"\n")


class Scene:
    """A log that grows, a folder that nothing happens to, and a follower of both."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder / "live")
        self.above = folder / "live"
        self.aside = folder / "aside"
        self.aside.mkdir()
        self.project = self.desk.logs / "project"
        self.project.mkdir()
        self.log = self.project / f"{SESSION}.jsonl"
        write(self.log, RECORDS[:HALF])
        # A handle of its own: whoever writes a log goes on writing it.
        self._writer = self.log.open("ab", buffering=0)
        self._clean = folder / "clean"
        self.out, self._state = folder / "out", folder / "state"
        self.follower = LiveFollower([self.desk.logs, self.aside], self.out, self._state)

    def committed(self) -> None:
        """Waits until what was told is committed: what breaks off before may be told once more, with the same ids."""

        def done(_: LiveFollower) -> bool:
            store = CursorStore(self._state, "", read_only=True)
            try:
                rows = [store.load(row.id) for row in store.sessions(every_consumer=True)]
            finally:
                store.close()
            return bool(rows) and all(row is not None and row.state is not None for row in rows)

        self.follower.until(done)

    def go_on(self) -> None:
        self._writer.write(b"\n".join(RECORDS[HALF:]) + b"\n")

    def until_scanned(self, calls: int) -> None:
        """Waits for a look at all folders: what is new in one of them is found by it alone. It makes a call."""
        write(self.aside / f"{ASIDE}.jsonl", claude_records(ASIDE, 1, 90))
        self.follower.until_calls(calls)

    def check(self) -> None:
        """Each event once, and the rows of a follower that nothing ever happened to."""
        assert self.follower.stop() == 0
        told = Counter(one["id"] for one in self.follower.told)
        clean = Desk(self._clean)
        for path in (*self.desk.logs.rglob("*.jsonl"), *self.aside.glob("*.jsonl")):
            (clean.logs / path.name).write_bytes(path.read_bytes())
        clean.catch_up()
        assert told == clean.event_ids()
        assert max(told.values()) == 1
        self.desk.out = self.out
        found, expected = self.desk.transcripts(), clean.transcripts()
        assert {name: split(rows) for name, rows in found.items()} == {n: split(r) for n, r in expected.items()}

    def close(self) -> None:
        self._writer.close()
        self.follower.kill()
        for folder in (self.above, self.desk.logs, self.project, self.out):
            folder.chmod(0o700)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    try:
        made.follower.until_calls(3)
        made.committed()
        yield made
    finally:
        made.close()


def test_an_open_log_is_read_on_without_permission(scene: Scene) -> None:
    scene.log.chmod(0)
    scene.go_on()
    scene.follower.until_calls(6)
    scene.check()


def test_a_new_log_without_permission_is_told_and_read_when_it_is_given(scene: Scene) -> None:
    new = scene.project / f"{OTHER}.jsonl"
    write(new, claude_records(OTHER, 2, 50), 0)
    scene.follower.until_said(BLOCKED)
    scene.go_on()
    scene.follower.until_calls(6)  # the other one does not wait for it
    new.chmod(0o600)
    scene.follower.until_said("recovered")
    scene.follower.until_calls(8)
    scene.check()


def test_a_log_that_was_replaced_by_one_without_permission_goes_on_when_it_is_given(scene: Scene) -> None:
    copy = scene.log.with_suffix(".tmp")
    write(copy, RECORDS, 0)
    copy.rename(scene.log)
    scene.follower.until_said(BLOCKED)
    scene.log.chmod(0o600)
    scene.follower.until_said("recovered")
    scene.follower.until_calls(6)
    scene.check()


@pytest.mark.parametrize("which", ["project", "logs", "above"])
def test_a_folder_of_logs_that_nobody_may_enter_is_not_taken_for_an_empty_one(scene: Scene, which: str) -> None:
    place = {"project": scene.project, "logs": scene.desk.logs, "above": scene.above}[which]
    place.chmod(0)
    scene.go_on()
    scene.until_scanned(4)
    place.chmod(0o700)
    scene.follower.until_calls(7)
    assert {one["event"] for one in scene.follower.said} <= {*WELL, BLOCKED, "recovered"}
    scene.check()


def test_a_folder_of_logs_that_nobody_may_list_holds_back_what_is_new_only(scene: Scene) -> None:
    scene.project.chmod(0o100)
    write(scene.project / f"{OTHER}.jsonl", claude_records(OTHER, 2, 50))
    scene.go_on()
    scene.until_scanned(7)
    assert {one["event"] for one in scene.follower.said} <= WELL
    scene.project.chmod(0o700)
    scene.follower.until_calls(9)
    scene.check()


@pytest.mark.parametrize("mode", [0, 0o500])
def test_an_output_folder_without_permission_blocks_until_it_is_given(scene: Scene, mode: int) -> None:
    scene.out.chmod(mode)
    write(scene.project / f"{OTHER}.jsonl", claude_records(OTHER, 2, 50))
    scene.follower.until_said(BLOCKED)
    scene.go_on()
    scene.out.chmod(0o700)
    scene.follower.until_said("recovered")
    scene.follower.until_calls(8)
    scene.check()


def test_a_transcript_without_permission_blocks_its_session(scene: Scene) -> None:
    (transcript,) = scene.out.glob("*.transcript.jsonl")
    transcript.chmod(0)
    scene.go_on()
    scene.follower.until_said(BLOCKED)
    transcript.chmod(0o600)
    scene.follower.until_said("recovered")
    scene.follower.until_calls(6)
    scene.check()

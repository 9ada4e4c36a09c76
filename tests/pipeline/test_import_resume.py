"""Interrupted and resumed at any moment: the outputs are as if done in one go, and no half file is ever visible."""

import contextlib
import gzip
import json
import multiprocessing
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.sinks.dead_letters import MOST_INLINE
from agentv_stream.bulk import import_sessions, object_store
from agentv_stream.bulk.manifest import read_manifest
from support.datasets import imported, rows_of, sessions_in
from support.dying import import_all, import_and_die
from support.made_sessions import claude_session, make_folder, tree

parquet = pytest.importorskip("pyarrow.parquet", reason="the Parquet extra is not installed")
forked = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking a process with threads, on new Pythons


def _check_whole(out: Path) -> None:
    """Whatever is visible at this moment is whole."""
    for path in out.rglob("*"):
        if path.name.startswith(".") or not path.is_file() or any(part.startswith(".") for part in path.parts[2:]):
            continue
        data = path.read_bytes()
        if path.suffix == ".jsonl":
            assert data.endswith(b"\n"), path
            for line in data.splitlines():
                json.loads(line)
        elif path.suffix == ".parquet":
            assert parquet.ParquetFile(path).metadata.num_rows
        elif path.suffix == ".json":
            json.loads(data)


def _run_and_kill(source: Path, out: Path, reports: int) -> None:
    process = multiprocessing.get_context("spawn").Process(target=import_and_die, args=(source, out, reports))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@forked
def test_killed_at_random_moments_and_resumed_it_is_as_if_done_in_one_go(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 16)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    expected = tree(out)
    out.rename(tmp_path / "whole")
    dice = random.Random(7)
    for reports in (1, dice.randint(2, 5), dice.randint(2, 5), 100):
        _run_and_kill(tmp_path / "in", out, reports)
        _check_whole(out)
    outcome = import_all(tmp_path / "in", out)
    assert outcome.skipped > 0
    assert tree(out) == expected


class Stop(BaseException):
    """Stands for a death in the middle of publishing."""


@pytest.mark.parametrize("moment", range(9))
def test_a_death_while_publishing_leaves_the_old_data_set_or_the_new_one(
    tmp_path: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    make_folder(source, 6)
    import_all(source, out)
    old_manifest = (out / "d" / "_dataset.json").read_bytes()
    (source / "-work-p0" / "new.jsonl").write_bytes(claude_session(77, 5, day=1))
    (source / "-work-p1" / "newer.jsonl").write_bytes(claude_session(78, 5, day=2))
    steps = 0

    def counted(name: str) -> None:
        real = getattr(object_store, name)

        def call(*args: Any) -> Any:
            nonlocal steps
            if steps == moment:
                raise Stop
            steps += 1
            return real(*args)

        monkeypatch.setattr(object_store, name, call)

    for name in ("put", "put_file", "remove"):
        counted(name)
    with contextlib.suppress(Stop):
        import_all(source, out)
    monkeypatch.undo()
    _check_whole(out)
    manifest = read_manifest(str(out / "d"))
    assert manifest is not None
    for file in manifest.files:
        assert (out / "d" / file.path).is_file()
    if (out / "d" / "_dataset.json").read_bytes() == old_manifest:
        assert len(manifest.signatures) == 6
    import_all(source, out)
    assert _rows(out / "d") == 8
    assert (out / "s.jsonl").read_bytes().count(b"\n") == 8


def _rows(root: Path, table: str = "sessions") -> int:
    return sum(parquet.ParquetFile(path).metadata.num_rows for path in (root / table).rglob("*.parquet"))


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 6)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    before = {path: path.stat().st_mtime_ns for path in (out / "d").rglob("*.parquet")}
    outcome = import_all(tmp_path / "in", out)
    assert (outcome.done, outcome.skipped) == (0, 6)
    assert {path: path.stat().st_mtime_ns for path in (out / "d").rglob("*.parquet")} == before


def test_a_session_that_grew_replaces_its_own_rows(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 6)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    paths[1].write_bytes(claude_session(1, 30, day=2))
    outcome = import_all(tmp_path / "in", out)
    assert (outcome.done, outcome.skipped) == (1, 5)
    assert _rows(out / "d") == 6
    fresh = tmp_path / "fresh"
    import_sessions([tmp_path / "in"], parquet=fresh, engine="serial")
    for table in ("sessions", "messages", "tool_calls"):
        assert _values(out / "d", table) == _values(fresh, table)


def _texts(root: Path) -> list[str]:
    return [
        str(row["text"])
        for path in (root / "messages").rglob("*.parquet")
        for row in parquet.read_table(path).to_pylist()
    ]


def _values(root: Path, table: str) -> list[str]:
    rows: list[str] = []
    for path in (root / table).rglob("*.parquet"):
        rows += [json.dumps(row, default=str, sort_keys=True) for row in parquet.ParquetFile(path).read().to_pylist()]
    return sorted(rows)


def test_a_file_changed_in_its_last_bytes_only_is_read_again(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    stat = paths[2].stat()
    data = paths[2].read_bytes()
    paths[2].write_bytes(data.replace(b'"done"', b'"gone"'))
    os.utime(paths[2], ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert import_all(tmp_path / "in", out).done == 1


def test_a_file_of_the_same_size_with_another_time_is_read_again(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    stat, first, *rest = paths[2].stat(), *paths[2].read_bytes().splitlines(keepends=True)
    assert b"/repo" in first
    paths[2].write_bytes(b"".join([first.replace(b"/repo", b"/opor"), *rest]))
    os.utime(paths[2], ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert import_all(tmp_path / "in", out).done == 1


def test_a_sub_agents_file_that_grew_makes_its_session_new(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    agent = next((paths[0].with_suffix("") / "subagents").glob("agent-*.jsonl"))
    agent.write_bytes(agent.read_bytes() * 2)
    assert import_all(tmp_path / "in", out).done == 1


def test_a_sub_agents_file_replaced_by_one_of_the_same_size_and_time_makes_its_session_new(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    agent = next((paths[0].with_suffix("") / "subagents").glob("agent-*.jsonl"))
    stat, data = agent.stat(), agent.read_bytes()
    agent.write_bytes(data.replace(b'"done"', b'"gone"'))
    assert agent.read_bytes() != data
    os.utime(agent, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert import_all(tmp_path / "in", out).done == 1
    fresh = tmp_path / "fresh"
    import_sessions([tmp_path / "in"], parquet=fresh, engine="serial")
    assert _values(out / "d", "messages") == _values(fresh, "messages")
    assert import_all(tmp_path / "in", out).done == 0


def test_a_sub_agents_file_that_is_new_makes_its_session_new(tmp_path: Path) -> None:
    """An agent in the background may write its first line after the last one of its session: it was never read."""
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    agent = next((paths[0].with_suffix("") / "subagents").glob("agent-*.jsonl"))
    agent.rename(tmp_path / "later")
    import_all(tmp_path / "in", out)
    (tmp_path / "later").rename(agent)
    outcome = import_all(tmp_path / "in", out)
    assert (outcome.done, outcome.skipped) == (1, 2)
    fresh = tmp_path / "fresh"
    import_sessions([tmp_path / "in"], parquet=fresh, engine="serial")
    for table in ("sessions", "messages", "tool_calls"):
        assert _values(out / "d", table) == _values(fresh, table)


def test_a_transcript_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    gone = next((out / "t").glob("*.transcript.jsonl"))
    gone.unlink()
    assert import_all(tmp_path / "in", out).done == 1
    assert gone.exists()


def test_other_options_begin_anew(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    import_all(tmp_path / "in", tmp_path / "out")
    outcome = import_all(tmp_path / "in", tmp_path / "out", text_chars=10)
    assert (outcome.done, outcome.skipped) == (3, 0)


def test_what_was_imported_from_elsewhere_stays(tmp_path: Path) -> None:
    make_folder(tmp_path / "one", 3)
    make_folder(tmp_path / "two", 4)
    import_all(tmp_path / "one", tmp_path / "out")
    import_all(tmp_path / "two", tmp_path / "out")
    assert _rows(tmp_path / "out" / "d") == 7
    assert (tmp_path / "out" / "s.jsonl").read_bytes().count(b"\n") == 7


def test_a_damaged_source_keeps_the_rows_of_its_better_days(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    paths[1].write_bytes(b"\x1f\x8b\x08\x00broken")
    outcome = import_all(tmp_path / "in", out)
    assert len(outcome.failures) == 1
    assert _rows(out / "d") == 3


def test_what_could_be_read_of_a_damaged_source_stays_if_nothing_can_be_read_any_more(tmp_path: Path) -> None:
    log = tmp_path / "in" / "log.jsonl.gz"
    log.parent.mkdir()
    log.write_bytes(gzip.compress(claude_session(1, 60))[:-40])
    out = tmp_path / "out"
    import_all(log.parent, out)
    (transcript,) = (out / "t").glob("*.transcript.jsonl")
    log.write_bytes(b"\x1f\x8b\x08\x00broken")
    assert len(import_all(log.parent, out).failures) == 1
    assert transcript.exists()


def test_other_options_replace_the_rows_of_the_data_set_too(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", text_chars=3, resume=True, engine="serial")
    assert max(len(text) for text in _texts(tmp_path / "d")) == 3
    outcome = import_sessions([tmp_path / "in"], parquet=tmp_path / "d", resume=True, engine="serial")
    assert max(len(text) for text in _texts(tmp_path / "d")) > 3
    assert _rows(tmp_path / "d") == 3
    assert outcome.notes == ["--resume: the options differ from before, so everything is read again"]


def test_files_of_others_below_the_data_set_stay(tmp_path: Path) -> None:
    """`--parquet ~/.codex` beside `~/.codex/sessions` took the sessions for leftovers of its own."""
    theirs = [tmp_path / "sessions" / "2026" / "a.jsonl", tmp_path / "messages" / "provider=x" / "mine.parquet"]
    for path in theirs:
        path.parent.mkdir(parents=True)
        path.write_bytes(claude_session(1, 3))
    for resume in (False, True, False):
        assert import_sessions([tmp_path / "sessions"], parquet=tmp_path, resume=resume, engine="serial").failures == []
        assert all(path.read_bytes() == claude_session(1, 3) for path in theirs)


def test_a_lost_manifest_is_made_again(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    expected = tree(out)
    (out / "d" / "_dataset.json").unlink()
    assert import_all(tmp_path / "in", out).done == 3
    assert tree(out) == expected


def test_damaged_notes_of_what_is_finished_are_done_again(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    out = tmp_path / "out"
    import_all(tmp_path / "in", out)
    expected = tree(out)
    for path in (out / "d" / "_state" / "done").iterdir():
        path.write_bytes(path.read_bytes()[:-400] + b"\0" * 100)
    import_all(tmp_path / "in", out)
    assert {name for name in tree(out) if "/g" not in name} == {name for name in expected if "/g" not in name}
    assert _rows(out / "d") == 3
    assert (out / "s.jsonl").read_bytes() == expected["s.jsonl"]


def test_a_session_with_another_id_now_leaves_no_transcript_of_the_old_one(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(claude_session(1, 3, broken=True))
    out = tmp_path / "out"
    import_all(source, out)
    assert len(list((out / "t").glob("*.dead-letters.jsonl"))) == 1
    source.write_bytes(claude_session(2, 4))
    import_all(source, out)
    assert len(list((out / "t").glob("*.jsonl"))) == 1


def test_dead_letters_of_a_session_that_was_mended_go(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(claude_session(1, 3, broken=True))
    out = tmp_path / "out"
    import_all(source, out)
    source.write_bytes(claude_session(1, 3))
    import_all(source, out)
    assert [path.suffixes[-2] for path in (out / "t").glob("*.jsonl")] == [".transcript"]


def test_nothing_to_read_leaves_the_outputs_as_they_were(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    options: dict[str, Any] = {"parquet": tmp_path / "d", "jsonl": tmp_path / "s.jsonl", "engine": "serial"}
    import_sessions([tmp_path / "in"], **options)
    before = tree(tmp_path / "d") | tree(tmp_path)
    (tmp_path / "empty").mkdir()
    for resume in (False, True):
        outcome = import_sessions([tmp_path / "empty"], resume=resume, **options)
        assert outcome.notes == ["nothing was found to read; the outputs are unchanged"]
    assert tree(tmp_path / "d") | tree(tmp_path) == before


def test_files_without_a_session_leave_the_outputs_as_they_were(tmp_path: Path) -> None:
    """The wrong folder emptied the data set of the right one."""
    make_folder(tmp_path / "in", 3)
    options: dict[str, Any] = {"parquet": tmp_path / "d", "jsonl": tmp_path / "s.jsonl", "engine": "serial"}
    import_sessions([tmp_path / "in"], **options)
    before = _written(tmp_path / "d") | {"s.jsonl": (tmp_path / "s.jsonl").read_bytes()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.jsonl").write_text('{"some": "thing"}\n')
    (tmp_path / "other" / "log.jsonl.gz").write_bytes(b"\x1f\x8b damaged")
    outcome = import_sessions([tmp_path / "other"], **options)
    assert outcome.notes == ["no session could be read; the outputs are unchanged"]
    assert _written(tmp_path / "d") | {"s.jsonl": (tmp_path / "s.jsonl").read_bytes()} == before
    assert outcome.outputs == {}


@pytest.mark.parametrize("change", ["packed", "grown and packed", "moved and grown", "moved, grown and packed"])
def test_a_log_that_was_moved_or_packed_between_two_imports_is_one_session(tmp_path: Path, change: str) -> None:
    """The rows of its earlier state stayed beside those of the new file."""
    data = claude_session(1, 60)
    lines = data.splitlines(keepends=True)
    log = tmp_path / "in" / "log.jsonl"
    log.parent.mkdir()
    log.write_bytes(b"".join(lines[:40]))
    (tmp_path / "in" / "other.jsonl").write_bytes(claude_session(2, 6))
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    log.unlink()
    content = data if "grown" in change else b"".join(lines[:40])
    place = tmp_path / "in" / ("archive/renamed.jsonl" if "moved" in change else "log.jsonl")
    place.parent.mkdir(exist_ok=True)
    if "packed" in change:
        place.with_name(f"{place.name}.gz").write_bytes(gzip.compress(content))
    else:
        place.write_bytes(content)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial", resume=True)
    assert rows_of(tmp_path / "d") == imported([tmp_path / "in"], tmp_path / "once")


def test_a_packed_file_that_only_begins_like_a_deleted_one_is_another_session(tmp_path: Path) -> None:
    log = tmp_path / "in" / "log.jsonl"
    log.parent.mkdir()
    lines = claude_session(1, 60).splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:40]))
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    log.unlink()
    other = b"".join(lines[:20] + lines[22:])
    log.with_name("log.jsonl.gz").write_bytes(gzip.compress(other))
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial", resume=True)
    assert sessions_in(tmp_path / "d") == [str(log), f"{log}.gz"]


def _written(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(folder).items() if not name.startswith("_state")}


def test_outputs_under_another_name_take_their_dead_letters_along(tmp_path: Path) -> None:
    """A log without times is named by that of its file: so the new letters came under a new name, and removing the old
    ones took the new blobs along. Letters without a transcript stayed for ever."""
    log = tmp_path / "in" / "run.jsonl"
    log.parent.mkdir()
    begun = b'{"type":"thread.started","thread_id":"0197aaaa-0000-7000-8000-000000000001"}\n{"type":"turn.started"}\n'
    said = b'{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"done"}}\n'
    blob = b"\xff" * (MOST_INLINE + 1) + b"\n"
    for number, data in enumerate((begun + b'{"type":"item.comp', begun + blob + said, begun + blob + blob + said)):
        log.write_bytes(data)
        os.utime(log, (1_770_000_000 + number, 1_770_000_000 + number))
        import_sessions([log.parent], transcripts=tmp_path / "on", engine="serial", resume=number > 0)
        import_sessions([log.parent], transcripts=tmp_path / str(number), engine="serial")
        assert _written(tmp_path / "on") == _written(tmp_path / str(number))
    assert [name for name in _written(tmp_path / "on") if name.endswith(".bin")]

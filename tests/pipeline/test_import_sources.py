"""Sources that are no plain files: packed ones, OpenCode's stores, pretty-printed documents, other agents' logs."""

import gzip
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from agentv_stream import import_sessions, summarize, summarize_groups, summarize_many
from agentv_stream.bulk.find import find_units
from agentv_stream.errors import SourceError, UsageError
from support.consuming import run
from support.made_sessions import claude_session, make_folder

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _store(path: Path, sessions: int) -> None:
    """A database of OpenCode: each session has one user message; the last one is a child of the first."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
                   time_created integer, time_updated integer);
               CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
               CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
                   data text);"""
        )
        for i in range(sessions):
            parent = "ses_0" if i == sessions - 1 else None
            facts = (f"ses_{i}", parent, "/w", "title", "1.18.0", 1772359200000 + i, 1772359200000 + i)
            connection.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?)", facts)
            role: dict[str, Any] = {"role": "user", "time": {"created": 1772359200000 + i}}
            data = msgspec.json.encode(role).decode()
            connection.execute("INSERT INTO message VALUES (?,?,?,?)", (f"msg_{i}", f"ses_{i}", 0, data))
            part = msgspec.json.encode({"type": "text", "text": f"task {i}"}).decode()
            connection.execute("INSERT INTO part VALUES (?,?,?,?,?)", (f"prt_{i}", f"msg_{i}", f"ses_{i}", 0, part))
        connection.commit()


def test_a_glob_of_any_depth_follows_no_links_to_folders(tmp_path: Path) -> None:
    """With one that leads back, files had forty folders in their names; one into /proc was walked for ever."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for i, name in enumerate(("in/a", "in/deep/b", "elsewhere/c")):
        (tmp_path / f"{name}.jsonl").write_bytes(claude_session(i, 2))
    (tmp_path / "in" / "back").symlink_to("..")
    (tmp_path / "in" / "away").symlink_to("../elsewhere")

    def found(pattern: str) -> list[str]:
        return [str(Path(unit.source).relative_to(tmp_path)) for unit in find_units([str(tmp_path / pattern)])]

    assert found("in/**/*.jsonl") == found("i?/**") == ["in/a.jsonl", "in/deep/b.jsonl"]
    assert found("**/deep/*.jsonl") == ["in/deep/b.jsonl"]
    assert found("in/*/c.jsonl") == ["in/away/c.jsonl"]  # a link that a single star stands for is named


def test_packed_files_are_as_plain_ones(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 4)
    expected = [summarize(path) for path in paths]
    packed: list[Path] = []
    for i, path in enumerate(paths):
        data = path.read_bytes()
        target = path.with_name(path.name + (".gz" if i % 2 else ".zst"))
        target.write_bytes(gzip.compress(data) if i % 2 else zstandard.compress(data))
        path.unlink()
        packed.append(target)
    assert len(find_units([str(tmp_path / "in")])) >= 4
    results = list(summarize_many(packed, engine="serial", subagents=False))
    assert [r.session.id for r in results] == [r.session.id for r in expected]
    assert [r.tool_use_summary["turns"] for r in results] == [r.tool_use_summary["turns"] for r in expected]


def test_every_session_of_a_store_is_a_unit_and_children_go_with_their_parents(tmp_path: Path) -> None:
    _store(tmp_path / "opencode.db", 4)
    units = find_units([str(tmp_path / "opencode.db")])
    assert [unit.session for unit in units] == ["ses_0", "ses_1", "ses_2"]
    lines = tmp_path / "s.jsonl"
    outcome = import_sessions([tmp_path / "opencode.db"], jsonl=lines, engine="serial")
    assert (outcome.done, outcome.failures) == (3, [])
    again = import_sessions([tmp_path / "opencode.db"], jsonl=lines, engine="serial", resume=True)
    assert (again.done, again.skipped) == (0, 3)


def test_a_session_of_a_store_that_changed_is_read_again_alone(tmp_path: Path) -> None:
    place = tmp_path / "opencode.db"
    _store(place, 4)
    lines = tmp_path / "s.jsonl"
    import_sessions([place], jsonl=lines, engine="serial")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE session SET time_updated = time_updated + 5 WHERE id = 'ses_1'")
        connection.commit()
    again = import_sessions([place], jsonl=lines, engine="serial", resume=True)
    assert (again.done, again.skipped) == (1, 2)


def test_logs_of_several_agents_are_told_apart_by_content() -> None:
    outcome = summarize_groups([FIXTURES], by="provider", engine="serial")
    assert {"claude", "opencode", "pi"} <= set(outcome.summary.groups)
    assert not [failure for failure in outcome.failures if failure.kind == "Bug"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are not of bytes everywhere")
def test_names_that_are_no_utf_8_are_read_told_and_remembered(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"in-\xff")
    make_folder(folder, 2)
    (folder / os.fsdecode(b"new\nline-\xfe.jsonl")).write_bytes(claude_session(7, 5, broken=True))
    options: dict[str, Any] = {"transcripts": tmp_path / "t", "jsonl": tmp_path / "s.jsonl", "engine": "serial"}
    outcome = import_sessions([folder], **options)
    assert (outcome.done, outcome.failures) == (3, [])
    assert len((tmp_path / "s.jsonl").read_bytes().splitlines()) == 3
    assert import_sessions([folder], resume=True, **options).skipped == 3
    agent = next(folder.rglob("agent-*.jsonl"))
    agent.write_bytes(agent.read_bytes() * 2)
    assert import_sessions([folder], resume=True, **options).done == 1
    assert sum(figures.sessions for figures in summarize_groups([folder]).summary.groups.values()) == 3
    assert len(list(summarize_many(sorted(folder.glob("*.jsonl"))))) == 1


def test_a_source_that_is_not_there_is_a_row_while_there_are_others(tmp_path: Path) -> None:
    (path,) = make_folder(tmp_path / "in", 1)
    outcome = import_sessions([tmp_path / "gone.jsonl", path], jsonl=tmp_path / "s.jsonl", engine="serial")
    assert outcome.done == 1
    assert [failure.source for failure in outcome.failures] == [str(tmp_path / "gone.jsonl")]
    outcome = summarize_groups([path, tmp_path / "gone.jsonl"], engine="serial")
    assert (outcome.done, len(outcome.failures)) == (1, 1)
    before = (tmp_path / "s.jsonl").read_bytes()
    with pytest.raises(SourceError, match="no such file"):
        import_sessions([tmp_path / "gone.jsonl"], jsonl=tmp_path / "s.jsonl", engine="serial")
    assert (tmp_path / "s.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["{}", "{:.4}", "{:.12}…"])
def test_the_beginning_of_an_id_is_enough_however_short_or_as_it_is_listed(name: str, tmp_path: Path) -> None:
    """`show` took four letters of an id, and what `sessions` prints, `stats` did not."""
    _store(tmp_path / "opencode.db", 1)
    (path,) = make_folder(tmp_path / "in", 1)
    session = summarize(path).session.id
    assert session is not None
    (unit,) = find_units([name.format(session)], roots=[f"claude={tmp_path}/in"])
    assert unit.source == str(path)


def test_a_name_that_is_neither_a_file_nor_an_id_is_told_to_be_neither(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match="cannot read runs: no such file or folder, and no session begins with 'runs'"
    ):
        find_units(["runs"], roots=[f"claude={tmp_path}"])


def test_a_name_that_begins_as_a_home_folder_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~name` of nobody ended the run with Python's own error."""
    monkeypatch.chdir(tmp_path)
    Path("~nobody-of-that-name.jsonl").write_bytes(claude_session(1, 2))
    assert summarize_groups("~nobody-of-that-name.jsonl", engine="serial").done == 1
    with pytest.raises(SourceError, match="no such file or folder"):
        summarize_groups("~nobody-of-that-name/logs", engine="serial")


def test_links_that_lead_nowhere_or_round_and_pipes_do_not_end_the_run(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    for name, to in (("a-round.jsonl", "a-round.jsonl"), ("nowhere.jsonl", "gone"), ("up", ".")):
        (tmp_path / "in" / name).symlink_to(to)
    os.mkfifo(tmp_path / "in" / "pipe.jsonl")
    outcome = summarize_groups([tmp_path / "in"], engine="serial")
    assert outcome.done == 2
    assert [failure.source for failure in outcome.failures] == [str(tmp_path / "in" / "a-round.jsonl")]
    named = summarize_groups([tmp_path / "in" / "pipe.jsonl", tmp_path / "in"], engine="serial")
    assert "`consume` reads a pipe" in named.failures[0].error + named.failures[1].error


def test_a_folder_within_that_cannot_be_listed_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = make_folder(tmp_path / "in", 3)
    real = os.scandir

    def closed(place: Any) -> Any:
        if str(place).endswith("-p1"):
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", closed)
    outcome = summarize_groups([tmp_path / "in"], engine="serial")
    assert outcome.done == 2
    assert [failure.error for failure in outcome.failures] == [f"cannot read {paths[1].parent}: Permission denied"]


def test_what_an_import_wrote_is_no_source_of_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path, 3)
    monkeypatch.chdir(tmp_path)
    for resume in (False, True):
        outcome = import_sessions(
            ["."], transcripts=".agentv/logs/{provider}", jsonl="s.jsonl", engine="serial", resume=resume
        )
        assert (outcome.found, outcome.others) == (3, [])
    for _ in range(2):
        outcome = import_sessions([tmp_path], transcripts=tmp_path / "t", parquet=tmp_path / "d", engine="serial")
        assert outcome.found == 4  # and s.jsonl, of another import
    assert summarize_groups([".agentv/logs"], engine="serial").done == 3  # named, they are


@pytest.mark.parametrize(
    "options",
    [{"jsonl": "-"}, {"jsonl": "folder"}, {"jsonl": "/dev/null"}, {"parquet": "file"}, {"transcripts": "file"}],
)
def test_outputs_that_cannot_be_are_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    make_folder(tmp_path / "in", 1)
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    with pytest.raises(UsageError):
        import_sessions(["in"], engine="serial", **options)  # type: ignore[arg-type]
    assert not Path("-").exists()


def test_a_link_to_another_session_of_the_folder_is_not_a_second_one(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 2)
    (tmp_path / "in" / "latest.jsonl").symlink_to(paths[0])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "latest.jsonl").symlink_to(paths[0])
    assert summarize_groups([tmp_path / "in"], engine="serial").done == 2
    assert summarize_groups([tmp_path / "elsewhere"], engine="serial").done == 1
    assert summarize_groups([tmp_path / "in" / "latest.jsonl"], engine="serial").done == 1


def test_the_bytes_of_sub_agents_files_count(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    outcome = summarize_groups([tmp_path / "in"], engine="serial")
    assert outcome.bytes == sum(path.stat().st_size for path in (tmp_path / "in").rglob("*.jsonl"))


def test_a_header_alone_that_was_met_in_a_folder_is_no_session(tmp_path: Path) -> None:
    """Gemini's `--resume` leaves such files. One that was named is read as any other."""
    header = b'{"sessionId":"g","projectHash":"p","startTime":"2026-03-01T10:00:00.000Z","kind":"main"}\n'
    said = b'{"id":"u","timestamp":"2026-03-01T10:00:01.000Z","type":"user","content":"hi"}\n'
    folder = tmp_path / "chats"
    folder.mkdir()
    left, ran = folder / "session-1.jsonl", folder / "session-2.jsonl"
    left.write_bytes(header)
    ran.write_bytes(header + said)
    out = tmp_path / "out"
    outcome = import_sessions([folder], transcripts=out, jsonl=tmp_path / "results.jsonl", engine="serial")
    assert (outcome.done, outcome.others, outcome.failures) == (1, [str(left)], [])
    assert len((tmp_path / "results.jsonl").read_bytes().splitlines()) == len(list(out.glob("*.jsonl"))) == 1
    assert summarize(left).tool_use_summary["turns"] == 0
    left.write_bytes(header.replace(b'"g"', b'"h"') + said)
    again = import_sessions([folder], transcripts=out, engine="serial")
    assert (again.done, again.others) == (2, [])


def test_a_group_that_there_is_not_is_refused(tmp_path: Path) -> None:
    """It gave the one of `all`."""
    make_folder(tmp_path, 1)
    with pytest.raises(UsageError, match="--by: unknown grouping 'agent'"):
        summarize_groups([tmp_path], by="agent", engine="serial")  # pyright: ignore[reportArgumentType] - that is the point


def test_a_folder_that_cannot_be_made_is_named_without_braces(tmp_path: Path) -> None:
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv/logs").write_bytes(b"")
    done = run(tmp_path, "import", Path(__file__).resolve().parents[2] / "examples/claude.jsonl")
    assert done.code == 2
    assert f"{tmp_path / '.agentv/logs'} is not a folder" in done.err

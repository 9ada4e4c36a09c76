"""The Parquet data set: schema as documented, rows as in the session, partitions, texts cut, hostile text harmless."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.lines import DEFAULT_CAP
from agentv_stream import import_sessions, summarize
from agentv_stream.bulk import object_store, plan, shards, staging
from agentv_stream.bulk.manifest import read_manifest
from agentv_stream.bulk.parquet import manifest_of, open_dataset
from agentv_stream.bulk.tables import COLUMNS, SCHEMA, TABLES
from agentv_stream.errors import SourceError, UsageError
from support.made_sessions import claude_session, make_folder

pq: Any = pytest.importorskip("pyarrow.parquet", reason="the Parquet extra is not installed")
DOCS = Path(__file__).parents[2] / "docs" / "parquet.md"


def _rows(root: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = open_dataset(str(root), table).to_table().to_pylist()
    return rows


def _files(root: Path) -> dict[str, tuple[list[str], Any]]:
    """The keys and rows of every file, by its path."""
    return {file.path: (file.keys, pq.read_table(root / file.path)) for file in manifest_of(str(root)).files}


def _imported(folder: Path, sessions: int = 12) -> None:
    """A data set of made sessions; its sources lie in `in` beside it."""
    make_folder(folder / "in", sessions)
    import_sessions([folder / "in"], parquet=folder / "d", engine="serial")


def test_the_docs_tell_every_column_and_no_other() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert SCHEMA in text
    for table in TABLES:
        section = text.split(f"## `{table}`")[1].split("\n## ")[0]
        told = re.findall(r"^\| `(\w+)` \| (\w+)", section, re.MULTILINE)
        assert told == list(COLUMNS[table]), table


def test_a_row_of_a_record_over_the_cap_says_how_long_it_is(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(claude_session(5, 2) + b"[" * (DEFAULT_CAP + 1))
    import_sessions([tmp_path / "log.jsonl"], parquet=tmp_path / "d", engine="serial")
    (row,) = _rows(tmp_path / "d", "faults")
    assert (row["reason"], row["length"]) == ("too-large", DEFAULT_CAP + 1)


def test_rows_say_what_the_session_says(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in")
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    sessions = {row["source"]: row for row in _rows(tmp_path / "d", "sessions")}
    calls = _rows(tmp_path / "d", "tool_calls")
    for path in paths:
        row, result = sessions[str(path)], summarize(path)
        summary = result.tool_use_summary
        mine = [call for call in calls if call["session_key"] == row["session_key"]]
        assert row["session_id"] == result.session.id
        assert row["tool_sequence"] == summary["tool_sequence"]
        assert row["input_tokens"] == result.tokens["input"]
        assert len(mine) == row["tool_calls"] == summary["total_tool_calls"]
        outcomes = [call["outcome"] for call in mine]
        assert {name: outcomes.count(name) for name in set(outcomes)}.items() <= summary["by_outcome"].items()
        assert all(call["error_text"] for call in mine if call["outcome"] == "error")


def test_files_lie_by_provider_and_day_and_bear_the_schema_version(tmp_path: Path) -> None:
    _imported(tmp_path)
    manifest = manifest_of(str(tmp_path / "d"))
    days = {file.day for file in manifest.files if file.table == "sessions"}
    assert days == {"2026-03-01", "2026-03-02", "2026-03-03"}
    for file in manifest.files:
        assert file.path.startswith(f"{file.table}/provider=claude/day={file.day}/")
        read = pq.ParquetFile(tmp_path / "d" / file.path)
        assert read.metadata.num_rows == file.rows
        assert read.schema_arrow.metadata[b"schema_version"] == SCHEMA.encode()
    assert {row["day"] for row in _rows(tmp_path / "d", "messages")} == days


def test_rows_of_a_file_are_sorted_by_source_and_then_as_in_the_log(tmp_path: Path) -> None:
    make_folder(tmp_path / "in")
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="process", workers=2)
    for file in manifest_of(str(tmp_path / "d")).files:
        read = pq.ParquetFile(tmp_path / "d" / file.path).read()
        if file.table == "sessions":
            sources = read.column("source").to_pylist()
            assert sources == sorted(sources)
        keys = read.column("session_key").to_pylist()
        assert list(dict.fromkeys(keys)) == file.keys


def test_texts_are_cut_and_their_length_told(tmp_path: Path) -> None:
    long = claude_session(1, 2).replace(b"task 1", b"x" * 5000)
    (tmp_path / "one.jsonl").write_bytes(long)
    import_sessions([tmp_path / "one.jsonl"], parquet=tmp_path / "d", engine="serial", text_chars=100)
    first = _rows(tmp_path / "d", "messages")[0]
    assert first["text"] == "x" * 100
    assert first["text_chars"] > 5000


@pytest.mark.parametrize(("most", "text"), [(2000, "one\ntwo"), (2, "on")])
def test_the_length_of_a_text_of_several_parts_is_that_of_the_whole(tmp_path: Path, most: int, text: str) -> None:
    """The line ends between the parts were missing in it: a whole text was longer than its length."""
    blocks = b'[{"type":"text","text":"one"},{"type":"text","text":""},{"type":"text","text":"two"}]'
    head, rest = claude_session(1, 2).split(b"\n", 1)
    content = json.dumps(json.loads(head)["message"]["content"]).encode()
    (tmp_path / "one.jsonl").write_bytes(head.replace(content, blocks) + b"\n" + rest)
    import_sessions([tmp_path / "one.jsonl"], parquet=tmp_path / "d", engine="serial", text_chars=most)
    first = _rows(tmp_path / "d", "messages")[0]
    assert (first["text"], first["text_chars"]) == (text, 7)


def test_hostile_text_is_data(tmp_path: Path) -> None:
    data = claude_session(1, 2).replace(b'"cwd": "/repo/p1"', b'"cwd": "/w/\\u001b[31m\\ud800"')
    (tmp_path / "o'one.jsonl").write_bytes(data)
    import_sessions([tmp_path / "o'one.jsonl"], parquet=tmp_path / "d", engine="serial")
    row = _rows(tmp_path / "d", "sessions")[0]
    assert row["source"].endswith("o'one.jsonl")
    assert row["cwd"].startswith("/w/\x1b[31m")


def test_a_session_without_times_lies_under_an_unknown_day(tmp_path: Path) -> None:
    data = re.sub(rb'"timestamp": "[^"]*"', b'"timestamp": null', claude_session(1, 2))
    (tmp_path / "one.jsonl").write_bytes(data)
    import_sessions([tmp_path / "one.jsonl"], parquet=tmp_path / "d", engine="serial")
    assert {file.day for file in manifest_of(str(tmp_path / "d")).files} == {"unknown"}
    assert _rows(tmp_path / "d", "sessions")[0]["started_at"] is None


def test_big_partitions_become_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "in", 9)
    monkeypatch.setattr(shards, "GROUP_ROWS", 10)
    monkeypatch.setattr(shards, "FILE_BYTES", 1000)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    manifest = manifest_of(str(tmp_path / "d"))
    calls = [file for file in manifest.files if file.table == "tool_calls"]
    assert len(calls) > 3
    rows = sum(row["tool_calls"] for row in _rows(tmp_path / "d", "sessions"))
    assert rows == sum(file.rows for file in calls) == len(_rows(tmp_path / "d", "tool_calls"))


@pytest.mark.parametrize(("rows", "size"), [(0, 1 << 30), (30, 1 << 30), (1 << 30, 20_000), (1 << 30, 1 << 30)])
def test_files_are_the_same_however_many_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, size: int
) -> None:
    """Each alone, some together, more than can be held, all together; several batches in each staging file."""
    for n in range(24):
        data = claude_session(n, 3 + n % 4).replace(b"2026-03-", b"2026-0%d-" % (3 + n % 3))
        (tmp_path / f"{n * 7 % 24:02}.jsonl").write_bytes(data)
    monkeypatch.setattr(plan, "SHARE", 2)
    monkeypatch.setattr(staging, "BATCH_ROWS", 9)
    monkeypatch.setattr(shards, "TOGETHER_ROWS", 0)
    import_sessions([tmp_path], parquet=tmp_path / "one", engine="serial")
    monkeypatch.setattr(shards, "TOGETHER_ROWS", rows)
    monkeypatch.setattr(shards, "GROUP_BYTES", size)
    import_sessions([str(tmp_path / "*.jsonl")], parquet=tmp_path / "other", engine="serial")
    one, other = _files(tmp_path / "one"), _files(tmp_path / "other")
    assert len({path.rpartition("/")[0] for path in one}) > 8
    assert one == other


@pytest.mark.parametrize(
    "path",
    [
        "../other/sessions/provider=claude/day=2026-01-01/x.parquet",
        "/etc/x.parquet",
        "sessions/provider=claude/day=2026-01-01/../../../../x.parquet",
        "messages/provider=claude/day=2026-01-01/x.parquet",
        "s3://other/sessions/provider=claude/day=2026-01-01/x.parquet",
    ],
)
def test_a_manifest_cannot_name_files_elsewhere(tmp_path: Path, path: str) -> None:
    """A data set may come from somebody else; a query of it reads what its manifest names."""
    _imported(tmp_path, 1)
    place = tmp_path / "d" / "_dataset.json"
    manifest = json.loads(place.read_bytes())
    next(file for file in manifest["files"] if file["table"] == "sessions")["path"] = path
    place.write_text(json.dumps(manifest))
    with pytest.raises(SourceError, match="no file of the data set"):
        read_manifest(str(tmp_path / "d"))


def test_a_data_set_of_another_version_is_refused(tmp_path: Path) -> None:
    _imported(tmp_path, 1)
    place = tmp_path / "d" / "_dataset.json"
    manifest = json.loads(place.read_bytes())
    place.write_text(json.dumps({**manifest, "schema_version": "agentv_stream.dataset.v99"}))
    with pytest.raises(UsageError, match="v99"):
        read_manifest(str(tmp_path / "d"))
    with pytest.raises(UsageError, match="v99"):
        import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial", resume=True)
    place.write_text("{")
    with pytest.raises(SourceError):
        manifest_of(str(tmp_path / "d"))
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")  # written anew, over whatever it was
    assert manifest_of(str(tmp_path / "d")).generation > manifest["generation"] + 1
    assert len(_rows(tmp_path / "d", "sessions")) == 1


def test_a_data_set_that_is_written_anew_keeps_the_old_files_until_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _imported(tmp_path, 3)
    before = (tmp_path / "d" / "_dataset.json").read_bytes()
    old = manifest_of(str(tmp_path / "d"))
    real = object_store.put
    published: list[str] = []

    def watched(place: str, data: bytes) -> None:
        if place.endswith("_dataset.json"):
            published.append(place)
            assert (tmp_path / "d" / "_dataset.json").read_bytes() == before
            assert all((tmp_path / "d" / file.path).stat().st_size == file.size for file in old.files)
        real(place, data)

    monkeypatch.setattr(object_store, "put", watched)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial", text_chars=5)
    new = manifest_of(str(tmp_path / "d"))
    assert (len(published), new.generation) == (1, 2)
    assert not {file.path for file in new.files} & {file.path for file in old.files}
    assert len(list((tmp_path / "d").rglob("*.parquet"))) == len(new.files)


@pytest.mark.parametrize("rows_per_batch", [1, 7, 1024])
def test_rows_of_a_source_that_broke_off_are_not_taken_for_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_batch: int
) -> None:
    monkeypatch.setattr(staging, "BATCH_ROWS", rows_per_batch)
    monkeypatch.setattr(plan, "SHARE", 1)  # one task for all
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(5):
        (folder / f"s{i}.jsonl").write_bytes(claude_session(i, 4 + i))
    lines = claude_session(9, 4000).splitlines(keepends=True)
    random.Random(3).shuffle(lines)  # so that it does not pack too well
    (folder / "s2-broken.jsonl").write_bytes(b"".join(lines))
    whole = object_store.pieces

    def broken_off(place: str) -> Iterator[bytes]:
        """As where the disk fails, or the network."""
        for number, data in enumerate(whole(place)):
            if number == 3 and "broken" in place:
                raise SourceError(f"cannot read {place}: Input/output error")
            yield data

    monkeypatch.setattr(object_store, "pieces", broken_off)
    outcome = import_sessions([folder], parquet=tmp_path / "d", engine="serial")
    assert (outcome.done, len(outcome.failures)) == (5, 1)
    calls = _rows(tmp_path / "d", "tool_calls")
    sessions = _rows(tmp_path / "d", "sessions")
    assert sorted(row["tool_calls"] for row in sessions) == [4, 5, 6, 7, 8]
    for row in sessions:
        mine = [call for call in calls if call["session_key"] == row["session_key"]]
        assert [call["message_index"] for call in mine] == sorted(call["message_index"] for call in mine)
        assert len(mine) == row["tool_calls"]
    assert len(calls) == 30


@pytest.mark.parametrize("rows_per_batch", [1, 7, 1024])
@pytest.mark.parametrize("other", [b'{"no": "log"}\n', b"", b"\x1f\x8b\x08\x00broken"])
def test_a_file_that_is_no_session_does_not_take_the_rows_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_batch: int, other: bytes
) -> None:
    monkeypatch.setattr(staging, "BATCH_ROWS", rows_per_batch)
    monkeypatch.setattr(plan, "SHARE", 1)  # one task for all
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(4):
        (folder / f"s{i}.jsonl").write_bytes(claude_session(i, 4 + i))
        (folder / f"s{i}-other.json").write_bytes(other)
    assert import_sessions([folder], parquet=tmp_path / "d", engine="serial").done == 4
    calls = _rows(tmp_path / "d", "tool_calls")
    sessions = _rows(tmp_path / "d", "sessions")
    assert [row["tool_calls"] for row in sessions] == [4, 5, 6, 7]
    assert [row["session_key"] for row in calls] == [
        row["session_key"] for row in sessions for _ in range(row["tool_calls"])
    ]

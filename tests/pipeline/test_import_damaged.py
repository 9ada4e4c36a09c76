"""Compressed logs that break off or are damaged: what came before counts, the damage is told, better readings stay."""

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream import import_sessions, summarize_groups, summarize_many
from agentv_stream.cli.importing import Wanted, import_all
from agentv_stream.errors import DamagedArchive
from support.made_sessions import claude_session, make_folder, tree

parquet = pytest.importorskip("pyarrow.parquet", reason="the Parquet extra is not installed")
Pack = Callable[[bytes], bytes]
LOG = claude_session(1, 3000)
ALWAYS = (None, None, None, False)


def zst(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)  # type: ignore[no-any-return]  # untyped


def packed(pack: Pack, part: float = 1.0) -> bytes:
    data = pack(LOG)
    return data[: int(len(data) * part)]


def imported(source: Path, out: Path, resume: bool = True) -> tuple[int, list[str]]:
    outcome = import_sessions(
        [source], transcripts=out / "t", parquet=out / "d", jsonl=out / "s.jsonl", resume=resume, engine="serial"
    )
    return outcome.done, [failure.kind for failure in outcome.failures]


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_what_came_before_counts_until_the_whole_is_there(tmp_path: Path, pack: Pack) -> None:
    log, out = tmp_path / "in" / "log.jsonl", tmp_path / "out"
    log.parent.mkdir()
    log.write_bytes(packed(pack, 0.6))
    assert imported(log, out) == (1, ["DamagedArchive"])
    (part,) = summarize_groups([log], engine="serial").summary.groups.values()
    assert 0 < part.tool_calls < 3000
    (rows,) = (out / "t").glob("*.transcript.jsonl")
    assert rows.read_bytes().count(b"\n") >= part.tool_calls
    assert parquet.read_table(next((out / "d" / "tool_calls").rglob("*.parquet"))).num_rows == part.tool_calls
    assert imported(log, out) == (1, ["DamagedArchive"])  # told as long as it is so
    log.write_bytes(packed(pack))
    assert imported(log, out) == (1, [])
    resumed = tree(out)
    imported(log, tmp_path / "anew")
    anew = tree(tmp_path / "anew")
    assert [data.replace(b"/out/", b"/anew/") for name, data in resumed.items() if not name.startswith("d/")] == [
        data for name, data in anew.items() if not name.startswith("d/")
    ]
    assert parquet.read_table(next((out / "d" / "tool_calls").rglob("*.parquet"))).num_rows == 3000


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_it_takes_the_place_of_no_better_reading(tmp_path: Path, pack: Pack) -> None:
    make_folder(tmp_path / "in", 3)
    log, out = tmp_path / "in" / "log.jsonl", tmp_path / "out"
    log.write_bytes(packed(pack))
    assert imported(tmp_path / "in", out) == (4, [])
    whole = tree(out)
    log.write_bytes(packed(pack, 0.6))
    for _ in range(2):
        assert imported(tmp_path / "in", out) == (0, ["DamagedArchive"])
        assert tree(out) == whole
    log.write_bytes(b"no log any more")
    assert imported(tmp_path / "in", out)[0] == 0
    assert tree(out) == whole


@pytest.mark.parametrize("length", [4, 25])
def test_where_nothing_came_before_it_is_a_failure_alone(tmp_path: Path, length: int) -> None:
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(packed(gzip.compress)[:length])
    assert imported(log, tmp_path / "out") == (0, ["DamagedArchive"])


def test_the_damaged_file_of_a_sub_agent_is_told(tmp_path: Path) -> None:
    main = make_folder(tmp_path / "in", 1)[0]
    (agent,) = main.with_suffix("").rglob("agent-*.jsonl")
    agent.write_bytes(gzip.compress(agent.read_bytes() * 200)[:-200])
    assert imported(main, tmp_path / "out") == (1, ["DamagedArchive"])


def test_one_result_each_means_whole_ones(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    (tmp_path / "in" / "log.jsonl").write_bytes(packed(gzip.compress, 0.6))
    paths = sorted((tmp_path / "in").rglob("*.jsonl"))
    assert len(list(summarize_many(paths, engine="serial", errors="skip"))) == len(paths) - 1
    with pytest.raises(DamagedArchive, match="cannot read"):
        list(summarize_many(paths, engine="serial"))


def test_the_command_says_so_and_gives_four(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(packed(gzip.compress, 0.6))
    wanted = Wanted(
        str(tmp_path / "t"), None, None, None, None, None, None, "serial", None, False, True, (), False, 2000
    )
    assert import_all([str(log)], wanted, ALWAYS, dry_run=False, json=None, quiet=False) == 4
    said = capsys.readouterr().err
    assert "1 session read" in said
    assert "1 failed" in said
    assert f"cannot read {log}: Compressed file ended before the end-of-stream" in said
    assert "; what came before counts\n" in said


LARGE = b'{"type":"assistant",' + b"x" * 80_000


def transcripts_of(source: Path, out: Path) -> list[dict[str, object]]:
    """The dead letters of an import that keeps what it has done."""
    import_sessions([source], transcripts=out, resume=True, engine="serial")
    return [json.loads(line) for path in out.glob("*.dead-letters.jsonl") for line in path.read_bytes().splitlines()]


def test_broken_records_do_not_gather_in_memory(tmp_path: Path) -> None:
    source, line = tmp_path / "in.jsonl", b'{"type":"assistant",' + b"x" * 60_000 + b"\n"
    source.write_bytes(claude_session(1, 3) + line * 500)
    tracemalloc.start()
    try:
        found = transcripts_of(source, tmp_path / "out")
        import_sessions([source], transcripts=tmp_path / "again", engine="serial")
        tracemalloc.reset_peak()
        import_sessions([source], transcripts=tmp_path / "again", engine="serial")
        peak = tracemalloc.get_traced_memory()[1] - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert [one["length"] for one in found] == [len(line) - 1] * 500
    assert peak < 12_000_000


def test_a_large_broken_record_stands_beside_its_letter_as_long_as_it_is_there(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_bytes(LARGE + b"\n" + claude_session(1, 3))
    (first,) = transcripts_of(source, out)
    assert (out / str(first["blob"])).read_bytes() == LARGE
    source.write_bytes(LARGE + b"y\n" + claude_session(1, 3))
    (second,) = transcripts_of(source, out)
    assert [path.read_bytes() for path in out.glob("*.dead/*")] == [LARGE + b"y"]
    assert (out / str(second["blob"])).read_bytes() == LARGE + b"y"
    source.write_bytes(claude_session(1, 3))
    assert transcripts_of(source, out) == []
    assert not list(out.glob("*.dead"))


def test_the_letters_of_a_session_with_another_id_take_their_bytes_along(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_bytes(LARGE + b"\n" + claude_session(1, 3))
    transcripts_of(source, out)
    source.write_bytes(claude_session(2, 4))
    assert transcripts_of(source, out) == []
    assert not list(out.glob("*.dead"))


def test_a_reading_that_is_given_up_leaves_the_bytes_of_the_better_one(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl.gz", tmp_path / "out"
    log.write_bytes(gzip.compress(LARGE + b"\n" + LOG))
    (whole,) = transcripts_of(log, out)
    log.write_bytes(gzip.compress(LARGE + b"\n" + LARGE + b"y\n" + LOG)[:-500])
    assert transcripts_of(log, out) == [whole]
    assert [path.read_bytes() for path in out.glob("*.dead/*")] == [LARGE]


def test_a_command_that_read_nothing_names_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It said `transcripts  .agentv/logs/{}`."""
    (tmp_path / "empty.jsonl").touch()
    place = str(tmp_path / "{provider}")
    wanted = Wanted(place, None, None, None, None, None, None, "serial", None, False, True, (), False, 2000)
    assert import_all([str(tmp_path / "empty.jsonl")], wanted, ALWAYS, dry_run=False, json=None, quiet=False) == 3
    said = capsys.readouterr().err
    assert "empty.jsonl: the input is empty" in said
    assert "transcripts" not in said

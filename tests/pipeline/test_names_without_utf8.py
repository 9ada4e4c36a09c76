"""Names and arguments that are no UTF-8: nothing crashes on them, and outputs tell their bytes as `\\udcXX`."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.consuming import LIMIT_SECONDS, SESSION, STREAM, command, environment, run

FOLDER = os.fsdecode(b"f\xff")
TOLD = "f\\udcff"
SPEC = "assertions: [{type: max-turns, max: 100}]\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "log.jsonl").write_bytes(STREAM.read_bytes())
    (folder / "spec.yaml").write_text(SPEC)
    return tmp_path


def test_consume_reads_and_writes_there(place: Path) -> None:
    options = ("--out", f"{FOLDER}/out", "--stream-log", "raw", "--stats", f"{FOLDER}/s.json")
    done = run(place, "consume", f"{FOLDER}/log.jsonl", *options)
    assert done.code == 0
    result = json.loads((place / FOLDER / "s.json").read_bytes())
    assert result["outputs"]["transcript"].startswith(f"{TOLD}/out/")
    (log,) = (place / FOLDER / "out").glob("*.stream.jsonl")
    assert {json.loads(line)["file"] for line in log.read_bytes().splitlines()} == {f"{TOLD}/log.jsonl"}


def test_arguments_stand_in_rows_and_result(tmp_path: Path) -> None:
    names = [os.fsdecode(text) for text in (b"t\xff", b"i\xfe", b"p\xfd")]
    options = ("--target", names[0], "--test-id", names[1], "--prompt", names[2])
    done = run(tmp_path, "consume", "--stats", "-", *options, given=STREAM.read_bytes())
    assert done.code == 0
    result = json.loads(done.out)
    assert (result["target"], result["test_id"]) == ("t\\udcff", "i\\udcfe")
    assert done.rows()[0]["content"] == "p\\udcfd"


def test_watched_programs_stand_in_results(tmp_path: Path) -> None:
    watched = os.fsdecode(b"w\xff")
    done = run(tmp_path, "consume", "--stats", "-", "--watch", watched, given=STREAM.read_bytes())
    assert done.code == 0
    assert json.loads(done.out)["tool_use_summary"]["watched_commands"] == {"bobbin": [], "w\\udcff": []}
    done = run(tmp_path, "tail", "--once", str(SESSION), "--out", "out", "--state", "state", "--watch", watched)
    assert done.code == 0
    assert len(list((tmp_path / "out").glob("*.transcript.jsonl"))) == 1


def test_dead_letters_name_their_files(tmp_path: Path) -> None:
    place = os.fsdecode(b"t\xff")
    given = STREAM.read_bytes() + b'{"type":"' + b"x" * 200_000 + b'"}\n'
    done = run(tmp_path, "consume", "-", "--transcript", place, "--max-record", "100K", given=given)
    assert done.code == 0
    (letter,) = (tmp_path / f"{place}.dead-letters.jsonl").read_bytes().splitlines()
    assert json.loads(letter)["blob"].startswith("t\\udcff.dead/")
    shown = run(tmp_path, "faults", "show", f"{place}.dead-letters.jsonl:0")
    assert (shown.code, shown.out[:12]) == (0, b'{"type":"xxx')
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_check_tells_sources_and_specs(place: Path, option: str) -> None:
    wanted = ("--json",) if option == "--json" else ("--jsonl", "out.jsonl", "--quiet")
    done = run(place, "check", f"{FOLDER}/spec.yaml", FOLDER, *wanted)
    assert done.code == 0
    if option == "--json":
        (row,) = json.loads(done.out)["results"]
        assert row["specs"] == [f"{TOLD}/spec.yaml"]
    else:
        row = json.loads((place / "out.jsonl").read_bytes())
        assert row["spec"] == f"{TOLD}/spec.yaml"
    assert row["source"] == f"{TOLD}/log.jsonl"


def test_run_keeps_its_result_there_and_report_reads_it(place: Path) -> None:
    words = ("run", "--out", f"{FOLDER}/runs", "--task", os.fsdecode(b"\xfe"), "--", "cat", f"{FOLDER}/log.jsonl")
    assert run(place, *words).code == 0
    (result,) = (place / FOLDER / "runs").glob("*.json")
    value = json.loads(result.read_bytes())
    assert (value["task_id"], value["run"]["command"][1]) == ("\\udcfe", f"{TOLD}/log.jsonl")
    done = run(place, "report", f"{FOLDER}/runs", "--format", "json")
    assert json.loads(done.out)["runs"]


@pytest.mark.parametrize("option", ["--out", "--jsonl", "--parquet"])
def test_import_reads_from_there_and_says_that_it_does_not_write_there(place: Path, option: str) -> None:
    done = subprocess.run(
        command("import", FOLDER, option, f"{FOLDER}/o"),
        cwd=place, env=environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        f"agentv-stream: {place}/{TOLD}/o: import writes to names in UTF-8 only; it reads any\n",
    )
    assert run(place, "import", FOLDER, option, "o", "--json", "r.json").code == 0
    assert json.loads((place / "r.json").read_bytes())["done"] == 1


def test_the_target_of_an_import_stands_in_results(place: Path) -> None:
    done = run(place, "import", FOLDER, "--jsonl", "r.jsonl", "--target", os.fsdecode(b"t\xff"))
    assert done.code == 0, done.err
    assert json.loads((place / "r.jsonl").read_bytes())["target"] == "t\\udcff"

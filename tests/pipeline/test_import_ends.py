"""An import that is ended from outside: at once, with no worker left, nothing half-written, and gone on with later."""

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentv_stream import import_sessions
from agentv_stream.bulk import gathered, relay, session_outputs
from agentv_stream.bulk.parquet import open_dataset
from agentv_stream.bulk.tables import TABLES
from agentv_stream.errors import SinkError
from support.dying import import_all, import_and_die_at_close
from support.made_sessions import claude_session, make_folder, tree

pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
PROGRAM = """
import sys, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from agentv_stream.cli import main
sys.argv[0] = "agentv-stream"
main()
"""


def _workers(of: int) -> list[int]:
    """The processes of a group, but for its first."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != of:
            try:
                state, _, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue  # it has ended meanwhile
            if int(group) == of and state != "Z":
                found.append(int(folder.name))
    return found


def _end(arguments: list[str], number: signal.Signals, *, group: bool = False) -> tuple[int, str]:
    """Runs the command, ends it once it has two workers, and waits until the last of them has gone.

    `group`: as a terminal does, which tells all processes in it.
    """
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while len(_workers(process.pid)) < 2:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        if group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, said = process.communicate(timeout=60)
        while _workers(process.pid):
            assert time.monotonic() < deadline, "a worker lives on"
        return process.returncode, said


def _hidden(root: Path) -> list[Path]:
    return [path for path in root.rglob(".*") if path.name != ".gitignore"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_worker_outlives_the_command_and_resuming_gives_the_whole(tmp_path: Path, number: signal.Signals) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    make_folder(source, 12)
    for i in range(8):
        (source / f"long-{i}.jsonl").write_bytes(claude_session(100 + i, 4000))
    outputs = ["--out", str(out / "t"), "--parquet", str(out / "d"), "--jsonl", str(out / "s.jsonl")]
    logged = ["--log", "json"] if number == signal.SIGTERM else []
    code, said = _end(["import", str(source), *outputs, "--workers", "2", *logged], number)
    assert code == (128 + number if number != signal.SIGKILL else -number)
    if logged:
        *_, told, last = map(json.loads, said.splitlines())
        assert told["event"].startswith("interrupted; ")
        assert (last["event"], last["interrupted"], last["found"]) == ("finished", True, 20)
        assert 0 <= last["sessions"] < 20
    assert logged or said == (
        "agentv-stream: interrupted; the same command with --resume continues from here\n"
        if number != signal.SIGKILL
        else ""
    )
    assert not _hidden(out) or number == signal.SIGKILL
    options = {"transcripts": out / "t", "parquet": out / "d", "jsonl": out / "s.jsonl", "workers": 2}
    import_sessions([source], resume=True, **options)  # type: ignore[arg-type]
    resumed = tree(out)
    out.rename(tmp_path / "resumed")
    import_sessions([source], **options)  # type: ignore[arg-type]
    assert resumed == tree(out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_of_the_group_is_told_by_the_command_alone(tmp_path: Path, number: signal.Signals) -> None:
    """Of a closed terminal each worker printed a traceback: it had the command's handler, which raises."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for i in range(8):
        (source / f"long-{i}.jsonl").write_bytes(claude_session(100 + i, 4000))
    for _ in range(3):
        code, said = _end(["import", str(source), "--out", str(out), "--workers", "2"], number, group=True)
        told = "agentv-stream: interrupted; the same command with --resume continues from here\n"
        assert (code, said) == (128 + number, told)
        assert not _hidden(out)


def test_stats_and_a_large_log_on_all_cores_end_as_well(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    made = claude_session(1, 3000)
    with source.open("wb") as file:
        for _ in range(2 * relay.LEAST_BYTES // len(made) + 1):
            file.write(made)
    for arguments in (["stats", str(source)], ["import", str(source), "--out", str(tmp_path / "t")]):
        code, _ = _end([*arguments, "--workers", "2"], signal.SIGTERM)
        assert code == 128 + signal.SIGTERM
    assert not _hidden(tmp_path / "t")


def test_ctrl_c_with_one_process_ends_it_at_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").write_bytes(claude_session(1, 200))

    def press(*_: object) -> None:
        assert _hidden(tmp_path / "t")
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal waits for the end of the session")

    monkeypatch.setattr(gathered, "WRITE_BYTES", 1)
    monkeypatch.setattr(session_outputs.SessionOutputs, "close", press)
    with pytest.raises(KeyboardInterrupt):
        import_sessions([tmp_path / "in.jsonl"], transcripts=tmp_path / "t", engine="serial")
    assert not _hidden(tmp_path / "t")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_a_killed_import_left_goes_with_the_next_one_and_nothing_else(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    out = tmp_path / "out"
    process = multiprocessing.get_context("spawn").Process(target=import_and_die_at_close, args=(tmp_path / "in", out))
    process.start()
    process.join()
    (left,) = _hidden(out / "t")
    run = left.name.split("-")[0]
    others = [out / "t" / ".mine.tmp", out / "t" / f"{run}x-1-1.tmp", out / "t" / ".1999999999999abcd-1-1.tmp"]
    ours = [out / f"{run}-1-1.tmp", out / "d" / "_state" / ".put-1-1.tmp", out / "d" / ".put-1-2.tmp"]
    for path in (*others, *ours):
        path.touch()
    import_all(tmp_path / "in", out)
    assert sorted(_hidden(out)) == sorted(others)


def test_two_imports_at_one_place_do_not_mix(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 4)
    out = tmp_path / "d"
    second: list[str] = []

    def another(found: int, size: int) -> None:
        try:
            import_sessions([tmp_path / "in"], parquet=out, engine="serial")
        except SinkError as error:
            second.append(str(error))

    outcome = import_sessions([tmp_path / "in"], parquet=out, engine="serial", on_found=another)
    assert outcome.done == 4
    assert second == [f"cannot write {out}/_state: another import is at work there"]
    import_sessions([tmp_path / "in"], parquet=out, engine="serial", resume=True)  # the lock went with the first


def test_an_import_that_was_taken_over_publishes_nothing(tmp_path: Path) -> None:
    """Where there are no locks: in a bucket, or on two machines."""
    make_folder(tmp_path / "in", 4)

    def taken_over(found: int, size: int) -> None:
        (tmp_path / "d" / "_state" / "recipe.json").write_text('{"format": "", "options": "", "run": "another"}')

    with pytest.raises(SinkError, match="another import has begun there"):
        import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial", on_found=taken_over)
    assert not (tmp_path / "d" / "_dataset.json").exists()
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["_state"]


@pytest.mark.parametrize("kilobytes", [1, 20, 60, 120])
def test_a_disk_that_takes_no_more_is_one_line_and_resuming_gives_the_whole(tmp_path: Path, kilobytes: int) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    make_folder(source, 12)
    (source / "long.jsonl").write_bytes(claude_session(100, 4000))
    outputs = ["--out", str(out / "t"), "--parquet", str(out / "d"), "--jsonl", str(out / "s.jsonl"), "--quiet"]
    command = [sys.executable, "-c", PROGRAM, "import", str(source), *outputs, "--workers", "2"]
    most = kilobytes * 1024
    limited = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert limited.returncode == 4, limited.stderr
    assert "Traceback" not in limited.stderr, limited.stderr
    assert not _hidden(out)
    subprocess.run([*command, "--resume"], check=True)
    resumed, told = _apart(out)
    out.rename(tmp_path / "resumed")
    subprocess.run(command, check=True)
    assert (resumed, told) == _apart(out)


def _apart(out: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files but for the data set's, which lie otherwise when it was written in two goes; and its rows."""
    files = {name: data for name, data in tree(out).items() if not name.startswith("d/")}
    return files, sorted(
        str(row) for table in TABLES for row in open_dataset(str(out / "d"), table).to_table().to_pylist()
    )

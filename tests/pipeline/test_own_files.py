"""Each file that a command reads or writes is one thing: an input is nobody's output, no two outputs are one file."""

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from agentv_stream import import_sessions
from agentv_stream.discovery.own_files import is_of_a_run
from agentv_stream.errors import UsageError
from support.consuming import LIMIT_SECONDS, STREAM, command, consume, environment, run, start
from support.decoding import FIXTURES

LOG = STREAM.read_bytes()
SPEC = FIXTURES.parents[1] / "examples" / "spec.yaml"
OVER_THE_INPUT: list[tuple[str, ...]] = [
    ("consume", "log.jsonl", "--transcript", "other-name"),
    ("consume", "log.jsonl", "--stats", "log.jsonl"),
    ("consume", "log.jsonl", "--check", "spec.yaml", "--stats", "spec.yaml"),
    ("import", "log.jsonl", "--jsonl", "log.jsonl"),
    ("import", "log.jsonl", "--out", "out", "--json", "other-name"),
    ("stats", "log.jsonl", "--json", "log.jsonl"),
    ("check", "spec.yaml", "log.jsonl", "--jsonl", "log.jsonl"),
    ("check", "spec.yaml", "log.jsonl", "--junit", "spec.yaml"),
    ("report", "log.jsonl", "--format", "md", "--out", "log.jsonl"),
]


@pytest.mark.parametrize("arguments", OVER_THE_INPUT, ids=" ".join)
def test_no_input_is_written_over(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG)
    os.link(tmp_path / "log.jsonl", tmp_path / "other-name")
    (tmp_path / "spec.yaml").write_bytes(SPEC.read_bytes())
    ran = run(tmp_path, *arguments)
    assert (ran.code, ran.err) == (2, f"agentv-stream: {' '.join(arguments[-2:])} is the input itself\n")
    assert (tmp_path / "log.jsonl").read_bytes() == LOG
    assert (tmp_path / "spec.yaml").read_bytes() == SPEC.read_bytes()


OVER_A_LOG: list[tuple[str, ...]] = [
    ("import", "logs", "--jsonl", "logs/log.jsonl"),
    ("import", "logs/*.jsonl", "--jsonl", "logs/log.jsonl"),
    ("import", "logs", "--json", "logs/log.jsonl"),
    ("stats", "logs", "--json", "logs/log.jsonl"),
    ("check", "spec.yaml", "logs", "--jsonl", "logs/log.jsonl"),
    ("check", "spec.yaml", "logs", "--junit", "logs/log.jsonl"),
    ("report", "logs", "--format", "md", "--out", "logs/log.jsonl"),
    ("consume", "logs/other.jsonl", "--stats", "logs/log.jsonl"),
    ("consume", "logs/other.jsonl", "--transcript", "logs/log.jsonl"),
]


@pytest.mark.parametrize("arguments", OVER_A_LOG, ids=" ".join)
def test_no_log_is_written_over(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Who names a folder has named what lies in it; `import logs --jsonl logs/log.jsonl` wrote over the log."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("log.jsonl", "other.jsonl"):
        (logs / name).write_bytes(LOG)
    (tmp_path / "spec.yaml").write_bytes(SPEC.read_bytes())
    ran = run(tmp_path, *arguments)
    told = (
        f"agentv-stream: {' '.join(arguments[-2:])} is a log (claude-stream), which would be lost; give another file\n"
    )
    assert (ran.code, ran.err) == (2, told)
    assert (logs / "log.jsonl").read_bytes() == LOG


OVER_A_DATABASE: list[tuple[str, ...]] = [
    ("stats", "log.jsonl", "--json", "agent.db"),
    ("stats", "log.jsonl", "--csv", "agent.db"),
    ("sessions", "--root", ".", "--csv", "agent.db"),
    ("import", "log.jsonl", "--jsonl", "agent.db"),
    ("import", "log.jsonl", "--otel-file", "agent.db"),
    ("consume", "log.jsonl", "--stats", "agent.db"),
    ("check", "spec.yaml", "log.jsonl", "--markdown", "agent.db"),
    ("run", "--quiet", "--otel-file", "agent.db", "--", "cat", "log.jsonl"),
    ("tail", "--once", "--all", "--root", ".", "--otel-file", "agent.db"),
]


@pytest.mark.parametrize("arguments", OVER_A_DATABASE, ids=" ".join)
def test_no_database_is_written_over(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """`stats --json agent.db` names as the output what is meant as the source."""
    (tmp_path / "log.jsonl").write_bytes(LOG)
    (tmp_path / "spec.yaml").write_bytes(SPEC.read_bytes())
    with closing(sqlite3.connect(tmp_path / "agent.db")) as database:
        database.execute("create table session (id text)")
    before = (tmp_path / "agent.db").read_bytes()
    ran = run(tmp_path, *arguments)
    assert ran.code == 2
    assert "agent.db is a database, which would be lost; give another file\n" in ran.err
    assert (tmp_path / "agent.db").read_bytes() == before


def test_nor_by_the_library(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(LOG)
    with pytest.raises(UsageError, match="is a log"):
        import_sessions([tmp_path], jsonl=log, engine="serial")
    assert log.read_bytes() == LOG
    result = tmp_path / "t_a_1.json"
    result.write_text('{\n  "task_id": "t",\n  "approach": "a"\n}')
    with pytest.raises(UsageError, match="is the result of a run"):
        import_sessions([log], jsonl=result, engine="serial")


def test_no_result_becomes_a_report(tmp_path: Path) -> None:
    assert consume(tmp_path, STREAM, "--quiet", "--stats", "result.json").code == 0
    before = (tmp_path / "result.json").read_bytes()
    ran = run(tmp_path, "report", ".", "--output", "result.json")
    assert (ran.code, ran.err) == (
        2,
        "agentv-stream: --out result.json is a result, which would be lost; give another file\n",
    )
    assert (tmp_path / "result.json").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "log.jsonl", "-q", "--stats"),
        ("consume", "log.jsonl", "-q", "--transcript"),
        ("check", "spec.yaml", "log.jsonl", "--junit"),
        ("check", "spec.yaml", "log.jsonl", "--jsonl"),
        ("stats", "log.jsonl", "--json"),
        ("import", "log.jsonl", "--jsonl"),
        ("import", "log.jsonl", "--out", "out", "--json"),
    ],
    ids=" ".join,
)
def test_no_output_replaces_the_result_of_a_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG)
    (tmp_path / "spec.yaml").write_bytes(SPEC.read_bytes())
    assert run(tmp_path, "run", "--quiet", "--task", "t", "--approach", "a", "--", "cat", "log.jsonl").code == 0
    result = tmp_path / ".agentv" / "runs" / "t_a_1.json"
    before = result.read_bytes()
    ran = run(tmp_path, *arguments, str(result))
    told = f"agentv-stream: {arguments[-1]} {result} is the result of a run, which would be lost; give another file\n"
    assert (ran.code, ran.err) == (2, told)
    assert result.read_bytes() == before


def test_only_an_indented_object_of_an_attempt_is_the_result_of_a_run(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    whole = '{\n  "task_id": "t",\n  "approach": "a"\n}\n'
    for text, expected in ((whole, True), (whole[:-3], False), ("{\n}", False), ("{", False), ("", False)):
        place.write_text(text)
        assert is_of_a_run(place) is expected, text
    assert not is_of_a_run(tmp_path)


def test_what_was_written_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG)
    (tmp_path / "spec.yaml").write_bytes(SPEC.read_bytes())
    for _ in range(2):
        for arguments in (
            ("consume", "log.jsonl", "-q", "--stats", "result.json", "--transcript", "transcript.jsonl"),
            ("import", ".", "-q", "--jsonl", "results.jsonl", "--json", "import.json"),
            ("stats", ".", "-q", "--json", "figures.json"),
            ("check", "spec.yaml", ".", "-q", "--jsonl", "verdicts.jsonl", "--junit", "verdicts.xml"),
            ("report", ".", "--output", "report.json"),
        ):
            ran = run(tmp_path, *arguments)
            assert ran.code in (0, 1), ran.err


def test_a_file_on_standard_input_is_one(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(LOG)
    with log.open("rb") as file:
        pid = os.posix_spawn(
            command()[0],
            command("consume", "--quiet", "--stats", str(log)),
            environment(),
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), 0)],
        )
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert log.read_bytes() == LOG


@pytest.mark.parametrize("option", ["--tee", "--stats=-", "--transcript=-"])
@pytest.mark.parametrize("piped", [False, True], ids=["named", "piped"])
def test_what_is_printed_is_not_appended_to_the_input(tmp_path: Path, option: str, piped: bool) -> None:
    """`consume log.jsonl --tee >> log.jsonl` read what it wrote, and wrote what it read, until the disk was full."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(LOG)
    with log.open("rb") as read, log.open("ab") as appended:
        done = subprocess.run(
            command("consume", "-" if piped else log, "--quiet", option),
            stdin=read,
            stdout=appended,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    told = f"agentv-stream: {option.removesuffix('=-')}: standard output is the input itself\n"
    assert (done.returncode, done.stderr.decode()) == (2, told)
    assert log.read_bytes() == LOG


WRITES = [
    ("consume", STREAM, "--quiet", "--stats"),
    ("consume", STREAM, "--quiet", "--transcript"),
    ("stats", STREAM, "--json"),
    ("import", STREAM, "--quiet", "--json"),
    ("check", SPEC, STREAM, "--jsonl"),
]


@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: f"{arguments[0]} {arguments[-1]}")
def test_a_name_of_standard_output_is_written_to_and_not_replaced(
    tmp_path: Path, arguments: tuple[str | Path, ...]
) -> None:
    """As `--stats /dev/stdout >> FILE`, where the new file took the place of `/dev/stdout`, and `FILE` got nothing."""
    name = tmp_path / "stdout"
    name.symlink_to("/dev/fd/1")
    got = tmp_path / "got"
    got.write_bytes(b"before\n")
    with got.open("ab") as appended:
        done = subprocess.run(
            command(*arguments, name), stdout=appended, cwd=tmp_path, timeout=LIMIT_SECONDS, check=False
        )
    assert done.returncode in (0, 1)
    assert name.readlink() == Path("/dev/fd/1")
    assert got.read_bytes().startswith(b"before\n")
    assert len(got.read_bytes()) > 100


def test_a_name_of_standard_output_is_no_second_user_of_it(tmp_path: Path) -> None:
    ran = consume(tmp_path, STREAM, "--tee", "--stats", "/dev/stdout")
    assert (ran.code, ran.out) == (2, b"")
    assert "both want standard output" in ran.err


def test_no_state_is_kept_beside_a_name_of_standard_output(tmp_path: Path) -> None:
    (tmp_path / "stdout").symlink_to("/dev/fd/1")
    with (tmp_path / "got").open("wb") as got:
        done = subprocess.run(
            command("import", STREAM, "--quiet", "--jsonl", "stdout"), stdout=got, cwd=tmp_path, check=False
        )
    assert done.returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got", "stdout"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("consume", "--transcript", "one", "--stats", "./one"), "--transcript and --stats are both ./one"),
        (("import", "--jsonl", "one", "--json", "one"), "--jsonl and --json are both one"),
    ],
)
def test_no_two_outputs_are_one_file(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = run(tmp_path, arguments[0], STREAM, *arguments[1:])
    assert (ran.code, ran.err) == (2, f"agentv-stream: {told}; give each a file of its own\n")
    assert list(tmp_path.iterdir()) == []
    assert consume(tmp_path, STREAM, "--quiet", "--transcript", os.devnull, "--stats", os.devnull).code == 0


def test_statistics_go_through_a_named_pipe_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with start(tmp_path, "--quiet", "--stats", "pipe") as process:
        assert process.stdin is not None
        process.stdin.write(LOG)
        process.stdin.close()
        result = json.loads((tmp_path / "pipe").read_bytes())
        assert process.wait(LIMIT_SECONDS) == 0
    assert result["status"] == "complete"


def test_a_named_pipe_for_statistics_that_nobody_reads_is_given_up_when_we_are_told_to_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with start(tmp_path, "--tee", "--quiet", "--stats", "pipe") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LOG)
        process.stdin.flush()
        process.stdout.read(len(LOG))
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_SECONDS) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == b"agentv-stream: cannot write pipe: nobody reads it\n"

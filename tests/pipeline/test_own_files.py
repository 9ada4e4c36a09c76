"""Each file that a command reads or writes is one thing: an input is nobody's output, no two outputs are one file."""

import json
import os
import signal
from pathlib import Path

import pytest

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
    ("report", "log.jsonl", "--format", "md", "--output", "log.jsonl"),
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

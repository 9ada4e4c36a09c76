"""Commands whose standard streams are full, closed, left by their reader, or of a narrow encoding."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.consuming import LIMIT_SECONDS, STREAM, Ran, command, environment
from support.decoding import FIXTURES

LOG = STREAM.read_bytes()
SPEC = FIXTURES.parents[1] / "examples" / "spec.yaml"
PRINTING: list[tuple[str | Path, ...]] = [
    ("--help",),
    ("--version",),
    ("consume", "--help"),
    ("consume", STREAM, "--stats", "-", "-q"),
    ("consume", STREAM, "--transcript", "-", "-q"),
    ("consume", STREAM, "--tee", "-q"),
    ("show", STREAM),
    ("stats", STREAM),
    ("stats", STREAM, "--json", "-"),
    ("tools",),
    ("providers", "--json"),
    ("schema",),
    ("schema", "result"),
    ("faults", "list"),
    ("sessions", "--root", "claude=."),
    ("validate", SPEC),
]
IDS = [" ".join(str(word).rpartition("/")[2] for word in words) for words in PRINTING]


def shell(folder: Path, redirection: str, *arguments: str | Path, **more: str) -> Ran:
    """The command in a shell, with a redirection behind it."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *command(*arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        env=environment(**more),
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode(), folder)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # noqa: PTH110 - a device
@pytest.mark.parametrize("arguments", PRINTING, ids=IDS)
def test_a_full_standard_output_is_four_and_one_line(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    ran = shell(tmp_path, ">/dev/full", *arguments)
    assert (ran.code, ran.err) == (4, "agentv-stream: cannot write standard output: No space left on device\n")


@pytest.mark.parametrize("arguments", PRINTING, ids=IDS)
def test_a_closed_standard_output_is_four_and_one_line(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    ran = shell(tmp_path, ">&-", *arguments)
    assert (ran.code, ran.err) == (4, "agentv-stream: cannot write standard output: Bad file descriptor\n")


def test_what_goes_to_a_closed_standard_output_is_in_no_other_file(tmp_path: Path) -> None:
    """The first file that was opened got descriptor 1, and the tee was written into it."""
    shell(tmp_path, "<&- >&-", "consume", STREAM, "--out", "plain", "-q")
    ran = shell(tmp_path, ">&-", "consume", STREAM, "--tee", "--out", "teed", "-q", "--stream-log", "raw")
    (plain,), (teed,) = (list((tmp_path / name).glob("*.transcript.jsonl")) for name in ("plain", "teed"))
    assert teed.read_bytes() == plain.read_bytes()
    assert ran.code == 4


@pytest.mark.parametrize("arguments", PRINTING, ids=IDS)
def test_a_closed_standard_error_changes_nothing(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    closed = shell(tmp_path, "2>&-", *arguments)
    assert closed.code == 0
    if arguments[0] != "consume" and "--json" not in arguments[2:]:  # those tell how long they took
        assert closed.out == shell(tmp_path, "", *arguments).out


TELLING: list[tuple[int, tuple[str | Path, ...]]] = [
    (0, ("consume", STREAM, "--stats", "made")),
    (0, ("consume", STREAM, "--stats", "made", "--live")),
    (0, ("run", "--live", "--out", "made", "--", "cat", STREAM)),
    (0, ("import", STREAM, "--jsonl", "made")),
    (0, ("tail", STREAM, "--once", "--state", "state", "--out", "made")),
    (2, ("consume", "--stream-log", "loud")),
    (2, ("no-such-command",)),
    (4, ("consume", "nowhere.jsonl")),
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # noqa: PTH110 - a device
@pytest.mark.parametrize(("code", "arguments"), TELLING)
def test_a_standard_error_that_fails_changes_nothing(
    tmp_path: Path, code: int, arguments: tuple[str | Path, ...]
) -> None:
    """A log on a full disk, a terminal that was closed: the exit code was 1, and what was to be written was not."""
    assert shell(tmp_path, "2>/dev/full", *arguments).code == code
    assert (tmp_path / "made").exists() == (code == 0)


@pytest.mark.parametrize("arguments", PRINTING, ids=IDS)
def test_a_reader_that_leaves_is_an_end(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as out:
        done = subprocess.run(
            command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(),
            timeout=LIMIT_SECONDS,
            check=False,
        )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="sets the size of a pipe")
def test_a_pipe_that_an_agent_left_so_that_it_does_not_wait_gets_all(tmp_path: Path) -> None:
    """Node leaves them so, of which others hold the other end: the command ended with BlockingIOError, half told."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write_end, False)
    with subprocess.Popen(command("tools"), stdout=write_end, stderr=subprocess.PIPE, env=environment()) as process:
        os.close(write_end)
        with os.fdopen(read_end, "rb") as reader:
            told = reader.read()
        _, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, err) == (0, b"")
    assert told == shell(tmp_path, "", "tools").out


@pytest.mark.parametrize("arguments", PRINTING, ids=IDS)
def test_what_the_encoding_cannot_say_is_escaped(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    ran = shell(tmp_path, "", *arguments, PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert ran.out.isascii() or arguments[0] == "consume"  # which passes bytes on as they are
    assert "Traceback" not in ran.err


def test_a_wrong_call_stays_two_without_anybody_to_tell(tmp_path: Path) -> None:
    assert shell(tmp_path, ">&- 2>&-", "schema", "nothing").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are Unix")
@pytest.mark.parametrize(("term", "drawn"), [("dumb", False), ("xterm", True)])
def test_a_terminal_that_cannot_take_a_line_back_gets_none(tmp_path: Path, term: str, drawn: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    try:
        with subprocess.Popen(
            command("consume", "--out", "o"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=follower,
            cwd=tmp_path,
            env=environment(TERM=term),
        ) as process:
            process.communicate(LOG, timeout=LIMIT_SECONDS)
        os.set_blocking(leader, False)
        said = os.read(leader, 1 << 16)
    finally:
        os.close(leader)
        os.close(follower)
    assert b"status" in said
    assert (b"\x1b[K" in said) is drawn

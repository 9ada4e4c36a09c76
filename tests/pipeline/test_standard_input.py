"""Standard input of `run`: the same for each attempt, left alone where it is somebody else's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stream.checks.targets import MOST_WORD_BYTES, load_targets
from agentv_stream.checks.yaml_lines import SpecError
from agentv_stream.running.standard_input import StandardInput, take_input
from support.fake_agents import READ_EDIT, agent, stream

READS = "sys.stderr.buffer.write(sys.stdin.buffer.read()); say(DATA)"
PROGRAM = f"{sys.executable} -c 'from agentv_stream.cli import main; main()' run"


def attempts(tmp_path: Path) -> list[str]:
    """What the agent of each attempt read."""
    results = [json.loads(path.read_bytes()) for path in (tmp_path / "r").glob("*.json")]
    return [result["run"]["stderr_tail"] for result in sorted(results, key=lambda result: result["attempt"])]


def shell(tmp_path: Path, script: str, **more: str) -> tuple[int, str]:
    """Runs a bash script in which RUN starts an agent that repeats its standard input on standard error."""
    command = " ".join(agent(tmp_path, READS, stream(READ_EDIT)))
    run = f"{PROGRAM} --out r -q"
    text = script.replace("RUN", run).replace("AGENT", f"-- {command}")
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60, env={**os.environ, **more}
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "source",
    [
        "printf PROMPT | RUN --repeat 3 AGENT",
        "RUN --repeat 3 AGENT < file",
        "RUN --repeat 3 AGENT <<< PROMPT",
        "printf PROMPT | nice RUN --repeat 3 AGENT",
    ],
)
def test_each_attempt_gets_the_same_standard_input(tmp_path: Path, source: str) -> None:
    """The first attempt read it, the others measured an agent without a prompt."""
    (tmp_path / "file").write_text("PROMPT")
    code, err = shell(tmp_path, source)
    assert (code, err) == (0, "")
    assert [text.strip() for text in attempts(tmp_path)] == ["PROMPT"] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose standard input it is")
@pytest.mark.parametrize(
    "loop",
    [
        "printf 'a\\nb\\nc\\n' | while read t; do RUN --task $t AGENT; done",
        "printf 'a\\nb\\nc\\n' > list; while read t; do RUN --task $t AGENT; done < list",
        "printf 'a\\nb\\nc\\n' | while read t; do nice RUN --task $t AGENT; done",
        "while read t; do RUN --task $t AGENT; done <<< $'a\\nb\\nc'",
    ],
)
def test_a_loop_around_run_does_all_its_tasks(tmp_path: Path, loop: str) -> None:
    """The agent of the first task read the names of the others."""
    code, err = shell(tmp_path, loop)
    assert code == 0
    assert sorted(path.name[0] for path in (tmp_path / "r").glob("*.json")) == ["a", "b", "c"]
    assert attempts(tmp_path) == ["", "", ""]
    assert err.count("--stdin gives it") == 2  # before the last task nothing is left to read


@pytest.mark.parametrize("option", ["--no-stdin", "--stdin"])
def test_options_decide_whose_standard_input_it_is(tmp_path: Path, option: str) -> None:
    loop = f"printf 'a\\nb\\nc\\n' | while read t; do RUN {option} --task $t AGENT; done"
    code, err = shell(tmp_path, loop)
    assert (code, err) == (0, "")
    assert sorted(attempts(tmp_path)) == (["", "", ""] if option == "--no-stdin" else ["b\nc\n"])


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Our standard input is a pipe; the end to write to."""
    read, write = os.pipe()
    with os.fdopen(read) as file:
        monkeypatch.setattr(sys, "stdin", file)
        yield write


def test_a_pipe_that_is_open_but_silent_is_left_alone(pipe: int) -> None:
    """A build server leaves one open: the agent waited for its end until the timeout."""
    told: list[str] = []
    assert take_input(told.append, patience=0) is None
    os.close(pipe)
    assert told == ["warning: standard input is open, but silent: the agent gets none; --no-stdin does not wait for it"]


def test_what_begins_is_read_to_its_end(pipe: int) -> None:
    """A pipe is a buffer of 64 KiB: more is written while it is read."""
    os.write(pipe, b"begin")
    told: list[str] = []

    def go_on(text: str) -> None:
        told.append(text)
        os.write(pipe, b" end")
        os.close(pipe)

    given = take_input(go_on, patience=0)
    assert given is not None and given.read() == b"begin end"
    given.close()
    assert told == ["reading standard input to its end; --no-stdin leaves it alone"]


def test_an_empty_or_closed_standard_input_is_none(pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(pipe)
    assert take_input(print) is None
    monkeypatch.setattr(sys, "stdin", None)
    assert take_input(print) is None
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert take_input(print) is None
    with Path("/dev/zero").open() as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert take_input(print) is None


def test_one_attempt_does_not_move_the_beginning_of_the_next_nor_change_it() -> None:
    given = StandardInput.of(b"PROMPT")
    for _ in range(2):
        descriptor = given.open()
        assert os.read(descriptor, 100) == b"PROMPT"
        os.pwrite(descriptor, b"x", 0)
        os.close(descriptor)
    assert (given.size, given.read()) == (6, b"PROMPT")
    given.close()


LONG = "x" * (MOST_WORD_BYTES + 5)


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("claude", ("claude", "-p", "--output-format", "stream-json", "--verbose", "--model", "m", "-x")),
        ("codex", ("codex", "exec", "--json", "-", "-m", "m", "-x")),
        ("gemini-cli", ("gemini", "--output-format", "stream-json", "-m", "m", "-x")),
    ],
)
def test_a_prompt_too_long_for_a_command_line_goes_to_standard_input(
    tmp_path: Path, provider: str, words: tuple[str, ...]
) -> None:
    (tmp_path / "t.yaml").write_text(f"targets:\n  - {{name: t, provider: {provider}, model: m, args: [-x]}}\n")
    target = load_targets(tmp_path / "t.yaml").targets["t"]
    assert (target.is_piped("short"), target.is_piped(LONG)) == (False, True)
    assert target.command_line(LONG) == target.command_shown(LONG) == words
    assert "short" in target.command_line("short")


@pytest.mark.parametrize("settings", ["provider: copilot", "provider: claude, command: 'claude -p {PROMPT}'"])
def test_where_no_other_way_is_known_a_long_prompt_is_refused(tmp_path: Path, settings: str) -> None:
    """The program could not be started: "Argument list too long"."""
    (tmp_path / "t.yaml").write_text(f"targets:\n  - {{name: t, {settings}}}\n")
    target = load_targets(tmp_path / "t.yaml").targets["t"]
    with pytest.raises(SpecError, match=r"131,077 bytes, and one of a command line at most 131,071"):
        target.command_line(LONG)


def test_a_long_prompt_from_a_file_reaches_the_agent_and_the_result(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    counts = "text = sys.stdin.read(); sys.stderr.write(str(len(text))); say(DATA)"
    words = " ".join(agent(tmp_path / "bin", counts, stream(READ_EDIT)))
    (tmp_path / "bin" / "claude").write_text(f"#!/bin/sh\nexec {words}\n")
    (tmp_path / "bin" / "claude").chmod(0o755)
    (tmp_path / "t.yaml").write_text("targets:\n  - {name: t, provider: claude}\n")
    (tmp_path / "prompt").write_text(LONG)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for source in ("--prompt-file prompt < /dev/null", "--prompt-file - < prompt", "--prompt-file - < prompt"):
        code, err = shell(tmp_path, f"RUN --targets t.yaml --target t --repeat 2 {source}", PATH=path)
        assert (code, err) == (0, "")
    assert attempts(tmp_path) == [str(len(LONG))] * 6
    result = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert result["run"]["prompt"] == LONG
    assert LONG not in result["run"]["command"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--prompt x --prompt-file prompt", "--prompt and --prompt-file: give one of them"),
        ("--prompt-file none", "cannot read none"),
        ("--prompt-file - < /dev/null", "there is nothing on standard input"),
        ("--prompt-file latin", "the prompt is not UTF-8 text"),
    ],
)
def test_a_prompt_that_cannot_be_read_is_an_error(tmp_path: Path, options: str, said: str) -> None:
    (tmp_path / "prompt").write_text("p")
    (tmp_path / "latin").write_bytes(b"\xe9")
    arguments, _, source = options.partition(" < ")
    code, err = shell(tmp_path, f"RUN {arguments} AGENT" + (f" < {source}" if source else ""))
    assert code in (2, 4) and said in err

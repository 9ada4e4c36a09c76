"""Completion: what may stand in place of the word that is being typed, and that a shell asks for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stream.cli import COMMANDS
from agentv_stream.cli.completion import SCRIPTS, candidates
from support.consuming import environment, run
from support.growing_logs import claude_records


def words(*typed: str) -> list[str]:
    return [word for word, _ in candidates(typed)]


def test_commands_options_and_their_values_are_completed() -> None:
    assert words("") == list(COMMANDS)
    assert words("sea") == ["search"]
    assert {"--failed", "--tool", "--no-pager"} <= set(words("show", "--"))
    assert words("show", "--fa") == ["--failed"]
    assert words("show", "--provider", "cl")[:1] == words("show", "--provider", "=", "cl")[:1] == ["claude"]
    assert words("show", "--provider=cla") == ["--provider=claude"]
    assert words("show", "--tool", "Ed") == ["Edit"]
    assert set(words("stats", "--by", "mo")) == {"month", "model"}
    assert words("search", "x", "--since", "y") == ["yesterday"]
    assert words("consume", "--stream-log", "r") == ["raw"]
    assert words("faults", "") == ["list", "show", "retry"]
    assert words("schema", "transc") == ["transcript"]
    assert words("completion", "f") == ["fish"]
    assert words("nothing", "") == words("show", "--width", "") == []


def test_sessions_are_completed_by_their_ids_unless_a_shell_would_act_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTV_STREAM_ROOTS", f"claude={tmp_path}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for session in ("aaaa-1", "aabb-2", "$(reboot)", "--json"):
        log = tmp_path / f"{session.strip('-$()')}.jsonl"
        log.write_bytes(b"\n".join(r.replace(b"XX", session.encode()) for r in claude_records("XX", 1)) + b"\n")
    assert sorted(words("show", "a")) == ["aaaa-1", "aabb-2"]
    assert sorted(words("show", "")) == ["aaaa-1", "aabb-2"]


def test_nothing_that_fails_disturbs_the_prompt(tmp_path: Path) -> None:
    ran = run(tmp_path, "_complete", "show", "a", AGENTV_STREAM_ROOTS="nobody=/x")
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


def test_an_unknown_shell_is_told_with_the_nearest(tmp_path: Path) -> None:
    ran = run(tmp_path, "completion", "fisch")
    assert (ran.code, ran.out) == (2, b"")
    assert "did you mean 'fish'?" in ran.err


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_accepts_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    script = run(tmp_path, "completion", shell).out
    checked = subprocess.run([shell, "-n"], input=script, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "found"),
    [(("agentv-stream", "sea"), "search"), (("agentv-stream", "show", "--provider", "=", "code"), "codex")],
)
def test_bash_shows_what_may_follow(line: tuple[str, ...], found: str, tmp_path: Path) -> None:
    program = tmp_path / "agentv-stream"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentv_stream "$@"\n')
    program.chmod(0o755)
    typed = " ".join(f"'{word}'" for word in line)
    script = f'eval "$(agentv-stream completion bash)"; COMP_WORDS=({typed}); COMP_CWORD={len(line) - 1}\n'
    script += '_agentv_stream; printf "%s\\n" "${COMPREPLY[@]}"'
    path = f"{tmp_path}:{environment()['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=environment(PATH=path), capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == ([found], "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(
    ("line", "found"),
    [("agentv-stream faults l", ["list"]), ("agentv-stream stats --csv ./a", ["./agentv-stream", "./a.csv"])],
)
def test_fish_mixes_no_file_names_with_words(line: str, found: list[str], tmp_path: Path) -> None:
    program = tmp_path / "agentv-stream"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentv_stream "$@"\n')
    program.chmod(0o755)
    for name in ("a.csv", "list.csv"):
        (tmp_path / name).touch()
    variables = environment(PATH=f"{tmp_path}:{environment()['PATH']}", HOME=str(tmp_path))
    script = f"agentv-stream completion fish | source; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert sorted(row.partition("\t")[0] for row in done.stdout.splitlines()) == sorted(found)

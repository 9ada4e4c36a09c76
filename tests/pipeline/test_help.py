"""The help of every command: its examples are understood, its lines fit; and mistakes are told where people look."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from agentv_stream.cli import COMMANDS, bare_options, build
from agentv_stream.cli.examples import EXAMPLES
from support.consuming import STREAM, run

SPEC = Path(__file__).parents[2] / "examples" / "spec.yaml"


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_examples_are_understood(line: str) -> None:
    """Each is parsed by its command, and none of it is run."""
    words = shlex.split(line, posix=True)
    words = words[words.index("agentv-stream") + 1 :]
    words = bare_options(words[: words.index("|")] if "|" in words else words)
    program: Any = typer.main.get_command(build(list(COMMANDS)))
    name, rest = words[0], words[1:]
    command = program.commands[name]
    if hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(name, rest)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_fits_a_terminal_and_has_examples(name: str) -> None:
    app = build([name, "schema" if name != "schema" else "tools"])
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).output
    assert max(map(len, shown.splitlines())) <= 80
    assert all(f"    {line}\n" in shown for line in EXAMPLES[name])
    assert "{" not in shown.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show"], "SESSION is missing; for example: agentv-stream show 3f2a\n"),
        (["search"], 'TEXT is missing; for example: agentv-stream search "connection refused" --since 7d\n'),
        (["completion"], "SHELL is missing; for example: agentv-stream completion bash\n"),
        (["show", "--tol", "Bash", "x"], "Unknown option '--tol'; did you mean '--tool'?\n"),
        (["watch", "--jsn"], "Unknown option '--jsn'; did you mean '--json'?\n"),
        (["analyze", "--since", "1d"], "Unknown option '--since'; `agentv-stream analyze --help` lists them\n"),
        (
            ["schema", "transcrpt"],
            "unknown output 'transcrpt'; did you mean 'transcript'?\n",
        ),
        (["show", str(STREAM), "--tool", "Bsh"], "no call of 'Bsh' in this session; did you mean 'Bash'?\n"),
        (["show", str(STREAM), "--turn", "x"], "--turn: 'x' is not a range of turns; use 7, 3..5, 3.. or ..5\n"),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, list) else "",  # pyright: ignore[reportUnknownArgumentType]
)
def test_a_mistake_is_told_with_what_was_meant(arguments: list[str], message: str, tmp_path: Path) -> None:
    ran = run(tmp_path, *arguments)
    assert (ran.code, ran.out) == (2, b"")
    assert message in ran.err


def test_a_source_that_cannot_be_checked_is_told_on_standard_error(tmp_path: Path) -> None:
    """With `--quiet` nothing said why the exit code was 4."""
    for options in ((), ("--quiet",), ("--json",)):
        ran = run(tmp_path, "check", SPEC, "nosuch.jsonl", *options)
        assert ran.code == 4
        assert ran.err == "agentv-stream: cannot read nosuch.jsonl: No such file or directory\n"


@pytest.mark.parametrize("option", ["--jsonl", "--junit"])
def test_a_dash_is_standard_output_and_no_file_of_that_name(tmp_path: Path, option: str) -> None:
    ran = run(tmp_path, "check", SPEC, STREAM, option, "-")
    assert ran.out[:1] == (b"{" if option == "--jsonl" else b"<")
    assert not (tmp_path / "-").exists()
    assert run(tmp_path, "check", SPEC, STREAM, option, "-", "--json").code == 2
    assert run(tmp_path, "consume", STREAM, "--quiet", "--stats", "r.json").code == 0
    assert run(tmp_path, "report", "r.json", "--out", "-").out.startswith(b"# Agent comparison")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--target", "x", "--prompt", "p"], "--target x: there is no .agentv/targets.yaml here or above"),
        (["tail", "--once", "--metrics", "9" * 5000], "--metrics '999"),
        (["import", ".", "--engine", "dask://x"], "--engine dask://x: the scheduler's address is expected"),
        (["report", "r.json", "--output", "x.pdf"], "--out x.pdf: expected a name ending in .md, .html or .json"),
        (["report", "r.json", "--baseline", "conusme"], "--baseline: no result is of the approach 'conusme'"),
    ],
)
def test_a_mistake_names_the_option_and_what_is_expected(tmp_path: Path, arguments: list[str], told: str) -> None:
    assert run(tmp_path, "consume", STREAM, "--quiet", "--stats", "r.json").code == 0
    ran = run(tmp_path, *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"agentv-stream: {told}")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["consume", STREAM, "--stats", "--quiet"], "Option '--stats' needs a value, and '--quiet' is another option."),
        (["consume", STREAM, "--out", ""], "Option '--out' needs a value, and the one given is empty."),
        (["import", STREAM, "--parquet="], "Option '--parquet' needs a value, and the one given is empty."),
        (["consume", STREAM, "--out", "-q"], "Option '--out' needs a value, and '-q' is another option."),
        (["run", "--task", "--approach", "x", "--", "true"], "Option '--task' needs a value, and '--approach' is"),
    ],
)
def test_a_forgotten_value_is_not_the_next_option(tmp_path: Path, arguments: list[str], told: str) -> None:
    """A file called `--quiet` was written."""
    ran = run(tmp_path, *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["consume", STREAM, "--out", "s3://bucket/logs"], "--out"),
        (["consume", STREAM, "--stats=s3://bucket/r.json"], "--stats"),
        (["run", "--out", "gs://bucket/runs", "--", "true"], "--out"),
        (["tail", "--once", "--out", "file:///logs"], "--out"),
        (["check", "spec.yaml", STREAM, "--junit", "s3://bucket/j.xml"], "--junit"),
        (["report", "r.json", "-o", "s3://bucket/r.html"], "-o"),
        (["stats", STREAM, "--plot", "s3://bucket/p.svg"], "--plot"),
        (["import", STREAM, "--json", "s3://bucket/report.json"], "--json"),
        (["stats", STREAM, "--json", "s3://bucket/report.json"], "--json"),
    ],
)
def test_a_url_is_refused_where_only_files_are_written(tmp_path: Path, arguments: list[str], option: str) -> None:
    """It became a folder `s3:`, and the exit code was 0."""
    ran = run(tmp_path, *arguments)
    assert ran.code == 2
    assert f"Option '{option}' needs a place on this machine" in ran.err
    assert not list(tmp_path.iterdir())


def test_the_options_of_the_agent_are_its_own(tmp_path: Path) -> None:
    for separator in ((), ("--",)):
        ran = run(tmp_path, "run", "--task", "t", "-q", *separator, "echo", "--prompt", "--quiet")
        assert ran.code == 0, ran.err
    assert run(tmp_path, "run", "--task=--quiet", "-q", "--", "echo").code == 0


@pytest.mark.parametrize("command", ["list", "retry"])
def test_a_file_without_dead_letters_is_told_as_such(tmp_path: Path, command: str) -> None:
    ran = run(tmp_path, "faults", command, STREAM)
    assert ran.code == 4
    assert "holds no dead letters" in ran.err

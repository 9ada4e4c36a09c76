"""What the distribution promises: what is in the wheel, what an import costs, how the two roots lean on each other."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest
import typer

import agentv_stream
from agentv_stream.cli import COMMANDS, build, load

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = ("textual", "watchfiles", "pyarrow", "duckdb", "fsspec", "s3fs", "distributed", "genai_prices", "matplotlib")


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_the_pure_core_imports_msgspec_and_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "msgspec", "agentv_stages"}
    modules = sorted((ROOT / "stages").rglob("*.py"))
    strangers = {str(path): imported(path) - allowed for path in modules}
    assert modules
    assert not {path: names for path, names in strangers.items() if names}


def test_what_is_imported_is_declared() -> None:
    """Rich was not: it came with typer, for as long as typer asked for it."""
    asked = PROJECT["dependencies"] + [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
    declared = {re.split(r"[\[<>=,;]", requirement)[0] for requirement in asked}
    modules = [path for root in ("pipeline", "stages") for path in (ROOT / root).rglob("*.py")]
    known = {*sys.stdlib_module_names, "agentv_stream", "agentv_stages", "_typeshed"}  # the last: for type checkers
    names = set[str]().union(*map(imported, modules)) - known
    owners = packages_distributions()
    assert names
    assert [name for name in sorted(names) if not declared & {owner.lower() for owner in owners.get(name, ())}] == []


@pytest.mark.parametrize("forbidden", ["asyncio", "logging", "os", "pathlib", "socket", "subprocess", "time", "open("])
def test_the_pure_core_does_no_io_and_looks_at_no_clock(forbidden: str) -> None:
    modules = list((ROOT / "stages").rglob("*.py"))
    if forbidden == "open(":
        calls = [path for path in modules if _calls_open(path)]
        assert not calls
    else:
        assert not [path for path in modules if forbidden in imported(path)]


def _calls_open(path: Path) -> bool:
    names = (node.func for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in ("open", "print", "input") for name in names)


def loaded_by(code: str) -> set[str]:
    """The top-level packages in memory after `code`, in a process of its own."""
    command = f"{code}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_types_are_told_of_both_packages() -> None:
    """Of a package without `__init__.py` pyright takes no `py.typed`: `Stub file not found for "agentv_stages.…"`."""
    for package in (ROOT / "pipeline" / "agentv_stream", ROOT / "stages" / "agentv_stages"):
        assert (package / "py.typed").is_file()
        folders = {path.parent for path in package.rglob("*.py")}
        assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_importing_the_stages_loads_nothing_but_msgspec() -> None:
    names = loaded_by("import agentv_stages.model.stage, agentv_stages.model.event, agentv_stages.providers")
    assert names & {"msgspec"}
    assert not names & {"anyio", "aiofiles", "structlog", "typer", "rich", "agentv_stream", "zstandard", "yaml"}


def test_no_extra_is_loaded_before_it_is_used() -> None:
    names = loaded_by("import agentv_stream; [getattr(agentv_stream, name) for name in agentv_stream.__all__]")
    assert not names & set(HEAVY)
    assert not loaded_by("import agentv_stream.cli.consuming") & {*HEAVY, "yaml", "zstandard", "pydantic"}


def test_all_names_what_can_be_had_and_nothing_else_can() -> None:
    assert sorted(agentv_stream.__all__) == agentv_stream.__all__ == dir(agentv_stream)
    for name in agentv_stream.__all__:
        assert getattr(agentv_stream, name) is not None
    with pytest.raises(AttributeError):
        agentv_stream.no_such_name  # type: ignore[attr-defined]  # noqa: B018  # pyright: ignore[reportUnusedExpression, reportAttributeAccessIssue] - the look-up is the test


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_says_what_it_does(name: str) -> None:
    target = load(name)
    functions = [target] if callable(target) and not isinstance(target, typer.Typer) else _callbacks(target)
    assert functions
    assert all(function.__doc__ for function in functions)


def _callbacks(app: typer.Typer) -> list[Any]:
    return [command.callback for command in app.registered_commands]


def test_the_program_is_made_of_all_commands() -> None:
    app = build(list(COMMANDS))
    assert len(app.registered_commands) + len(app.registered_groups) == len(COMMANDS)


def test_readme_and_changelog_name_what_there_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [name for name in COMMANDS if name not in readme]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {PROJECT['version']}\n" in changelog
    assert version("agentv-stream") == PROJECT["version"]


def test_extras_together_are_all() -> None:
    extras = PROJECT["optional-dependencies"]
    (together,) = extras["all"]
    named = together.removeprefix("agentv-stream[").removesuffix("]").split(",")
    assert {*named} == {*extras} - {"all", "dev"}


def test_the_wheel_holds_the_two_packages_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert not list(_contents_check().trouble(wheel, ROOT))
    with ZipFile(wheel) as archive:
        assert max(info.file_size for info in archive.infolist()) < 200_000


def _contents_check() -> Any:
    """The gate's own script, `.ci/wheel_contents.py`."""
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        found: ModuleType = import_module("wheel_contents")
    finally:
        sys.path.pop(0)
    return found


def test_no_tracked_file_is_over_one_mebibyte() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("git cannot list the files here")
    paths = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    assert not [path for path in paths if path.is_file() and path.stat().st_size > 1024 * 1024]

"""The documentation: its examples run, its links lead somewhere, generated pages are what the code says."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentv_stream
from agentv_stages.figures.result import Result
from agentv_stages.figures.stats import Stats
from agentv_stages.model.provider import Provider
from agentv_stages.providers import all_providers
from agentv_stream.documentation.docs_pages import PAGES
from support.consuming import SESSION
from support.working_day import make_day

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PROSE = sorted((*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md")))
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """The examples of the pages in Python with what they print."""
    pages = (DOCS / name for name in ("api.md", "bulk.md", "guide.md", "trajectory.md"))
    return [found for page in pages for found in EXAMPLE.findall(page.read_text(encoding="utf-8"))]


def printed_by(code: str, folder: Path, given: bytes = b"") -> str:
    """What an example prints in a folder that holds `examples/`."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "example.py").write_text(code, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTV_STREAM_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize(("code", "printed"), examples(), ids=range(len(examples())))
def test_examples_print_what_stands_below_them(code: str, printed: str, tmp_path: Path) -> None:
    assert printed_by(code, tmp_path) == printed


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    ((code, _),) = EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = printed_by(code, tmp_path, (ROOT / "examples/codex.jsonl").read_bytes()).splitlines()
    assert lines[0] == "5"
    assert lines[-1].endswith("assistant 5")


SHELL = re.compile(r"^## (.*)\n(?:(?!^## ).*\n)*?```sh\n((?:.*\n)*?)```$", re.MULTILINE)
GUIDE = SHELL.findall((DOCS / "guide.md").read_text(encoding="utf-8"))


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """The environment of a person with `examples/`, a day's sessions of seven agents, and agents that print
    recordings."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    programs, sessions = tmp_path / "bin", tmp_path / ".claude" / "projects" / "-home-dev-app"
    programs.mkdir()
    sessions.mkdir(parents=True)
    shutil.copy(SESSION, sessions)
    make_day(tmp_path, time.time_ns() // 1_000_000)
    made = {name: f'exec cat "{tmp_path}/examples/{name}.jsonl"' for name in ("claude", "codex", "gemini")}
    made["agentv-stream"] = f'exec "{sys.executable}" -m agentv_stream "$@"'
    for name, does in made.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AGENTV_STREAM_", "XDG_", "CLAUDE_", "CODEX_"))}
    return clean | {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}"}


@pytest.mark.parametrize(("title", "commands"), GUIDE, ids=[title for title, _ in GUIDE])
def test_the_commands_of_the_guide_run(title: str, commands: str, tmp_path: Path, newcomer: dict[str, str]) -> None:
    if "jq " in commands and shutil.which("jq") is None:
        pytest.skip("there is no jq")
    shell = ["sh", "-euc", commands.replace("9464", "0")]
    done = subprocess.run(shell, cwd=tmp_path, env=newcomer, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_guide_is_read_as_it_is_written() -> None:
    assert len(GUIDE) == (DOCS / "guide.md").read_text(encoding="utf-8").count("```sh") > 5


@pytest.mark.parametrize("provider", all_providers(), ids=lambda provider: provider.name)
def test_the_page_of_a_provider_names_every_program_that_prints_a_stream(provider: Provider) -> None:
    page = (DOCS / "providers" / f"{provider.name}.md").read_text(encoding="utf-8")
    made_by = [d.about.made_by or "" for d in provider.dialects if d.live and provider.name != "generic"]
    assert not [line for line in made_by if not re.search(rf"^ *{line.split()[0]} |`{line.split()[0]} ", page, re.M)]


def test_every_public_name_stands_in_the_table_of_the_api() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    missing = [name for name in agentv_stream.__all__ if not re.search(rf"`{name}[`(]", page)]
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "make docs"


def anchors(text: str) -> set[str]:
    """The anchors of a page, as GitHub makes them from its headings."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in kept}


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken: list[str] = []
    for link, image in LINK.findall(FENCE.sub("", text)):
        target, _, anchor = (link or image).partition("#")
        if "://" in target:
            continue
        place = (page.parent / target).resolve() if target else page
        if not place.exists() or (anchor and anchor not in anchors(place.read_text(encoding="utf-8"))):
            broken.append(link or image)
    assert not broken


def test_every_page_is_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    assert not {page for page in pages if f"({page})" not in index}


HEADINGS = (
    "Formats",
    "Where sessions are stored",
    "How a run ends",
    "Messages and prompts",
    "Tool calls",
    "Tokens and cost",
    "Sub-agents",
    "Forks, resumed sessions, rewinds",
    "What the log does not say",
    "Versions and sources",
)


@pytest.mark.parametrize("name", [provider.name for provider in all_providers()])
def test_the_pages_of_providers_name_their_dialects_under_the_same_headings(name: str) -> None:
    page = (DOCS / "providers" / f"{name}.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert titles == [title for title in HEADINGS if title in titles]
    assert {"Formats", "What the log does not say", "Versions and sources"} <= {*titles}
    (provider,) = (provider for provider in all_providers() if provider.name == name)
    missing = [d.name for d in provider.dialects if f"| `{d.name}` |" not in page.split("\n## ")[1]]
    assert not missing


def test_the_page_of_reliability_names_tests_that_are_there() -> None:
    named = set(re.findall(r"`(test_[a-z0-9_]+)`", (DOCS / "reliability.md").read_text(encoding="utf-8")))
    tests = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    there = {name for text in tests for name in re.findall(r"def (test_\w+)", text)}
    assert named
    assert not named - there


def test_pages_that_the_code_names_are_there() -> None:
    modules = [path for root in ("pipeline", "stages", "benchmarks") for path in (ROOT / root).rglob("*.py")]
    modules = [path for path in modules if ROOT / "benchmarks" / "out" not in path.parents]  # peers, where installed
    named = {name for path in modules for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert not {name for name in named if not (ROOT / name).exists()}


@pytest.mark.parametrize("root", ["stages/agentv_stages", "pipeline/agentv_stream"])
def test_the_architecture_names_the_modules_that_are_there(root: str) -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.split(f"| in `{root}` | |\n")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+(?:\.py|/))`", table))
    inner = {path.name for folder in named if folder.endswith("/") for path in (ROOT / root / folder).glob("*.py")}
    there = {p.name + "/" * p.is_dir() for p in (ROOT / root).iterdir() if not p.name.startswith(("_", "py.typed"))}
    assert not there - named
    assert not named - there - inner


OWN_NAMES = [p for p in all_providers() if p.name not in ("acp", "generic", "otlp")]  # theirs are of all agents


@pytest.mark.parametrize("provider", OWN_NAMES, ids=lambda provider: provider.name)
def test_the_changelog_names_every_tool_whose_name_changes(provider: Provider) -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("### For people who match native")[2]
    line = changes.partition(f"- **{provider.title}**: ")[2].partition("\n- ")[0]
    named = {name.split("<")[0].removesuffix("X") for name in re.findall(r"`([^`]+)`", line)}
    changed = {row.native for row in provider.tools.rows if row.native != row.tool}
    assert not {name for name in changed - named if not name.startswith(("collaboration.", "multi_agent_v1."))}


def test_every_number_is_explained() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    keys = {*Stats().summary()} - {"schema_version"}
    tokens = {"input", "cached", "cache_write", "cache_write_1h", "output", "reasoning", "output_at_least"}
    assert not [key for key in sorted(keys | tokens) if f"`{key}`" not in page]


def test_every_member_of_a_result_is_explained() -> None:
    page = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("metrics.md", "outputs.md"))
    assert not [name for name in Result.__struct_fields__ if f"`{name}`" not in page]

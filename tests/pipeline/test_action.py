"""The GitHub Action: its steps run in a shell as GitHub runs them; their outputs are safe, comments are replaced."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from agentv_stages.trajectory import Assertion, CaseResult, Result
from agentv_stream.checks.check import SourceCheck
from agentv_stream.checks.check_markdown import code, fenced, github_annotations, markdown, marker

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
SPEC = """
tests:
  - id: claude
    input: x
    assertions:
      - {type: max-turns, max: 3}
      - {type: forbid, calls: ["Bash(python *)"]}
"""
GH = """#!/bin/sh
printf '%s\\n' "$@" >> "$GH_LOG"; echo --- >> "$GH_LOG"
case "$*" in *--paginate*) [ -z "$GH_KNOWN" ] || echo "$GH_KNOWN";; *) exit "${GH_EXIT:-0}";; esac
"""


RECORDER = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\nprintf "%%s\\\\n" "$@" > "$RUNNER_TEMP/pip"\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""
"""Stands in for `python3 -m venv`: the registry is not asked, only the request is kept."""


def _filled(text: str, known: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda found: known[found[1]], text)


class Runner:
    """Runs the steps of the action: expressions are filled in, outputs and the path are passed on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ""
        self.outputs: dict[str, str] = {}
        programs = folder / "bin"
        programs.mkdir()
        (programs / "agentv-stream").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentv_stream "$@"\n')
        (programs / "gh").write_text(GH)
        for program in programs.iterdir():
            program.chmod(0o755)
        self.files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        places = {"RUNNER_TEMP": str(folder), "GH_LOG": str(folder / "gh.log")}
        places |= {name: str(path) for name, path in self.files.items()}
        self.environment = {**os.environ, **places, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(self, names: tuple[str, ...] = ("Check", "Summary", "Comment", "Exit code"), **inputs: str) -> int:
        """Runs the named steps; returns the exit code of the first that fails, otherwise 0."""
        known = {f"inputs.{name}": str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        known |= {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"github.action_path": str(ROOT), "github.repository": "o/r", "github.event.pull_request.number": "7"}
        for step in ACTION["runs"]["steps"]:
            if step["name"] not in names:
                continue
            assert step["shell"] == "bash"
            assert "${{" not in step["run"]  # what people write goes in by variables only
            filled = {name: _filled(text, known) for name, text in step.get("env", {}).items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder, env=self.environment | filled, capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.log += done.stdout + done.stderr
            if step.get("id") == "check":
                self.outputs = self._outputs()
                known |= {f"steps.check.outputs.{name}": value for name, value in self.outputs.items()}
            if done.returncode:
                return done.returncode
        return 0

    def _outputs(self) -> dict[str, str]:
        text = self.files["GITHUB_OUTPUT"].read_text()
        found = dict(re.findall(r"^([\w-]+)<<(?:\w+)\n(.*)\n\w+$", text, re.MULTILINE))
        return found | dict(re.findall(r"^([\w-]+)=(.*)$", text, re.MULTILINE))


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    (tmp_path / "ci.yaml").write_text(SPEC)
    (tmp_path / "my runs").mkdir()
    shutil.copy(ROOT / "examples/claude.jsonl", tmp_path / "my runs/claude_a_1.jsonl")
    return Runner(tmp_path)


def test_a_check_that_fails_leaves_everything_and_its_exit_code(runner: Runner) -> None:
    name = 'it\'s "ours" $(touch hacked)'
    assert runner.run(spec="ci.yaml\n", runs="my runs\n", name=name, junit="j.xml") == 1
    assert runner.outputs["code"] == "1"
    assert runner.outputs["junit"] == "j.xml"
    assert ElementTree.parse(runner.folder / "j.xml").getroot().get("failures") == "3"
    summary = runner.files["GITHUB_STEP_SUMMARY"].read_text()
    assert summary.splitlines()[0] == marker(name)
    assert "| ❌ | `claude` | `my runs/claude_a_1.jsonl` | 0.00 | `max-turns: Turns 8 > 3` |" in summary
    assert "Bash: cd /home/ada/orchard && python -m pytest -q  (turn 2, row 6)" in summary
    errors = [line for line in runner.log.splitlines() if line.startswith("::error ")]
    assert errors[0].startswith("::error file=ci.yaml,line=6,title=claude%3A max-turns::Turns 8 > 3 (my runs/")
    assert errors[1].startswith("::error file=ci.yaml,line=7,title=claude%3A forbid::")
    assert not (runner.folder / "hacked").exists()


def test_a_check_that_passes_exits_0(runner: Runner) -> None:
    (runner.folder / "more.yaml").write_text("assertions: [{type: max-turns, max: 30}]\n")
    assert runner.run(spec="more.yaml\nmore.yaml", runs="my runs", threshold="0.5") == 0
    assert "::error" not in runner.log


def test_a_mistake_in_the_spec_is_the_exit_code(runner: Runner) -> None:
    (runner.folder / "ci.yaml").write_text("assertions: [{type: max-trns}]\n")
    assert runner.run(spec="ci.yaml", runs="my runs") == 2
    assert "did you mean 'max-turns'" in runner.log
    assert not runner.files["GITHUB_STEP_SUMMARY"].exists()


@pytest.mark.parametrize(("known", "method"), [("", "POST\nrepos/o/r/issues/7/"), ("42", "PATCH\nrepos/o/r/issues/")])
def test_the_comment_is_written_once_and_then_replaced(runner: Runner, known: str, method: str) -> None:
    runner.environment["GH_KNOWN"] = known
    runner.run(spec="ci.yaml", runs="my runs")
    request, written = (runner.folder / "gh.log").read_text().split("---\n")[:2]
    assert "repos/o/r/issues/7/comments" in request
    assert f"{method}comments" in written
    assert f"body=@{runner.folder}/agentv-stream-comment.md" in written
    assert (runner.folder / "agentv-stream-comment.md").read_text().startswith(marker("agentv-stream"))


def test_a_fork_that_may_not_comment_does_not_fail(runner: Runner) -> None:
    runner.environment["GH_EXIT"] = "1"
    (runner.folder / "ci.yaml").write_text("assertions: [{type: max-turns, max: 30}]\n")
    assert runner.run(spec="ci.yaml", runs="my runs") == 0
    assert "::notice::no comment was written" in runner.log


@pytest.mark.parametrize(("version", "requirement"), [("0.1.0", "agentv-stream==0.1.0"), ("", str(ROOT))])
def test_the_version_is_that_of_the_action_unless_one_is_given(runner: Runner, version: str, requirement: str) -> None:
    python = runner.folder / "bin/python3"
    python.write_text(RECORDER)
    python.chmod(0o755)
    assert runner.run(("Install",), version=version) == 0
    assert (runner.folder / "pip").read_text().splitlines()[-1] == requirement
    assert runner.files["GITHUB_PATH"].read_text().strip() == f"{runner.folder}/agentv-stream/bin"


# --- workflows


def test_workflows_run_the_gate_on_all_pythons_that_are_named() -> None:
    workflow: Any = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["gate"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", json.dumps(project["classifiers"]))
    assert (matrix["os"], matrix["python"]) == (["ubuntu-latest", "macos-latest"], named)
    assert any(step.get("run") == ".ci/run" for step in workflow["jobs"]["gate"]["steps"])


# --- text of agents


def failing(text: str) -> SourceCheck:
    result = Result("limit", "max-turns", 0.0, "fail", 1.0, True, 0.8, (Assertion(text, False),))
    case = CaseResult("c", 0.0, "fail", 0.8, (result,))
    return SourceCheck("runs/a.jsonl", cases=[case], places=[[("ci.yaml", 3)]])


@pytest.mark.parametrize(
    "text", ["```\n# not a heading", "a | b", "@octocat", "</details><b>", "\x1b[31m", "`" * 9, ""]
)
def test_text_of_agents_stays_text(text: str) -> None:
    shown = markdown([failing(text)], "n")
    assert "\x1b" not in shown
    (row,) = (line for line in shown.splitlines() if line.startswith("| ❌"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 6
    begin, *_, end = (line for line in shown.splitlines() if re.match("`{3,}", line))
    assert begin == f"{end}text"
    assert len(end) > max(map(len, re.findall("`+", text)), default=0)
    assert code("@octocat") == "`@octocat`"


def test_annotations_cannot_be_left() -> None:
    (line,) = github_annotations([failing("x\n::error::y %0A")])
    assert line.startswith("::error file=ci.yaml,line=3,title=c%3A limit::x")
    assert "\n" not in line  # only a line's beginning is a command
    assert "%250A" in line
    many = list(github_annotations([failing("x")] * 12))
    assert (len(many), many[-1]) == (11, "::notice::2 more failures are in the summary")


def test_a_summary_that_is_too_long_is_cut_at_a_line() -> None:
    shown = markdown([failing("x" * 300)] * 40, "n", 9_000)
    assert len(shown.encode()) <= 9_000
    assert shown.endswith("… cut\n")
    assert shown.count("<details>") == shown.count("</details>")
    assert fenced(["a"]) == ["```text", "a", "```"]

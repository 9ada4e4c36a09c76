"""The pytest plugin, in projects of their own: fixtures, failures, specs as tests, reports."""

import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agentv_stream.errors import UsageError
from agentv_stream.testing import Trajectory
from support.fake_agents import READ_EDIT, stream

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = () if entry_points(group="pytest11", name="agentv_stream") else ("-p", "agentv_stream.testing.plugin")
QUIET = ("-p", "no:asyncio", "-p", "no:cacheprovider", "-W", "error")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs/pytest.md").read_text(encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    shutil.copytree(ROOT / "examples", pytester.path / "examples")
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*PLUGIN, *QUIET, *arguments)


def test_the_examples_of_the_page_pass_and_the_first_is_short(project: pytest.Pytester) -> None:
    blocks = BLOCK.findall(PAGE)
    for number, block in enumerate(blocks):
        (project.path / f"test_{number}.py").write_text(block, encoding="utf-8")
    assert len(blocks) == 3
    assert len(blocks[0].splitlines()) <= 15
    assert blocks[0].count("    assert ") == 5
    run(project).assert_outcomes(passed=6)


FAILING = """
import pytest
pytestmark = pytest.mark.trajectory("examples/claude.jsonl")
def test_order(trajectory): assert trajectory.used("Bash(python *)").after("Edit")
def test_never(trajectory): assert trajectory.never("Bash(rm *)", "Bash(python *)")
def test_limit(trajectory): assert trajectory.within(usd=1, turns=5)
def test_not(trajectory): assert not trajectory.used("Task")
def test_spec(trajectory): assert trajectory.passes("ci.yaml")
def test_missing(trajectory): assert trajectory.used("WebFetch")
def test_times(trajectory): assert trajectory.used("Edit").times(3)
def test_other(trajectory):
    assert trajectory.used("Edit")
    assert trajectory.turns == 99
def test_typo(trajectory): assert trajectory.never("Raed")
"""
EXPECTED = {
    "test_order": ["expected a call of Edit before the first one of Bash(python *)",
                   "found Bash(python *) at call 1, Edit first at call 7", "> call 1   turn 2   Bash", "exit 1  row 6",
                   "> call 7   turn 5   Edit"],
    "test_never": ["expected no call of Bash(python *)", "found 2 calls", "> call 1 ", "> call 9 "],
    "test_limit": ["expected at most 5 turns", "found 8 turns", "> call 8   turn 6"],
    "test_not": ["used Task", "found 1 call of Task", "> call 5   turn 4"],
    "test_spec": ["expected the case ci to pass", "Turns 8 > 3"],
    "test_missing": ["expected a call of WebFetch", "found none", "call 10"],
    "test_times": ["expected exactly 3 of Edit", "found 2 calls", "> call 7", "> call 8"],
    "test_typo": ["did you mean 'Read'?"],
}  # fmt: skip


def test_a_failure_shows_the_trajectory_around_the_divergence(project: pytest.Pytester) -> None:
    project.makepyfile(FAILING)
    (project.path / "ci.yaml").write_text("assertions:\n  - {type: max-turns, max: 3}\n")
    done = run(project, "--junitxml", "junit.xml")
    done.assert_outcomes(failed=9)
    root = ElementTree.parse(project.path / "junit.xml").getroot()
    failures = {str(case.get("name")).partition("[")[0]: case for case in root.iter("testcase")}
    for name, parts in EXPECTED.items():
        text = failures[name].findtext("failure") or ""
        assert [part for part in parts if part not in text] == [], text
    assert "- trajectory -" not in (failures["test_other"].findtext("failure") or "")
    properties = {p.get("name"): p.get("value") for p in failures["test_order"].iter("property")}
    assert properties["agent_turns"] == "8"
    assert properties["agent_cost_usd"] == "0.093043"


def test_an_expectation_without_assert_is_a_warning(project: pytest.Pytester) -> None:
    project.makepyfile(
        'def test_it(trajectory):\n    t = trajectory("examples/codex.jsonl")\n'
        '    t.used("Edit").after("Read")\n    assert t.used("Edit")\n'
    )
    done = run(project, "-W", "default")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(["*never asserted: used Edit after Read (write*"])


def test_text_of_the_agent_does_not_act_on_the_terminal(project: pytest.Pytester) -> None:
    hostile = stream([("Bash", {"command": "echo \x1b[31m\x1b]0;owned\x07"})])
    (project.path / "hostile.jsonl").write_bytes(hostile)
    project.makepyfile('def test_it(trajectory):\n    assert trajectory("hostile.jsonl").never("Bash")\n')
    done = run(project)
    done.assert_outcomes(failed=1)
    assert "\x1b" not in done.stdout.str()
    assert "owned" in done.stdout.str()


AGENT = """
import sys
import pytest
from agentv_stream.errors import SourceError, UsageError

def test_it(agent):
    assert not agent.cwd.exists()
    code = "import os,sys; open('made','w').write(os.environ['NAME']); sys.stdout.write(open('data').read())"
    done = agent(sys.executable, "-c", code, replay="recorded/it.jsonl", fixture="files", environment={"NAME": "ada"})
    assert done.used("Edit").after("Read")
    if agent.cwd.exists():
        assert (agent.cwd / "made").read_text() == "ada"

def test_no_agent(agent):
    with pytest.raises(SourceError, match="oh no"):
        agent("sh", "-c", "echo oh no >&2; echo hello")
    with pytest.raises(UsageError, match="no-such-program"):
        agent("no-such-program")
    with pytest.raises(UsageError, match="no recording"):
        agent(replay="recorded/none.jsonl")

def test_slow(agent):
    done = agent("sh", "-c", "cat data; exec sleep 60", fixture="files", timeout=0.5)
    assert done.status == "killed"
    assert done.calls[0].tool == "Read"
"""


def test_an_agent_is_run_once_and_then_replayed(project: pytest.Pytester) -> None:
    project.makepyfile(AGENT)
    (project.path / "files").mkdir()
    (project.path / "files/data").write_bytes(stream(READ_EDIT))
    run(project).assert_outcomes(passed=3)
    recording = project.path / "recorded/it.jsonl"
    assert recording.read_bytes() == stream(READ_EDIT)
    (project.path / "files/data").unlink()  # it could not run again
    run(project, "-k", "test_it").assert_outcomes(passed=1)
    run(project, "-k", "test_it", "--agent-rerun").assert_outcomes(failed=1)


SPEC = """
tests:
  - id: fix-slug
    input: x
    assertions:
      - {type: max-turns, max: 3}
      - {type: max-turns, max: 30}
      - {type: llm-grader, prompt: good}
  - id: other
    input: y
    assertions:
      - {type: max-turns, max: 30}
"""


@pytest.fixture
def specs(project: pytest.Pytester) -> pytest.Pytester:
    for folder in ("evals", "runs"):
        (project.path / folder).mkdir()
    (project.path / "evals/ci.eval.yaml").write_text(SPEC)
    for attempt in (1, 2):
        shutil.copy(ROOT / "examples/claude.jsonl", project.path / f"runs/fix-slug_a_{attempt}.jsonl")
    return project


def test_each_evaluator_of_each_case_is_a_test_for_each_run(specs: pytest.Pytester) -> None:
    done = run(specs, "evals/ci.eval.yaml", "--agent-runs", "runs", "--junitxml", "junit.xml", "-rs", "-v")
    done.assert_outcomes(failed=4, passed=2, skipped=4)
    done.stdout.fnmatch_lines(
        [
            "evals/ci.eval.yaml::fix-slug::max-turns[[]fix-slug_a_1[]] FAILED*",
            "evals/ci.eval.yaml::fix-slug::max-turns (2)[[]fix-slug_a_1[]] PASSED*",
            "*- Turns 8 > 3",
            "*message  (turn 4, row 15)",
            "SKIPPED*it needs a model",
            "SKIPPED*no run of the case 'other' in *runs",
        ]
    )
    root = ElementTree.parse(specs.path / "junit.xml").getroot()
    failed = next(case for case in root.iter("testcase") if case.find("failure") is not None)
    properties = {p.get("name"): p.get("value") for p in failed.iter("property")}
    assert (properties["agent_provider"], properties["score"], properties["threshold"]) == ("claude", "0.0", "0.8")


def test_specs_in_folders_are_collected_only_where_the_project_wants_it(specs: pytest.Pytester) -> None:
    run(specs, "evals").assert_outcomes()
    specs.makeini("[pytest]\nagent_runs = runs\n")
    run(specs, "evals").assert_outcomes(failed=4, passed=2, skipped=4)


def test_specs_work_with_xdist(specs: pytest.Pytester) -> None:
    done = run(specs, "evals/ci.eval.yaml", "--agent-runs", "runs", "-n", "2")
    done.assert_outcomes(failed=4, passed=2, skipped=4)


def test_a_mistake_in_a_spec_is_an_error_of_collection(specs: pytest.Pytester) -> None:
    (specs.path / "evals/a.eval.yaml").write_text("assertions:\n  - {type: max-trns, max: 3}\n")
    (specs.path / "evals/b.eval.yaml").write_text("assertions:\n  - {type: llm-grader, prompt: good}\n")
    done = run(specs, "evals/a.eval.yaml", "evals/b.eval.yaml")
    done.assert_outcomes(errors=2)
    done.stdout.fnmatch_lines(["*a.eval.yaml:2: *max-trns*", "*judges nothing here*"])


def test_the_plugin_imports_nothing_until_it_is_used(project: pytest.Pytester) -> None:
    project.makepyfile(
        "import sys\ndef test_it():\n"
        "    print(sorted(n for n in sys.modules if n.startswith(('agentv_st', 'msgspec', 'anyio'))))\n"
    )
    done = run(project, "-s", "-p", "no:anyio")
    own = ["agentv_stream", "agentv_stream.testing", "agentv_stream.testing.plugin"]
    assert str(own) in done.stdout.str()


# --- the object itself


def test_a_trajectory_without_a_fixture() -> None:
    trajectory = Trajectory(ROOT / "examples/claude.jsonl")
    assert trajectory.used("Edit").after("Read").before("Bash(rm *)")
    assert (trajectory.turns, trajectory.status, trajectory.cost_usd) == (8, "complete", 0.093043)
    assert trajectory.tokens.input == 200080
    assert repr(trajectory) == "<Trajectory 'claude.jsonl'>"
    assert repr(trajectory.used("Edit").at_most(1)) == "<used Edit at most 1: fails>"


@pytest.mark.parametrize(
    ("chain", "holds"),
    [
        (("Edit", "after", "Read"), True),
        (("Read", "after", "Edit"), False),
        (("Edit", "after", "WebFetch"), False),
        (("Read", "before", "Edit"), True),
        (("Edit", "before", "Read"), False),
        (("Edit", "before", "WebFetch"), True),
        (("WebFetch", "before", "Edit"), False),
        (("kind:read", "before", "Edit(orchard/**)"), True),
    ],
)
def test_order(chain: tuple[str, str, str], holds: bool) -> None:
    pattern, relation, other = chain
    used = Trajectory(ROOT / "examples/claude.jsonl").used(pattern)
    assert bool(used.after(other) if relation == "after" else used.before(other)) is holds


def test_a_figure_that_the_log_does_not_have_is_a_failure() -> None:
    codex = Trajectory(ROOT / "examples/codex.jsonl")
    assert not codex.within(usd=100)
    assert "the log does not record" in codex.within(usd=100).explain()
    assert codex.within(turns=6, calls=5)
    assert not codex.within(calls=4)
    with pytest.raises(UsageError, match="needs a limit"):
        codex.within()
    with pytest.raises(UsageError, match="no trajectory"):
        _ = Trajectory().turns

"""The hooks and fixtures of the pytest plugin (entry point `pytest11`); everything else is imported when it is used."""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentv_stream.testing.agent import Agent
    from agentv_stream.testing.expectation import Journal
    from agentv_stream.testing.trajectory import Trajectory

_JOURNAL = pytest.StashKey["Journal"]()
_ENDINGS = (".eval.yaml", ".eval.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentv-stream", "trajectories of coding agents")
    group.addoption("--agent-runs", metavar="DIR", help="Runs that specs (*.eval.yaml) judge; default .agentv/runs.")
    group.addoption("--agent-rerun", action="store_true", help="Run agents that have a recording to replay.")
    parser.addini("agent_runs", "Runs that specs judge; with it, *.eval.yaml in folders are collected.", "string")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "trajectory(*sources): the logs (paths, globs, ids) that the fixture `trajectory` loads, one a test"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A spec, if it is named on the command line, or if the project has set `agent_runs`."""
    if not file_path.name.endswith(_ENDINGS):
        return None
    if not (parent.session.isinitpath(file_path) or parent.config.getini("agent_runs")):
        return None
    from agentv_stream.testing.spec_tests import SpecFile

    return SpecFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType] - pytest's


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each log that the mark names, or that the tests of a provider name."""
    if "log" in metafunc.fixturenames and hasattr(getattr(metafunc, "cls", None), "provider"):
        from agentv_stream.testing.conformance import parametrize_logs

        parametrize_logs(metafunc)
    mark = metafunc.definition.get_closest_marker("trajectory")
    if mark is None or "trajectory" not in metafunc.fixturenames:
        return
    from agentv_stream.testing.trajectory import sources_of

    found = sources_of([str(source) for source in mark.args], metafunc.definition.path.parent)
    metafunc.parametrize("trajectory", [path for path, _ in found], ids=[name for _, name in found], indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the trajectory around the divergence to an assertion that failed."""
    report = yield
    journal = item.stash.get(_JOURNAL, None)
    if journal is not None and call.when == "call" and call.excinfo is not None:
        journal.explain(call.excinfo, report)
    return report


@pytest.fixture
def _agent_journal(request: pytest.FixtureRequest) -> Generator["Journal"]:
    from agentv_stream.testing.expectation import Journal

    journal = request.node.stash[_JOURNAL] = Journal(request.node.user_properties)
    yield journal
    journal.warn_of_unused()


@pytest.fixture
def trajectory(request: pytest.FixtureRequest, _agent_journal: "Journal") -> "Trajectory":
    """The agent's trajectory that the mark `trajectory` names; `trajectory(path_or_id)` loads another one."""
    from agentv_stream.testing.trajectory import Trajectory

    return Trajectory(getattr(request, "param", None), _agent_journal, request.path.parent)


@pytest.fixture
def agent(request: pytest.FixtureRequest, tmp_path: Path, _agent_journal: "Journal") -> "Agent":
    """Runs an agent in a folder of its own, or replays a recording of it: `agent(*command, replay=FILE)`."""
    from agentv_stream.testing.agent import Agent

    rerun = bool(request.config.getoption("--agent-rerun"))
    return Agent(tmp_path, request.path.parent, request.node.name, _agent_journal, rerun)

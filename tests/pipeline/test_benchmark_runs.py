"""Folders that benchmark runs of mini-swe-agent leave, and a trajectory that the agent still writes."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from agentv_stream.cli import build
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.consumed_and_followed import both, difference
from support.decoding import FIXTURES
from support.following import Desk, catch_up

RUN = FIXTURES / "mini-swe-agent" / "run.traj.json"


def leave_runs(folder: Path, *instances: str, cost: float = 0.003) -> Path:
    """What `mini-extra swebench -o FOLDER` leaves."""
    run = json.loads(RUN.read_bytes())
    run["info"]["model_stats"]["instance_cost"] = cost
    for instance in instances:
        path = folder / instance / f"{instance}.traj.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(run | {"instance_id": instance}, indent=2))
    predicted = {one: {"model_name_or_path": "pear-2", "instance_id": one, "model_patch": "diff"} for one in instances}
    (folder / "preds.json").write_text(json.dumps(predicted, indent=2))
    (folder / "exit_statuses_1772443800.0.yaml").write_text("instances_by_exit_status:\n  Submitted:\n  - one\n")
    (folder / "minisweagent.log").write_text("2026-03-02 09:30:00 - minisweagent - INFO - Running on 2 instances...\n")
    return folder


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(build(["stats", "import"]), [str(argument) for argument in arguments])


def test_each_instance_is_a_session_and_the_predictions_are_none(tmp_path: Path) -> None:
    runs = leave_runs(tmp_path / "runs", "ada__orchard-1", "ada__orchard-2")
    told = call("stats", runs, "--json", "-", "--engine", "serial")
    assert told.exit_code == 0
    figures = json.loads(told.stdout)
    assert (figures["total"]["sessions"], figures["others"], figures["failures"]) == (2, 1, [])
    assert figures["total"]["by_status"] == {"complete": 2}


def test_two_runs_of_one_instance_are_two_sessions(tmp_path: Path) -> None:
    for name, cost in (("pear", 0.003), ("plum", 0.004)):
        leave_runs(tmp_path / "runs" / name, "ada__orchard-1", cost=cost)
    rows = tmp_path / "rows.jsonl"
    out = tmp_path / "out"
    assert call("import", tmp_path / "runs", "--jsonl", rows, "--out", out, "--engine", "serial").exit_code == 0
    sessions = [json.loads(line)["session"] for line in rows.read_bytes().splitlines()]
    assert [session["title"] for session in sessions] == ["ada__orchard-1"] * 2
    assert len(list(out.glob("*.transcript.jsonl"))) == 2


def test_the_last_run_is_found_where_the_agent_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "last_mini_run.traj.json").write_bytes(RUN.read_bytes())
    (tmp_path / "other.json").write_bytes(RUN.read_bytes())
    environment = {"HOME": str(tmp_path / "home"), "MSWEA_GLOBAL_CONFIG_DIR": str(tmp_path)}
    (found,) = find_sessions(find_roots(environment=environment, provider="mini-swe-agent"))
    assert (Path(found.path).name, found.header.title) == ("last_mini_run.traj.json", "ada__orchard-7")
    assert found.header.prompt is not None and found.header.prompt.startswith("Please solve this issue")


def test_a_trajectory_is_followed_while_the_agent_writes_it(tmp_path: Path) -> None:
    whole = json.loads(RUN.read_bytes())
    desk = Desk(tmp_path)
    log = desk.logs / "run.traj.json"
    follower = desk.follower()
    rows = 0
    for end in (4, 9, 16, len(whole["messages"])):
        status = "Submitted" if end == len(whole["messages"]) else ""
        info = whole["info"] | {"exit_status": status}
        log.write_text(json.dumps(whole | {"info": info, "messages": whole["messages"][:end]}, indent=2))
        catch_up(follower)
        follower.settle_all()
        (told,) = desk.transcripts().values()
        assert len(told) > rows
        rows = len(told)
        (result,) = desk.out.glob("*.result.json")
        assert json.loads(result.read_bytes())["status"] == ("complete" if status else "incomplete")
    follower.close()
    desk.close()


def test_followed_and_consumed_are_the_same(tmp_path: Path) -> None:
    for name in ("run", "responses", "v1"):
        pair = both(str(FIXTURES / "mini-swe-agent" / f"{name}.traj.json"), tmp_path / name)
        assert pair.consumed.keys() == pair.followed.keys() and pair.dialect == "mini-swe-agent"
        assert [difference(pair.consumed[one], pair.followed[one]) for one in pair.consumed] == [""]

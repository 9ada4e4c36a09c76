"""A session counts once in a folder, however many of our own files there tell it."""

from pathlib import Path

import pytest

from agentv_stream import summarize_groups
from agentv_stream.checks.check import expand
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.outputs.forms import told_twice
from agentv_stream.running.options import RunOptions
from agentv_stream.running.run import run_agent
from agentv_stream.settings import Settings
from support.fake_agents import READ_EDIT, agent, stream

AT = "2026-03-02T09-30-00-400Z"
T, A, S, R, E = ".transcript.jsonl", ".trajectory.json", ".case.jsonl", ".stream.jsonl", ".trace.jsonl"


@pytest.mark.parametrize(
    ("names", "read"),
    [
        ([f"{AT}_claude_id{T}", f"{AT}_claude_id{S}", f"{AT}_claude_id{A}", f"{AT}_claude_id{R}"], [0]),
        ([f"{AT}_claude_id{S}", f"{AT}_claude_id{A}"], [1]),
        ([f"{AT}_claude_id{R}"], [0]),  # no log, but nobody else says so
        ([f"{AT}_claude_id{T}", f"{AT}_claude_other{S}"], [0, 1]),
        ([f"{AT}_claude_id{T}.gz", f"{AT}_claude_id{S}.zst"], [0]),
        ([f"fix_base_1{R}", f"{AT}_base_fix_1{T}", f"{AT}_base_fix_1{S}", f"fix_base_1{E}"], [0]),
        ([f"fix_1_no_search_12{R}", f"{AT}_no_search_fix_1_12{T}"], [0]),
        ([f"fix_base_1{R}", f"{AT}_base_fix_1-2{T}", f"{AT}_base_fix_2{T}"], [0, 2]),
        ([f"fix_base_1{E}", f"{AT}_base_fix_1{T}"], [1]),  # --no-save-stream
        ([f"fix_base_1{E}", f"fix_base_1{R}"], [1]),  # the transcript lies elsewhere
        ([f"fix_base_1{R}", f"fix_base_2{R}"], [0, 1]),
        (["session.jsonl", "my.transcript.jsonl", "my.case.jsonl"], [0, 1, 2]),  # not our names
    ],
)
def test_of_what_tells_one_session_one_file_is_read(names: list[str], read: list[int]) -> None:
    left_out = told_twice(names)
    assert [name for name in names if name not in left_out] == [names[n] for n in read]
    assert set(left_out.values()) <= {names[n] for n in read}


async def test_a_run_counts_once_in_every_command(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for task, traces in (("fix_1", True), ("fix-2", False)):
        (tmp_path / task).mkdir()
        command = agent(tmp_path / task, "say(DATA)", stream(READ_EDIT).replace(b"11111111", f"{task:0>8}".encode()))
        options = RunOptions(command, task, "no_search", runs, dump_traces=traces)
        await run_agent(options, Settings(quiet=True, stream_log="raw", transcript_shape="case"), 1)
    assert len(list(runs.iterdir())) == 11
    streams = [runs / "fix-2_no_search_1.stream.jsonl", runs / "fix_1_no_search_1.stream.jsonl"]
    assert expand([str(runs)]) == streams
    outcome = summarize_groups([runs], engine="serial")
    assert (outcome.done, outcome.summary.total().sessions, len(outcome.others)) == (2, 2, 2)
    assert {session.path for session in find_sessions(find_roots([str(runs)]))} == set(map(str, streams))

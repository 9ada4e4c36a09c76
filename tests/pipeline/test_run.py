"""Runs of fake agents: how they end, what is stored, that nothing of them is left running."""

import ctypes
import json
import os
import signal
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from agentv_stream.checks.live_check import open_checks
from agentv_stream.cli.running import print_report
from agentv_stream.documentation.provider_table import stream_command
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_RUN, EXIT_VERDICT, UsageError
from agentv_stream.live.session import StreamSession
from agentv_stream.reports.report_runs import read_run
from agentv_stream.running.attempts import claim_attempt, free_attempt
from agentv_stream.running.child import Child, Stopped
from agentv_stream.running.options import RunOptions
from agentv_stream.running.overseer import Overseer
from agentv_stream.running.run import RunReport, run_agent
from agentv_stream.settings import Settings
from support.decoding import FIXTURES
from support.fake_agents import READ_EDIT, agent, alive, init, stream, survivors
from support.schemas import fits


def options(tmp_path: Path, command: tuple[str, ...], **more: Any) -> RunOptions:
    base = RunOptions(command, "fix-1", "base", tmp_path / "runs", grace=0.3, linger=0.3)
    return replace(base, **more)


async def run(tmp_path: Path, code: str, data: bytes = b"", settings: Settings | None = None, **more: Any) -> RunReport:
    command = agent(tmp_path, code, data)
    return await run_agent(options(tmp_path, command, **more), settings or Settings(quiet=True), 1)


def stored(report: RunReport) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(report.path.read_bytes())
    return value


WHOLE = stream(READ_EDIT)
PR_SET_CHILD_SUBREAPER = 36  # Linux


async def test_a_good_run_stores_stream_transcript_and_result(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA)", WHOLE, Settings(quiet=True, prompt="fix the bug"))
    assert report.exit_code == EXIT_FINE
    value = stored(report)
    assert report.path.name == "fix-1_base_1.json"
    assert (report.path.parent / "fix-1_base_1.stream.jsonl").read_bytes() == WHOLE
    assert value["status"] == "complete"
    assert (value["test_id"], value["task_id"], value["target"], value["approach"], value["attempt"]) == (
        "fix-1",
        "fix-1",
        "base",
        "base",
        1,
    )
    assert value["tool_use_summary"]["by_tool"] == {"Read": 1, "Bash": 1, "Edit": 1}
    assert value["tool_use_summary"]["first_edit_turn"] == 3
    assert value["cost_usd"] == 0.25
    assert value["session"]["model"] == "claude-sonnet-4-5-20250929"
    assert value["session"]["version"] == "2.1.0"
    assert value["run"]["exit_code"] == 0 and value["run"]["stopped"] is None
    rows = [json.loads(row) for row in Path(value["outputs"]["transcript"]).read_text(encoding="utf-8").splitlines()]
    assert rows[0]["role"] == "user" and "fix the bug" in json.dumps(rows[0]["content"])


async def test_what_is_stored_is_private(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); sys.stderr.write('x')", WHOLE)
    for path in report.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


async def test_without_save_stream_there_is_no_raw_stream(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA)", WHOLE, save_stream=False)
    assert not list(report.path.parent.glob("*.stream.jsonl"))
    assert stored(report)["run"]["stream"] is None


async def test_rows_stand_in_the_transcript_while_the_agent_works(tmp_path: Path) -> None:
    look = f"""import pathlib, time
say(DATA)
until = time.monotonic() + 30
while not any(path.stat().st_size for path in pathlib.Path({str(tmp_path)!r}).rglob("*.transcript.jsonl")):
    if time.monotonic() > until: sys.exit(7)
    time.sleep(0.01)
"""
    value = stored(await run(tmp_path, look, stream(READ_EDIT, whole=False)))
    assert value["run"]["exit_code"] == 0


async def test_a_transcript_that_cannot_be_written_fails_the_run_and_the_result_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    report = await run(tmp_path, "say(DATA)", WHOLE, Settings(quiet=True, out=tmp_path / "file"))
    assert report.exit_code == EXIT_IO
    value = stored(report)
    assert (value["status"], value["outputs"]["transcript"]) == ("complete", None)
    assert value["run"]["saved_bytes"] == len(WHOLE)


async def test_a_folder_that_goes_while_the_agent_works_takes_its_outputs_along(tmp_path: Path) -> None:
    """Every write succeeded, nothing was left of them, and the run was fine."""
    remove = f"""import pathlib, shutil, time
out = pathlib.Path({str(tmp_path / "runs")!r})
lines = DATA.splitlines(keepends=True)
say(b"".join(lines[:-1]))
until = time.monotonic() + 30
while not any(path.stat().st_size for path in out.glob("*.transcript.jsonl")):
    if time.monotonic() > until: sys.exit(7)
    time.sleep(0.01)
shutil.rmtree(out)
say(lines[-1])
"""
    report = await run(tmp_path, remove, WHOLE)
    assert report.exit_code == EXIT_IO
    removed = "it was removed while it was written"
    assert [str(failure).rpartition(": ")[2] for failure in report.report.failures] == [removed]
    assert len(report.warnings) == 1 and report.warnings[0].startswith("the raw stream may not be whole: ")
    assert report.warnings[0].endswith(removed)
    value = stored(report)
    assert (value["status"], value["outputs"]["transcript"], value["run"]["stream"]) == ("complete", None, None)


async def test_a_result_that_cannot_be_written_fails_the_run_whose_outcome_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs" / "fix-1_base_1.json").mkdir(parents=True)
    report = await run(tmp_path, "say(DATA)", WHOLE)
    assert print_report(report, quiet=False) == EXIT_IO
    told = capsys.readouterr().err
    assert "fix-1_base_1.json: Is a directory\n" in told
    assert "status      complete (success)" in told
    assert told.endswith("agentv-stream: result none\n")
    assert not list(report.path.parent.glob("*.stderr.log"))


async def test_a_stream_that_cannot_be_saved_does_not_fail_the_run(tmp_path: Path) -> None:
    (tmp_path / "runs" / "fix-1_base_1.stream.jsonl").mkdir(parents=True)
    report = await run(tmp_path, "say(DATA)", WHOLE)
    assert report.exit_code == EXIT_FINE
    assert any("not saved" in warning for warning in report.warnings)
    assert stored(report)["tool_use_summary"]["total_tool_calls"] == 3


async def test_an_exit_code_makes_a_run_that_says_success_an_error(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); sys.stderr.write('boom\\n'); sys.exit(7)", WHOLE)
    value = stored(report)
    assert (value["status"], value["evidence"]["exit_code"]) == ("error", 7)
    assert value["run"]["stderr_tail"] == "boom\n"
    assert report.exit_code == EXIT_RUN


async def test_a_hanging_agent_is_ended_at_the_timeout(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); hang()", stream(READ_EDIT, whole=False), timeout=0.3)
    value = stored(report)
    assert (value["status"], value["run"]["timed_out"], value["run"]["signal"]) == ("killed", True, "SIGTERM")
    assert value["tool_use_summary"]["total_tool_calls"] == 3
    assert report.exit_code == EXIT_RUN
    assert survivors(tmp_path) == []


async def test_a_silent_agent_is_ended_at_the_stall(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); hang()", init(), stall=0.2)
    assert stored(report)["status"] == "stalled"
    assert report.end.stopped == "stall"
    assert survivors(tmp_path) == []


async def test_an_agent_that_writes_a_long_record_bit_by_bit_is_not_silent(tmp_path: Path) -> None:
    """The record takes longer than the stall; its pieces do not."""
    code = (
        "import time\nlines = DATA.splitlines(True)\nlongest = max(lines, key=len)\nn = len(longest) // 12\n"
        "for line in lines:\n    if line is not longest:\n        say(line)\n        continue\n"
        "    for i in range(0, len(line), n):\n        say(line[i : i + n])\n        time.sleep(0.15)\n"
    )
    report = await run(tmp_path, code, WHOLE, stall=1.2)
    assert stored(report)["status"] == "complete"
    assert report.end.stopped is None


async def test_an_agent_that_ignores_sigterm_is_killed_with_its_group(tmp_path: Path) -> None:
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    note(os.getpid())\n    say(DATA)\n    hang()\n"
        "hang()"
    )
    report = await run(tmp_path, code, init(), timeout=0.4)
    assert stored(report)["run"]["signal"] == "SIGKILL"
    assert len((tmp_path / "pids").read_text(encoding="ascii").split()) == 2
    assert survivors(tmp_path) == []


async def test_children_that_hold_the_output_open_are_not_waited_for(tmp_path: Path) -> None:
    code = "if os.fork() == 0:\n    note(os.getpid())\n    hang()\nsay(DATA)\nos._exit(0)"
    report = await run(tmp_path, code, WHOLE)
    value = stored(report)
    assert (value["status"], value["run"]["exit_code"]) == ("complete", 0)
    assert report.end.left_open
    assert survivors(tmp_path) == []


SERVER = (
    "pid = os.fork()\n"
    "if pid == 0:\n"
    "    for fd in (0, 1, 2):\n        os.dup2(os.open(os.devnull, os.O_RDWR), fd)\n"
    "    hang()\n"
    "note(pid)\n"
)
"""An agent starts a server in the background, which has nothing of the agent's output."""


async def test_what_an_agent_leaves_running_in_its_group_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It went on for ever, and the next attempt found its port taken."""
    report = await run(tmp_path, SERVER + "say(DATA)", WHOLE)
    assert survivors(tmp_path) == []
    assert (stored(report)["status"], print_report(report, quiet=True)) == ("complete", EXIT_FINE)
    assert capsys.readouterr().err == "agentv-stream: processes that the agent left running were ended\n"


async def test_children_have_the_grace_time_though_the_agent_itself_ends_at_once(tmp_path: Path) -> None:
    """They were killed as soon as the agent's output had ended."""
    cleaning = (
        "def clean(*_):\n"
        "    signal.sigtimedwait([], 0.3)\n"
        f"    open({str(tmp_path / 'cleaned')!r}, 'w').close()\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, clean)\n"
    )
    code = cleaning + SERVER + "signal.signal(signal.SIGTERM, signal.SIG_DFL)\nsay(DATA)\nhang()"
    await run(tmp_path, code, init(), timeout=0.5, grace=20.0)
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("ends", ["hang()", "os.kill(os.getppid(), signal.SIGTERM)\nhang()"])
async def test_a_group_is_asked_once_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """SIGTERM was passed on, and sent again to end the group; an agent may take the second for impatience."""
    sent: list[int] = []
    send = os.killpg

    def noted(group: int, number: int) -> None:
        sent.append(number)
        send(group, number)

    monkeypatch.setattr(os, "killpg", noted)
    await run(tmp_path, "say(DATA)\n" + ends, init(), timeout=1.0, grace=20.0)
    assert [number for number in sent if number] == [signal.SIGTERM]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
async def test_the_dead_orphans_of_a_container_are_not_waited_for(tmp_path: Path) -> None:
    """As its first process we inherited them, and each run took the grace time longer: nobody noted their end."""
    code = (
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.fork()\n"
        "    os._exit(0)\n"
        "os.close(write)\n"
        "os.wait()\n"
        "os.read(read, 1)\n"
        "say(DATA)"
    )
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        report = await run(tmp_path, code, WHOLE, grace=20.0)
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)
    assert not report.end.left_running


async def test_an_agent_that_has_ended_is_not_judged_by_the_silence_of_its_children(tmp_path: Path) -> None:
    """It was told as stalled, though it had ended with 0: a server that it left running held its output."""
    code = "if os.fork() == 0:\n    note(os.getpid())\n    hang()\nsay(DATA)\nos._exit(0)"
    report = await run(tmp_path, code, WHOLE, stall=1.0, linger=3.0)
    value = stored(report)
    assert (value["status"], value["run"]["stopped"], report.exit_code) == ("complete", None, EXIT_FINE)
    assert report.end.left_open
    assert survivors(tmp_path) == []


async def test_a_child_outside_the_group_that_holds_the_output_is_left_but_not_waited_for(tmp_path: Path) -> None:
    code = (
        "pid = os.fork()\n"
        "if pid == 0:\n    os.setsid()\n    note(os.getpid())\n    say(DATA)\n    hang()\n"
        "os.waitpid(pid, os.WNOHANG)\n"
        "signal.sigtimedwait([], 0.2)\n"
        "os._exit(0)"
    )
    report = await run(tmp_path, code, WHOLE)
    assert stored(report)["tool_use_summary"]["total_tool_calls"] == 3
    assert report.end.left_open
    for pid in alive(tmp_path):
        os.kill(pid, signal.SIGKILL)


async def test_death_by_signal_is_evidence(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); os.kill(os.getpid(), signal.SIGSEGV)", stream(READ_EDIT, whole=False))
    value = stored(report)
    assert (value["status"], value["evidence"]["signal"]) == ("killed", "SIGSEGV")
    assert report.exit_code == EXIT_RUN


async def test_a_flood_is_read_whole_in_bounded_memory(tmp_path: Path) -> None:
    many = [("Bash", {"command": "echo " + "x" * 2000})]
    data = init() + stream(many * 1500, whole=True)[len(init()) :]
    report = await run(tmp_path, "say(DATA); sys.stderr.write('e' * 3_000_000)", data)
    value = stored(report)
    assert value["run"]["stream_bytes"] == len(data)
    assert len(value["run"]["stderr_tail"]) == 5_000
    assert (report.path.parent / "fix-1_base_1.stream.jsonl").stat().st_size == len(data)


@pytest.mark.parametrize(("cost", "told"), [(0.5, 0.5), ("0.5", None), (True, None)])
async def test_one_json_object_in_place_of_a_stream_is_kept_as_the_result(
    cost: object, told: float | None, tmp_path: Path
) -> None:
    data = json.dumps({"response": "hi", "total_cost_usd": cost}, indent=2).encode()
    report = await run(tmp_path, "say(DATA)", data)
    value = stored(report)
    assert value["result"] == {"response": "hi", "total_cost_usd": cost}
    assert (value["cost_usd"], value["tool_use_summary"]) == (told, None)
    assert value["schema_version"] == "agentv_stream.output.v1"
    assert report.exit_code == EXIT_FINE


async def test_claudes_single_object_is_read_as_its_result(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA)", WHOLE.splitlines(keepends=True)[-1])
    value = stored(report)
    assert (value["status"], value["cost_usd"]) == ("complete", 0.25)


async def test_a_last_answer_alone_is_no_stream(tmp_path: Path) -> None:
    """Its figures would be taken for those of the run: no calls, no edits."""
    data = (FIXTURES / "continue" / "output.jsonl").read_bytes().splitlines(keepends=True)[-1]
    report = await run(tmp_path, "say(DATA)", data)
    value = stored(report)
    assert (value["schema_version"], value["result"]) == ("agentv_stream.output.v1", json.loads(data))
    assert (value["tool_use_summary"], value["tokens"], report.exit_code) == (None, None, EXIT_FINE)
    assert stream_command("cn") is None


async def test_plain_text_is_kept_as_raw_text(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA); sys.exit(3)", b"not valid json {{{")
    value = stored(report)
    assert value["result"] == {"raw_text": "not valid json {{{"}
    assert (value["status"], report.exit_code) == ("error", EXIT_RUN)
    told = {key: known for key, known in value["evidence"].items() if known}
    assert told == {"reason": "exit code 3", "exit_code": 3}


async def test_an_agent_that_prints_nothing_fails_the_run(tmp_path: Path) -> None:
    report = await run(tmp_path, "sys.stderr.write('no key')")
    assert report.exit_code == EXIT_RUN
    value = stored(report)
    assert (value["status"], value["run"]["stderr_tail"]) == ("incomplete", "no key")
    assert not list(report.path.parent.glob("*.stream.jsonl"))


async def test_a_command_that_does_not_exist_is_an_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot start"):
        await run_agent(options(tmp_path, (str(tmp_path / "nothing"),)), Settings(quiet=True), 1)


async def test_nothing_goes_through_a_shell(tmp_path: Path) -> None:
    command = (*agent(tmp_path, "sys.stderr.write(sys.argv[1]); say(DATA)", WHOLE), "$(touch pwned); `id` > x")
    report = await run_agent(options(tmp_path, command, cwd=tmp_path), Settings(quiet=True), 1)
    assert stored(report)["run"]["stderr_tail"] == "$(touch pwned); `id` > x"
    assert not (tmp_path / "pwned").exists()


async def test_task_names_stay_in_the_folder(tmp_path: Path) -> None:
    command = agent(tmp_path, "say(DATA)", WHOLE)
    report = await run_agent(options(tmp_path, command, task="../../x", approach="a/b"), Settings(quiet=True), 2)
    assert report.path.parent == tmp_path / "runs"
    assert report.path.name == "x_a-b_2.json"


async def test_sigint_is_passed_on_and_the_agents_own_end_is_read(tmp_path: Path) -> None:
    code = (
        "head, tail = DATA.split(b'|')\n"
        "def stop(*_):\n    say(tail)\n    os._exit(0)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "say(head)\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "hang()"
    )
    report = await run(tmp_path, code, stream(READ_EDIT, whole=False) + b"|" + WHOLE.splitlines(keepends=True)[-1])
    assert report.signalled == signal.SIGINT
    assert stored(report)["status"] == "complete"
    assert report.end.stopped is None


async def test_ctrl_c_while_the_agent_is_being_started_reaches_it(tmp_path: Path) -> None:
    """It was lost, and the agent worked on until the time of patience was over."""
    child = Child(("sleep", "60"), save=None, stderr=tmp_path / "errors")  # it has no handler that is still to be set
    session = StreamSession(child, Settings(quiet=True, out=tmp_path))
    overseer = Overseer(child, session, options(tmp_path, (), patience=1.0))
    overseer.interrupt(signal.SIGINT)
    await overseer.run()
    assert (child.end.signal, child.end.stopped) == ("SIGINT", None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked before the event loop knows")
@pytest.mark.parametrize("why", ["timeout", "stall", "fail-fast"])
async def test_an_agent_that_has_just_ended_is_not_ended_by_us(tmp_path: Path, why: Stopped) -> None:
    """Of one that printed all at once and left, a violation was found a moment later: "killed", with exit code 0."""
    child = Child(agent(tmp_path, "os._exit(0)"), save=None, stderr=tmp_path / "errors")
    overseer = Overseer(child, StreamSession(child, Settings(quiet=True, out=tmp_path)), options(tmp_path, ()))
    await child.start()
    while not child.ended:
        pass  # the event loop does not get to know
    assert child.running
    overseer.end_it(why)
    assert child.end.stopped is None
    await child.wait()
    assert child.ended
    child.close()


async def test_an_agent_that_closes_its_output_and_runs_on_is_ended_by_us_and_says_so(tmp_path: Path) -> None:
    """Its end was told as if somebody else had killed it."""
    report = await run(tmp_path, "say(DATA)\nos.close(1)\nhang()", WHOLE)
    value = stored(report)
    fits("run-result", value)
    assert (value["status"], value["run"]["stopped"]) == ("killed", "closed")
    assert value["evidence"]["reason"] == (
        "success; ended by SIGTERM, because it ran on after it had closed its output"
    )
    assert survivors(tmp_path) == []


async def test_sigterm_ends_the_group(tmp_path: Path) -> None:
    code = "say(DATA)\nos.kill(os.getppid(), signal.SIGTERM)\nhang()"
    report = await run(tmp_path, code, stream(READ_EDIT, whole=False))
    assert (report.signalled, report.end.stopped) == (signal.SIGTERM, "signal")
    assert stored(report)["status"] == "killed"
    assert survivors(tmp_path) == []


async def test_an_agent_that_ignores_the_interrupt_is_ended_after_a_while(tmp_path: Path) -> None:
    code = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsay(DATA)\nos.kill(os.getppid(), signal.SIGINT)\nhang()"
    report = await run(tmp_path, code, init(), patience=0.2)
    assert report.end.stopped == "signal"
    assert survivors(tmp_path) == []


SPEC = "tests:\n  - id: fix-1\n    assertions:\n      - {type: forbid, calls: ['Edit']}\n"


async def checked(tmp_path: Path, code: str, data: bytes, fail_fast: str | None, said: list[str]) -> RunReport:
    (tmp_path / "s.yaml").write_text(SPEC, encoding="utf-8")
    live = open_checks([tmp_path / "s.yaml"], None, fail_fast, "fix-1_", said.append)
    command = agent(tmp_path, code, data)
    return await run_agent(options(tmp_path, command), Settings(quiet=True), 1, live)


async def test_fail_fast_ends_the_agent_at_the_first_violation_for_good(tmp_path: Path) -> None:
    said: list[str] = []
    report = await checked(tmp_path, "say(DATA); hang()", stream(READ_EDIT, whole=False), "report", said)
    value = stored(report)
    assert report.end.stopped == "fail-fast"
    assert (value["status"], report.exit_code) == ("killed", EXIT_VERDICT)
    (verdict,) = value["verdicts"]
    assert verdict["verdict"] == "fail"
    assert verdict["decided"]["at"]["tool"] == "Edit" and verdict["decided"]["calls"] == 3
    assert any("VIOLATED, decided" in text for text in said)
    assert survivors(tmp_path) == []


async def test_without_fail_fast_a_violation_lets_the_agent_finish(tmp_path: Path) -> None:
    report = await checked(tmp_path, "say(DATA)", WHOLE, None, [])
    assert (stored(report)["status"], report.exit_code) == ("complete", EXIT_VERDICT)


@pytest.mark.parametrize("put", ["os.mkfifo(place)", "os.symlink(RUNS + '/../outside', place)", "os.mkdir(place)"])
async def test_what_an_agent_puts_at_the_names_of_our_files_is_not_opened(tmp_path: Path, put: str) -> None:
    """A named pipe there was waited for, for ever and whatever --timeout said; a link was followed."""
    names = ["stream.jsonl", "trace.jsonl", "stderr.log", *(["json"] if "mkdir" not in put else [])]
    code = (
        f"RUNS = {str(tmp_path / 'runs')!r}\n"
        "os.write(2, b'told')\n"
        "os.unlink(RUNS + '/fix-1_base_1.stderr.log')\n"
        f"for name in {names}:\n"
        "    place = f'{RUNS}/fix-1_base_1.{name}'\n"
        f"    {put}\n"
        "say(DATA)"
    )
    # The agent waits until it has been started for certain: what is there before that is removed.
    report = await run(tmp_path, "signal.sigtimedwait([], 0.3)\n" + code, WHOLE, dump_traces=True)
    value = stored(report)
    assert (value["status"], report.exit_code) == ("complete", EXIT_FINE)
    assert (value["run"]["saved_bytes"], value["run"]["stream"], value["run"]["stderr_tail"]) == (0, None, "")
    assert len(report.warnings) == 2
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("more", [{}, {"save_stream": False}])
async def test_an_attempt_does_not_keep_the_stream_of_an_earlier_one_of_its_number(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    """`check` judged the agent that printed nothing by the stream that it found."""
    await run(tmp_path, "say(DATA)", WHOLE, dump_traces=True)
    report = await run(tmp_path, "pass", **more)
    assert [path.name for path in report.path.parent.glob("fix-1*")] == [report.path.name]


async def test_a_command_that_cannot_be_started_takes_nothing_from_an_earlier_attempt(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA)", WHOLE)
    with pytest.raises(UsageError, match="cannot start"):
        await run_agent(options(tmp_path, (str(tmp_path / "nothing"),)), Settings(quiet=True), 1)
    assert report.path.with_suffix(".stream.jsonl").read_bytes() == WHOLE


async def test_traces_are_written_and_put_into_the_result(tmp_path: Path) -> None:
    report = await run(tmp_path, "say(DATA)", WHOLE, dump_traces=True, include_trace=True)
    value = stored(report)
    file = report.path.parent / "fix-1_base_1.trace.jsonl"
    events = [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()]
    assert value["traces"] == events
    assert [e["type"] for e in events] == ["tool_call", "tool_result"] * 3
    assert events[0]["name"] == "Read" and events[0]["input"]["file_path"] == "a.py"
    assert events[1]["metadata"]["status"] == "ok"
    # Claude's stream has no times: those of arrival, which are no times of the session when the trace is read back
    assert {e["metadata"]["timestamp_source"] for e in events} == {"arrival"}
    assert [e["timestamp"] for e in events] == sorted(e["timestamp"] for e in events)
    assert summarize(file).duration_ms is None


def test_attempts_take_the_first_free_number(tmp_path: Path) -> None:
    assert free_attempt(tmp_path / "none", "a", "b") == 1
    for name in ("a_b_1.json", "a_b_2.stream.jsonl", "a_b_4.json", "a_bb_3.json", "a_b_x.json"):
        (tmp_path / name).touch()
    assert free_attempt(tmp_path, "a", "b") == 3


def test_runs_that_start_at_once_get_a_number_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(claim_attempt, tmp_path / "runs", "a", "b") for _ in range(40)]
    assert sorted(future.result() for future in futures) == list(range(1, 41))


async def test_a_command_that_cannot_be_started_leaves_no_attempt_behind(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    number = claim_attempt(folder, "fix-1", "base")
    with pytest.raises(UsageError, match="cannot start"):
        await run_agent(options(tmp_path, ("./none",)), Settings(quiet=True), number)
    assert list(folder.iterdir()) == []


async def test_an_output_that_is_no_stream_has_verdicts_too(tmp_path: Path) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text("tests: [{id: c, assertions: [{type: skill-used, value: x}]}]\n", encoding="utf-8")
    live = open_checks([spec], None, None, "c_", lambda text: None)
    command = agent(tmp_path, 'sys.stdout.write("plain text")')
    report = await run_agent(options(tmp_path, command), Settings(quiet=True), 1, live)
    assert [verdict["verdict"] for verdict in stored(report)["verdicts"]] == ["fail"]
    told = read_run(report.path)
    assert told is not None and told.passed is False

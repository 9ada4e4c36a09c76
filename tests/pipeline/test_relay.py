"""One large log in ranges: whatever the ranges and the number of processes, the outcome is that of one process."""

import json
import multiprocessing
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers import get_provider
from agentv_stream import import_sessions, summarize_groups
from agentv_stream.bulk import dispatch, gathered, relay_runner
from agentv_stream.bulk import relay as relays
from agentv_stream.bulk.relay import relay
from agentv_stream.bulk.unit import Report, Task, Unit, Work
from agentv_stream.bulk.worker import do_task, read_report
from agentv_stream.redaction.redaction import Redaction
from support.decoding import corpus
from support.dying import die, halve_messages
from support.made_sessions import claude_session, tree

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")


def _task(path: Path) -> Task:
    return Task(0, (Unit(str(path), 0, path.stat().st_size, 7),))


def _both(path: Path, tmp_path: Path, step: int, processes: int = 3) -> tuple[Report, Report | None]:
    """The outcome of one process and of several; their transcripts lie in `one` and `many`."""
    reports: list[Any] = []
    for name in ("one", "many"):
        folder = tmp_path / name
        work = Work(by="all", sequences=True, transcripts=str(folder))
        if name == "one":
            reports.append(read_report(do_task(work, _task(path))))
        else:
            reports.append(relay(work, _task(path), multiprocessing.get_context("fork"), processes, step))
    return reports[0], reports[1]


def _assert_same(path: Path, tmp_path: Path, step: int, processes: int = 3) -> None:
    one, many = _both(path, tmp_path, step, processes)
    assert many is not None
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert _told(many, tmp_path / "many") == _told(one, tmp_path / "one")


def _told(report: Report, folder: Path) -> Any:
    """A report without the place of its outputs."""
    (done,) = report.done
    result = json.loads(bytes(done.result))
    result["outputs"] = {}
    assert report.summary is not None
    return done.faults, done.provider, done.day, result, report.summary


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(claude_session(1, 120))
    return path


@pytest.mark.parametrize("step", [700, 5_000, 20_000])
@pytest.mark.parametrize("warm", [0, 300, 256 * 1024])
def test_ranges_give_what_one_process_gives(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, warm: int
) -> None:
    monkeypatch.setattr(relay_runner, "WARM_BYTES", warm)
    _assert_same(log, tmp_path, step)


def test_a_range_whose_decoder_was_told_too_little_is_decoded_again(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2  # from here on another version, folder and branch, and types that no decoder knows
    later = [line.replace(b"2.1.197", b"2.1.329").replace(b"/repo/p1", b"/elsewhere") for line in lines[middle:]]
    strange = b'{"type":"brand-new","uuid":"u","sessionId":"s","timestamp":"2026-03-01T10:00:00.000Z"}\n'
    log.write_bytes(b"".join([*lines[:middle], strange * 3, *later]))
    monkeypatch.setattr(relay_runner, "WARM_BYTES", 0)
    _assert_same(log, tmp_path, 3_000)


def test_a_decoder_that_begins_in_the_middle_soon_knows_what_it_needs() -> None:
    """What it remembers for long would have every range decoded twice."""
    session = claude_session(1, 400).replace(b'"parentUuid": null', b'"parentUuid": "u"')
    lines = session.splitlines(keepends=True)
    later = [line.replace(b"task 1", b"task 2").replace(b"user-1-0", b"user-2-0") for line in lines[:1]]
    lines = [*lines[:500], *later, *lines[500:]]
    dialect = next(d for d in get_provider("claude").dialects if d.name == "claude-session")
    saved: list[bytes] = []
    for given in (lines, [*lines[:64], *lines[-40:]]):
        decode = Decode(dialect, DecodeContext("log"))
        decode.push(Batch("log", records=[Record(line, 0, row) for row, line in enumerate(given)]))
        saved.append(decode.save())
    assert saved[0] == saved[1]


def test_damaged_lines_are_faults_at_their_places(log: Path, tmp_path: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    for at in (20, 60, 100):
        lines[at] = lines[at][: len(lines[at]) // 2] + b"\n"
    lines[40] = b"\r\n\n  \n" + lines[40].rstrip(b"\n") + b"\r\n"
    log.write_bytes(b"".join(lines)[:-5])
    _assert_same(log, tmp_path, 4_000)
    assert list((tmp_path / "many").glob("*.dead-letters.jsonl"))


def test_dead_letters_before_the_session_is_known_go_from_process_to_process(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in a file by then, whose descriptor means something else there, or nothing."""
    monkeypatch.setattr(gathered, "WRITE_BYTES", 1)
    log.write_bytes(b"noise without JSON\n" * 60 + log.read_bytes())
    _assert_same(log, tmp_path, 300)
    (letters,) = (tmp_path / "many").glob("*.dead-letters.jsonl")
    assert letters.read_bytes().count(b"\n") == 60


def test_sub_agents_files_are_read_at_the_end(log: Path, tmp_path: Path) -> None:
    folder = log.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    side = claude_session(1, 9).replace(b'"isSidechain": false', b'"isSidechain": true').replace(b"toolu_", b"side_")
    (folder / "agent-abc.jsonl").write_bytes(side)
    _assert_same(log, tmp_path, 6_000)


def test_a_process_that_fails_leaves_the_log_to_the_ordinary_way(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("a bug")

    monkeypatch.setattr(relay_runner.Runner, "_take_over", fail)
    _, many = _both(log, tmp_path, 3_000)
    assert many is None
    assert not list((tmp_path / "many").glob("*"))


def test_a_process_that_is_killed_while_it_reports_is_not_waited_for(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message breaks off; others, and the parent itself, held the end that it was written to."""
    ordinary = relay_runner.Runner.run

    def run(self: Any) -> bytes | None:
        report = ordinary(self)
        if report is not None:
            halve_messages(100_000, die)
            return bytes(200_000)
        return None

    monkeypatch.setattr(relay_runner.Runner, "run", run)
    assert _both(log, tmp_path, 3_000)[1] is None


def test_what_killed_processes_left_goes_with_the_import(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "LEAST_BYTES", 10_000)
    monkeypatch.setattr(gathered, "WRITE_BYTES", 1)

    def killed(*_: object) -> None:
        die()

    monkeypatch.setattr(relay_runner.Runner, "_take_over", killed)

    def watched(work: Work, task: Task, context: Any, processes: int) -> Report | None:
        report = relay(work, task, context, processes, 4_000)
        (tmp_path / "t" / f".{work.run}-1-1.tmp").touch()  # as of one that was killed
        return report

    monkeypatch.setattr(dispatch, "relay", watched)
    (tmp_path / "t").mkdir()
    assert import_sessions([log], transcripts=tmp_path / "t", workers=2).done == 1
    assert not list((tmp_path / "t").glob(".*"))


def test_a_process_that_ends_while_its_exit_code_is_asked_for_is_noticed() -> None:
    class Ending:
        """Its pipe is closed, the kernel has not told its exit code yet: so a process ends."""

        def __init__(self) -> None:
            hold, sentinel = multiprocessing.Pipe()
            hold.close()
            self.sentinel = sentinel
            self.asked = 0

        @property
        def exitcode(self) -> int | None:
            self.asked += 1
            return 1 if self.asked > 1 else None

    reports, report_to = multiprocessing.Pipe(duplex=False)
    idle, held = multiprocessing.Pipe()  # another one, that waits for what the ended one would have sent
    other: Any = SimpleNamespace(sentinel=idle, exitcode=None)
    ending: Any = Ending()
    with reports, report_to, idle, held, ending.sentinel:
        assert relays._report_of(reports, [ending, other]) is None  # pyright: ignore[reportPrivateUsage]


def test_a_log_with_a_line_that_is_too_long_is_not_cut(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "LONGEST_SEARCH", 0)
    monkeypatch.setattr(relays, "CHUNK_BYTES", 16)
    assert _both(log, tmp_path, 3_000)[1] is None


def test_bulk_work_reads_a_large_log_so(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(work: Work, task: Task, context: Any, processes: int) -> Report | None:
        seen.append(task.units[0].name)
        return relay(work, task, context, processes, 4_000)

    monkeypatch.setattr(relays, "LEAST_BYTES", 10_000)
    monkeypatch.setattr(dispatch, "relay", watched)
    alone = summarize_groups([log], by="day", engine="serial")
    together = summarize_groups([log], by="day", workers=2)
    assert seen == [str(log)]
    assert together.summary == alone.summary
    assert together.done == 1


def test_a_log_whose_records_are_changed_is_read_by_one_process(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redaction and a caller's own stage remember what they saw."""
    monkeypatch.setattr(relays, "LEAST_BYTES", 10_000)
    (unit,) = _task(log).units
    assert relays.fits(Work(by="all"), unit)
    assert not relays.fits(Work(by="all", redaction=Redaction(b"key")), unit)
    assert not relays.fits(Work(by="all", records=("support.dying:halve_messages",)), unit)


@pytest.mark.parametrize("folder", ["samples", "bobbin", "wild/claude-stream", "wild/claude-session"])
def test_real_logs(folder: str, tmp_path: Path) -> None:
    choose = random.Random(folder)
    logs = [path for path in sorted(corpus(folder).rglob("*.jsonl")) if path.stat().st_size > 30_000]
    compared = 0
    for number, path in enumerate(choose.sample(logs, min(12, len(logs)))):
        here = tmp_path / str(number)
        one, many = _both(path, here, choose.choice((9_000, 40_000)), 2)
        if many is None:  # another agent's, or no log
            continue
        compared += 1
        assert tree(here / "many") == tree(here / "one"), path
        assert _told(many, here / "many") == _told(one, here / "one"), path
    assert compared

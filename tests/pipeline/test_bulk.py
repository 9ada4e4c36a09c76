"""Bulk work: the same outputs on every engine, in order; a bad file is a row; sub-agents go with their session."""

import gc
import json
import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.lines import DEFAULT_CAP
from agentv_stream import import_sessions, summarize, summarize_groups, summarize_many
from agentv_stream.bulk import engine as engines
from agentv_stream.bulk.engine import Crew
from agentv_stream.bulk.find import find_units
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.plan import make_tasks, one_by_one
from agentv_stream.bulk.unit import Task, Unit
from agentv_stream.checks.check import expand
from agentv_stream.errors import NotALog, SourceError, UsageError
from support.consuming import consume, run
from support.decoding import FIXTURES
from support.dying import die_on_three
from support.made_sessions import claude_session, make_folder, tree
from support.opencode_stores import child, export, make_database


def _import(source: Path, out: Path, engine: str | Executor = "serial", **options: Any) -> Outcome:
    return import_sessions(
        [source],
        transcripts=out / "t",
        trajectories=out / "a",
        jsonl=out / "s.jsonl",
        engine=engine,
        **options,
    )


@pytest.mark.parametrize("engine", ["process", "thread"])
def test_every_engine_writes_the_same_bytes(tmp_path: Path, engine: str) -> None:
    make_folder(tmp_path / "in")
    _import(tmp_path / "in", tmp_path / "one")
    _import(tmp_path / "in", tmp_path / "two", engine, workers=2)
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    assert len(one) == 26  # 12 transcripts, 12 trajectories, one dead-letter file, the summaries
    # The summaries name the transcripts, which lie elsewhere.
    assert _same_place(one, tmp_path / "one") == _same_place(two, tmp_path / "two")


def _same_place(files: dict[str, bytes], root: Path) -> dict[str, bytes]:
    return {name: data.replace(str(root).encode(), b"ROOT") for name, data in files.items()}


def test_records_and_faults_of_all_sessions_are_summed_up(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in")
    (tmp_path / "in" / "torn.jsonl").write_bytes(claude_session(77, 2, broken=True))
    results = [summarize(path) for path in (*paths, tmp_path / "in" / "torn.jsonl")]
    outcome = _import(tmp_path / "in", tmp_path / "out", "thread", workers=2)
    assert outcome.records == sum(result.records for result in results) > 0
    assert outcome.faults == {"torn": sum(result.faults.get("torn", 0) for result in results)}
    assert outcome.faults["torn"] == 2


class Backwards(Executor):
    """Somebody's own executor: does what it was given last first."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_any_executor_can_be_passed(tmp_path: Path) -> None:
    make_folder(tmp_path / "in")
    own = Backwards()
    outcome = _import(tmp_path / "in", tmp_path / "out", own, workers=2)
    assert outcome.done == 12
    assert own.submitted >= 8


def test_results_come_in_the_order_of_the_paths(tmp_path: Path) -> None:
    paths = make_folder(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        results = list(summarize_many(reversed(paths), pool))
    assert results == [summarize(path) for path in reversed(paths)]


def test_an_executor_is_an_engine_of_any_bulk_function(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in")[:3]
    with ThreadPoolExecutor(2) as pool:
        assert list(summarize_many(paths, engine=pool)) == list(summarize_many(paths, pool))
        assert pool.submit(int, "7").result() == 7  # it stays open


@pytest.mark.parametrize("wrong", [{"errors": "ignore"}, {"workers": 0}, {"engine": "proces"}, {"engine": 3}])
def test_slips_of_a_bulk_call_are_told(tmp_path: Path, wrong: dict[str, Any]) -> None:
    paths = make_folder(tmp_path / "in")[:2]
    with pytest.raises(UsageError):
        list(summarize_many(paths, **wrong))


def test_a_slip_is_told_by_the_call_and_closing_ends_the_work(tmp_path: Path) -> None:
    """It was told with the first result: a caller who keeps the results for later met it elsewhere, or never."""
    paths = make_folder(tmp_path / "in")[:2]
    nonsense: Any = 7
    with pytest.raises(UsageError, match="clade"):
        summarize_many(paths, provider="clade")
    with pytest.raises(TypeError):
        summarize_many(nonsense)
    with closing(summarize_many(paths, engine="thread", workers=2)) as results:
        assert next(results).records
    assert list(results) == []


def test_paths_of_any_kind_are_sources_and_places(tmp_path: Path) -> None:
    """Those of `os.scandir` were looked up as `<DirEntry 'x.jsonl'>`, and such a file was written, too."""
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.jsonl").write_bytes(claude_session(number, 3))
    entries = sorted(os.scandir(tmp_path / "in"), key=lambda entry: entry.name)
    assert len(list(summarize_many(entries, engine="serial"))) == len(entries)
    assert len(list(summarize_many(entries[0], engine="serial"))) == 1
    assert summarize_groups(entries, engine="serial").done == len(entries)
    (tmp_path / "s.jsonl").touch()
    (place,) = (entry for entry in os.scandir(tmp_path) if entry.is_file())
    import_sessions(entries, jsonl=place, engine="serial")
    assert len((tmp_path / "s.jsonl").read_bytes().splitlines()) == len(entries)
    assert {path.name for path in Path.cwd().glob("<*")} == set()
    output: Any = [b'{"type":"system"}']
    with pytest.raises(TypeError, match="not bytes"):
        summarize_many(output)


def test_a_misspelt_provider_is_no_fault_of_the_logs(tmp_path: Path) -> None:
    """Each log was a failure, exit code 4, and what an earlier import had written was replaced by nothing."""
    make_folder(tmp_path / "in", 3)
    out = tmp_path / "s.jsonl"
    import_sessions([tmp_path / "in"], jsonl=out, engine="serial")
    before = out.read_bytes()
    for arguments in (("import", tmp_path / "in", "--jsonl", out), ("stats", tmp_path / "in")):
        ran = run(tmp_path, *arguments, "--provider", "clade")
        assert (ran.code, ran.err) == (2, "agentv-stream: no provider is called 'clade'; did you mean 'claude'?\n")
    assert out.read_bytes() == before
    with pytest.raises(UsageError):
        list(summarize_many([tmp_path / "in"], provider="clade", errors="skip"))


def test_a_daemonic_process_reads_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have no children: an assertion of multiprocessing ended the work."""
    paths = make_folder(tmp_path / "in")
    monkeypatch.setitem(vars(current_process())["_config"], "daemon", True)
    assert len(list(summarize_many(paths, workers=2))) == len(paths)


def test_summarize_many_raises_at_the_place_of_the_bad_file(tmp_path: Path) -> None:
    paths = make_folder(tmp_path, 3)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"hello\nworld\n")
    results = summarize_many([paths[0], bad, paths[1]], engine="serial")
    assert next(results).records
    with pytest.raises(NotALog):
        next(results)
    missing = tmp_path / "nowhere.jsonl"
    assert len(list(summarize_many([*paths, missing, bad], engine="serial", errors="skip"))) == 3


def test_a_file_that_was_named_and_is_no_log_is_a_failure_and_one_that_was_met_is_not(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 3)
    (tmp_path / "in" / "notes.json").write_text('{"hello": 1}')
    named = tmp_path / "named.jsonl"
    named.write_text("no log\n")
    empty = tmp_path / "in" / "empty.jsonl"
    empty.touch()
    outcome = import_sessions([tmp_path / "in", named], jsonl=tmp_path / "s.jsonl", engine="serial")
    assert outcome.done == 3
    assert [Path(failure.source).name for failure in outcome.failures] == ["named.jsonl"]
    assert [Path(other).name for other in outcome.others] == ["empty.jsonl", "notes.json"]


def test_a_damaged_archive_is_a_row_of_the_report(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    (tmp_path / "in" / "torn.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00garbage")
    outcome = import_sessions([tmp_path / "in"], jsonl=tmp_path / "s.jsonl", engine="serial")
    assert outcome.done == 2
    assert outcome.failures[0].kind == "DamagedArchive"


def test_a_line_of_results_names_its_log(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    import_sessions([tmp_path / "in"], jsonl=tmp_path / "s.jsonl", engine="serial")
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["source"] for line in lines] == sorted(map(str, paths))


def test_a_sub_agents_file_is_read_with_its_session_only(tmp_path: Path) -> None:
    paths = make_folder(tmp_path)
    units = find_units([str(tmp_path)])
    assert len(units) == 12
    assert [unit.position for unit in units] == list(range(12))
    outcome = summarize_groups([tmp_path], engine="serial")
    total = outcome.summary.total()
    assert total.tool_calls == sum(result.tool_use_summary["total_tool_calls"] for result in map(summarize, paths))


def test_a_sub_agents_file_without_its_session_is_a_unit_of_its_own(tmp_path: Path) -> None:
    paths = make_folder(tmp_path)
    paths[0].unlink()
    assert sum("agent-abc123" in unit.source for unit in find_units([str(tmp_path)])) == 1


def test_rollouts_of_sub_agents_count_once_though_only_reading_tells(tmp_path: Path) -> None:
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    _rollout(tmp_path, parent, None)
    _rollout(tmp_path, child, parent)
    outcome = import_sessions([tmp_path], transcripts=tmp_path / "t", jsonl=tmp_path / "s.jsonl", engine="serial")
    assert (outcome.done, len(outcome.parts)) == (1, 1)
    assert len(list((tmp_path / "t").glob("*.transcript.jsonl"))) == 1
    assert (tmp_path / "s.jsonl").read_bytes().count(b"\n") == 1
    assert outcome.summary.total().sessions == 1


def test_what_a_report_counts_in_all_is_what_its_sessions_have(tmp_path: Path) -> None:
    """A sub-agent's rollout is read twice, as a log and with its session; a part that is broken is no session less."""
    parent, child, broken = (f"0197aaaa-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))
    _rollout(tmp_path, parent, None)
    _rollout(tmp_path, child, parent)
    with (tmp_path / f"rollout-2026-03-01T10-00-00-{child}.jsonl").open("a") as log:
        log.write('{"type":"response_item","pay\n')
    _rollout(tmp_path, broken, parent)
    first = next(tmp_path.glob(f"*{broken}*"))
    first.write_text(first.read_text().partition("\n")[0] + "\n")
    outcome = import_sessions([tmp_path], jsonl=tmp_path / "out" / "s.jsonl", engine="serial")
    total, size = outcome.summary.total(), sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
    assert (outcome.done, outcome.records, outcome.faults, outcome.bytes) == (1, 8, {"torn-middle": 1}, size)
    assert (outcome.done, outcome.records, outcome.faults) == (total.sessions, total.records, total.faults)
    groups = summarize_groups([tmp_path], engine="serial")
    assert (groups.done, groups.records, groups.faults) == (1, 8, {"torn-middle": 1})


def test_sub_agents_that_are_left_out_are_no_sessions_of_their_own(tmp_path: Path) -> None:
    """As Claude's, whose names tell; only without its session does such a file count."""
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    _rollout(tmp_path, parent, None)
    _rollout(tmp_path, child, parent)
    for again in (False, True):
        place = tmp_path / "out" / "s.jsonl"
        outcome = import_sessions([tmp_path], jsonl=place, engine="serial", subagents=False, resume=again)
        assert (outcome.done, outcome.skipped, len(outcome.parts)) == ((0, 1, 1) if again else (1, 0, 1))
        assert [json.loads(line)["session"]["id"] for line in place.read_bytes().splitlines()] == [parent]
    assert summarize_groups([tmp_path], engine="serial", subagents=False).summary.total().turns == 1
    (alone,) = tmp_path.glob(f"*{child}.jsonl")
    assert summarize_groups([alone], engine="serial", subagents=False).summary.total().turns == 1


def test_sub_agents_in_a_store_are_left_out_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    streams: list[list[str]] = []
    for subagents in (True, False):
        place = tmp_path / f"{subagents}.jsonl"
        import_sessions([path], jsonl=place, engine="serial", subagents=subagents)
        (line,) = place.read_bytes().splitlines()
        streams.append(list(json.loads(line)["tool_use_summary"]["by_stream"]))
    assert streams == [["main", "subagent:ses_2"], ["main"]]


def test_a_part_of_a_session_that_an_earlier_run_has_read_does_not_count(tmp_path: Path) -> None:
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    _rollout(tmp_path, parent, None)
    _rollout(tmp_path, child, parent)
    (log,) = tmp_path.glob(f"*{parent}.jsonl")
    place = tmp_path / "out" / "s.jsonl"
    assert import_sessions([log], jsonl=place, engine="serial").done == 1
    outcome = import_sessions([tmp_path], jsonl=place, engine="serial", resume=True)
    assert (outcome.done, outcome.skipped, outcome.summary.total().sessions) == (0, 1, 0)
    assert place.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("output", ["jsonl", "transcripts"])
def test_unchanged_are_sessions_and_not_the_files_that_belong_to_them(tmp_path: Path, output: str) -> None:
    """With results alone the sub-agent's rollout was counted, too; with transcripts it is read anew each time."""
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    logs = tmp_path / "logs"
    logs.mkdir()
    _rollout(logs, parent, None)
    _rollout(logs, child, parent)
    (logs / "notes.jsonl").write_text("no log\n")
    places: dict[str, Any] = {output: tmp_path / "out" / "x"}
    assert import_sessions([logs], engine="serial", **places).done == 1
    for dry_run in (False, True):
        again = import_sessions([logs], engine="serial", resume=True, dry_run=dry_run, **places)
        assert (again.found, again.done, again.skipped) == (3, 0, 1)


@pytest.mark.parametrize("subagents", [True, False])
def test_a_sub_agents_rollout_that_is_new_is_no_session_of_its_own(tmp_path: Path, subagents: bool) -> None:
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    logs = tmp_path / "logs"
    logs.mkdir()
    _rollout(logs, parent, None)
    for found in (1, 2):
        again = import_sessions([logs], engine="serial", jsonl=tmp_path / "s.jsonl", resume=True, subagents=subagents)
        assert (again.found, again.done, len(again.parts)) == (found, 1, found - 1)
        _rollout(logs, child, parent)
    assert (tmp_path / "s.jsonl").read_bytes().count(b"\n") == 1


def test_a_sub_agents_rollout_that_is_gone_does_not_become_a_session(tmp_path: Path) -> None:
    """Its parent was read again without it, and nobody knew any more that it had been a part."""
    parent, child = "0197aaaa-0000-7000-8000-000000000001", "0197aaaa-0000-7000-8000-000000000002"
    logs, results = tmp_path / "logs", tmp_path / "s.jsonl"
    logs.mkdir()
    _rollout(logs, parent, None)
    _rollout(logs, child, parent)
    for _ in range(3):
        import_sessions([logs], engine="serial", jsonl=results, transcripts=tmp_path / "t", resume=True)
        assert results.read_bytes().count(b"\n") == 1
        for path in logs.glob(f"*{child}.jsonl"):
            path.unlink()


def _rollout(folder: Path, thread: str, parent: str | None) -> None:
    spawned = f',"parent_thread_id":"{parent}"' if parent else ""
    source = f'{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{parent}","depth":1}}}}}}' if parent else '"cli"'
    lines = (
        f'{{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{{"id":"{thread}"{spawned},'
        f'"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.120.0",'
        f'"source":{source}}}}}\n'
        '{"timestamp":"2026-03-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user",'
        f'"content":[{{"type":"input_text","text":"hello {thread}"}}]}}}}\n'
        '{"timestamp":"2026-03-01T10:00:02.000Z","type":"response_item","payload":{"type":"message",'
        f'"role":"assistant","content":[{{"type":"output_text","text":"hi {thread}"}}]}}}}\n'
    )
    (folder / f"rollout-2026-03-01T10-00-00-{thread}.jsonl").write_text(lines)


def test_big_files_go_first_and_small_ones_go_together() -> None:
    units = [Unit(f"/{i:03d}", i, size) for i, size in enumerate([10] * 50 + [100_000] + [10] * 50)]
    tasks = make_tasks(units, 2)
    assert tasks[0].size >= 100_000
    assert len(tasks) < 101
    assert sorted(unit.position for task in tasks for unit in task.units) == list(range(101))


def test_globs_lists_and_file_urls_are_sources(tmp_path: Path) -> None:
    paths = make_folder(tmp_path, 6)
    assert len(find_units([f"{tmp_path}/*p1/*.jsonl"])) == 2
    assert len(find_units([paths[0].as_uri(), str(paths[0])])) == 1
    with pytest.raises(SourceError):
        find_units([f"{tmp_path}/*/nothing-*.jsonl"])
    with pytest.raises(SourceError):
        find_units([str(tmp_path / "missing.jsonl")])


def test_a_folder_that_goes_round_in_a_link_is_read_once(tmp_path: Path) -> None:
    make_folder(tmp_path, 3)
    (tmp_path / "-work-p0" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(find_units([str(tmp_path)])) == 3


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    paths = make_folder(tmp_path, 1)
    with pytest.raises(UsageError, match="no engine"):
        list(summarize_many(paths, engine="quantum"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside the pool's own thread, on new Pythons
def test_a_worker_that_dies_costs_one_unit_and_not_the_run() -> None:
    units = tuple(Unit(f"/{i}", i) for i in range(8))
    tasks = [Task(0, units[:2]), Task(1, units[2:5]), Task(2, units[5:])]
    crew = Crew(engines.process_pool(2), 2, lambda: engines.process_pool(2))
    done: dict[int, int | None] = {}
    for task, count in crew.run(die_on_three, tasks, one_by_one):
        for unit in task.units:
            done[unit.position] = count
    crew.executor.shutdown()
    assert sorted(done) == list(range(8))
    assert [position for position, count in done.items() if count is None] == [3]


class Breaks(Executor):
    """Breaks at the first task; what else is under way learns of it when that is known."""

    def __init__(self) -> None:
        self.under_way: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = Future[Any]() if self.under_way else Told(self.under_way)
        self.under_way.append(future)
        return future


class Told(Future[Any]):
    """Has failed; who asks for its result lets the others of its executor fail."""

    def __init__(self, others: list[Future[Any]]) -> None:
        super().__init__()
        self.others = others
        self.set_exception(BrokenExecutor())

    def result(self, timeout: float | None = None) -> Any:
        for other in self.others[1:]:
            other.set_exception(BrokenExecutor())
        return super().result(timeout)


def test_tasks_under_way_that_learn_later_of_a_dead_worker_are_done_again_too() -> None:
    tasks = [Task(number, (Unit(f"/{number}", number),)) for number in range(3)]
    crew = Crew(Breaks(), 1, engines.SerialExecutor)
    done = {task.number: count for task, count in crew.run(lambda task: len(task.units), tasks, one_by_one)}
    assert done == {0: 1, 1: 1, 2: 1}


def test_hostile_names_make_harmless_paths(tmp_path: Path) -> None:
    data = claude_session(1, 2).replace(b'"sessionId": "', b'"sessionId": "../../../etc/')
    (tmp_path / "x.jsonl").write_bytes(data)
    _import(tmp_path / "x.jsonl", tmp_path / "out")
    names = [path.name for path in (tmp_path / "out" / "t").iterdir() if path.is_file()]
    assert len(names) == 1
    assert ".." not in names[0]
    assert not (tmp_path / "etc").exists()


def test_a_session_whose_log_tells_its_id_at_the_end_is_named_by_it(tmp_path: Path) -> None:
    *records, end = (FIXTURES / "copilot" / "stream.jsonl").read_bytes().splitlines()
    long = records[-2].replace(b"All done.", b"All done. " * 200)  # more of them than one read takes
    answers = [long.replace(b'"m5"', b'"n%d"' % n).replace(b'"e35"', b'"f%d"' % n) for n in range(200)]
    log = tmp_path / "run.jsonl"
    log.write_bytes(b"\n".join([*records, *answers, end]) + b"\n")
    import_sessions([log], transcripts=tmp_path / "t", engine="serial")
    (transcript,) = (tmp_path / "t").glob("*.transcript.jsonl")
    assert {json.loads(row)["source"]["session_id"] for row in transcript.read_bytes().splitlines()} == {"s-1"}


def test_a_transcript_is_the_one_that_consume_writes(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 6)
    import_sessions([tmp_path / "in"], transcripts=tmp_path / "t", engine="serial")
    imported = {path.name.rpartition("_")[0]: path.read_bytes() for path in (tmp_path / "t").glob("*.transcript.jsonl")}
    for path in paths:
        assert consume(tmp_path, path, "--out", tmp_path / "c", "--quiet").code == 0
    consumed = {
        path.name.removesuffix(".transcript.jsonl"): path.read_bytes()
        for path in (tmp_path / "c").glob("*.transcript.jsonl")
    }
    assert len(consumed) == 6
    assert imported == consumed


@pytest.mark.parametrize("cut", [b"", b"\n"], ids=["at the end", "in the middle"])
def test_a_record_over_the_cap_is_copied_as_consume_copies_it(cut: bytes, tmp_path: Path) -> None:
    giant = b'{"type":"user","x":"' + b"g" * DEFAULT_CAP + b'"}'
    log = tmp_path / "log.jsonl"
    log.write_bytes(claude_session(5, 2) + giant + cut + (claude_session(6, 1) if cut else b""))
    import_sessions([log], transcripts=tmp_path / "i", engine="serial")
    assert consume(tmp_path, log, "--out", tmp_path / "c", "--quiet").code == 0
    found: list[tuple[dict[str, Any], bytes]] = []
    for folder in (tmp_path / "i", tmp_path / "c"):
        (letters,) = folder.glob("*.dead-letters.jsonl")
        (line,) = map(json.loads, letters.read_bytes().splitlines())
        blob = folder / line.pop("blob")
        assert list(folder.rglob("*.bin")) == [blob]
        found.append((line, blob.read_bytes()))
    assert found[0] == found[1]
    assert found[0][0]["length"] == len(found[0][1]) == len(giant)


def test_a_copy_of_a_record_over_the_cap_goes_with_the_record(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "i"
    log.write_bytes(claude_session(5, 2) + b"[" * (DEFAULT_CAP + 1))
    import_sessions([log], transcripts=out, engine="serial")
    assert len(list(out.rglob("*.bin"))) == 1
    log.write_bytes(claude_session(5, 3))
    import_sessions([log], transcripts=out, engine="serial")
    assert list(out.rglob("*.bin")) == []


def test_a_session_that_was_read_leaves_nothing_to_the_garbage_collector(tmp_path: Path) -> None:
    """It rests in workers: what only it could free would stay in memory until the task ends."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(claude_session(5, 3))
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        import_sessions([log], transcripts=tmp_path / "t", trajectories=tmp_path / "a", engine="serial")
        gc.collect()
        left = {type(one).__name__ for one in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {"SessionChain", "SessionReader", "SessionOutputs", "Observer", "FixedIdentity"}


def test_a_session_without_a_message_has_no_transcript(tmp_path: Path) -> None:
    """Nor has it one from `consume` or `tail`; what could not be read of it stands in the dead letters."""
    header = {"type": "mode", "mode": "normal", "sessionId": "s1"}
    title = {"type": "ai-title", "aiTitle": "Nothing yet", "sessionId": "s1"}
    log = tmp_path / "s1.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in (header, title, title)) + "no JSON\n")
    out = tmp_path / "out"
    for _ in range(2):  # once more with --resume: it is done
        outcome = import_sessions(
            [log], transcripts=out, jsonl=tmp_path / "results.jsonl", provider="claude", resume=True
        )
        assert outcome.failures == []
    (result,) = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert result["outputs"]["transcript"] is None
    assert [path.name.rpartition("_")[2].partition(".")[2] for path in out.glob("*.jsonl")] == ["dead-letters.jsonl"]


def test_a_trajectory_is_the_one_that_consume_writes(tmp_path: Path) -> None:
    log = make_folder(tmp_path / "in")[0]
    import_sessions(log, trajectories=tmp_path / "bulk", engine="serial")
    consume(tmp_path, log, "--transcript-shape", "atif", "--out", "one")
    (bulk,) = (tmp_path / "bulk").glob("*.trajectory.json")
    (one,) = (tmp_path / "one").glob("*.trajectory.json")
    assert bulk.read_bytes() == one.read_bytes()
    assert bulk.stat().st_mode & 0o777 == 0o600


def test_outputs_of_an_earlier_import_are_no_sources(tmp_path: Path) -> None:
    make_folder(tmp_path / "in")
    for _ in range(2):
        outcome = import_sessions(
            tmp_path / "in", transcripts=tmp_path / "in", trajectories=tmp_path / "in", engine="serial"
        )
        assert (outcome.found, outcome.done) == (12, 12)


def test_one_source_alone_is_not_its_letters(tmp_path: Path) -> None:
    make_folder(tmp_path / "in")
    expected = summarize_groups([tmp_path / "in"], engine="serial").done
    assert expected > 0
    assert summarize_groups(str(tmp_path / "in"), engine="serial").done == expected
    assert import_sessions(tmp_path / "in", jsonl=tmp_path / "s.jsonl", engine="serial").done == expected
    (path,) = sorted((tmp_path / "in").rglob("*.jsonl"))[:1]
    assert [r.session.id for r in summarize_many(str(path))] == [summarize(path).session.id]


def test_an_empty_name_does_not_stand_for_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stats "$LOG"` without LOG read everything here."""
    make_folder(tmp_path / "in")
    monkeypatch.chdir(tmp_path / "in")
    with pytest.raises(SourceError, match="is empty"):
        find_units([""])
    with pytest.raises(SourceError, match="is empty"):
        expand([""])


def test_a_task_is_done_again_after_an_error_that_passes() -> None:
    """Dask's executor gives ValueError for a good result whose worker died just then."""
    tasks = [Task(number, (Unit(f"/{number}", number),)) for number in range(3)]
    tries: dict[int, int] = {}

    def sometimes(task: Task) -> int:
        tries[task.number] = tries.get(task.number, 0) + 1
        if task.number == 1 and tries[1] < 3:
            raise ValueError("too many values to unpack")
        return task.number

    crew = Crew(engines.SerialExecutor(), 1, passing=ValueError)
    assert sorted(result for _, result in crew.run(sometimes, tasks, one_by_one) if result is not None) == [0, 1, 2]
    assert tries == {0: 1, 1: 3, 2: 1}
    tries[1] = -10
    with pytest.raises(ValueError, match="too many"):
        list(crew.run(sometimes, tasks, one_by_one))


def test_a_task_that_kills_the_workers_of_a_cluster_costs_one_unit() -> None:
    task = Task(0, tuple(Unit(f"/{number}", number) for number in range(5)))

    def deadly(task: Task) -> int:
        if any(unit.position == 3 for unit in task.units):
            raise LookupError
        return len(task.units)

    crew = Crew(engines.SerialExecutor(), 1, killed=LookupError)
    came = [(done.units[0].position, result) for done, result in crew.run(deadly, [task], one_by_one)]
    assert sorted(came, key=lambda pair: pair[0]) == [(0, 1), (1, 1), (2, 1), (3, None), (4, 1)]

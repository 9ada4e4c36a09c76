"""What `stats` keeps: the same figures as without, whatever happened to the logs between two runs."""

import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentv_stream import summarize_groups
from agentv_stream.bulk import kept_figures
from agentv_stream.bulk.grouping import DIMENSIONS
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.cli import build
from agentv_stream.discovery.period import named_zone
from support.codex_threads import FORK, PARENT, forked, history, timed
from support.made_sessions import claude_session, make_folder
from support.powers import run_without_powers

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(autouse=True)
def kept_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that was just written is kept, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_figures, "AT_REST_NS", -(10**12))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    make_folder(tmp_path / "logs")
    return tmp_path / "logs"


def figures(folder: Path, cache: bool = True, **options: Any) -> Outcome:
    return summarize_groups([folder], engine="serial", cache=cache, **options)


def equal(one: Outcome, other: Outcome) -> bool:
    named = ("found", "done", "parts", "others", "bytes", "records", "faults", "summary")
    failures = [[(f.source, f.kind) for f in outcome.failures] for outcome in (one, other)]
    return failures[0] == failures[1] and all(getattr(one, name) == getattr(other, name) for name in named)


def database(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "agentv-stream" / "figures.db"


@pytest.mark.parametrize("by", DIMENSIONS)
@pytest.mark.parametrize("subagents", [True, False])
def test_figures_of_every_agent_are_the_same_again(tmp_path: Path, by: str, subagents: bool) -> None:
    shutil.copytree(FIXTURES, tmp_path / "logs")
    runs = [figures(tmp_path / "logs", by=by, subagents=subagents) for _ in range(2)]
    plain = figures(tmp_path / "logs", False, by=by, subagents=subagents)
    assert equal(runs[0], plain) and equal(runs[1], plain)
    assert runs[0].cached == plain.cached == 0
    assert runs[1].cached > plain.done * 0.7  # not those in databases, or of which other files say something


def test_whatever_happens_between_two_runs(tmp_path: Path) -> None:
    """Logs grow, come, go, are replaced, get and lose sub-agents' files; times are set back."""
    chance = random.Random(7)
    folder, more = tmp_path / "logs", tmp_path / "more"
    make_folder(folder)
    spare = make_folder(more)
    held = 0
    for step in range(40):
        log = chance.choice(sorted(folder.rglob("*.jsonl")))
        before = log.stat()
        match chance.randrange(6):
            case 0:
                with log.open("ab") as file:
                    file.write(chance.choice(spare).read_bytes()[:-1].rpartition(b"\n")[2] + b"\n")
            case 1:
                shutil.copy(chance.choice(spare), log.with_name(f"new{step}.jsonl"))
            case 2 if len(list(folder.rglob("*.jsonl"))) > 3:
                log.unlink()
            case 3:
                log.write_bytes(log.read_bytes().replace(b'"Bash"', b'"Read"').replace(b"Edit", b"Grep"))
                os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
            case 4:
                beside = log.with_suffix("") / "subagents" / f"agent-a{step}.jsonl"
                beside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(chance.choice(spare), beside)
            case _:
                log.rename(log.with_name(f"moved{step}.jsonl"))
        kept = figures(folder, by="day")
        held += kept.cached
        assert equal(kept, figures(folder, False, by="day")), step
    assert held > 40


def test_a_file_with_the_same_size_and_time_is_not_taken_for_the_same(logs: Path) -> None:
    assert figures(logs).cached == 0
    path = next(path for path in sorted(logs.rglob("*.jsonl")) if b'"Bash"' in path.read_bytes())
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"Bash"', b'"Read"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = figures(logs)
    assert 0 < again.cached < again.done
    assert equal(again, figures(logs, False))


def test_figures_of_any_size_are_kept(logs: Path) -> None:
    """Tokens over 64 bits, or a cost of 19 million dollars, ended the command after all was read."""
    log = next(logs.rglob("*.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"input_tokens": 1', b'"input_tokens": 99999999999999999999'))
    runs = [figures(logs) for _ in range(2)]
    assert runs[1].cached == runs[1].done
    assert all(equal(run, figures(logs, False)) for run in runs)


def test_a_header_without_a_session_counts_only_if_it_is_named(logs: Path) -> None:
    head = '{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0197aaaa-0000-7000-8000-1"}}'
    (logs / "rollout.jsonl").write_text(head + "\n")
    for source, done in ((logs / "rollout.jsonl", 1), (logs, 12), (logs, 12), (logs / "rollout.jsonl", 1)):
        assert figures(source).done == done


def test_what_has_just_changed_is_not_kept(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second change within the clock's resolution would not be seen."""
    monkeypatch.setattr(kept_figures, "AT_REST_NS", 2_000_000_000)
    assert [figures(logs).cached for _ in range(2)] == [0, 0]


def test_what_grows_while_it_is_read_is_not_kept(logs: Path) -> None:
    log = max(logs.rglob("*.jsonl"))

    def grow(*_: object) -> None:
        with log.open("ab") as file:
            file.write(claude_session(1, 2))

    first = figures(logs, on_report=grow)
    again = figures(logs)
    assert again.cached == first.done - 1
    assert equal(again, figures(logs, False))


def test_each_set_of_options_has_its_own(logs: Path) -> None:
    figures(logs, by="day")
    assert figures(logs, by="day", subagents=False).cached == 0
    assert figures(logs, by="day", provider="claude").cached == 0
    again = figures(logs, by=("model", "hour"), zone=named_zone("Asia/Kathmandu"), prices=None)
    assert again.cached == again.done  # how they are grouped and priced is no part of them
    assert figures(logs, by="day", sequences=True).cached == 0


def test_another_release_reads_everything(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(logs)
    monkeypatch.setattr(kept_figures, "reading_version", lambda: "0.0.1")
    assert figures(logs).cached == 0


def test_other_rules_of_counting_read_everything(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(logs)
    monkeypatch.setattr(kept_figures, "COUNTING", 1)
    assert figures(logs).cached == 0


def test_the_figures_of_a_fork_are_kept(tmp_path: Path) -> None:
    """Its parent's file may be read with it, but what it copied does not change."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for thread, rows in (
        (PARENT, timed(history(2, ids=False), [9])),
        (FORK, forked(history(2, ids=False), [700], ids=False, spawned=False)),
    ):
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        (folder / f"rollout-2026-03-01T10-00-00-{thread}.jsonl").write_bytes(lines)
    first, second = figures(folder), figures(folder)
    assert (first.done, second.cached) == (2, 2)
    assert equal(first, second)


def test_damaged_and_unreadable_logs_are_told_each_time(logs: Path) -> None:
    packed = gzip.compress(claude_session(9, 3))
    (logs / "torn.jsonl.gz").write_bytes(packed[:-20])
    (logs / "bad.jsonl").write_bytes(b"not a log\n")
    for _ in range(2):
        kept = figures(logs)
        assert [failure.kind for failure in kept.failures] == ["DamagedArchive"]
        assert len(kept.others) == 1


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_begins_anew(logs: Path, tmp_path: Path, content: bytes) -> None:
    database(tmp_path).parent.mkdir(parents=True)
    database(tmp_path).write_bytes(content)
    assert [figures(logs).cached > 0 for _ in range(2)] == [False, True]


def test_entries_of_another_shape_are_read_again(logs: Path, tmp_path: Path) -> None:
    figures(logs)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        file.execute("UPDATE sessions SET entry = X'93'")
    again = figures(logs)
    assert again.cached == 0 and equal(again, figures(logs, False))
    assert figures(logs).cached > 0


def test_damage_within_a_cache_changes_no_figure(logs: Path, tmp_path: Path) -> None:
    """A changed digit in an entry, and bytes changed anywhere: SQLite sees the first not at all, the second late."""
    plain = figures(logs, False)
    figures(logs)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        file.execute("UPDATE sessions SET entry = CAST(replace(entry, '1', '2') AS BLOB)")
        file.execute("UPDATE headers SET entry = CAST(replace(entry, 'claude', 'qwen') AS BLOB)")
    again = figures(logs)
    assert again.cached == 0 and equal(again, plain)
    whole, chance = database(tmp_path).read_bytes(), random.Random(7)
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 30, 3000))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        database(tmp_path).write_bytes(data)
        assert equal(figures(logs), plain)
        assert equal(figures(logs), plain)
        assert figures(logs).cached > 0 and not figures(logs).notes  # it is whole again


def shown(*arguments: str | Path) -> Any:
    return CliRunner().invoke(build(["stats"]), ["stats", *map(str, arguments), "--engine", "serial"])


@pytest.mark.parametrize("trouble", ["file in place of the folder", "read-only", "newer"])
def test_a_cache_that_cannot_be_used_is_told_and_costs_nothing_else(logs: Path, tmp_path: Path, trouble: str) -> None:
    plain = shown(logs, "--no-cache", "--by", "day,model")
    place = database(tmp_path)
    if trouble == "newer":
        figures(logs)
        with closing(sqlite3.connect(place)) as file, file:
            file.execute("PRAGMA user_version = 99")
        told = f"the cache {place} is of a newer release; it is left as it is, and nothing is kept"
        before = place.read_bytes()
    elif trouble == "read-only":
        figures(logs)
        place.chmod(0o400)
        told, before = f"cannot use the cache {place}: Permission denied", place.read_bytes()
    else:
        (tmp_path / "cache").write_bytes(b"")
        told, before = f"cannot use the cache {place}: Not a directory", b""
    options = ["stats", str(logs), "--by", "day,model", "--engine", "serial"]
    done = run_without_powers([sys.executable, "-m", "agentv_stream", *options])
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert done.stderr.splitlines() == [f"agentv-stream: {told}"]
    assert not before or place.read_bytes() == before


def test_a_cache_of_an_older_form_begins_anew(logs: Path, tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir(parents=True)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        file.execute("CREATE TABLE figures (mark TEXT, name TEXT, day INTEGER, entry BLOB)")
    prompts = database(tmp_path).with_name("headers.json")
    prompts.write_text("{}")
    assert [figures(logs).cached > 0 for _ in range(2)] == [False, True]
    assert not prompts.exists()


VIEWS = (("--by", "day,model"), ("--by", "project", "--csv", "-"), ("--by", "tool"), ("--since", "2026-03-02", "--utc"))


def test_what_is_shown_is_the_same_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any history of logs, options, releases and runs; texts of the sessions are never in the file."""
    chance = random.Random(11)
    folder, spare = tmp_path / "logs", make_folder(tmp_path / "more")
    make_folder(folder)
    for step in range(12):
        log = chance.choice(sorted(folder.rglob("*.jsonl")))
        match step % 6:
            case 0:
                log.write_bytes(log.read_bytes() + chance.choice(spare).read_bytes().rpartition(b"\n{")[2])
            case 1:
                log.write_bytes(chance.choice(spare).read_bytes())
            case 2:
                log.rename(log.with_name(f"moved{step}.jsonl"))
            case 3:
                log.unlink()
            case 4:
                beside = log.with_suffix("") / "subagents" / f"agent-a{step}.jsonl"
                beside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(chance.choice(spare), beside)
            case _:
                monkeypatch.setattr(kept_figures, "reading_version", lambda step=step: f"0.{step}")
        view = (*chance.choice(VIEWS), *chance.choice(((), ("--no-subagents",), ("--no-prices",))))
        plain = shown(folder, *view, "--no-cache")
        for _ in range(2):
            assert shown(folder, *view).stdout == plain.stdout, (step, view)
    data = database(tmp_path).read_bytes()
    assert b"claude-sonnet" in data and b"task " not in data and b"make test" not in data and b"out 1" not in data


def test_two_runs_at_once_keep_and_show_the_same(logs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentv_stream", "stats", str(logs), "--by", "day", "--no-prices"]
    plain = subprocess.run([*command, "--no-cache"], capture_output=True, check=True).stdout
    for _ in range(2):
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        for run in runs:
            assert run.communicate() == (plain, b"")


def test_it_has_a_limit(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(logs)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        (size,) = file.execute("SELECT total(length(entry)) FROM sessions").fetchone()
        file.execute("UPDATE sessions SET day = day - 1")
    monkeypatch.setattr(kept_figures, "MOST_BYTES", int(size))
    make_folder(logs / "more", 3)
    figures(logs / "more")
    with closing(sqlite3.connect(database(tmp_path))) as file:
        (left,) = file.execute("SELECT total(length(entry)) FROM sessions").fetchone()
        names = [name for (name,) in file.execute("SELECT name FROM sessions")]
    assert left <= size and sum("/more/" in name for name in names) == 3


def test_it_can_be_removed(logs: Path, tmp_path: Path) -> None:
    figures(logs)
    done = shown("--clear-cache")
    assert (done.exit_code, database(tmp_path).exists()) == (0, False)
    assert f"removed {database(tmp_path)}" in done.stderr
    assert "no figures are kept" in shown("--clear-cache").stderr


def test_it_is_private_and_forgets_what_nobody_asks_for(logs: Path, tmp_path: Path) -> None:
    figures(logs)
    assert database(tmp_path).stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        file.execute("UPDATE sessions SET day = day - 80")
    (first, *_) = sorted(logs.rglob("*.jsonl"))
    first.unlink()
    figures(logs)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        file.execute("UPDATE sessions SET day = day - 11")
        count = file.execute("SELECT count(*) FROM sessions").fetchone()[0]
    figures(logs)
    with closing(sqlite3.connect(database(tmp_path))) as file, file:
        assert file.execute("SELECT count(*) FROM sessions").fetchone()[0] == count - 1


def test_without_a_cache_nothing_is_written(logs: Path, tmp_path: Path) -> None:
    assert shown(logs, "--no-cache").exit_code == 0
    figures(logs, cache=False)
    assert not (tmp_path / "cache").exists()

"""`stats` without sources: the sessions of all agents on this machine; and the words for periods in every command."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentv_stream.bulk.all_agents import agents_units
from agentv_stream.cli import build
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.store import STORE_SIGN
from support.made_sessions import make_folder
from support.opencode_stores import child, export, make_database

FIXTURES = Path(__file__).parents[1] / "fixtures"
DAY = 86_400


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sessions of four agents: rotated, compressed, with sub-agents, in a database with a child session."""
    make_folder(tmp_path / ".claude" / "projects")
    logs = sorted((tmp_path / ".claude" / "projects").rglob("*.jsonl"))
    plain, other = [log for log in logs if "subagents" not in log.parts][:2]
    plain.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    other.rename(other.with_name(f"{other.name}.1"))
    (tmp_path / ".claude" / "projects" / "-work-p0" / "notes.jsonl").write_text("{}\n")
    shutil.copytree(FIXTURES / "vibe", tmp_path / ".vibe" / "logs" / "session")
    pi = tmp_path / ".pi" / "agent" / "sessions" / "--w--"
    pi.mkdir(parents=True)
    shutil.copy(next((FIXTURES / "pi").rglob("*.jsonl")), pi / "2026-03-01_a.jsonl")
    store = tmp_path / ".local" / "share" / "opencode"
    store.mkdir(parents=True)
    make_database(store / "opencode.db", export(), child()).close()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(build(["stats", "sessions", "import", "watch"]), list(arguments))


def test_the_units_are_the_sessions_that_sessions_lists(home: Path) -> None:
    listed = find_sessions(find_roots())
    ids = {session.id for session in listed}
    tops = {s.path.replace(STORE_SIGN, "#") for s in listed if s.header.parent not in ids}
    units = {unit.name for unit in agents_units(find_roots(), [])}
    assert tops <= units and len(tops) > 13
    assert {Path(name).name for name in units - tops} == {"notes.jsonl"}
    figures = json.loads(run("stats", "--json", "-", "--engine", "serial").stdout)
    assert figures["total"]["sessions"] == len(tops)
    assert {"claude", "opencode", "pi"} <= figures["groups"].keys()


def test_a_machine_without_sessions_is_nothing_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("stats")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "agentv-stream: no session was found where agents keep them\n"


def test_periods_are_said_in_the_same_words_everywhere(home: Path, tmp_path: Path) -> None:
    now = time.time()
    for i, log in enumerate(sorted((home / ".claude").rglob("*.jsonl"))):
        changed = now - (3 if i % 2 else 40) * DAY
        os.utime(log, (changed, changed))
    whole = run("sessions", "--json", "--limit", "0", "--provider", "claude").stdout.count("\n")
    parts = [
        run("sessions", "--json", "--limit", "0", "--provider", "claude", *words).stdout.count("\n")
        for words in (("--until", "2w", "--utc"), ("--since", "13d", "--utc"))
    ]
    assert whole == sum(parts) and all(parts)
    for command in (("sessions",), ("import", str(home), "--dry-run"), ("watch", "--json", "--once")):
        for wrong, told in (
            (("--since", "tomorow"), "'tomorow' is not a time; use today, yesterday"),
            (("--since", "today", "--until", "yesterday"), "the period is empty"),
            (("--timezone", "Europe/Berln"), "did you mean 'Europe/Berlin'?"),
            (("--timezone", "UTC", "--utc"), "cannot be used together"),
        ):
            done = run(*command, *wrong)
            assert done.exit_code == 2 and told in done.stderr, (command, wrong, done.output)
            assert done.stderr.count("\n") == 1


def test_import_leaves_out_what_last_changed_outside_of_the_period(home: Path) -> None:
    logs = home / ".claude"
    for log in logs.rglob("*.jsonl"):
        changed = time.time() - 40 * DAY
        os.utime(log, (changed, changed))
    newest = logs / "projects" / "-work-p0" / "notes.jsonl"
    os.utime(newest)
    done = run("import", str(logs), "--dry-run", "--json", "-", "--since", "yesterday")
    assert [row["source"] for row in json.loads(done.stdout)["sources"]] == [str(newest)]
    assert str(newest) not in run("import", str(logs), "--dry-run", "--until", "yesterday").stdout


def test_nothing_is_imported_that_an_answer_does_not_need(tmp_path: Path) -> None:
    """Importing every provider took longer than all the rest."""
    make_folder(tmp_path / "logs", 2)
    code = (
        "import sys; from agentv_stream.bulk import summarize_groups as add;"
        f"done = add([{str(tmp_path / 'logs')!r}], cache=True).done;"
        "print(done, *(name for name in sys.modules if name.startswith('agentv_stages.providers.')"
        " or name in ('genai_prices', 'typer', 'rich', 'importlib.metadata')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, *loaded = done.stdout.split()
    assert count == "2"
    assert {name.split(".")[2] for name in loaded if name.startswith("agentv_stages")} == {"claude", "log_roots"}
    assert not [name for name in loaded if not name.startswith("agentv_stages")]


def test_roots_that_do_not_exist_import_no_provider(tmp_path: Path) -> None:
    make_folder(tmp_path / ".claude" / "projects", 1)
    code = (
        "import sys; from agentv_stream.bulk import summarize_groups as add;"
        "print(add(None, cache=True).done, *(n for n in sys.modules if n.startswith('agentv_stages.providers.')))"
    )
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=home)
    count, *loaded = done.stdout.split()
    assert count == "1"
    assert {name.split(".")[2] for name in loaded} == {"claude", "log_roots"}

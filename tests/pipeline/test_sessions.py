"""The commands that look at sessions, cursors and faults, as somebody calls them."""

import json
import os
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from agentv_stream.cli.listing import age
from agentv_stream.discovery.dead_letter_files import fault_bytes, fault_lines
from agentv_stream.errors import UsageError
from support.consuming import finished_text
from support.decoding import FIXTURES
from support.growing_logs import claude_records
from support.live_follower import held_to_permissions, permissions_count

SESSION = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


def call(*arguments: str, cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"HOME": str(cwd), "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cwd / "cache"), "COLUMNS": "100"}
    environment |= {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **variables}  # else another copy might be tested
    return finished_text(*arguments, folder=cwd, environ=environment)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with one session of Claude Code."""
    place = tmp_path / ".claude" / "projects" / "-home-dev-app"
    place.mkdir(parents=True)
    (place / f"{SESSION}.jsonl").write_bytes(b"\n".join(claude_records(SESSION, 3)) + b"\nnot json\n")
    return tmp_path


def test_sessions_are_listed_for_people_and_programs(home: Path) -> None:
    assert SESSION[:12] in call("sessions", cwd=home).stdout
    (row,) = [json.loads(line) for line in call("sessions", "--json", cwd=home).stdout.splitlines()]
    assert (row["session_id"], row["provider"], row["project"]) == (SESSION, "claude", "/home/dev/app")
    assert "no sessions match; 1 was looked at" in call("sessions", "--project", "elsewhere", cwd=home).stdout
    assert "no sessions found" in call("sessions", "--provider", "codex", cwd=home).stdout
    for since in ("yesterday-ish", ""):  # "" as of a variable that is not set
        assert call("sessions", "--since", since, cwd=home).returncode == 2


def test_columns_are_aligned_whatever_the_agent_is_called(home: Path) -> None:
    roots = ("--root", str(home), "--root", str(FIXTURES / "mini-swe-agent"))
    titles, *lines = call("sessions", *roots, cwd=home).stdout.splitlines()
    start = titles.index("project")
    assert {line.split()[1] for line in lines} == {"claude", "mini-swe-agent"}
    assert {line[start - 1 : start + 4] for line in lines} == {" app ", " orch"}


def test_a_list_for_programs_says_that_it_was_cut(home: Path) -> None:
    folder = home / ".claude" / "projects" / "-home-dev-app"
    (folder / "b.jsonl").write_bytes(b"\n".join(claude_records("bbbb-2", 2)) + b"\n")
    cut = call("sessions", "--json", "--limit", "1", cwd=home)
    assert (cut.stdout.count("\n"), cut.stderr) == (1, "agentv-stream: 1 of 2 sessions; --limit 0 lists all\n")
    every = call("sessions", "--json", cwd=home)
    assert (every.stdout.count("\n"), every.stderr) == (2, "")


def test_show_takes_a_prefix_and_tells_turns_calls_and_context(home: Path) -> None:
    shown = call("show", "1111", cwd=home).stdout
    assert "turn 3" in shown
    assert "✓ Bash 1.0s  ls 2" in shown
    assert "context 10" in shown


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["tail", "--once"],
        ["stats"],
        ["import", "--jsonl", "out.jsonl"],
        ["import", "--dry-run"],
        ["consume"],
        ["check", "spec.yaml"],
        ["cursors", "show"],
    ],
)
def test_a_source_that_is_not_there_could_not_be_read(home: Path, command: list[str]) -> None:
    call("tail", "--all", "--once", "--out", "out", cwd=home)  # so that there are cursors
    (home / "spec.yaml").write_text("tests: [{id: a, input: x, assertions: [{type: max-turns, max: 9}]}]\n")
    for name in ("22222222-3333", "nowhere/22222222.jsonl"):
        done = call(*command, name, cwd=home)
        assert done.returncode == 4, done.stderr
        assert "22222222" in done.stderr + done.stdout


@pytest.mark.parametrize("command", [["show"], ["tail", "--once"], ["stats"]])
def test_the_beginning_of_several_sessions_is_wrong_usage(home: Path, command: list[str]) -> None:
    log = home / ".claude" / "projects" / "-home-dev-app" / "11111111-3.jsonl"
    log.write_bytes(b"\n".join(claude_records("11111111-3", 1)) + b"\n")
    done = call(*command, "11111111", cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 sessions begin with" in done.stderr


def test_of_several_files_of_one_session_its_beginning_names_the_newest(home: Path) -> None:
    older = home / ".claude" / "projects" / "-home-dev-app" / f"{SESSION}.jsonl"
    newer = home / ".claude" / "projects" / "-home-dev-else" / f"{SESSION}-2.jsonl"
    newer.parent.mkdir()
    newer.write_bytes(b"\n".join(claude_records(SESSION, 5)) + b"\n")
    os.utime(older, (1_700_000_000, 1_700_000_000))
    assert len(call("sessions", "--json", cwd=home).stdout.splitlines()) == 2
    for name in (SESSION, SESSION[:8]):
        assert "turn 5" in call("show", name, cwd=home).stdout


def test_what_names_nothing_is_told_once_and_plainly(home: Path) -> None:
    wrong = "no such file or folder, and no session begins with 'nothing'; `agentv-stream sessions` lists them"
    assert call("show", "nothing", cwd=home).stderr == f"agentv-stream: {wrong}\n"
    assert call("stats", "nothing", cwd=home).stderr == f"agentv-stream: cannot read nothing: {wrong}\n"
    for n in range(6):
        log = home / ".claude" / "projects" / "-home-dev-app" / f"2222222{n}-3.jsonl"
        log.write_bytes(b"\n".join(claude_records(f"2222222{n}-3", 1)) + b"\n")
    several = call("show", "2222", cwd=home).stderr
    assert "6 sessions begin with '2222'" in several
    assert several.endswith("-3, …\n")


@pytest.mark.parametrize("root", ["nowhere", "claude=nowhere"])
def test_a_root_that_is_named_and_not_there_is_told(home: Path, root: str) -> None:
    for command in (["sessions"], ["sessions", "--json"], ["show", "1111"]):
        done = call(*command, "--root", root, cwd=home)
        assert (done.returncode, done.stdout) == (4, "")
        assert f"--root: cannot read {home}/nowhere: no such folder" in done.stderr


def test_a_root_that_is_a_file_is_told(home: Path) -> None:
    (log,) = (home / ".claude" / "projects" / "-home-dev-app").iterdir()
    for root in (str(log), f"claude={log}"):
        done = call("sessions", "--root", root, cwd=home)
        assert (done.returncode, done.stdout) == (4, "")
        assert f"--root: {log} is a file, not a folder" in done.stderr


def test_the_age_of_a_session_takes_four_characters_at_most() -> None:
    now = time.time_ns() // 1_000_000
    ages = [age(now - days * 86_400_000 - 1000) for days in (-10_000, 0, 999, 1000, 28_000)]
    assert ages == ["0s", "1s", "999d", "2y", "76y"]


def test_roots_are_configured_by_project_variable_and_option(home: Path) -> None:
    place = home / "data" / "claude" / "-home-dev-other"
    place.mkdir(parents=True)
    (place / f"{OTHER}.jsonl").write_bytes(b"\n".join(claude_records(OTHER, 2)) + b"\n")
    assert ids(home) == {SESSION}
    (home / "pyproject.toml").write_text(f'[tool.agentv-stream]\nroots = ["claude={home}/data/claude"]\n')
    assert ids(home) == {OTHER}
    assert "turn 2" in call("show", "9999", cwd=home).stdout
    assert call("show", "1111", cwd=home).returncode == 4
    assert call("tail", "9999", "--once", "--events", cwd=home).stdout
    assert call("tail", "--all", "--once", "--events", "--no-cursors", cwd=home).stdout.count('"tool_call"') == 2
    assert json.loads(call("stats", OTHER, "--json", "-", cwd=home).stdout)["sources"] == 1
    assert call("import", OTHER, "--jsonl", "out.jsonl", "-q", cwd=home).returncode == 0
    assert OTHER in call("import", OTHER, "--dry-run", cwd=home).stdout
    assert ids(home, "--root", str(home / ".claude")) == {SESSION}
    assert ids(home, AGENTV_STREAM_ROOTS=str(home / "data")) == {SESSION, OTHER}
    assert ids(home, AGENTV_STREAM_ROOTS="claude=/nowhere") == set()
    wrong = call("sessions", cwd=home, AGENTV_STREAM_ROOTS="nobody=/x")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.skipif(not permissions_count(), reason="every file may be read here")
def test_a_root_that_may_not_be_entered_holds_no_sessions(home: Path) -> None:
    closed = home / "closed"
    (closed / "logs").mkdir(parents=True)
    closed.chmod(0)
    arguments = ["-m", "agentv_stream", "sessions", "--json", "--root", str(closed / "logs"), "--root", str(home)]
    done = subprocess.run(held_to_permissions(arguments), cwd=home, capture_output=True, text=True, check=False)
    closed.chmod(0o700)
    assert (done.returncode, done.stderr) == (0, "")
    assert SESSION in done.stdout


def ids(home: Path, *options: str, **variables: str) -> set[str]:
    listed = call("sessions", "--json", *options, cwd=home, **variables)
    assert listed.returncode == 0, listed.stderr
    return {json.loads(line)["session_id"] for line in listed.stdout.splitlines()}


def test_show_makes_hostile_text_visible(home: Path) -> None:
    log = home / "hostile.jsonl"
    text = json.dumps("\x1b[2J\u202eowned")[1:-1].encode()
    log.write_bytes(b"\n".join(r.replace(b"please work", text) for r in claude_records("aaaa-1", 1)) + b"\n")
    shown = call("show", str(log), cwd=home).stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J\\u202eowned" in shown


def test_cursors_are_listed_shown_and_reset(home: Path) -> None:
    none = call("cursors", "list", cwd=home)
    assert (none.returncode, none.stdout) == (0, "no cursors\n")
    assert call("cursors", "list", "--state", "nowhere", cwd=home).returncode == 4
    assert call("tail", "--all", "--once", "--out", "out", cwd=home).returncode == 0
    listed = call("cursors", "list", "--json", cwd=home).stdout
    (row,) = [json.loads(line) for line in listed.splitlines()]
    size = (home / ".claude" / "projects" / "-home-dev-app" / f"{SESSION}.jsonl").stat().st_size
    assert (row["session_id"], row["inputs"][0]["offset"]) == (SESSION, size)
    details = json.loads(call("cursors", "show", "1111", cwd=home).stdout)
    assert details["state"]["facts"]["session_id"] == SESSION
    assert call("cursors", "reset", cwd=home).returncode == 2
    assert "1 session is read again" in call("cursors", "reset", "1111", cwd=home).stdout
    before = next((home / "out").glob("*.transcript.jsonl")).read_bytes()
    assert call("tail", "--all", "--once", "--out", "out", cwd=home).returncode == 0
    (transcript,) = (home / "out").glob("*.transcript.jsonl")
    assert transcript.read_bytes() == before


def test_faults_are_listed_shown_and_retried(home: Path) -> None:
    call("tail", "--all", "--once", "--out", "out", cwd=home)
    listed = call("faults", "list", "out", cwd=home).stdout
    name, reason, *_ = listed.split("  ")
    assert (reason, call("faults", "show", name, cwd=home).stdout) == ("not-json", "not json\n")
    (row,) = [json.loads(line) for line in call("faults", "list", "out", "--json", cwd=home).stdout.splitlines()]
    assert call("faults", "show", row["letter"], cwd=home).stdout == "not json\n"
    assert "0 of 1" in call("faults", "retry", "out", cwd=home).stderr
    letters = Path(home / row["letter"].rpartition(":")[0])
    fixed = claude_records(SESSION, 4)[-1].decode()
    letters.write_text(json.dumps(json.loads(letters.read_text()) | {"text": fixed}) + "\n")
    retried = call("faults", "retry", "out", cwd=home)
    assert "1 of 1" in retried.stderr
    types = [json.loads(line)["type"] for line in retried.stdout.splitlines()]
    assert "tool_result" in types


HOSTILE = ("a b", "a:0", "a::b", "two  blanks", "-n", "ünï日本", "\x1b[31mred", "line\nend", "bidi\u202eevil", "tab\t",
           "\U0001f468\u200d\U0001f469", "\udcff\udcfe", "back\\slash", "'quote\"", "%s$HOME`x`")  # fmt: skip


def test_every_name_that_is_listed_is_shown(tmp_path: Path) -> None:
    """Names of files and folders in which something acts on a terminal, is not UTF-8, or looks like another part."""
    for n, name in enumerate(HOSTILE):
        for place in (tmp_path / f"{name}.dead-letters.jsonl", tmp_path / name / "x.dead-letters.jsonl"):
            place.parent.mkdir(exist_ok=True)
            fault = {"reason": "not-json", "file": "x", "row": 0, "offset": 0, "length": 6, "detail": ""}
            place.write_text("".join(f"{json.dumps(fault | {'text': text})}\n" for text in ("other", f"text {n}")))
    shown: Counter[str] = Counter()
    for as_json in (False, True):
        for line in fault_lines([tmp_path], as_json):
            name = json.loads(line)["letter"] if as_json else line.partition("  not-json")[0]
            assert as_json or not set("\x1b\n\t\u202e") & set(name)
            shown[fault_bytes(name)] += 1
    assert shown == {"other\n": 4 * len(HOSTILE), **{f"text {n}\n": 4 for n in range(len(HOSTILE))}}


def test_a_name_of_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a\t ", "a \t"):
        (tmp_path / f"{name}.dead-letters.jsonl").touch()
    with pytest.raises(UsageError, match="2 files are printed by this name"):
        fault_bytes(f"{tmp_path}/a  .dead-letters.jsonl:0")


def test_a_blob_that_leads_out_of_its_folder_is_not_read(home: Path) -> None:
    (home / "secret").write_text("secret")
    letters = home / "out" / "x.dead-letters.jsonl"
    letters.parent.mkdir()
    letter = {"reason": "bad-utf8", "file": "x", "row": 0, "offset": 0, "length": 6, "detail": "", "blob": "../secret"}
    letters.write_text(json.dumps(letter) + "\n")
    assert "secret" not in call("faults", "show", f"{letters}:0", cwd=home).stdout


def test_merged_events_are_json_lines(home: Path) -> None:
    done = call("tail", "--all", "--once", "--events", "-q", cwd=home)
    events = [json.loads(line) for line in done.stdout.split("\n") if line]  # texts hold U+2028
    assert done.returncode == 0
    assert [e["type"] for e in events].count("tool_call") == 3
    assert call("tail", "--all", "--once", "--events", "-q", cwd=home).stdout == ""


def test_two_followers_of_one_place_do_not_run_together(home: Path) -> None:
    from agentv_stream.following.cursors import CursorStore

    state = home / "state"
    store = CursorStore(state, f"files:{home / 'out'}")
    refused = call("tail", "--all", "--once", "--out", "out", "--state", str(state), cwd=home)
    store.close()
    assert refused.returncode == 4
    assert "another follower" in refused.stderr


def test_wrong_options_are_usage_errors(home: Path) -> None:
    for options in (["--from", "middle"], ["--keep", "some"], ["--metrics", "nowhere"], ["--until-idle", "long"]):
        assert call("tail", "--all", "--once", *options, cwd=home).returncode == 2


def test_a_pipe_gets_whole_ids_projects_models_and_prompts(home: Path) -> None:
    session = "a-session-with-a-long-name-0123456789"
    log = home / ".claude" / "projects" / "-home-dev-app" / f"{session}.jsonl"
    record = claude_records(session, 1)[0].replace(b"please work", b"please work " * 12)
    log.write_bytes(record.replace(b"/home/dev/app", b"/home/dev/a-project-with-a-long-name") + b"\n")
    (line,) = [line for line in call("sessions", cwd=home).stdout.splitlines() if line.startswith(session)]
    assert "…" not in line
    assert line.endswith(session)
    assert "please work please work" in line

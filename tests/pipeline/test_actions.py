"""`tail --on EVENT COMMAND`: commands run once for each event, with the session on their standard input."""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.trajectory import Case
from agentv_stream.checks.spec import load_spec
from agentv_stream.errors import UsageError
from agentv_stream.following import actions as module
from agentv_stream.following import resting
from agentv_stream.following.actions import Actions, SessionEvent, command_of
from agentv_stream.following.standings import Standings
from support.consuming import SESSION, STREAM, Ran, run
from support.following import Desk
from support.growing_logs import claude_records

ID = "11111111-2222-3333-4444-555555555555"
APPEND = "import sys\nwith open(sys.argv[1], 'a') as file:\n    file.write(sys.stdin.read())\n"
SPEC = """
tests:
  - id: first
    assertions:
      - {type: tool-trajectory, mode: any_order, minimums: {Bash: 6}}
  - id: other
    assertions:
      - {type: forbid, calls: ["Bash"], name: no shell}
"""


@pytest.fixture
def append(tmp_path: Path) -> str:
    """A command that appends its standard input to `events`."""
    script = tmp_path / "append.py"
    script.write_text(APPEND, encoding="utf-8")
    (tmp_path / "logs").mkdir()
    return f"{sys.executable} '{script}' '{tmp_path / 'events'}'"


def tail(folder: Path, *more: str | Path) -> Ran:
    return run(folder, "tail", "logs", "--once", "--out", "out", "--state", "state", *more)


def events(folder: Path) -> list[dict[str, Any]]:
    """The events since the last call."""
    file = folder / "events"
    lines = file.read_bytes().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    for line in lines:
        msgspec.json.decode(line, type=SessionEvent)
    return [json.loads(line) for line in lines]


def grow(folder: Path, lines: list[bytes], name: str = SESSION.name) -> None:
    with (folder / "logs" / name).open("ab") as file:
        file.writelines(lines)


def next_run() -> list[bytes]:
    """A further prompt and answer of SESSION."""
    lines = SESSION.read_bytes().splitlines(keepends=True)
    prompt = next(line for line in lines if b'"type":"user"' in line)
    answer = next(line for line in reversed(lines) if b'"type":"assistant"' in line)
    return [line.replace(b"00000000-", b"0000000a-").replace(b'"msg_', b'"msg_a') for line in (prompt, answer)]


def test_an_end_is_reported_once_over_restarts_and_the_next_end_again(tmp_path: Path, append: str) -> None:
    lines = SESSION.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"type":"assistant"' in line)
    grow(tmp_path, lines[:last])
    tail(tmp_path, "--on", "ended", append)
    assert events(tmp_path) == []
    grow(tmp_path, lines[last:])
    tail(tmp_path, "--on", "ended", append, "--on", "failed", append)
    (event,) = events(tmp_path)
    (result,) = (tmp_path / "out").glob("*.result.json")
    whole = json.loads(result.read_bytes())
    assert (event["event"], event["status"], event["provider"]) == ("ended", "complete", "claude")
    assert (event["id"], event["path"]) == (SESSION.stem, str(tmp_path / "logs" / SESSION.name))
    assert event["outputs"]["result"] == str(result.relative_to(tmp_path))
    assert (tmp_path / event["outputs"]["transcript"]).exists()
    for name in ("tokens", "cost_usd", "duration_ms"):
        assert event[name] == whole[name]
    assert event["tool_use_summary"]["turns"] == whole["tool_use_summary"]["turns"]
    grow(tmp_path, [b'{"type":"ai-title","aiTitle":"Other","sessionId":"%s"}\n' % SESSION.stem.encode()])
    tail(tmp_path, "--on", "ended", append)
    assert events(tmp_path) == []
    grow(tmp_path, next_run())
    tail(tmp_path, "--on", "ended", append)
    assert [event["event"] for event in events(tmp_path)] == ["ended"]


def test_a_session_that_its_log_calls_failed(tmp_path: Path, append: str) -> None:
    failed = STREAM.read_bytes().replace(b'"subtype":"success","is_error":false', b'"subtype":"x","is_error":true')
    assert failed != STREAM.read_bytes()
    grow(tmp_path, [failed], "stream.jsonl")
    for _ in range(2):
        tail(tmp_path, "--on", "failed", append)
    assert [(event["event"], event["status"]) for event in events(tmp_path)] == [("failed", "error")]


def test_a_violation_is_reported_before_the_session_ends(tmp_path: Path, append: str) -> None:
    """Of the two cases only one has failed for good: the other may still be satisfied."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    records = [line + b"\n" for line in claude_records(ID, 3)]
    for part in (records[:6], records[6:]):
        grow(tmp_path, part, f"{ID}.jsonl")
        tail(tmp_path, "--check", "spec.yaml", "--on", "violation", append)
    (event,) = events(tmp_path)
    assert (event["event"], event["violations"], event["why"]) == ("violation", ["other"], "violated: other")


def test_a_violation_is_reported_while_the_session_grows(tmp_path: Path, append: str) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    spec = load_spec(tmp_path / "spec.yaml")
    desk = Desk(tmp_path / "desk")
    actions = Actions([command_of("violation", append)], desk.say)

    def cases() -> list[Case]:
        return [case.build() for case in spec.cases]

    follower = desk.follower(settle_seconds=1e9, cases=cases, actions=actions)
    (desk.logs / f"{ID}.jsonl").write_bytes(b"".join(line + b"\n" for line in claude_records(ID, 3)))
    follower.round()
    actions.close(stopping=False)
    assert not list(desk.out.glob("*.result.json"))
    (event,) = events(tmp_path)
    assert event["violations"] == ["other"]
    assert list(event["outputs"]) == ["transcript"]
    follower.close()


class Stalling:
    """A follower with a clock that the test sets, restarted at will; `ID` waits for the result of a call."""

    def __init__(self, folder: Path, append: str) -> None:
        self.folder, self.append = folder, append
        self.desk = Desk(folder / "desk")
        self.log = self.desk.logs / f"{ID}.jsonl"
        self.records = [line + b"\n" for line in claude_records(ID, 3)]
        self.log.write_bytes(b"".join(self.records[:6]))
        self.now_ms = 1_767_225_600_000 + 10_000

    def events_until(self, seconds: float) -> list[str]:
        """Runs a follower now and `seconds` later; returns why commands ran."""
        actions = Actions([command_of("stalled", self.append)], self.desk.say)
        standings = Standings(lambda: self.now_ms)
        follower = self.desk.follower(actions=actions, standings=standings)
        for step in (0, seconds * 1000 - 2_000, 2_000):
            self.now_ms += int(step)
            follower.round()
        follower.settle_all()
        assert sum(standings.by_status().values()) == follower.sessions_known
        follower.close()
        actions.close(stopping=False)
        return [event["why"] for event in events(self.folder)]


def test_a_stalled_session_is_reported_once_until_it_makes_progress(tmp_path: Path, append: str) -> None:
    stalling = Stalling(tmp_path, append)
    assert stalling.events_until(100) == []
    assert stalling.events_until(300) == ["Bash open for 6m"]
    assert stalling.events_until(300) == []
    with stalling.log.open("ab") as file:
        file.writelines(stalling.records[6:])
    stalling.now_ms = 1_767_225_600_000 + 20_000
    assert stalling.events_until(10) == []
    assert stalling.events_until(300) == ["no events for 5m"]


def test_a_session_that_left_memory_can_stall(tmp_path: Path, append: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "MOST_HOT", 0)
    stalling = Stalling(tmp_path, append)
    for n in range(3):
        (stalling.desk.logs / f"other-{n}.jsonl").write_bytes(
            b"".join(line + b"\n" for line in claude_records(str(n), 2))
        )
    found = stalling.events_until(400)
    assert sorted(found) == ["Bash open for 6m", *["no events for 6m"] * 3]
    assert stalling.events_until(400) == []


def test_a_session_that_was_left_long_ago_is_not_reported(tmp_path: Path, append: str) -> None:
    stalling = Stalling(tmp_path, append)
    stalling.now_ms += 86_400_000
    assert stalling.events_until(400) == []


def test_the_command_reports_a_stalled_session(tmp_path: Path, append: str) -> None:
    now = datetime.now(UTC)
    records = b"".join(line + b"\n" for line in claude_records(ID, 3)[:6])
    for second in range(60):  # the call is ten minutes old
        old = b"2026-01-01T00:00:%02d" % second
        records = records.replace(old, (now - timedelta(seconds=660 - second)).isoformat()[:19].encode())
    grow(tmp_path, [records], f"{ID}.jsonl")
    for _ in range(2):
        tail(tmp_path, "--on", "stalled", append)
    (event,) = events(tmp_path)
    assert (event["event"], event["status"], event["id"]) == ("stalled", "stalled", ID)
    assert event["why"].startswith("Bash open for 1")
    assert (tmp_path / event["outputs"]["transcript"]).exists()


def test_rounds_do_not_wait_for_a_command(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    actions = Actions([("ended", ["sh", "-c", f"read line < '{gate}'; cat > '{tmp_path / 'events'}'"])], desk.say)
    follower = desk.follower(actions=actions)
    (desk.logs / SESSION.name).write_bytes(SESSION.read_bytes())
    follower.round()
    (desk.logs / f"{ID}.jsonl").write_bytes(b"".join(line + b"\n" for line in claude_records(ID, 3)))
    follower.round()
    assert len(list(desk.out.glob("*.result.json"))) == 2
    assert events(tmp_path) == []
    gate.write_text("go\n", encoding="utf-8")
    actions.close(stopping=False)
    assert [event["id"] for event in events(tmp_path)] == [SESSION.stem]
    follower.close()


def test_a_command_that_fails_is_reported_and_nothing_else_fails(tmp_path: Path, append: str) -> None:
    grow(tmp_path, [SESSION.read_bytes()])
    fails = ("--on", "ended", "sh -c 'echo broken >&2; exit 3'", "--on", "ended", "/no/such/program")
    done = tail(tmp_path, *fails, "--on", "ended", append)
    assert done.code == 0
    assert "command failed on=ended" in done.err
    assert "error=exit code 3: broken" in done.err
    assert "No such file or directory: '/no/such/program'" in done.err
    assert len(events(tmp_path)) == 1


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    said: list[object] = []

    def say(event: str, **facts: object) -> None:
        said.append((event, facts["error"]))

    desk = Desk(tmp_path)
    commands = [("ended", ["sh", "-c", "tail -f /dev/null & wait"])]
    actions = Actions(commands, say, limit_seconds=0.1)
    (desk.logs / SESSION.name).write_bytes(SESSION.read_bytes())
    desk.catch_up(actions=actions)
    actions.close(stopping=False)
    assert said == [("command failed", "longer than 0.1 s")]


def test_a_follower_that_stops_ends_its_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_SECONDS", 0.0)
    desk = Desk(tmp_path)
    actions = Actions([("ended", ["tail", "-f", "/dev/null"])] * (module.MOST_AT_ONCE + 3), desk.say)
    (desk.logs / SESSION.name).write_bytes(SESSION.read_bytes())
    desk.catch_up(actions=actions)
    actions.close(stopping=True)
    assert "commands not run, the follower stops" in desk.said
    actions.close(stopping=True)


def test_what_happened_before_following_began_is_not_reported(tmp_path: Path, append: str) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    options = ["--from", "end", "--check", "spec.yaml", "--on", "ended", append, "--on", "violation", append]
    grow(tmp_path, [SESSION.read_bytes()])
    records = [line + b"\n" for line in claude_records(ID, 3)]
    grow(tmp_path, records[:6], f"{ID}.jsonl")
    tail(tmp_path, *options)
    grow(tmp_path, [b'{"type":"ai-title","aiTitle":"Other","sessionId":"%s"}\n' % SESSION.stem.encode()])
    grow(tmp_path, records[6:], f"{ID}.jsonl")
    for _ in range(2):
        tail(tmp_path, *options)
    assert events(tmp_path) == []
    grow(tmp_path, next_run())
    tail(tmp_path, *options)
    assert sorted((event["event"], event["id"]) for event in events(tmp_path)) == [
        ("ended", SESSION.stem),
        ("violation", SESSION.stem),
    ]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--on", "ende", "true"], "--on: unknown event 'ende'; did you mean 'ended'?"),
        (["--on", "ended", "sh '"], "No closing quotation"),
        (["--on", "ended", " "], "the command is empty"),
        (["--on", "violation", "true"], "--on violation needs --check SPEC"),
        (["--on", "ended", "true", "--events"], "--on goes with files"),
        (["--on", "ended"], "requires 2 arguments"),
    ],
)
def test_wrong_use(tmp_path: Path, words: list[str], error: str) -> None:
    options: list[str | Path] = ["--root", tmp_path] if "--events" in words else ["--root", tmp_path, "--out", "out"]
    done = run(tmp_path, "tail", "--once", "--state", "state", *options, *words)
    assert (done.code, error in done.err) == (2, True), done.err


def test_the_words_of_a_command_are_split_without_a_shell() -> None:
    assert command_of("failed", "a 'b c' $HOME") == ("failed", ["a", "b c", "$HOME"])
    with pytest.raises(UsageError):
        command_of("paused", "true")

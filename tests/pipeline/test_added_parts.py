"""A new output, transformation or stage is registered once, and runs wherever sessions are read and written."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.message import Message
from agentv_stages.session import parts
from agentv_stages.sinks import outputs
from agentv_stream import follow, import_sessions, open_stream, summarize_groups, summarize_many
from agentv_stream.errors import UsageError
from support import added_parts
from support.added_parts import ROWS, Number, Unwrap, wrapped
from support.consuming import SESSION, STREAM, Ran, run
from support.following import Desk
from support.made_sessions import claude_session


@pytest.fixture
def added(tmp_path: Path) -> str:
    """The PYTHONPATH of a program in which the parts are registered, its workers included."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("from support.added_parts import register\nregister()\n")
    tests = Path(added_parts.__file__).parents[1]
    return os.pathsep.join([str(tmp_path / "site"), str(tests)])


def log_in(folder: Path, data: bytes) -> Path:
    log = folder / "logs" / "11111111-2222-4333-8444-555555555555.jsonl"
    log.parent.mkdir()
    log.write_bytes(wrapped(data))
    return log


def is_counted(folder: Path) -> None:
    """There is one transcript, its texts are numbered, and the count of its rows stands beside it."""
    (transcript,) = folder.rglob("*.transcript.jsonl")
    rows = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    assert {row["content"] for row in rows} == {f"text {n + 1}" for n in range(len(rows))}
    assert len(rows) > 2
    (counted,) = folder.rglob(f"*{ROWS}")
    assert counted.read_text() == f"{rows[0]['source']['session_id']} {len(rows)}\n"
    assert counted.name.removesuffix(ROWS) == transcript.name.removesuffix(".transcript.jsonl")


COMMANDS = {
    "consume": ["consume", "{log}", "--out", "{out}"],
    "consume again": ["consume", "{log}", "--out", "{out}"],
    "run": ["run", "--out", "{out}", "--task", "t", "--", sys.executable, "-c", "{agent}"],
    "tail": ["tail", "--once", "--root", "{logs}", "--out", "{out}", "--state", "{out}/state"],
    "import": ["import", "{log}", "--out", "{out}", "--engine", "serial"],
    "import with processes": ["import", "{log}", "--out", "{out}", "--engine", "process", "--workers", "2"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_registered_runs_in_every_command(name: str, tmp_path: Path, added: str) -> None:
    log, out = log_in(tmp_path, STREAM.read_bytes() if name == "run" else SESSION.read_bytes()), tmp_path / "out"
    agent = f"import sys; sys.stdout.write(open({str(log)!r}).read())"
    words = {"{log}": str(log), "{logs}": str(log.parent), "{out}": str(out), "{agent}": agent}
    arguments = [words.get(word, word.replace("{out}", str(out))) for word in COMMANDS[name]]
    for _ in range(2 if name == "consume again" else 1):
        done: Ran = run(tmp_path, *arguments, PYTHONPATH=added)
        assert done.code == 0, done.err
    is_counted(out)


def test_what_is_registered_runs_behind_a_pipe(tmp_path: Path, added: str) -> None:
    data = wrapped(STREAM.read_bytes())
    assert run(tmp_path, "consume", "--out", tmp_path / "out", given=data, PYTHONPATH=added).code == 0
    is_counted(tmp_path / "out")


def test_a_session_that_grows_over_restarts_is_counted_and_numbered_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "OUTPUTS", [*outputs.OUTPUTS, added_parts.count_rows])
    monkeypatch.setattr(parts, "RECORDS", [Unwrap])
    monkeypatch.setattr(parts, "STAGES", [Number])
    desk = Desk(tmp_path)
    log = desk.logs / "11111111-2222-3333-4444-555555555555.jsonl"
    lines = wrapped(SESSION.read_bytes()).splitlines(keepends=True)
    for at in range(0, len(lines), 5):
        with log.open("ab") as file:
            file.writelines(lines[at : at + 5])
        desk.catch_up()
    is_counted(desk.out)


async def test_what_is_registered_runs_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "OUTPUTS", [*outputs.OUTPUTS, added_parts.count_rows])
    monkeypatch.setattr(parts, "RECORDS", [Unwrap])
    monkeypatch.setattr(parts, "STAGES", [Number])
    log = log_in(tmp_path, SESSION.read_bytes())
    async with open_stream(log, out=tmp_path / "out") as stream:
        async for _ in stream.events():
            pass
    is_counted(tmp_path / "out")


def texts(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages]


async def test_a_users_own_stages_run_in_follow_and_in_bulk(tmp_path: Path) -> None:
    log = log_in(tmp_path, claude_session(1, 3))
    found: list[Message] = []
    async with follow(log, once=True, records=[Unwrap], stages=[Number]) as stream:
        async for _, message in stream.messages():
            found.append(message)
    assert len(found) > 2
    assert texts(found) == [f"text {n + 1}" for n in range(len(found))]
    for engine in ("serial", "process"):
        out = tmp_path / engine
        outcome = import_sessions([log], transcripts=out, engine=engine, records=[Unwrap], stages=[Number])
        assert not outcome.failures
        (transcript,) = out.glob("*.transcript.jsonl")
        rows = [json.loads(line) for line in transcript.read_bytes().splitlines()]
        assert {row["content"] for row in rows} >= {"text 1", "text 2", f"text {len(rows)}"}
    (result,) = summarize_many([log], engine="serial", records=[Unwrap])
    assert result.session.dialect == "claude-session"
    total = summarize_groups([log], engine="serial", records=[Unwrap], cache=True).summary
    assert sum(group.sessions for group in total.groups.values()) == 1


async def test_records_are_transformed_before_the_dialect_is_detected(tmp_path: Path) -> None:
    one = SESSION.read_bytes().splitlines()[0]
    for data in (wrapped(SESSION.read_bytes()), wrapped(one).rstrip(b"\n")):  # also if a last line decides
        async with open_stream(data, records=[Unwrap]) as stream:
            batches: list[Batch] = [batch async for batch in stream.batches()]
        assert stream.result is not None
        assert stream.result.session.dialect == "claude-session"
        assert not any(batch.unknown or batch.faults for batch in batches)


def test_a_stage_that_no_worker_could_import_is_refused(tmp_path: Path) -> None:
    class Local(Number):
        """Nobody finds it by its name."""

    with pytest.raises(UsageError, match="cannot be imported by a worker"):
        import_sessions([SESSION], transcripts=tmp_path, engine="serial", stages=[Local])

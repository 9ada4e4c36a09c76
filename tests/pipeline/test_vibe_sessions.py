"""Mistral Vibe's sessions as they lie on disk: all files of one, its sub-agents' too, are one session."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentv_stages.model.event import ToolCall
from agentv_stream.cli import build
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import Root, find_roots
from agentv_stream.summary import SessionReader, read_file, summarize
from support.decoding import FIXTURES
from support.following import Desk, catch_up

VIBE = FIXTURES / "vibe"
CHILD = "child-0a1b2c3d4e5f"


def _values(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VIBE / name).read_bytes().splitlines()]


def _write(path: Path, *values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def _old(root: Path) -> Path:
    """A session of 2.x whose first call of `task` began a sub-agent."""
    place = root / "session_20260302_093000_4eb95d71"
    agent = place / "agents" / "explore_20260302_093001_9c7d3e17"
    agent.mkdir(parents=True)
    shutil.copy(VIBE / "session-old.meta.json", place / "meta.json")
    (agent / "meta.json").write_text((VIBE / "session-old.meta.json").read_text().replace("4eb95d71", "9c7d3e17"))
    shutil.copy(VIBE / "session-old.jsonl", place / "messages.jsonl")
    task = {
        "role": "user",
        "content": "Scratchpad directory: /tmp/x\n\nExplore.",
        "injected": False,
        "message_id": "u1",
    }
    call = {"id": "s1", "function": {"name": "read", "arguments": '{"file_path": "calc.py"}'}, "type": "function"}
    asks = {"role": "assistant", "content": "", "tool_calls": [call], "injected": False, "message_id": "a1"}
    gave = {"role": "tool", "content": "content: x", "injected": False, "name": "read", "tool_call_id": "s1"}
    _write(agent / "messages.jsonl", task, asks, gave)
    return place / "messages.jsonl"


def _checkpoint(place: Path, number: int, entries: list[Any], state: Any) -> None:
    """A checkpoint with its history, and the journal that begins behind it."""
    at, journal = place / "generations" / f"{number:016}", f"journal/{number + 1:016}.jsonl"
    pool = {"chunks": [f"{number:064}"]}
    _write(place / "chunks" / f"{number:064}.json", entries)
    _write(at / "manifest.json", {"projection_state": pool, "recovery_journal_segment": {"path": journal}})
    _write(at / "projection-state.json", state)
    _write(place / journal)
    _write(place / "CURRENT", {"generation": f"{number:016}", "session_id": place.name})


def _append(place: Path, first: int, *records: Any) -> None:
    with (place / "journal" / f"{first:016}.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _store(place: Path, entries: list[Any], state: Any, journal: list[Any]) -> None:
    """The files of a checkpoint, those of the one before it besides."""
    half = len(entries) // 2
    names = [f"{n:064x}" for n in range(3)]
    for name, chunk in zip(names, (entries[:half], entries[half:], entries), strict=True):
        _write(place / "chunks" / f"{name}.json", chunk)
    pool = {"chunks": names[:2], "path": "projection-state.json"}
    segment = {"path": "journal/0000000000000022.jsonl", "first_sequence": 22}
    at = place / "generations" / "0000000000000021"
    _write(at / "manifest.json", {"projection_state": pool, "recovery_journal_segment": segment})
    _write(at / "projection-state.json", state)
    delta = {"delta": [{"op": "append_entry", "entry": entry} for entry in entries], "watermark": 1}
    old = {"recovery_journal_record_version": 1, "sequence": 1, "type": "projection_delta", "payload": delta}
    _write(place / "journal" / "0000000000000001.jsonl", old)
    _write(place / "journal" / "0000000000000022.jsonl", *journal)
    _write(place / "CURRENT", {"generation": "0000000000000021", "session_id": place.name, "store_format": "x/v1"})


def _new(root: Path) -> Path:
    """A session of 3.x that was killed in its second turn, and one sub-agent of its first."""
    values = _values("session.jsonl")
    session_id: str = values[0]["session_id"]
    entries = [value for value in values if "generationStatus" in value]
    state = next(value for value in values if "snapshot" in value)
    journal = [value for value in values if "recovery_journal_record_version" in value]
    spawn = next(entry for entry in entries if entry["type"] == "effect")
    spawn["detail"] = {"agentName": "helper", "childSessionId": CHILD, **spawn["detail"], "toolName": "agents.spawn"}
    place = root / "unified" / session_id
    _store(place, [dict(sorted(entry.items())) for entry in entries], state, journal)
    (place / "meta.json").write_text(json.dumps(values[0], indent=2))
    below = [{**entry, "sessionId": CHILD, "id": f"{entry['id']}-s"} for entry in entries[:3]]
    below[2]["detail"] = {"toolName": "file_system.read_file", "input": {"path": "calc.py"}}
    session = {**state["snapshot"]["session"], "id": CHILD}
    _store(place.parent / CHILD, below, {**state, "snapshot": {**state["snapshot"], "session": session}}, [])
    return place / "meta.json"


def _result(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(summarize(path).to_json())
    return value


def _calls(path: Path) -> list[ToolCall]:
    reader = SessionReader(read_file(str(path)), str(path))
    return [event for batch in reader.batches() for event in batch.events if isinstance(event, ToolCall)]


def test_a_session_of_2x_with_its_sub_agent(tmp_path: Path) -> None:
    main = _old(tmp_path)
    result = _result(main)
    assert (result["session"]["id"], result["session"]["model"]) == (
        "4eb95d71-83d6-43e5-8cfb-95a5b202448c",
        "mock-model",
    )
    assert result["faults"] == {} and result["status"] == "complete"
    assert result["tokens"]["input"] == 2 * 2700 and result["cost_usd"] == pytest.approx(0.002754)
    assert result["tool_use_summary"]["by_tool"] == {"Task": 2, "Read": 1}
    assert [(call.call_id, call.parent_call) for call in _calls(main)][-1] == ("s1", "call00010")


def test_a_session_of_3x_with_its_sub_agent(tmp_path: Path) -> None:
    main = _new(tmp_path)
    result = _result(main)
    assert result["session"]["id"] == main.parent.name
    assert result["faults"] == result["unknown"] == {} and result["status"] == "incomplete"
    assert result["tokens"]["input"] == 4700 + 2400  # the sub-agent's state is that of the first turn
    assert result["tool_use_summary"]["total_tool_calls"] == 7 == len({call.call_id for call in _calls(main)})
    (below,) = [call for call in _calls(main) if call.source.stream == f"subagent:{CHILD}"]
    assert below.parent_call == next(call.call_id for call in _calls(main) if call.name == "agents.spawn")


def test_a_checkpoint_that_cannot_be_read_leaves_the_session(tmp_path: Path) -> None:
    main = _new(tmp_path)
    (main.parent / "CURRENT").write_text('{"generation":"../../../etc"}')
    assert _result(main)["session"]["model"] == "mock-model"
    assert not _calls(main)


@pytest.mark.parametrize("make", [_old, _new])
def test_discovery_finds_one_session(make: Callable[[Path], Path], tmp_path: Path) -> None:
    main = make(tmp_path)
    (found,) = find_sessions(find_roots([f"vibe={tmp_path}"]))
    assert (found.header.provider, found.path) == ("vibe", str(main))


def test_a_folder_in_bulk_is_each_session_once(tmp_path: Path) -> None:
    """Whatever else lies in it: earlier checkpoints, what the model saw, sub-agents."""
    _old(tmp_path)
    _new(tmp_path)
    done = CliRunner().invoke(build(["stats"]), ["stats", str(tmp_path), "--json", "-"])
    total = json.loads(done.stdout)["total"]
    assert (total["sessions"], total["tool_calls"]) == (2, 10)


def test_a_session_is_followed_over_its_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal is followed; what a checkpoint repeats of it is told once, and old parts of it go."""
    monkeypatch.setenv("VIBE_HOME", str(tmp_path / "vibe"))

    def roots(_: list[str]) -> list[Root]:
        return find_roots(provider="vibe")

    monkeypatch.setattr("support.following.find_roots", roots)
    values, now = _values("session.jsonl"), [0.0]
    entries = [value for value in values if "generationStatus" in value]
    state = next(value for value in values if "snapshot" in value)
    journal = [value for value in values if "recovery_journal_record_version" in value]
    place = tmp_path / "vibe" / "logs" / "session" / "unified" / str(values[0]["session_id"])
    begun = {**state, "snapshot": {"session": {"id": "s"}, "latestTurn": None}}
    desk = Desk(tmp_path / "desk", lambda: now[0])
    follower = desk.follower()

    def result() -> tuple[int, str]:
        for name in ("begun", "on"):  # new files are looked for where something has grown, and not at once
            now[0] += 60.0
            (place / "meta.json").write_text(json.dumps({**values[0], "title": name}, indent=2))
            catch_up(follower)
        follower.settle_all()
        (path,) = desk.out.glob("*.result.json")
        told = json.loads(path.read_bytes())
        return told["tool_use_summary"]["total_tool_calls"], told["status"]

    _checkpoint(place, 1, [], begun)
    assert result() == (0, "incomplete")
    delta = [{"op": "append_entry", "entry": entry} for entry in entries]
    _append(place, 2, {**journal[1], "type": "projection_delta", "payload": {"delta": delta}})
    assert result() == (4, "incomplete")
    _checkpoint(place, 21, entries, state)
    assert result() == (4, "complete")
    _append(place, 22, *journal)
    (place / "journal" / f"{2:016}.jsonl").unlink()
    assert result() == (6, "incomplete")
    follower.close()
    desk.close()

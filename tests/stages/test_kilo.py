"""Kilo's logs: OpenCode's decoders, told apart where the content tells it; its own tools."""

from typing import Any

import msgspec
import pytest

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionInfo
from agentv_stages.providers import get_provider
from agentv_stages.providers.kilo import PROVIDER, is_kilo
from agentv_stages.session.detect import Detector
from support.conformance import detected
from support.decoding import (
    FIXTURES,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    lines,
    records,
    results,
    texts,
    total,
)

STREAM = dialect(PROVIDER, "kilo-stream")
EXPORT = dialect(PROVIDER, "kilo-export")
LIVE = (FIXTURES / "kilo" / "stream.jsonl").read_bytes()
STORED = (FIXTURES / "kilo" / "export-ses_k1.json").read_bytes()
FINISH = {"type": "step-finish", "id": "prt_9", "messageID": "msg_1", "sessionID": "ses_1", "reason": "stop"}
ALLOWED = {"approval": {"source": "global", "rule": {"permission": "*", "pattern": "*", "action": "allow"}}}


def line(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1, "sessionID": "ses_1", "part": {"sessionID": "ses_1", **part}}


def told(*values: Any) -> str:
    return detected(b"".join(msgspec.json.encode(value) + b"\n" for value in values))[1].name


def export(**info: Any) -> dict[str, Any]:
    """The export of a session that has a prompt and no answer."""
    message: dict[str, Any] = {"info": {"role": "user", "id": "msg_1", "sessionID": "ses_1"}, "parts": []}
    return {"info": {"id": "ses_1", "directory": "/w", **info}, "messages": [message]}


def test_the_stream_keeps_the_laws_of_decoders() -> None:
    check_laws(STREAM, records(LIVE))
    check_odd_shapes(PROVIDER, records(LIVE))


def test_the_export_keeps_the_laws_of_decoders() -> None:
    whole = [Record(STORED, 0, 0)]
    check_laws(EXPORT, whole)
    check_odd_shapes(PROVIDER, whole)


def test_both_forms_of_a_session_say_the_same() -> None:
    live, stored = events_of(STREAM, records(LIVE)), events_of(EXPORT, [Record(STORED, 0, 0)])
    assert [(c.call_id, c.name) for c in calls(live)] == [(c.call_id, c.name) for c in calls(stored)]
    assert [(r.outcome, r.exit_code) for r in results(live)] == [(r.outcome, r.exit_code) for r in results(stored)]
    assert texts(live) == texts(stored)[-2:]
    assert total(live) == total(stored)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"metrics": {"generation": 20.5, "source": "computed"}}, "kilo-stream"),
        ({"time": {"start": 1, "end": 2, "elapsed": 1}}, "kilo-stream"),
        ({"time": {"start": 1, "end": 2}}, "opencode-stream"),
        ({"time": None}, "opencode-stream"),
        ({}, "opencode-stream"),
    ],
)
def test_the_end_of_a_step_tells_the_stream(more: dict[str, Any], name: str) -> None:
    begun = line("step_start", type="step-start", id="prt_1", messageID="msg_1")
    assert told(begun, {**line("step_finish"), "part": {**FINISH, **more}}) == name


@pytest.mark.parametrize(("metadata", "name"), [(ALLOWED, "kilo-stream"), ({"exit": 0}, "opencode-stream")])
def test_so_does_a_tool_that_says_what_allowed_it(metadata: dict[str, Any], name: str) -> None:
    state = {"status": "completed", "input": {}, "output": "", "metadata": metadata}
    assert told(line("tool_use", type="tool", tool="bash", callID="c", id="prt_1", state=state)) == name


def test_the_stream_is_told_when_its_lines_come_one_by_one() -> None:
    """The first two lines are OpenCode's as well; they are held."""
    detector = Detector()
    decided = [detector.push(Batch("log", records=[record])) for record in records(LIVE)[:3]]
    assert decided == [False, False, True]
    assert detector.dialect is not None
    assert detector.dialect.name == "kilo-stream"


def test_a_stream_that_says_too_little_is_read_as_opencodes() -> None:
    detector = Detector()
    assert not detector.push(Batch("log", records=records(LIVE)[:2]))
    assert detector.finish()[1].name == "opencode-stream"
    assert any("Kilo" in loss for loss in detector.finish()[1].losses)


@pytest.mark.parametrize(
    ("version", "kilo"),
    [
        ("7.7.9", True),
        ("7.0.33", True),
        ("10.1.0", True),
        ("1.18.33", False),
        ("0.3.0", False),
        ("local", False),
        ("", False),
        ("9" * 5000, False),
        (None, False),
        (7, False),
    ],
)
def test_what_is_stored_is_told_by_its_version(version: object, kilo: bool) -> None:
    assert is_kilo(version) is kilo
    name = "kilo" if kilo else "opencode"
    given = export(version=version)
    assert told(given) == f"{name}-export"
    assert told({"info": given["info"]}) == f"{name}-rows"
    assert told({"session": given["info"], "messages": given["messages"]}) == f"{name}-export"


def test_its_own_tools_are_no_mcp_tools() -> None:
    table = PROVIDER.tools
    for name in ("board_post", "kilo_local_recall", "notebook_edit", "schedule_wakeup", "background_process"):
        assert table.resolve(name).origin == "system"
        assert get_provider("opencode").tools.resolve(name).origin == "mcp"
    assert table.resolve("demo_lookup").tool == "mcp__demo__lookup"


def test_a_process_in_the_background_is_a_shell_call() -> None:
    row = PROVIDER.tools.find("background_process")
    assert row is not None
    assert (row.tool, row.shell) == ("Bash", True)


@pytest.mark.parametrize(
    ("asked", "name"),
    [("bogus", "bogus"), ("no_such_tool", "invalid"), ("apply_patch", "apply_patch")],
)
def test_a_tool_that_does_not_exist_is_no_mcp_tool(asked: str, name: str) -> None:
    error = f"Model tried to call unavailable tool '{asked}'. Available tools: bash."
    state = {"status": "error", "input": {}, "error": error, "time": {"start": 1, "end": 2}}
    call = line("tool_use", type="tool", tool=asked, callID="c", id="prt_1", messageID="msg_1", state=state)
    events = events_of(STREAM, lines(call, {**line("step_finish"), "part": FINISH}))
    assert [c.name for c in calls(events)] == [name]
    assert [r.outcome for r in results(events)] == ["error"]


def test_the_export_names_session_model_and_folder() -> None:
    facts = [e for e in events_of(EXPORT, [Record(STORED, 0, 0)]) if isinstance(e, SessionInfo)]
    assert {f.version for f in facts if f.version} == {"7.7.9"}
    assert {f.cwd for f in facts if f.cwd} == {"/w"}

"""Traps that several agents' logs set, each with its expected behaviour; those of one agent stand in its own tests."""

import json
from typing import Any

import pytest

from agentv_stages.figures.result import Result
from agentv_stream.summary import SessionReader


def result_of(*records: dict[str, Any]) -> Result:
    """The result of a log, its dialect found by content."""
    reader = SessionReader([b"".join(json.dumps(record).encode() + b"\n" for record in records)], "log")
    for _ in reader.batches(companions=False):
        pass
    return reader.result()


TIME = "2026-03-01T10:00:00.000Z"
HM = [{"type": "text", "text": "Hm"}]
CURSOR = (
    {"type": "system", "subtype": "init", "apiKeySource": "login", "cwd": "/w", "session_id": "s", "model": "Auto",
     "permissionMode": "default"},
    {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": HM}},
)  # fmt: skip
CODEX = ({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"})
OPENCODE = (
    {"type": "step_start", "timestamp": 1772359200000, "sessionID": "ses_1",
     "part": {"id": "p1", "sessionID": "ses_1", "messageID": "m1", "type": "step-start"}},
    {"type": "text", "timestamp": 1772359201000, "sessionID": "ses_1",
     "part": {"id": "p2", "sessionID": "ses_1", "messageID": "m1", "type": "text", "text": "Hm"}},
)  # fmt: skip


def copilot(kind: str, number: int, /, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{number}", "parentId": None, "timestamp": TIME}


COPILOT = (
    copilot("session.tools_updated", 0, model="m"),
    copilot("user.message", 1, content="go"),
    copilot("assistant.turn_start", 2, turnId="0"),
    copilot("assistant.message", 3, messageId="m1", content="Hm", toolRequests=None),
)


@pytest.mark.parametrize("records", [CURSOR, CODEX, OPENCODE, COPILOT], ids=["cursor", "codex", "opencode", "copilot"])
def test_a_stream_that_just_stops_is_incomplete(records: tuple[dict[str, Any], ...]) -> None:
    assert result_of(*records).status == "incomplete"


def test_an_error_item_before_the_first_turn_ends_nothing() -> None:
    warning = {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "no metadata"}}
    said = {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Done."}}
    found = result_of(CODEX[0], warning, CODEX[1], said, {"type": "turn.completed", "usage": {}})
    assert (found.status, found.tool_use_summary["turns"], found.faults, found.unknown) == ("complete", 1, {}, {})


def test_the_unit_of_copilots_costs_is_no_money() -> None:
    usage = {"premiumRequests": 7, "totalApiDurationMs": 1, "sessionDurationMs": 2}
    end = {"type": "result", "timestamp": TIME, "sessionId": "s", "exitCode": 0, "usage": usage}
    found = result_of(*COPILOT, copilot("assistant.turn_end", 4, turnId="0"), end)
    assert (found.status, found.cost_usd) == ("complete", None)


def test_turns_that_are_counted_anew_are_other_answers() -> None:
    again = (
        copilot("assistant.turn_end", 4, turnId="0"),
        copilot("user.message", 5, content="more"),
        copilot("assistant.turn_start", 6, turnId="0"),
        copilot("assistant.message", 7, messageId="m2", content="Yes", toolRequests=None),
    )
    assert result_of(*COPILOT, *again).tool_use_summary["turns"] == 2


def test_redacted_members_and_their_new_names_harm_nothing() -> None:
    redacted = copilot("assistant.message", 3, messageId="m1", content="Hm", **{"[redacted]": 1, "toolRequests": None})
    found = result_of(*COPILOT[:3], redacted)
    assert (found.tool_use_summary["turns"], found.faults, found.unknown) == (1, {}, {})


def test_a_claude_run_goes_on_behind_its_first_result() -> None:
    def answer(number: int) -> dict[str, Any]:
        message = {
            "id": f"msg_{number}",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "Hm"}],
        }
        return {"type": "assistant", "message": message, "session_id": "s", "uuid": f"u{number}",
                "parent_tool_use_id": None}  # fmt: skip

    def end(number: int, cost: float) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        spent = {"m": {"inputTokens": 20, "outputTokens": 10, "costUSD": cost}}
        return {"type": "result", "subtype": "success", "is_error": False, "result": "Hm", "session_id": "s",
                "result_index": number, "total_cost_usd": cost, "usage": usage, "modelUsage": spent,
                "num_turns": 1}  # fmt: skip

    init = {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "s", "tools": ["Bash"], "mcp_servers": [],
            "model": "m", "permissionMode": "default", "apiKeySource": "none",
            "claude_code_version": "2.1.329"}  # fmt: skip
    found = result_of(init, answer(1), end(0, 0.1), init, answer(2), end(1, 0.2))
    assert (found.status, found.cost_usd, found.tool_use_summary["turns"]) == ("complete", 0.2, 2)
    assert (found.tokens["input"], found.tokens["output"]) == (20, 10)
    assert result_of(init, answer(1), end(0, 0.1), init, answer(2)).status == "incomplete"


def test_a_command_that_turns_out_to_change_files_is_one_call() -> None:
    """Codex 0.169: an `exec_command` whose text applies a patch ends as an item `FileChange` of the same id."""

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": TIME, "type": kind, "payload": payload}

    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\nEOF"
    changed = {"type": "FileChange", "id": "c1", "changes": {"/w/n": {"type": "add", "content": "x"}},
               "status": "completed"}  # fmt: skip
    found = result_of(
        line("session_meta", id="t", timestamp=TIME, cwd="/w", cli_version="0.169.0"),
        line("response_item", type="function_call", call_id="c1", name="exec_command",
             arguments=json.dumps({"cmd": patch})),
        line("event_msg", type="item_completed", item=changed),
        line("response_item", type="function_call_output", call_id="c1", output="Process exited with code 0\n"),
    )  # fmt: skip
    summary = found.tool_use_summary
    assert (summary["by_tool"], summary["by_kind"]["write"], summary["by_outcome"]["ok"]) == ({"Write": 1}, 1, 1)

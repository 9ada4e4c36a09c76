"""A member of a shape that the dialect does not know costs itself: the record counts as one without that member."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import Result, summarize
from support.decoding import FIXTURES

EXAMPLES = Path(__file__).parents[2] / "examples"
GEMINI = EXAMPLES / "gemini.jsonl"
CLAUDE = FIXTURES / "claude" / "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl"


def dumped(record: Any) -> bytes:
    """As the logs have it, and as the record is made anew without the member."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def told(result: Result) -> dict[str, Any]:
    """What a result says, but for the sizes of records."""
    summary = dict(result.tool_use_summary)
    summary["tools"] = {
        name: {key: figure for key, figure in row.items() if not key.startswith("bytes_")}
        for name, row in summary["tools"].items()
    }
    return {
        "summary": summary,
        "tokens": result.tokens,
        "session": result.session,
        "status": result.status,
        "events": result.events,
    }


@pytest.mark.parametrize(
    ("path", "row", "place", "shape"),
    [
        (GEMINI, 12, ("error", "message"), {}),  # the call had no result, and there was no fault
        (GEMINI, 18, ("stats", "models"), 5),  # the session had no end, and there was no fault
        (CLAUDE, 5, ("parentUuid",), 5),  # the answer had no tokens
        (FIXTURES / "acp" / "qwen.jsonl", 1, ("params", "update", "content", "type"), 5),  # the session had no id
        (FIXTURES / "acp" / "copilot.jsonl", 18, ("params", "update", "_meta", "github.com/copilot", "agentId"), []),
        (FIXTURES / "acp" / "qwen.jsonl", 2, ("params", "update", "content", "type"), 5),
        (FIXTURES / "acp" / "opencode.jsonl", 6, ("msg", "params", "update", "content", "type"), {}),
        (FIXTURES / "pi" / "session-v3.jsonl", 3, ("message", "content"), True),
        (FIXTURES / "openclaw" / "session.jsonl", 5, ("message", "content"), {}),
        (FIXTURES / "cursor" / "stream.jsonl", 12, ("message", "content", 0, "type"), []),
    ],
)
def test_the_rest_of_the_record_counts(path: Path, row: int, place: tuple[str | int, ...], shape: Any) -> None:
    lines = path.read_bytes().splitlines()
    record = json.loads(lines[row])
    holder = record
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = shape
    bent = summarize(b"\n".join([*lines[:row], dumped(record), *lines[row + 1 :]]))
    del holder[place[-1]]
    without = summarize(b"\n".join([*lines[:row], dumped(record), *lines[row + 1 :]]))
    assert bent.faults == {"schema": 1} or not bent.faults
    assert told(bent) == told(without)


def test_the_tokens_of_a_sub_agent_of_qwen_count() -> None:
    session = {"sessionId": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w", "version": "0.15.10"}
    event = {"event.name": "qwen-code.api_response", "prompt_id": "s-1#helper-x#0", "model": "qwen-x"}
    spent = {"input_token_count": 50, "output_token_count": 9, "thoughts_token_count": "x"}
    prompt = {"uuid": "u", "type": "user", "message": {"role": "user", "parts": [{"text": "go"}]}}
    told = {"uuid": "t", "type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {**event, **spent}}}
    result = summarize(b"\n".join(dumped({**session, **one}) for one in (prompt, told)))
    assert result.faults == {"schema": 1}
    assert (result.tokens["input"], result.tokens["output"]) == (50, 9)


def test_an_error_ends_a_prompt_whatever_its_code_is() -> None:
    head = (FIXTURES / "acp" / "qwen.jsonl").read_bytes().splitlines()[:-1]
    error: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "error": {"code": {}, "message": "no"}}
    result = summarize(b"\n".join([*head, dumped(error)]))
    assert (result.status, result.evidence.reason, result.faults) == ("error", "no", {"schema": 1})


def test_the_tokens_of_an_answer_that_broke_off_count() -> None:
    """With --include-partial-messages they are told before its first block."""
    (init,) = [line for line in (EXAMPLES / "claude.jsonl").read_bytes().splitlines() if b'"init"' in line]
    usage = {"input_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": "x", "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    begun: dict[str, Any] = {
        "type": "stream_event",
        "event": {"type": "message_start", "message": message},
        "session_id": "s-1",
    }
    result = summarize(b"\n".join((init, dumped(begun))))
    assert (result.faults, result.tokens["input"]) == ({"schema": 1}, 104)

"""Documents that were cut off: what is whole of them is read, the torn part is a fault, nothing is made up."""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.torn_document import whole_part
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import AnyEvent, SessionEnd
from agentv_stages.model.fault import Fault
from agentv_stages.model.provider import DecodeContext
from agentv_stages.session.detect import Detector, UnknownFormat
from support.decoding import FIXTURES, texts

OPENCODE = (FIXTURES / "opencode" / "export-ses_1.json").read_bytes()
GEMINI: dict[str, Any] = {
    "sessionId": "s-1",
    "projectHash": "ab12",
    "startTime": "2026-01-01T00:00:00.000Z",
    "messages": [
        {"id": "u1", "type": "user", "content": 'Say "]}" — ü'},
        {
            "id": "g1",
            "type": "gemini",
            "content": "Reading.",
            "model": "gemini-2.5-pro",
            "tokens": {"input": 10, "output": 2, "cached": 4, "thoughts": 0},
            "toolCalls": [
                {"id": "c1", "name": "read_file", "args": {"absolute_path": "/a"}, "status": "success", "result": "x"},
                {"id": "c2", "name": "glob", "args": {"pattern": "*"}, "status": "error", "result": "y"},
            ],
        },
        {"id": "g2", "type": "gemini", "content": "Done.", "tokens": {"input": 12, "output": 1}},
    ],
    "lastUpdated": "2026-01-01T00:00:09.000Z",
}
VSCODE: dict[str, Any] = {
    "version": 3,
    "responderUsername": "GitHub Copilot",
    "requests": [
        {"requestId": "r1", "message": {"text": "hi"}, "response": [{"value": "hello"}], "result": {}},
        {
            "requestId": "r2",
            "message": {"text": "read it"},
            "response": [
                {"value": "Reading."},
                {"kind": "toolInvocationSerialized", "toolCallId": "c1", "toolId": "copilot_readFile"},
                {"value": "Done."},
            ],
            "result": {},
        },
    ],
    "sessionId": "s-2",
}
ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.4",
    "session_id": "s-3",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "go"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "ok",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "a"}]},
        },
    ],
}
LINES: list[Any] = [
    {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.0", "tools": []},
    {"type": "assistant", "session_id": "s", "message": {"id": "m1", "content": [{"type": "text", "text": "a"}]}},
    {"type": "assistant", "session_id": "s", "message": {"id": "m2", "content": [{"type": "text", "text": "b"}]}},
]
DOCUMENTS = {
    "opencode-export": OPENCODE,
    "gemini-chat-json": json.dumps(GEMINI, indent=2, ensure_ascii=False).encode(),
    "gemini-chat-json, one line": json.dumps(GEMINI).encode(),
    "mini-swe-agent": (FIXTURES / "mini-swe-agent" / "run.traj.json").read_bytes(),
    "mini-swe-agent, 1.x": (FIXTURES / "mini-swe-agent" / "v1.traj.json").read_bytes(),
    "continue-session": (FIXTURES / "continue" / "session.json").read_bytes(),
    "vscode-chat": json.dumps(VSCODE, indent=2).encode(),
    "atif": json.dumps(ATIF, separators=(",", ":")).encode(),
    "claude-stream": json.dumps(LINES, indent=2).encode(),
    "claude-stream, one line": json.dumps(LINES).encode(),
}


def read(data: bytes) -> tuple[str, list[AnyEvent], list[Fault]]:
    """Dialect, events and faults. Raises: UnknownFormat."""
    reader, detector = LineReader("log"), Detector()
    batches = [*reader.push(Chunk(data)), *reader.flush()]
    for batch in batches:
        detector.push(batch)
    _, dialect = detector.finish()
    stage, whole = Decode(dialect, DecodeContext("log")), Batch("log")
    for batch in (*(stage.push(batch)[0] for batch in batches), *stage.flush()):
        whole.events += batch.events
        whole.faults += batch.faults
    return dialect.name, whole.events, whole.faults


def said(events: list[AnyEvent]) -> Counter[bytes]:
    """What the events say, without where they stand, without the end; a torn record may lack its model's name."""
    told = [event for event in events if not isinstance(event, SessionEnd)]
    values: list[dict[str, Any]] = [msgspec.json.decode(msgspec.json.encode(event)) for event in told]
    rest = [{k: v for k, v in value.items() if k not in ("source", "model")} for value in values]
    return Counter(json.dumps(value).encode() for value in rest)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_cut_gives_what_is_whole_and_one_fault(name: str) -> None:
    data = DOCUMENTS[name].rstrip()
    dialect, events, faults = read(data)
    assert dialect == name.partition(",")[0] and not faults
    whole, most, read_cuts = said(events), 0, 0
    for cut in range(1, len(data), 1 + len(data) // 600):
        try:
            found, torn_events, torn_faults = read(data[:cut])
        except UnknownFormat:
            assert not most, cut  # once there was enough to know it, it stays known
            continue
        assert found == dialect
        assert said(torn_events) <= whole, cut
        most = max(most, len(texts(torn_events)))
        assert len(texts(torn_events)) == most, "more of the document never says less"
        (fault,) = [f for f in torn_faults if f.reason != "bad-utf8"]
        assert fault.reason == "torn"
        assert fault.offset + fault.length == cut and data[fault.offset : cut] == fault.data
        read_cuts += 1
    assert read_cuts > min(len(data), 600) // 3
    assert most == len(texts(events))


def test_half_a_call_is_no_call() -> None:
    data = json.dumps(GEMINI).encode()
    _, events, _ = read(data[: data.index(b'"pattern"')])
    assert [type(event).__name__ for event in events].count("ToolCall") == 1
    assert texts(events) == ["Reading."]


def test_a_document_broken_in_the_middle_is_read_up_to_there() -> None:
    data = json.dumps(GEMINI).encode().replace(b'"Done."', b'"Do\\qne."') + b" " * 20
    _, events, faults = read(data)
    assert texts(events) == ["Reading."]
    assert [fault.reason for fault in faults] == ["torn-middle"]


def test_a_torn_line_is_no_document() -> None:
    line = json.dumps(LINES[1]).encode()
    with pytest.raises(UnknownFormat):
        read(line[:-10])
    assert whole_part(line[:-10].decode()) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"messages": [{"a": 1}, {"b": 2', ({"messages": [{"a": 1}]}, 24)),
        ('{"messages": [{"a": 1}, {"b": "x", "c": [1', ({"messages": [{"a": 1}, {"b": "x"}]}, 35)),
        ('{"n": 1, "messages": [{"parts": [{"x": 1}, {"y"', ({"n": 1, "messages": [{"parts": [{"x": 1}]}]}, 43)),
        ('{"messages": [{"a": 1}], "n": 12', ({"messages": [{"a": 1}]}, 25)),
        ('[{"a": 1}, {"b"', ({"a": 1}, 11)),
        # a member without a colon, or without a name, is where the damage begins
        ('{"messages": [{"a": 1}], "b" 12}', ({"messages": [{"a": 1}]}, 25)),
        ('{"messages": [{"a": 1}], 5: 12}', ({"messages": [{"a": 1}]}, 25)),
    ],
)
def test_what_is_whole(text: str, expected: tuple[dict[str, Any], int]) -> None:
    found = whole_part(text)
    assert found is not None
    assert (found[0][0], found[1]) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[", '{"', "[1, 2", "[stdout] x", "[" * 100_000),
        *('{"messages": []}', '[{"a": 1}]', '{"messages": [', '{"type": "x", "message": {"content": [{"a": 1}'),
    ],
)
def test_what_is_whole_already_or_no_document_is_left(text: str) -> None:
    assert whole_part(text) is None


def test_deep_nesting_is_no_bug() -> None:
    assert whole_part('{"messages":[{"a":' * 50_000) is None

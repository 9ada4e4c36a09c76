"""Messages of Claude's Agent SDK, as their users write them: a recorded run, dumped and printed."""

import dataclasses
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stages.chain.python_repr import read_repr
from agentv_stages.providers.claude import PROVIDER
from agentv_stages.providers.claude.sdk import stream_line
from agentv_stages.session.detect import rank
from agentv_stream import summarize
from agentv_stream.testing import record_log
from support.decoding import FIXTURES, best, calls, check_laws, check_odd_shapes, dialect, events_of, results, texts

SDK = dialect(PROVIDER, "claude-sdk")
DUMPED = (FIXTURES / "claude" / "sdk-asdict.jsonl").read_bytes()
PRINTED = (FIXTURES / "claude" / "sdk-print.txt").read_bytes()
MESSAGES: list[dict[str, Any]] = [json.loads(line) for line in DUMPED.splitlines()]
NAMED = b"".join(json.dumps({"type": "AssistantMessage", **m}).encode() + b"\n" for m in MESSAGES if "model" in m)
ARRAY = json.dumps(MESSAGES, indent=2).encode()


def test_the_dump_gives_what_a_count_of_its_blocks_gives() -> None:
    log = record_log(DUMPED)
    assert best(PROVIDER, log) == ("claude-sdk", 1.0)
    check_laws(SDK, log)
    check_odd_shapes(PROVIDER, log)
    events = events_of(SDK, log)
    blocks = [block for m in MESSAGES if isinstance(m.get("content"), list) for block in m["content"]]
    uses = [block for block in blocks if "input" in block]
    assert [(call.name, call.call_id) for call in calls(events)] == [(use["name"], use["id"]) for use in uses]
    failed = {block["tool_use_id"]: bool(block["is_error"]) for block in blocks if "tool_use_id" in block}
    assert {result.call_id: result.outcome == "error" for result in results(events)} == failed
    said = [block["text"] for m in MESSAGES if "model" in m for block in m["content"] if "text" in block]
    assert texts(events) == said


@pytest.mark.parametrize("data", [PRINTED, ARRAY], ids=["print(message)", "one document"])
def test_every_form_gives_the_same_session(data: bytes) -> None:
    first, other = summarize(DUMPED), summarize(data)
    assert other.session.dialect == "claude-sdk" and other.status == "complete" and not other.faults
    sums = [{name: v for name, v in s.tool_use_summary.items() if name != "tools"} for s in (first, other)]
    assert sums[0] == sums[1]  # `tools` counts bytes, which spaces and escapes change
    assert dict(other.tokens) == dict(first.tokens)
    last = MESSAGES[-1]["model_usage"]
    assert other.tokens["output"] == sum(model["outputTokens"] for model in last.values())
    counts = Counter({"Read": 2, "Bash": 2, "Task": 1})
    assert other.tool_use_summary["by_tool"] == dict(counts)


def test_the_name_of_the_class_may_be_a_member() -> None:
    assert [stream_line(line) for line in NAMED.splitlines()] == [
        stream_line(json.dumps(m).encode()) for m in MESSAGES if "model" in m
    ]


def test_lines_that_claude_code_prints_are_not_the_sdks() -> None:
    stream = (FIXTURES / "claude" / "stream.jsonl").read_bytes()
    assert rank([json.loads(line) for line in stream.splitlines()])[0][2].name == "claude-stream"
    assert all(stream_line(line) is line for line in stream.splitlines())


@dataclasses.dataclass
class Block:
    text: Any
    more: Any = None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None  # JSON has none
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType] - any JSON
    return [plain(inner) for inner in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType] - any JSON


@settings(deadline=None, derandomize=True)
@given(VALUES, VALUES)
def test_what_python_prints_is_read_back(text: Any, more: Any) -> None:
    printed = repr(Block([Block(text)], more)).encode("utf-8", "surrogatepass")
    inner = {"type": "Block", "text": plain(text), "more": None}
    assert read_repr(printed) == {"type": "Block", "text": [inner], "more": plain(more)}


@pytest.mark.parametrize(
    "line",
    [
        b"", b"A(", b"A(b=)", b"A(b=1", b"A(b=1))", b"A(b=1) and more", b"A(b=[1)", b"A(b=c)", b"A(b=<object at 0x7f>)",
        b"A(b=__import__('os').system('true'))", b"Traceback (most recent call last):", b"A(b='c)", b"A(b={1: 2})",
    ],
)  # fmt: skip
def test_other_lines_are_left_alone(line: bytes) -> None:
    assert read_repr(line) is None


def test_a_depth_that_would_end_a_parser_is_read_or_refused() -> None:
    assert read_repr(b"A(b=" + b"[" * 100_000 + b"]" * 100_000 + b")") is not None
    assert read_repr(b"A(b=" + b"[" * 100_000) is None

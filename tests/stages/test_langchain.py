"""LangChain's messages in their three forms, by hand-made lists of the same messages."""

from typing import Any

import pytest

from agentv_stages.model.event import Reasoning, SessionEnd, SessionInfo, UserText
from agentv_stages.providers.langchain import PROVIDER
from agentv_stream.testing import record_log
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    lines,
    results,
    texts,
    total,
)

MESSAGES = dialect(PROVIDER, "langchain-messages")
LOGS = {path.name: record_log(path.read_bytes()) for path in sorted((FIXTURES / "langchain").iterdir())}


@pytest.mark.parametrize("name", list(LOGS))
def test_every_form_gives_the_same_messages(name: str) -> None:
    log = LOGS[name]
    assert best(PROVIDER, log) == ("langchain-messages", 0.9 if name == "plain.jsonl" else 1.0)
    check_laws(MESSAGES, log)
    check_odd_shapes(PROVIDER, log)
    events = events_of(MESSAGES, log)
    assert [(call.name, call.message_id, call.input) for call in calls(events)] == [
        ("read_file", "a1", {"path": "slug.py"}),
        ("shell", "a1", {"command": "pytest -q"}),
    ]
    assert [(result.call_id, result.outcome) for result in results(events)] == [("t2", "error"), ("t1", "ok")]
    assert texts(events) == ["I look.", "Fixed."]
    assert [event.text for event in events if isinstance(event, Reasoning)] == ["Reading first."]
    assert [event.text for event in events if isinstance(event, UserText)] == ["Fix the failing test."]
    assert total(events) == {"input": 1850, "cached": 600, "output": 60, "reasoning": 20}
    assert [event.model for event in events if isinstance(event, SessionInfo)] == ["pear-2"]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "human", "content": "hello"},
        {"type": "user", "content": "hello", "tool_calls": []},
        {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "PromptTemplate"], "kwargs": {}},
        {"messages": [{"role": "user", "content": "hello"}]},
    ],
)
def test_other_lists_are_not_taken(line: dict[str, Any]) -> None:
    assert MESSAGES.detect([line]) == 0.0


def test_zeros_are_unknown_and_a_chunk_is_a_message() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    path = ["langchain", "schema", "messages", "AIMessageChunk"]
    log = lines({"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": "Hi.", "usage_metadata": usage}})
    assert texts(events_of(MESSAGES, log)) == ["Hi."]
    assert total(events_of(MESSAGES, log))["input"] == 0


def test_a_call_whose_arguments_are_no_json_is_an_error() -> None:
    bad = {"name": "shell", "args": "{", "id": "t1", "error": "no JSON"}
    data = {"content": "I look.", "tool_calls": [], "invalid_tool_calls": [bad]}
    events = events_of(MESSAGES, lines({"type": "ai", "data": data}))
    assert [(call.name, call.input) for call in calls(events)] == [("shell", {"input": "{"})]
    assert [(r.call_id, r.outcome, r.output) for r in results(events)] == [("t1", "error", "no JSON")]
    assert not [event for event in events if isinstance(event, SessionEnd)]


def test_a_content_may_mix_texts_and_blocks() -> None:
    data = {"content": ["I ", {"type": "text", "text": "look."}], "tool_calls": []}
    assert "".join(texts(events_of(MESSAGES, lines({"type": "ai", "data": data})))) == "I look."

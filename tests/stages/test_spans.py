"""Spans of a session: one trace for each prompt, names and types of the pinned conventions, ids that never change."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.model.otlp import CLIENT, ERROR, INTERNAL, Span
from agentv_stages.sinks.genai import ATTRIBUTES, OLD_CACHE_WRITE, OWN, maker_of
from agentv_stages.sinks.span_content import LONGEST, MOST_BYTES
from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import summarize
from support.consuming import SESSION
from support.decoding import read
from support.fixture_logs import LOGS
from support.made_sessions import claude_session
from support.recorded_logs import recordings
from support.spans import WITH_CONTENT, attributes, last_of_each, spans_of

TYPES: dict[str, type] = {"string": str, "int": int, "double": float, "boolean": bool, "string[]": list}
PROMPT = {
    "type": "user",
    "uuid": "second",
    "parentUuid": None,
    "sessionId": "11111111-2222-4333-8444-555555555555",
    "isSidechain": False,
    "cwd": "/repo",
    "version": "2.1.197",
    "timestamp": "2026-03-01T11:00:00.000Z",
    "message": {"role": "user", "content": "and now the rest"},
}


def named(spans: list[Span], beginning: str) -> list[Span]:
    return [span for span in spans if span.name.startswith(beginning)]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(data)
    return path


def check_form(spans: list[Span], old_names: bool = False) -> None:
    """Checks the rules for the spans of any session."""
    latest = last_of_each(spans)
    roots = [span for span in latest.values() if not span.parent_span_id]
    assert len({span.trace_id for span in roots}) == len(roots)
    for span in latest.values():
        assert len(bytes.fromhex(span.trace_id)) == 16 and any(bytes.fromhex(span.trace_id))
        assert len(bytes.fromhex(span.span_id)) == 8 and any(bytes.fromhex(span.span_id))
        if span.parent_span_id:
            assert latest[span.parent_span_id].trace_id == span.trace_id
        assert 0 <= int(span.start_time_unix_nano) <= int(span.end_time_unix_nano) < 2**63
        operation = span.name.partition(" ")[0]
        assert span.kind == (CLIENT if operation == "chat" else INTERNAL)
        found = attributes(span)
        assert found["gen_ai.operation.name"] == operation
        for name, value in found.items():
            known = ATTRIBUTES.get(name) or OWN.get(name) or ("int" if name == OLD_CACHE_WRITE and old_names else "")
            assert type(value) is TYPES[known], (name, value)
        assert ("error.type" in found) == (span.status.code == ERROR)
        if operation != "chat":  # readers add up what all spans have
            assert not any(name.startswith("gen_ai.usage.") for name in found)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name[:40])
def test_the_spans_of_every_agent_have_the_pinned_names_and_types(path: Path) -> None:
    try:
        result = summarize(path)
    except (NotALog, EmptyInput):
        pytest.skip("no log")
    spans = spans_of(path, SpanOptions(content=True, old_names=True))
    check_form(spans, old_names=True)
    calls = {span.span_id for span in named(spans, "execute_tool")}
    assert len(calls) == result.tool_use_summary["total_tool_calls"]


def test_the_spans_of_all_recordings_have_the_pinned_names_and_types_in_any_cut() -> None:
    options, seen = SpanOptions(content=True, old_names=True), 0
    for path in recordings(""):
        data = read(path)
        try:
            spans = spans_of(path, options)
        except (NotALog, EmptyInput):
            continue
        check_form(spans, old_names=True)
        seen += 1
        pieces = [data[at : at + 10_007] for at in range(0, len(data), 10_007)]
        assert last_of_each(spans_of(path, options, pieces)) == last_of_each(spans), path
    assert seen > 100


def test_an_agent_calls_its_model_and_its_tools_and_a_subagent_works_below_its_call() -> None:
    spans = spans_of(SESSION)
    by_id = last_of_each(spans)
    (root,) = [span for span in spans if not span.parent_span_id]
    assert root.name == "invoke_agent claude"
    main = [span for span in spans if span.parent_span_id == root.span_id]
    assert [span.name for span in main] == [
        "chat claude-x", "execute_tool Read", "chat claude-x", "execute_tool Edit", "chat claude-x",
        "execute_tool Agent", "chat claude-x", "execute_tool Bash", "chat claude-x",
    ]  # fmt: skip
    (sub,) = named(spans, "invoke_agent Explore")
    assert by_id[sub.parent_span_id].name == "execute_tool Agent"
    below = [span for span in spans if span.parent_span_id == sub.span_id]
    assert [span.name for span in below] == ["chat claude-x", "execute_tool Glob", "chat claude-x"]
    assert {attributes(span)["gen_ai.agent.name"] for span in named(below, "execute")} == {"Explore"}


def test_tokens_are_those_of_the_session_and_stand_on_model_calls_alone() -> None:
    result = summarize(SESSION)
    chats = [attributes(span) for span in named(spans_of(SESSION), "chat")]
    for ours, theirs in (
        ("input", "gen_ai.usage.input_tokens"),
        ("cached", "gen_ai.usage.cache_read.input_tokens"),
        ("cache_write", "gen_ai.usage.cache_write.input_tokens"),
        ("output", "gen_ai.usage.output_tokens"),
    ):
        assert sum(chat.get(theirs, 0) for chat in chats) == result.tokens[ours]
    assert not any(OLD_CACHE_WRITE in chat for chat in chats)
    old = [attributes(span) for span in named(spans_of(SESSION, SpanOptions(old_names=True)), "chat")]
    assert sum(chat.get(OLD_CACHE_WRITE, 0) for chat in old) == result.tokens["cache_write"]


def test_a_text_that_no_model_gave_is_no_model_call(tmp_path: Path) -> None:
    message = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]}
    refused = {**PROMPT, "type": "assistant", "uuid": "refused", "message": message}
    data = claude_session(1, 2)
    before = named(spans_of(written(tmp_path, data)), "chat")
    after = named(spans_of(written(tmp_path, data + json.dumps(refused).encode() + b"\n")), "chat")
    assert len(last_of_each(after)) == len(last_of_each(before)) > 0


def test_a_failed_call_is_an_error_with_its_exit_code() -> None:
    (bash,) = named(spans_of(SESSION), "execute_tool Bash")
    found = attributes(bash)
    assert (bash.status.code, found["error.type"], found["process.exit.code"]) == (ERROR, "2", 2)
    assert found["agentv_stream.outcome"] == "error"


def test_times_are_those_of_the_log() -> None:
    (read,) = named(spans_of(SESSION), "execute_tool Read")
    assert read.end_time_unix_nano == "1772359202000000000"  # 2026-03-01T10:00:02Z
    (chat, *_) = named(spans_of(SESSION), "chat")
    assert int(chat.end_time_unix_nano) <= int(read.start_time_unix_nano)


def test_each_prompt_is_a_trace_of_its_own(tmp_path: Path) -> None:
    first = claude_session(1, 3)
    later = claude_session(1, 5).splitlines(keepends=True)[-3:]
    spans = spans_of(written(tmp_path, first + json.dumps(PROMPT).encode() + b"\n" + b"".join(later)))
    roots = [span for span in spans if not span.parent_span_id]
    assert [attributes(span)["agentv_stream.calls"] for span in roots] == [3, 1]
    assert len({span.trace_id for span in spans}) == 2
    assert [attributes(span).get("agentv_stream.status") for span in roots] == [None, "complete"]


@pytest.mark.parametrize("path", [SESSION, *LOGS[::4]], ids=lambda path: path.name[:40])
def test_ids_do_not_depend_on_how_the_log_is_cut(path: Path) -> None:
    data = path.read_bytes()
    try:
        whole = {span.span_id: span.parent_span_id for span in spans_of(path)}
    except (NotALog, EmptyInput):
        pytest.skip("no log")
    pieces = [data[at : at + 700] for at in range(0, len(data), 700)]
    assert {span.span_id: span.parent_span_id for span in spans_of(path, pieces=pieces)} == whole


def test_nothing_that_was_said_is_in_a_span_unless_it_is_asked_for() -> None:
    texts = ("fix add", "def add", "old_string", "boom", "pytest")
    plain = "".join(str(attributes(span)) for span in spans_of(SESSION))
    assert not any(text in plain for text in texts)
    full = "".join(str(attributes(span)) for span in spans_of(SESSION, WITH_CONTENT))
    assert all(text in full for text in texts)


def messages(span: Span, name: str) -> Any:
    return json.loads(attributes(span)[f"gen_ai.{name}.messages"])


def test_a_model_call_shows_what_was_new_and_what_came_of_it() -> None:
    spans = spans_of(SESSION, WITH_CONTENT)
    first, second, *_ = named(spans, "chat")
    assert messages(first, "input") == [{"role": "user", "parts": [{"type": "text", "content": "fix add"}]}]
    (answer,) = messages(first, "output")
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "text", "tool_call"]
    (tool,) = messages(second, "input")
    assert tool["parts"][0] == {"type": "tool_call_response", "id": "t_1", "response": "1\tdef add"}


def test_secrets_are_redacted_before_a_text_is_cut(tmp_path: Path) -> None:
    secret = "ghp_" + "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8"
    data = claude_session(1, 2).replace(b"out 0", b"x" * (LONGEST - 60) + b" " + secret.encode() + b" y" * LONGEST)
    spans = spans_of(written(tmp_path, data.replace(b"out 1", b"token " + secret.encode())), WITH_CONTENT)
    text = "".join(str(attributes(span)) for span in spans)
    assert secret[:12] not in text
    assert text.count("[redacted:") >= 2


def test_long_contents_are_cut_to_valid_json(tmp_path: Path) -> None:
    data = claude_session(1, 40).replace(b'"out ', b'"\\u0000\\"' + b"\\u00e4\\n" * 30_000)
    cut = 0
    for span in spans_of(written(tmp_path, data), WITH_CONTENT):
        for name, value in attributes(span).items():
            if name.endswith((".messages", ".arguments", ".result")):
                assert len(value.encode()) < MOST_BYTES + 2 * LONGEST
                if name.endswith(".messages"):
                    json.loads(value)
                cut += "[cut: " in value
    assert cut >= 40


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("claude-opus-4", "anthropic"),
        ("openai/gpt-5", "openai"),
        ("gemini-3", "gcp.gemini"),
        ("x", "me"),
        (None, "me"),
    ],
)
def test_the_maker_of_a_model_is_known_by_its_name(model: str | None, maker: str) -> None:
    assert maker_of(model, "me") == maker

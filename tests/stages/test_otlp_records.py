"""Log records of agents' programs, recorded with a scripted model and cut down: the figures are those of the runs."""

import json
import random
from typing import Any

import pytest

from agentv_stages.model.event import MAIN, AssistantText, ToolCall, ToolResult, UserText
from agentv_stream.summary import SessionReader
from support.decoding import FIXTURES

OTLP = FIXTURES / "otlp"


class Session:
    """A log that was read."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.reader = SessionReader(iter([data]), "log.otlp.jsonl", messages=True)
        batches = list(self.reader.batches())
        self.events = [event for batch in batches for event in batch.events]
        self.result = self.reader.result()
        self.faults = [fault for batch in batches for fault in batch.faults]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def calls(self) -> list[tuple[str, str]]:
        outcomes = {r.call_id: r.outcome for r in self.of(ToolResult)}
        return [(call.name, outcomes[call.call_id]) for call in self.of(ToolCall)]


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (OTLP / f"{name}.otlp.jsonl").read_bytes().splitlines()]


def record(program: str, name: str, second: int, **attributes: Any) -> dict[str, Any]:
    """A line with one log record; `program` is the session's attribute and the beginning of the event's name."""
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    told = {"event.name": name, **{key.replace("__", "."): value for key, value in attributes.items()}}
    pairs = [{"key": key, "value": {kinds[type(value)]: value}} for key, value in told.items()]
    log: dict[str, Any] = {"timeUnixNano": str(1_772_443_800_000_000_000 + second * 1_000_000_000), "attributes": pairs}
    if program:
        log["body"] = {"stringValue": f"{program}.{name}"}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}


RUNS: dict[str, tuple[list[tuple[str, str]], int, tuple[int | None, ...], float | None]] = {
    "claude-code-records": (
        [("Read", "ok"), ("Bash", "ok"), ("Edit", "ok"), ("Bash", "ok")],
        5,
        (163275, 130432, 32805, 129),
        0.16419735,
    ),
    "claude-code-subagents": (
        [("Agent", "ok"), ("Agent", "ok"), ("Bash", "error"), ("Read", "ok"), ("Bash", "ok"), ("Bash", "ok")],
        3,
        (195659, 123392, 72201, 214),
        0.31117935,
    ),
    "codex-records": ([("mcp__demo__lookup", "ok"), ("mcp__demo__lookup", "error")], 3, (40175, 26368, 0, 52), None),
    "qwen-code-records": (
        [("edit", "ok"), ("grep_search", "ok"), ("read_file", "ok"), ("run_shell_command", "ok")],
        5,
        (105957, 84224, None, 110),
        None,
    ),
    "gemini-cli-records": (
        [("mcp_demo_lookup", "ok"), ("mcp_demo_lookup", "error")],
        3,
        (40841, 27008, None, 22),
        None,
    ),
}
"""Calls, turns, tokens and cost, as the agents' own streams have them for the same runs."""


@pytest.mark.parametrize("name", RUNS)
def test_records_say_what_the_stream_of_the_run_says(name: str) -> None:
    calls, turns, tokens, cost = RUNS[name]
    session = Session(lines(name))
    result = session.result
    assert (result.session.dialect, result.status, session.faults, dict(result.unknown)) == ("otlp", "complete", [], {})
    assert sorted(session.calls()) == sorted(calls)
    assert result.tool_use_summary["turns"] == turns
    assert tuple(result.tokens[kind] for kind in ("input", "cached", "cache_write", "output")) == tokens
    assert result.cost_usd == (None if cost is None else pytest.approx(cost))
    (prompt,) = session.of(UserText)
    assert prompt.text and not prompt.injected


def test_calls_have_the_canonical_names_and_arguments_of_their_agent() -> None:
    codex, gemini = (Session(lines(f"{name}-records")).of(ToolCall) for name in ("codex", "gemini-cli"))
    assert {call.tool for call in (*codex, *gemini)} == {"mcp__demo__lookup"}
    assert [call.input for call in codex] == [call.input for call in gemini] == [{"key": "answer"}, {"key": "boom"}]
    (read, *_) = Session(lines("claude-code-records")).of(ToolCall)
    assert (read.tool, read.kind, read.files) == ("Read", "read", ("/home/ada/orchard/calc.py",))


def test_what_subagents_do_is_not_the_main_agents_work() -> None:
    session = Session(lines("claude-code-subagents"))
    streams = session.result.tool_use_summary["by_stream"]
    assert (streams.pop("main")["turns"], sum(stream["turns"] for stream in streams.values())) == (3, 5)
    assert [call.tool for call in session.of(ToolCall) if call.source.stream == MAIN] == ["Task", "Task", "Bash"]
    assert all(call.parent_call for call in session.of(ToolCall) if call.source.stream != MAIN)


@pytest.mark.parametrize("name", RUNS)
def test_records_may_come_in_any_order_and_twice(name: str) -> None:
    known, told = Session(lines(name)), lines(name)
    for seed in range(3):
        shuffled = [*told, *told[:2]]
        random.Random(seed).shuffle(shuffled)
        session = Session(shuffled)
        assert session.calls() == known.calls()
        assert session.result.tokens == known.result.tokens
        assert len(session.of(AssistantText)) == len(known.of(AssistantText))


def test_spans_of_a_session_that_has_records_do_not_count() -> None:
    told = lines("gemini-cli-records")
    session = next(
        pair["value"]["stringValue"]
        for pair in told[0]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"]
        if pair["key"] == "session.id"
    )
    about = {"gen_ai.operation.name": "llm_call", "gen_ai.conversation.id": session}
    span = {
        "traceId": "1" * 32, "spanId": "2" * 16, "name": "llm_call", "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()],
    }  # fmt: skip
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    found = Session([spans, *told])
    assert found.result.tool_use_summary == Session(told).result.tool_use_summary
    assert found.result.to_json().count(b"span beside log records") == 1
    other = json.loads(json.dumps(spans).replace(session, "another"))
    assert Session([other, *told]).result.tool_use_summary["turns"] == 4


def test_a_refused_call_is_denied_with_a_record_of_its_end_or_without() -> None:
    about = {"session__id": "s", "tool_name": "Bash"}
    told = [
        record("claude_code", "user_prompt", 0, session__id="s", prompt="<REDACTED>"),
        record("claude_code", "api_request", 1, session__id="s", input_tokens=5, output_tokens=2, request_id="r"),
        record("claude_code", "tool_decision", 2, **about, tool_use_id="t1", decision="reject"),
        record("claude_code", "tool_decision", 3, **about, tool_use_id="t2", decision="reject"),
        record("claude_code", "tool_result", 4, **about, tool_use_id="t2", success="false", duration_ms=1),
    ]
    session = Session(told)
    assert session.calls() == [("Bash", "denied"), ("Bash", "denied")]
    assert not session.of(UserText)  # it was not captured
    assert session.result.status != "complete"


def test_a_script_of_codex_counts_only_if_it_called_nothing() -> None:
    def called(second: int, tool: str, own: str, took: str, output: str = "") -> dict[str, Any]:
        about = {"conversation__id": "c", "tool_namespace": "functions", "success": "true", "output": output}
        return record("", "codex.tool_result", second, **about, call_id=own, tool_name=tool, duration_ms=took)

    told = [
        record("", "codex.user_prompt", 0, conversation__id="c", prompt="Go"),
        record("", "codex.sse_event", 1, conversation__id="c", input_token_count="7", output_token_count="3"),
        called(3, "exec_command", "exec-1", "500", output="Process exited with code 2\nOutput:\n"),
        called(4, "exec", "call_1", "1900"),
        called(6, "exec", "call_2", "1000"),
    ]
    session = Session(told)
    assert session.calls() == [("exec_command", "error"), ("exec", "ok")]
    (code,) = [result.exit_code for result in session.of(ToolResult) if result.call_id == "exec-1"]
    assert code == 2


def test_records_of_other_programs_and_of_no_interest_are_counted_and_held_by_nobody() -> None:
    told = [*lines("codex-records"), record("", "codex.startup_phase", 1, conversation__id="c"), record("", "x.y", 1)]
    metrics: dict[str, Any] = {"resourceMetrics": [{"scopeMetrics": []}]}
    ignored = json.loads(Session([*told, metrics]).result.to_json())["ignored"]
    assert (ignored["log record"], ignored["metrics"]) == (6, 1)


@pytest.mark.parametrize("value", [None, "", [], {}, {"kvlistValue": {"values": []}}, 10**30, "x" * 9, True, -1, 1e400])
@pytest.mark.parametrize(
    "name", ["duration_ms", "input_tokens", "tool_input", "session.id", "success", "tool_use_id", "request_id"]
)
def test_any_value_of_any_attribute_is_taken(name: str, value: Any) -> None:
    told = lines("claude-code-records")
    for line in told:
        for log in line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            for pair in log["attributes"]:
                if pair["key"] == name:
                    pair["value"] = value if isinstance(value, dict) else {"stringValue": value}
    if name == "session.id":
        assert Session([*told, *lines("codex-records")]).result.tool_use_summary["turns"] >= 3
    else:
        assert Session(told).result.tool_use_summary["turns"] == 5


def test_contents_in_an_event_of_their_own_are_those_of_its_span() -> None:
    ids = {"traceId": "1" * 32, "spanId": "2" * 16}
    span = {
        **ids, "name": "chat m", "startTimeUnixNano": "1000000", "endTimeUnixNano": "2000000",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    }  # fmt: skip
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])
    details = record("", "gen_ai.client.inference.operation.details", 1, gen_ai__output__messages=said)
    details["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0] |= ids
    session = Session([{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, details])
    assert [text.text for text in session.of(AssistantText)] == ["Done."]

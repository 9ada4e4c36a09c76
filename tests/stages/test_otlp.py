"""Spans of any framework as a session: calls, results, tokens, streams as made-up runs and recordings have them."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.model.event import MAIN, AssistantText, SessionInfo, TokenUsage, ToolCall, ToolResult, UserText
from agentv_stages.model.otlp import Request, Resource, ResourceSpans, Scope, ScopeSpans, line_of
from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader
from support.decoding import FIXTURES, corpus
from support.fixture_logs import LOGS
from support.spans import WITH_CONTENT, spans_of

OTLP = FIXTURES / "otlp"
CALLS: dict[str, list[tuple[str, Any, str]]] = {
    "genai.otlp.jsonl": [
        ("Read", {"file_path": "slug.py"}, "ok"),
        ("Task", {"prompt": "find tests"}, "ok"),
        ("Grep", {"pattern": "slug"}, "ok"),
        ("Bash", {"command": "pytest -q"}, "error"),
    ],
    "openinference.otlp.jsonl": [
        ("read_file", {"path": "slug.py"}, "ok"),
        ("run_tests", {"cmd": "pytest"}, "error"),
    ],
    "openllmetry.otlp.jsonl": [("read_file", {"path": "slug.py"}, "ok")],
    "adk.tempo.json": [("list_releases", {"all": True}, "error")],
    "vercel.otlp.jsonl": [("readFile", {"path": "slug.py"}, "ok")],
    "pydantic-ai.otlp.jsonl": [("grep", {"pattern": "slug"}, "ok")],
    "claude-code.otlp.jsonl": [("Bash", {"command": "pytest -q"}, "error")],
    "events.otlp.jsonl": [("read_file", {"path": "slug.py"}, "ok")],
}
TOKENS = {
    "genai.otlp.jsonl": (480, 38),
    "openinference.otlp.jsonl": (100, 9),
    "openllmetry.otlp.jsonl": (11, 2),
    "adk.tempo.json": (70, 7),
    "vercel.otlp.jsonl": (50, 6),
    "pydantic-ai.otlp.jsonl": (12, 3),
    "claude-code.otlp.jsonl": (600, 30),
    "events.otlp.jsonl": (24, 5),
}
SESSIONS = {
    "genai.otlp.jsonl": "conv-7",
    "openinference.otlp.jsonl": "lang-1",
    "adk.tempo.json": "adk-1",
    "vercel.otlp.jsonl": f"{6:032x}",
    "claude-code.otlp.jsonl": "cc-1",
}


class Session:
    """A log that was read."""

    def __init__(self, data: bytes, name: str = "log.otlp.jsonl") -> None:
        self.reader = SessionReader(iter([data]), name, messages=True)
        batches = list(self.reader.batches())
        self.events = [event for batch in batches for event in batch.events]
        self.faults = [fault for batch in batches for fault in batch.faults]
        self.result = self.reader.result()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def calls(self) -> list[tuple[str, Any, str]]:
        outcomes = {(r.call.source.stream, r.call_id): r.outcome for r in self.of(ToolResult) if r.call}
        return [(c.name, c.input, outcomes.get((c.source.stream, c.call_id), "none")) for c in self.of(ToolCall)]


def read(name: str) -> Session:
    return Session((OTLP / name).read_bytes(), name)


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_their_arguments_and_outcomes_in_every_dialect(name: str) -> None:
    session = read(name)
    assert session.reader.dialect.name == "otlp"
    assert Counter(map(str, session.calls())) == Counter(map(str, CALLS[name]))
    assert not session.faults


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_are_those_of_the_innermost_model_calls(name: str) -> None:
    tokens = read(name).result.tokens
    assert (tokens["input"], tokens["output"]) == TOKENS[name]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_a_conversation_or_else_a_trace(name: str) -> None:
    assert read(name).result.session.id == SESSIONS[name]


def test_an_agent_below_a_call_is_a_subagent() -> None:
    session = read("genai.otlp.jsonl")
    (grep,) = [call for call in session.of(ToolCall) if call.name == "Grep"]
    assert (grep.source.stream, grep.parent_call) == (f"sidechain:{0x14:016x}", "c2")
    assert {call.source.stream for call in session.of(ToolCall) if call is not grep} == {MAIN}
    (task,) = [result for result in session.of(ToolResult) if result.call_id == "c2"]
    assert task.agent_id == f"{0x14:016x}"


def test_prompts_are_what_the_user_said_last() -> None:
    assert [prompt.text for prompt in read("genai.otlp.jsonl").of(UserText)] == ["Fix the slug", "and the docs"]


def test_results_come_from_the_next_input_where_calls_have_no_spans() -> None:
    (result,) = read("events.otlp.jsonl").of(ToolResult)
    assert result.output == "def slug(): ..."


@pytest.mark.parametrize("name", [name for name in CALLS if name.endswith(".jsonl")])
def test_spans_may_come_in_any_order_and_twice(name: str) -> None:
    lines = [json.loads(line) for line in (OTLP / name).read_bytes().splitlines()]
    spans = [
        {"resourceSpans": [{**part, "scopeSpans": [{**scope, "spans": [span]}]}]}
        for line in lines
        for part in line["resourceSpans"]
        for scope in part["scopeSpans"]
        for span in scope["spans"]
    ]
    known = read(name)
    for seed in range(5):
        shuffled = [*spans, *spans[:3]]
        random.Random(seed).shuffle(shuffled)
        session = Session(b"".join(json.dumps(line).encode() + b"\n" for line in shuffled))
        assert session.calls() == known.calls()
        assert session.result.tokens == known.result.tokens
        assert [type(event) for event in session.events] == [type(event) for event in known.events]


def changed(number: int, **members: Any) -> Session:
    """The GenAI fixture with other members in one of its spans."""
    lines = [json.loads(line) for line in (OTLP / "genai.otlp.jsonl").read_bytes().splitlines()]
    lines[number]["resourceSpans"][0]["scopeSpans"][0]["spans"][0] |= members
    return Session(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def test_a_span_with_a_wrong_id_is_a_fault_and_the_rest_is_used() -> None:
    session = changed(7, spanId="12")
    (fault,) = session.faults
    assert (fault.reason, "an id of 2 characters" in fault.detail) == ("schema", True)
    assert b"execute_tool Bash" in fault.data
    assert session.calls()[-1] == ("Bash", {"command": "pytest -q"}, "unpaired")  # the model asked for it


def test_a_span_whose_times_run_backwards_is_used_and_noted() -> None:
    session = changed(7, endTimeUnixNano="1")
    (fault,) = session.faults
    assert "ends before it begins" in fault.detail
    assert ("Bash", {"command": "pytest -q"}, "error") in session.calls()


@pytest.mark.parametrize("value", [10**30, 1 << 64, -5, 1e308, "9" * 5000, None, [], True])
def test_a_span_whose_time_is_impossible_is_used(value: object) -> None:
    session = changed(7, startTimeUnixNano=value)
    assert ("Bash", {"command": "pytest -q"}, "error") in session.calls()
    session = changed(7, endTimeUnixNano=value)
    assert ("Bash", {"command": "pytest -q"}, "error") in session.calls()


def test_a_span_whose_parent_is_missing_is_used_and_noted() -> None:
    session = changed(0, parentSpanId=f"{0x99:016x}")
    (fault,) = session.faults
    assert "parent" in fault.detail
    assert session.result.tool_use_summary["total_tool_calls"] == 4


def test_spans_that_name_each_other_as_parents_do_no_harm() -> None:
    session = changed(8, parentSpanId=f"{0x12:016x}")
    assert len(session.faults) == 1
    assert {call[0] for call in session.calls()} == {"Read", "Task", "Grep", "Bash"}


def test_ids_may_be_in_base64_and_numbers_plain() -> None:
    line = {
        "resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "CvdlGRbNQ92ESOshHIAxnA==", "spanId": "APBnqgupArc=", "name": "chat m", "kind": 3,
            "startTimeUnixNano": 1_000_000, "endTimeUnixNano": 2_000_000,
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                           {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 5}}],
        }]}]}]
    }  # fmt: skip
    session = Session(json.dumps(line).encode() + b"\n")
    assert session.result.session.id == "0af7651916cd43dd8448eb211c80319c"
    assert session.result.tokens["output"] == 5


def each_span(change: Callable[[dict[str, Any]], object]) -> Session:
    """The GenAI fixture with a change in each of its spans."""
    lines = [json.loads(line) for line in (OTLP / "genai.otlp.jsonl").read_bytes().splitlines()]
    for line in lines:
        for part in line.get("resourceSpans", ()):
            for scope in part["scopeSpans"]:
                for span in scope["spans"]:
                    change(span)
    return Session(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def test_an_id_of_zeros_is_none() -> None:
    session = each_span(lambda span: span.setdefault("parentSpanId", "0" * 16))
    assert not session.faults
    assert session.calls() == read("genai.otlp.jsonl").calls()
    (fault,) = changed(7, spanId="0" * 16).faults
    assert "without an id" in fault.detail


def test_figures_may_be_texts() -> None:
    def as_text(span: dict[str, Any]) -> None:
        for pair in span["attributes"]:
            if "intValue" in pair["value"]:
                pair["value"] = {"stringValue": str(pair["value"]["intValue"])}

    assert each_span(as_text).result.tokens == read("genai.otlp.jsonl").result.tokens


@pytest.mark.parametrize("broken", ["[{", "[" * 5_000 + "]" * 5_000, "W10="])
def test_messages_that_are_no_json_are_noted(broken: str) -> None:
    def cut(span: dict[str, Any]) -> None:
        for pair in span["attributes"]:
            if pair["key"] == "gen_ai.output.messages":
                pair["value"] = {"stringValue": broken}

    session = each_span(cut)
    assert {fault.detail.partition(" of ")[0] for fault in session.faults} == {"gen_ai.output.messages"}
    assert session.result.tokens == read("genai.otlp.jsonl").result.tokens
    assert [call[0] for call in session.calls()] == ["Read", "Task", "Grep", "Bash"]  # from their own spans


def model_call(conversation: str, trace: int, span: int, start: int, tokens: int, **members: Any) -> bytes:
    pairs = [("gen_ai.operation.name", {"stringValue": "chat"}), ("gen_ai.usage.input_tokens", {"intValue": tokens})]
    if conversation:
        pairs.append(("gen_ai.conversation.id", {"stringValue": conversation}))
    made = {
        "traceId": f"{trace:032x}", "spanId": f"{span:016x}", "startTimeUnixNano": start, "endTimeUnixNano": start + 1,
        "attributes": [{"key": key, "value": value} for key, value in pairs], **members,
    }  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}).encode() + b"\n"


def test_traces_of_one_conversation_may_number_their_spans_alike() -> None:
    session = Session(model_call("c", 1, 2, 1, 10) + model_call("c", 2, 2, 5, 20))
    assert (session.result.tokens["input"], session.result.tool_use_summary["turns"]) == (30, 2)


def test_a_trace_with_several_conversations_is_several_sessions() -> None:
    job = json.loads(model_call("", 1, 9, 0, 0))
    job["resourceSpans"][0]["scopeSpans"][0]["spans"][0] |= {"attributes": [], "endTimeUnixNano": 99, "name": "job"}
    below = {"parentSpanId": f"{9:016x}"}
    inner = {"parentSpanId": f"{2:016x}"}  # a sub-agent's own conversation
    session = Session(
        json.dumps(job).encode() + b"\n" + model_call("d", 1, 3, 2, 20, **below)
        + model_call("c", 1, 2, 1, 10, **below) + model_call("e", 1, 4, 3, 5, **inner)
    )  # fmt: skip
    assert [(info.session_id, info.another) for info in session.of(SessionInfo)] == [("c", False), ("d", True)]
    assert not session.faults


def test_a_span_that_comes_again_with_an_earlier_end_does_not_replace_the_first() -> None:
    full, begun = model_call("", 1, 2, 5, 10, endTimeUnixNano=9), model_call("", 1, 2, 5, 0, attributes=[])
    for data in (full + begun, begun + full):
        assert Session(data).result.tokens["input"] == 10


def test_spans_of_something_else_are_no_log() -> None:
    line = {"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "1" * 32, "spanId": "1" * 16, "name": "GET /", "attributes": [{"key": "http.method"}]}
    ]}]}]}  # fmt: skip
    with pytest.raises(NotALog):
        Session(json.dumps(line).encode() + b"\n")


RECORDED = {
    "langgraph-1.2-openinference.otlp.jsonl": (["read_file", "run_tests"], 3, 10),
    "langgraph-1.2-openllmetry.otlp.jsonl": (["read_file", "run_tests"], 3, 10),
    "openai-agents-0.24-openinference.otlp.jsonl": (["read_file", "run_tests"], None, None),
    "openai-agents-0.24-otel-genai.otlp.jsonl": (["read_file", "run_tests"], None, None),
    "pydantic-ai-2.68-v2.otlp.jsonl": (["read_file", "grep", "run_tests"], 3, 176),
    "pydantic-ai-2.68-v5.otlp.jsonl": (["read_file", "grep", "run_tests"], 3, 176),
    "agentevals-kagent.tempo.json": (["helm_list_releases"], 2, 4648),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recordings_have_the_calls_and_tokens_of_their_runs(name: str) -> None:
    tools, answers, tokens = RECORDED[name]
    session = Session((corpus("otlp") / name).read_bytes(), name)
    assert [call[0] for call in session.calls()] == tools
    outcomes = {call[0]: call[2] for call in session.calls()}
    assert outcomes.get("run_tests", "error") == "error"
    assert all(outcome == "ok" for tool, outcome in outcomes.items() if tool != "run_tests")
    if answers is not None:
        assert len({e.message_id for e in session.events if isinstance(e, AssistantText | ToolCall)}) == answers
    assert session.result.tokens["input"] == tokens


# --- what we export, read back

KEPT = ("total_turns", "total_tool_calls", "failed_calls", "edits", "files_edited", "first_edit_turn")


def exported(path: Path, options: SpanOptions) -> Session:
    spans = spans_of(path, options)
    return Session(line_of(Request(resource_spans=[ResourceSpans(Resource(), [ScopeSpans(Scope(), spans)])])))


def facts_of(session: Session) -> Counter[str]:
    """Each call with everything that statistics and verdicts see of it."""
    results = {(r.call.source.stream, r.call_id): r for r in session.of(ToolResult) if r.call and not r.partial}
    found: Counter[str] = Counter()
    for call in session.of(ToolCall):
        result = results.get((call.source.stream, call.call_id))
        ended = (result.outcome, result.exit_code) if result else None
        found[repr((call.name, call.tool, call.kind, call.server, call.files, call.edit, call.input, ended))] += 1
    return found


AGENTS = (
    *("antigravity", "claude", "cline", "codex", "continue", "copilot", "crush", "cursor", "droid", "gemini", "goose"),
    *("grok", "kilo", "kimi", "mini-swe-agent", "oh-my-pi", "openclaw", "opencode", "openhands", "pi", "vibe"),
)
OF_AGENTS = [path for path in LOGS if not {*AGENTS}.isdisjoint(path.relative_to(FIXTURES.parents[1]).parts)]


@pytest.mark.parametrize("path", OF_AGENTS, ids=lambda path: f"{path.parent.name}/{path.name[:30]}")
def test_a_session_that_was_exported_says_the_same_when_it_is_read_back(path: Path) -> None:
    try:
        before = Session(path.read_bytes(), str(path))
    except (NotALog, EmptyInput):
        pytest.skip("no log")
    if path.name.endswith((".meta.json", "compacted.json", "subagent.json")) or not before.of(ToolCall):
        pytest.skip("no call")
    after = exported(path, WITH_CONTENT)
    assert facts_of(after) == facts_of(before)
    assert after.result.status == before.result.status
    assert after.result.cost_usd == (None if before.result.cost_usd is None else pytest.approx(before.result.cost_usd))
    about, known = after.reader.observer.facts, before.reader.observer.facts
    assert (about.title, about.git_branch, about.cwd) == (known.title, known.git_branch, known.cwd)
    begun = {e.message_id: e.source.time_ms for e in reversed(before.events) if isinstance(e, AssistantText | ToolCall)}
    ordered = None not in begun.values() and len({*begun.values()}) == len(begun)  # times say in which order they came
    for name in KEPT if ordered else KEPT[:-1]:
        assert after.result.tool_use_summary.get(name) == before.result.tool_use_summary.get(name), name
    for name in ("input", "cached", "cache_write", "output"):
        assert after.result.tokens[name] == before.result.tokens[name], name


def test_without_contents_an_export_keeps_calls_and_figures() -> None:
    path = FIXTURES / "claude" / "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl"
    before, after = Session(path.read_bytes(), str(path)), exported(path, SpanOptions())
    assert Counter((c.name, c.tool, c.kind, c.files) for c in after.of(ToolCall)) == Counter(
        (c.name, c.tool, c.kind, c.files) for c in before.of(ToolCall)
    )
    assert after.result.tokens == before.result.tokens
    assert len(after.of(TokenUsage)) > 5
    assert not any(prompt.text for prompt in after.of(UserText))


def unwrapped(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return [unwrapped(item) for item in content["values"]]
    return {p["key"]: unwrapped(p["value"]) for p in content["values"]} if kind == "kvlistValue" else content


def jaeger_value(value: dict[str, Any]) -> tuple[str, Any]:
    ((kind, content),) = value.items()
    if kind == "intValue":
        return "int64", int(content)
    if kind in ("arrayValue", "kvlistValue"):
        return "string", json.dumps(unwrapped(value))
    return {"stringValue": "string", "boolValue": "bool", "doubleValue": "float64"}[kind], content


def jaeger(name: str) -> bytes:
    """A fixture as Jaeger exports it: tags, microseconds, references, a process for each resource."""
    traces: dict[str, dict[str, Any]] = {}
    for line in (OTLP / name).read_bytes().splitlines():
        for part in json.loads(line).get("resourceSpans", ()):
            for scope in part["scopeSpans"]:
                for span in scope["spans"]:
                    trace = traces.setdefault(span["traceId"], {"traceID": span["traceId"], "spans": []})
                    trace["processes"] = {"p1": {"serviceName": "app", "tags": []}}
                    attributes = [*span.get("attributes", ())]
                    tags = [(pair["key"], *jaeger_value(pair["value"])) for pair in attributes]
                    tags.append(("otel.scope.name", "string", scope.get("scope", {}).get("name", "")))
                    if span.get("status", {}).get("code") == 2:
                        tags += [("otel.status_code", "string", "ERROR"), ("error", "bool", True)]
                    logs = [
                        {
                            "timestamp": 1,
                            "fields": [
                                {"key": "event", "type": "string", "value": event["name"]},
                                *(
                                    dict(
                                        zip(
                                            ("key", "type", "value"), (p["key"], *jaeger_value(p["value"])), strict=True
                                        )
                                    )
                                    for p in event.get("attributes", ())
                                ),
                            ],
                        }
                        for event in span.get("events", ())
                    ]
                    start, end = (int(span[f"{edge}TimeUnixNano"]) // 1000 for edge in ("start", "end"))
                    reference = {"refType": "CHILD_OF", "traceID": span["traceId"], "spanID": span.get("parentSpanId")}
                    trace["spans"].append(
                        {
                            "traceID": span["traceId"].lstrip("0"), "spanID": span["spanId"].lstrip("0"),
                            "operationName": span["name"], "startTime": start, "duration": end - start,
                            "references": [reference] if span.get("parentSpanId") else [], "logs": logs,
                            "tags": [{"key": k, "type": t, "value": v} for k, t, v in tags], "processID": "p1",
                        }
                    )  # fmt: skip
    return json.dumps({"data": list(traces.values())}, indent=2).encode()


@pytest.mark.parametrize("name", [name for name in CALLS if name.endswith(".jsonl")])
def test_an_export_of_jaeger_gives_the_same_session(name: str) -> None:
    if b"resourceLogs" in (OTLP / name).read_bytes():
        pytest.skip("Jaeger has no log records")
    known, session = read(name), Session(jaeger(name), "trace.json")
    assert session.reader.dialect.name == "otlp"
    assert session.calls() == known.calls()
    assert session.result.tokens == known.result.tokens
    assert (session.result.status, len(session.faults)) == (known.result.status, len(known.faults))
    assert (session.result.session.id or "").strip("0") == (known.result.session.id or "").strip("0")


def test_a_span_of_jaeger_with_a_wrong_id_is_a_fault() -> None:
    document = json.loads(jaeger("genai.otlp.jsonl"))
    document["data"][0]["spans"][1]["spanID"] = "x" * 40
    session = Session(json.dumps(document).encode(), "trace.json")
    assert "an id of 40 characters" in str(session.faults[0].detail)
    assert session.calls()
